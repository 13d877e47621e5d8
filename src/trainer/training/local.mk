# The training loop and its parts.
src_trainer_libtrainer_a_SOURCES += \
	%D%/eval.c \
	%D%/meter.c \
	%D%/multiple_choice.c \
	%D%/report.c \
	%D%/report_params.c \
	%D%/sampler.c \
	%D%/step.c \
	%D%/task.c \
	%D%/task_shots.c \
	%D%/train.c

# The tasks that the program knows
nodist_src_trainer_libtrainer_a_SOURCES += %D%/known_tasks.c
CLEANFILES += %D%/known_tasks.c
src/trainer/training/known_tasks.c: conf/tasks.ini scripts/quote
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(srcdir)/scripts/quote \
	    trainer/training/task.h task_known \
	    $(srcdir)/conf/tasks.ini >$@.tmp && mv $@.tmp $@
