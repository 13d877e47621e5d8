# A figure on paper, terminal or page.
src_plot_libplot_a_SOURCES += \
	%D%/axis.c \
	%D%/axis.h \
	%D%/figure.c \
	%D%/figure.h \
	%D%/glyphs.c \
	%D%/glyphs.h \
	%D%/gnuplot.c \
	%D%/gnuplot.h \
	%D%/gnuplot_heat.c \
	%D%/gnuplot_marks.c \
	%D%/gnuplot_page.c \
	%D%/gnuplot_panel.c \
	%D%/gnuplot_text.c \
	%D%/gnuplot_text.h \
	%D%/grid.c \
	%D%/grid.h \
	%D%/html.c \
	%D%/html.h \
	%D%/inset.c \
	%D%/inset.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/legend.c \
	%D%/legend.h \
	%D%/legend_place.c \
	%D%/legend_place.h \
	%D%/palette.c \
	%D%/palette.h \
	%D%/range.c \
	%D%/range.h \
	%D%/screen.c \
	%D%/screen.h \
	%D%/term.c \
	%D%/term.h \
	%D%/thin.c \
	%D%/thin.h
