# A model in memory, with its data, its device and the other ranks.
src_trainer_libtrainer_a_SOURCES += \
	%D%/engine.c \
	%D%/engine_data.c \
	%D%/python_random.c \
	%D%/task.c

# The tasks that the program knows
nodist_src_trainer_libtrainer_a_SOURCES += %D%/known_tasks.c
CLEANFILES += %D%/known_tasks.c
src/trainer/engine/known_tasks.c: conf/tasks.ini scripts/quote
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(srcdir)/scripts/quote \
	    trainer/engine/task.h task_known \
	    $(srcdir)/conf/tasks.ini >$@.tmp && mv $@.tmp $@
