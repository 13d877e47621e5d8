# What the points of runs say.
src_store_libstore_a_SOURCES += \
	%D%/forecast.c \
	%D%/forecast.h \
	%D%/forecast_run.c \
	%D%/forecast_run.h \
	%D%/histogram.c \
	%D%/histogram.h \
	%D%/paired_runs.c \
	%D%/paired_runs.h \
	%D%/planned_rates.c \
	%D%/planned_rates.h \
	%D%/spent.c \
	%D%/spent.h \
	%D%/spike.c \
	%D%/spike.h
