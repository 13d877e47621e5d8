# The loop and what it needs.
src_trainer_libtrainer_a_SOURCES += \
	%D%/ckpt.c \
	%D%/ckpt.h \
	%D%/ckpt_files.c \
	%D%/ckpt_files.h \
	%D%/ckpt_find.c \
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
	%D%/sample.c \
	%D%/sample.h \
	%D%/step_check.c \
	%D%/step_check.h \
	%D%/train.c \
	%D%/train.h
