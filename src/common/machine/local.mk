src_common_libcommon_a_SOURCES += \
	%D%/cores.c \
	%D%/limits.c \
	%D%/nvml.c
