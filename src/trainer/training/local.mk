# The loop and what it needs.
src_trainer_libtrainer_a_SOURCES += \
	%D%/checkpoint.c \
	%D%/checkpoint.h \
	%D%/checkpoint_files.c \
	%D%/checkpoint_files.h \
	%D%/checkpoint_find.c \
	%D%/checkpoint_find.h \
	%D%/checkpoint_state.c \
	%D%/checkpoint_state.h \
	%D%/eval.c \
	%D%/eval.h \
	%D%/hardware.c \
	%D%/hardware.h \
	%D%/job.c \
	%D%/job.h \
	%D%/meter.c \
	%D%/meter.h \
	%D%/multiple_choice.c \
	%D%/multiple_choice.h \
	%D%/nvml.c \
	%D%/nvml.h \
	%D%/report.c \
	%D%/report.h \
	%D%/sampler.c \
	%D%/sampler.h \
	%D%/snapshot.c \
	%D%/snapshot.h \
	%D%/step_check.c \
	%D%/step_check.h \
	%D%/train.c \
	%D%/train.h
