noinst_LIBRARIES += src/trainer/libtrainer.a
src_trainer_libtrainer_a_SOURCES = \
	%D%/config.c \
	%D%/config.h \
	%D%/gpt.c \
	%D%/gpt.h \
	%D%/graph.c \
	%D%/graph.h \
	%D%/optim.c \
	%D%/optim.h \
	%D%/plan.c \
	%D%/program.c \
	%D%/resolve.c \
	%D%/rules.c \
	%D%/rules.h \
	%D%/schedule.c \
	%D%/schedule.h
src_trainer_libtrainer_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
