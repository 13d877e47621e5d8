# Statistics.
src_common_libcommon_a_SOURCES += \
	%D%/paired.c \
	%D%/scaling_law.c
