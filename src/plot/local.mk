# gplot is its main program on a library, so that tests can call the parts.
noinst_LIBRARIES += src/plot/libplot.a
src_plot_libplot_a_SOURCES = \
	%D%/axis.c \
	%D%/axis.h \
	%D%/boards.c \
	%D%/cmd.h \
	%D%/curves.c \
	%D%/curves.h \
	%D%/figure.c \
	%D%/figure.h \
	%D%/fit.c \
	%D%/fit.h \
	%D%/glyphs.c \
	%D%/glyphs.h \
	%D%/gnuplot.c \
	%D%/gnuplot.h \
	%D%/gnuplot_page.c \
	%D%/gnuplot_panel.c \
	%D%/gnuplot_text.h \
	%D%/group.c \
	%D%/group.h \
	%D%/history.c \
	%D%/history.h \
	%D%/html.c \
	%D%/html.h \
	%D%/kind.c \
	%D%/kind.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/marks.c \
	%D%/marks.h \
	%D%/output.c \
	%D%/output.h \
	%D%/palette.c \
	%D%/palette.h \
	%D%/request.c \
	%D%/request.h \
	%D%/report.c \
	%D%/scaling.c \
	%D%/schedule.c \
	%D%/single.c \
	%D%/smooth.c \
	%D%/smooth.h \
	%D%/summary.c \
	%D%/summary.h \
	%D%/sweep.c \
	%D%/term.c \
	%D%/term.h \
	%D%/thin.c \
	%D%/thin.h

bin_PROGRAMS += gplot
gplot_SOURCES = %D%/gplot.c
gplot_LDADD = src/plot/libplot.a $(STORE_LIBS)
PLOT_LIBS = src/plot/libplot.a $(STORE_LIBS)

# The figures that the documents show, drawn anew.
EXTRA_DIST += scripts/gallery doc/gallery
gallery: gplot t/mkruns
	$(AM_V_at)$(top_srcdir)/scripts/gallery $(top_srcdir)/doc/gallery
.PHONY: gallery
