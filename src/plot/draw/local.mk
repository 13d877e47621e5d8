# A figure on paper, terminal or page.
src_plot_libplot_a_SOURCES += \
	%D%/axis.c \
	%D%/axis.h \
	%D%/figure.c \
	%D%/figure.h \
	%D%/figure_finish.c \
	%D%/figure_finish.h \
	%D%/gnuplot.c \
	%D%/gnuplot.h \
	%D%/gnuplot_marks.c \
	%D%/gnuplot_page.c \
	%D%/gnuplot_panel.c \
	%D%/gnuplot_text.c \
	%D%/gnuplot_text.h \
	%D%/html.c \
	%D%/html.h \
	%D%/json.c \
	%D%/json.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/legend.c \
	%D%/legend.h \
	%D%/palette.c \
	%D%/palette.h \
	%D%/place.c \
	%D%/range.c \
	%D%/screen.c \
	%D%/screen.h \
	%D%/term.c \
	%D%/term.h \
	%D%/thin.c
