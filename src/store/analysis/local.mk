# What the points of runs say.
src_store_libstore_a_SOURCES += \
	%D%/histogram.c \
	%D%/histogram.h \
	%D%/paired.c \
	%D%/paired.h \
	%D%/spent.c \
	%D%/spent.h \
	%D%/spike.c \
	%D%/spike.h
