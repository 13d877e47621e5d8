# libtrainer.a is everything but the commands; tests use it, too.
noinst_LIBRARIES += src/trainer/libtrainer.a
src_trainer_libtrainer_a_SOURCES =
nodist_src_trainer_libtrainer_a_SOURCES =
src_trainer_libtrainer_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(MPI_CFLAGS)

include src/trainer/settings/local.mk
include src/trainer/model/local.mk
include src/trainer/ranks/local.mk
include src/trainer/device/local.mk
include src/trainer/engine/local.mk
include src/trainer/checkpoint/local.mk
include src/trainer/training/local.mk
include src/trainer/replay/local.mk
include src/trainer/plan/local.mk
include src/trainer/convert/local.mk

TRAINER_LIBS = src/trainer/libtrainer.a src/sweep/libsweep.a $(MPI_LIBS) $(STORE_LIBS) \
	$(DATA_LIBS) $(KERNELS_LIBS)

bin_PROGRAMS += gtrain
# The commands, in the order of the help text
gtrain_SOURCES = \
	%D%/cmd_train.c \
	%D%/cmd_plan.c \
	%D%/cmd_eval.c \
	%D%/cmd_replay.c \
	%D%/cmd_bisect.c \
	%D%/cmd_rehearse.c \
	%D%/cmd_batch.c \
	%D%/cmd_sample.c \
	%D%/cmd_chat.c \
	%D%/cmd_export.c \
	%D%/cmd_import.c \
	%D%/cmd_bench.c \
	%D%/cmd_devices.c \
	%D%/cmd_sweep.c \
	%D%/cmd_init.c \
	%D%/gtrain.c \
	%D%/sweep_cells.c \
	%D%/trained_model.c
nodist_gtrain_SOURCES = src/commit.c %D%/cmds.c
gtrain_LDADD = $(TRAINER_LIBS)
