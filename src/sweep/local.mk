# Sweeps: combinations of settings, and the processes that run them.
noinst_LIBRARIES += src/sweep/libsweep.a
src_sweep_libsweep_a_SOURCES = \
	%D%/child_pool.c \
	%D%/child_pool.h \
	%D%/search.c \
	%D%/search.h \
	%D%/search_command.c \
	%D%/search_command.h \
	%D%/search_report.c \
	%D%/slurm.c \
	%D%/slurm.h \
	%D%/sweep.c \
	%D%/sweep.h \
	%D%/sweep_wandb.c
