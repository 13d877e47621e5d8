# Tests of src/plot, and of what it runs programs with.
check_PROGRAMS += t/spawn.t
test_programs += t/spawn.t
t_spawn_t_SOURCES = %D%/spawn.c %D%/tap.h
t_spawn_t_LDADD = $(COMMON_LIBS)

# The store that the tests and the gallery draw from.
check_PROGRAMS += t/mkruns
t_mkruns_SOURCES = %D%/mkruns.c
t_mkruns_LDADD = $(STORE_LIBS)

dist_check_SCRIPTS += \
	%D%/t6010-figures.t \
	%D%/t6020-options.t \
	%D%/t6030-program.t
EXTRA_DIST += %D%/plot-lib.sh %D%/plot-resume.golden %D%/plot-names.golden \
	%D%/plot-hella.golden

check_PROGRAMS += t/plot.t
test_programs += t/plot.t
t_plot_t_SOURCES = %D%/plot.c %D%/tap.h
t_plot_t_LDADD = $(PLOT_LIBS)
