# What reads runs.
src_store_libstore_a_SOURCES += \
	%D%/beats.c \
	%D%/beats.h \
	%D%/index.c \
	%D%/index.h \
	%D%/load_run.c \
	%D%/load_run.h \
	%D%/outline.c \
	%D%/outline.h \
	%D%/pack.c \
	%D%/pack.h \
	%D%/run_rate.c \
	%D%/run_rate.h \
	%D%/runs.c \
	%D%/runs.h \
	%D%/series.c
