# The training loop and its parts.
src_trainer_libtrainer_a_SOURCES += \
	%D%/eval.c \
	%D%/meter.c \
	%D%/multiple_choice.c \
	%D%/report.c \
	%D%/report_params.c \
	%D%/sampler.c \
	%D%/step.c \
	%D%/train.c
