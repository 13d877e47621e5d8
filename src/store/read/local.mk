# What reads runs.
src_store_libstore_a_SOURCES += \
	%D%/index.c \
	%D%/load_run.c \
	%D%/outline.c \
	%D%/runs.c \
	%D%/series.c
