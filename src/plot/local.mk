# gplot is its main program on a library, so that tests can call the parts.
noinst_LIBRARIES += src/plot/libplot.a
src_plot_libplot_a_SOURCES = \
	%D%/curve_extras.c \
	%D%/curve_groups.c \
	%D%/curves.c \
	%D%/expression.c \
	%D%/fig_curves.c \
	%D%/fig_dashboard.c \
	%D%/fig_hist.c \
	%D%/fig_hours.c \
	%D%/fig_scaling.c \
	%D%/fig_schedule.c \
	%D%/fig_sweep.c \
	%D%/fig_tasks.c \
	%D%/fig_timeline.c \
	%D%/figures.c \
	%D%/history.c \
	%D%/curve_kind.c \
	%D%/output.c \
	%D%/plot_program.c \
	%D%/request.c \
	%D%/run_set.c \
	%D%/smooth.c \
	%D%/smooth_choice.c \
	%D%/stamp.c \
	%D%/thread_times.c

include src/plot/draw/local.mk

bin_PROGRAMS += gplot
gplot_SOURCES = %D%/gplot.c
nodist_gplot_SOURCES = src/commit.c
gplot_LDADD = src/plot/libplot.a $(STORE_LIBS)
PLOT_LIBS = src/plot/libplot.a $(STORE_LIBS)

# The figures that the documents show, drawn anew.
EXTRA_DIST += scripts/gallery doc/gallery
gallery: gplot t/lib/mkruns
	$(AM_V_at)$(top_srcdir)/scripts/gallery $(top_srcdir)/doc/gallery
.PHONY: gallery
