# What a run would cost: memory, time and money, before it starts.
src_trainer_libtrainer_a_SOURCES += \
	%D%/plan_budget.c \
	%D%/plan_step.c \
	%D%/plan_tables.c
