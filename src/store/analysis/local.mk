# What the points of runs say.
src_store_libstore_a_SOURCES += \
	%D%/forecast_run.c \
	%D%/histogram.c \
	%D%/spent.c \
	%D%/spike.c
