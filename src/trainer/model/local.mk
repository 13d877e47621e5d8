# The model: its operations, their order, and their memory.
src_trainer_libtrainer_a_SOURCES += \
	%D%/gpt.c \
	%D%/graph.c \
	%D%/graph_calls.c \
	%D%/graph_memory.c \
	%D%/optim.c \
	%D%/resolve.c \
	%D%/rules.c \
	%D%/tensors.c
