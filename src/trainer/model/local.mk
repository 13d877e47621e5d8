# The model: its operations, their order, and their memory.
src_trainer_libtrainer_a_SOURCES += \
	%D%/gpt.c \
	%D%/gpt.h \
	%D%/graph.c \
	%D%/graph.h \
	%D%/graph_calls.c \
	%D%/graph_calls.h \
	%D%/graph_memory.c \
	%D%/graph_run.c \
	%D%/observe.c \
	%D%/observe.h \
	%D%/optim.c \
	%D%/optim.h \
	%D%/param_rates.c \
	%D%/param_rates.h \
	%D%/phases.c \
	%D%/phases.h \
	%D%/quantize.c \
	%D%/quantize.h \
	%D%/recording.c \
	%D%/recording.h \
	%D%/region.c \
	%D%/region.h \
	%D%/resolve.c \
	%D%/resolve.h \
	%D%/rules.c \
	%D%/rules.h \
	%D%/schedule.c \
	%D%/schedule.h \
	%D%/tensors.c \
	%D%/tensors.h
