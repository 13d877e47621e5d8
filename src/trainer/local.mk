# libtrainer.a is all but the commands, for the tests too.
noinst_LIBRARIES += src/trainer/libtrainer.a
src_trainer_libtrainer_a_SOURCES = \
	%D%/anomaly.c \
	%D%/anomaly.h \
	%D%/choice.c \
	%D%/choice.h \
	%D%/ckpt.c \
	%D%/ckpt.h \
	%D%/ckpt_files.c \
	%D%/ckpt_files.h \
	%D%/ckpt_find.c \
	%D%/coll_device.c \
	%D%/coll_device.h \
	%D%/coll_nccl.c \
	%D%/coll_nccl.h \
	%D%/convert.c \
	%D%/convert.h \
	%D%/convert_gguf.c \
	%D%/convert_hf.c \
	%D%/convert_hf_config.c \
	%D%/convert_llmc.c \
	%D%/eval.c \
	%D%/eval.h \
	%D%/gpt.c \
	%D%/gpt.h \
	%D%/graph.c \
	%D%/graph.h \
	%D%/guard.c \
	%D%/guard.h \
	%D%/hardware.c \
	%D%/hardware.h \
	%D%/job.c \
	%D%/job.h \
	%D%/meter.c \
	%D%/meter.h \
	%D%/nvml.c \
	%D%/nvml.h \
	%D%/optim.c \
	%D%/parallel.c \
	%D%/parallel.h \
	%D%/parallel_plan.c \
	%D%/optim.h \
	%D%/phases.c \
	%D%/phases.h \
	%D%/plan.c \
	%D%/int8.c \
	%D%/program.c \
	%D%/replay.c \
	%D%/replay.h \
	%D%/report.c \
	%D%/report.h \
	%D%/resolve.c \
	%D%/rules.c \
	%D%/rules.h \
	%D%/sample.c \
	%D%/sample.h \
	%D%/schedule.c \
	%D%/schedule.h \
	%D%/settings.c \
	%D%/search.c \
	%D%/search.h \
	%D%/search_report.c \
	%D%/settings.h \
	%D%/slurm.c \
	%D%/slurm.h \
	%D%/tensors.c \
	%D%/tensors.h \
	%D%/train.c \
	%D%/train.h
src_trainer_libtrainer_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)

TRAINER_LIBS = src/trainer/libtrainer.a $(COLL_LIBS) $(STORE_LIBS) \
	$(DATA_LIBS) $(KERNELS_LIBS)

bin_PROGRAMS += gtrain
gtrain_SOURCES = \
	%D%/cmd_bench.c \
	%D%/cmd_convert.c \
	%D%/cmd_devices.c \
	%D%/cmd_eval.c \
	%D%/cmd_model.c \
	%D%/cmd_plan.c \
	%D%/cmd_sample.c \
	%D%/cmd_sweep.c \
	%D%/cmd_train.c \
	%D%/cmds.h \
	%D%/gtrain.c
gtrain_LDADD = $(TRAINER_LIBS)
