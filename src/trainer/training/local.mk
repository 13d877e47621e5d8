# The training loop and its parts.
src_trainer_libtrainer_a_SOURCES += \
	%D%/eval.c \
	%D%/eval.h \
	%D%/meter.c \
	%D%/meter.h \
	%D%/multiple_choice.c \
	%D%/multiple_choice.h \
	%D%/report.c \
	%D%/report.h \
	%D%/report_params.c \
	%D%/sampler.c \
	%D%/sampler.h \
	%D%/step.c \
	%D%/step.h \
	%D%/step_check.c \
	%D%/step_check.h \
	%D%/train.c \
	%D%/train.h
