src_common_libcommon_a_SOURCES += \
	%D%/cores.c \
	%D%/cores.h \
	%D%/limits.c \
	%D%/limits.h \
	%D%/nvml.c \
	%D%/nvml.h \
	%D%/usage.c \
	%D%/usage.h
