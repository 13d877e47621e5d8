# A model in memory, with its data, its device and the other ranks.
src_trainer_libtrainer_a_SOURCES += \
	%D%/job.c \
	%D%/job.h \
	%D%/job_agree.c \
	%D%/job_agree.h \
	%D%/job_check.c \
	%D%/job_check.h \
	%D%/job_data.c \
	%D%/job_data.h
