# Sweeps: combinations of settings, and the processes that run them.
noinst_LIBRARIES += src/sweep/libsweep.a
src_sweep_libsweep_a_SOURCES = \
	%D%/sweep.c \
	%D%/sweep_command.c \
	%D%/sweep_next.c \
	%D%/sweep_run.c \
	%D%/sweep_tpe.c \
	%D%/sweep_wandb.c
