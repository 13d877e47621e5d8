# A figure on paper, terminal or page.
src_plot_libplot_a_SOURCES += \
	%D%/axis.c \
	%D%/figure.c \
	%D%/figure_finish.c \
	%D%/gnuplot.c \
	%D%/gnuplot_panel.c \
	%D%/gnuplot_text.c \
	%D%/json.c \
	%D%/layout.c \
	%D%/place.c \
	%D%/range.c \
	%D%/term.c
