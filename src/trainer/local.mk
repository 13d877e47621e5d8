# libtrainer.a is everything but the commands; tests use it, too.
noinst_LIBRARIES += src/trainer/libtrainer.a
src_trainer_libtrainer_a_SOURCES =
src_trainer_libtrainer_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(MPI_CFLAGS)

include src/trainer/settings/local.mk
include src/trainer/model/local.mk
include src/trainer/ranks/local.mk
include src/trainer/training/local.mk
include src/trainer/convert/local.mk

TRAINER_LIBS = src/trainer/libtrainer.a src/sweep/libsweep.a $(MPI_LIBS) $(STORE_LIBS) \
	$(DATA_LIBS) $(KERNELS_LIBS)

bin_PROGRAMS += gtrain
gtrain_SOURCES = \
	%D%/bisect_document.c \
	%D%/bisect_document.h \
	%D%/bisect_facts.c \
	%D%/bisect_facts.h \
	%D%/bisect_trace.c \
	%D%/bisect_trace.h \
	%D%/cmd_batch.c \
	%D%/cmd_bench.c \
	%D%/cmd_bisect.c \
	%D%/cmd_devices.c \
	%D%/cmd_eval.c \
	%D%/cmd_export.c \
	%D%/cmd_import.c \
	%D%/cmd_init.c \
	%D%/cmd_plan.c \
	%D%/cmd_rehearse.c \
	%D%/cmd_replay.c \
	%D%/cmd_sample.c \
	%D%/cmd_sweep.c \
	%D%/cmd_train.c \
	%D%/cmds.h \
	%D%/eval_documents.c \
	%D%/eval_documents.h \
	%D%/gtrain.c \
	%D%/plan_budget.c \
	%D%/plan_budget.h \
	%D%/plan_cpu.c \
	%D%/plan_cpu.h \
	%D%/plan_launches.c \
	%D%/plan_launches.h \
	%D%/plan_memory.c \
	%D%/plan_memory.h \
	%D%/plan_sizes.c \
	%D%/plan_sizes.h \
	%D%/plan_step.c \
	%D%/plan_step.h \
	%D%/plan_time.c \
	%D%/plan_time.h \
	%D%/recorded_run.c \
	%D%/recorded_run.h \
	%D%/rehearse_child.c \
	%D%/rehearse_child.h \
	%D%/rehearse_miniature.c \
	%D%/rehearse_miniature.h \
	%D%/rehearse_place.c \
	%D%/rehearse_place.h \
	%D%/rehearse_scene.c \
	%D%/rehearse_scene.h \
	%D%/scaling.c \
	%D%/scaling.h \
	%D%/spikes.c \
	%D%/spikes.h \
	%D%/timeline.c \
	%D%/timeline.h \
	%D%/trained_model.c \
	%D%/trained_model.h
gtrain_LDADD = $(TRAINER_LIBS)
