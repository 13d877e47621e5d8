# What a run would cost: memory, time and money, before it starts.
src_trainer_libtrainer_a_SOURCES += \
	%D%/plan_budget.c \
	%D%/plan_budget.h \
	%D%/plan_cpu.c \
	%D%/plan_cpu.h \
	%D%/plan_memory.c \
	%D%/plan_memory.h \
	%D%/plan_sizes.c \
	%D%/plan_sizes.h \
	%D%/plan_step.c \
	%D%/plan_step.h \
	%D%/plan_time.c \
	%D%/plan_time.h \
	%D%/scaling.c \
	%D%/scaling.h
