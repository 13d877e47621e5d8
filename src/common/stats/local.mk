# Statistics.
src_common_libcommon_a_SOURCES += \
	%D%/least_squares.c \
	%D%/least_squares.h \
	%D%/paired.c \
	%D%/paired.h \
	%D%/scaling_law.c \
	%D%/scaling_law.h \
	%D%/student.c \
	%D%/student.h
