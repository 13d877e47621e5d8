# Statistics.
src_common_libcommon_a_SOURCES += \
	%D%/least_squares.c \
	%D%/paired.c \
	%D%/scaling_law.c \
	%D%/student.c
