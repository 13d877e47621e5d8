# Searches over settings, and the processes that run them.
src_trainer_libtrainer_a_SOURCES += \
	%D%/child_pool.c \
	%D%/child_pool.h \
	%D%/search.c \
	%D%/search.h \
	%D%/search_report.c \
	%D%/slurm.c \
	%D%/slurm.h \
	%D%/sweep.c \
	%D%/sweep.h
