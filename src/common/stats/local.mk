# Statistics.
src_common_libcommon_a_SOURCES += \
	%D%/least_squares.c \
	%D%/least_squares.h \
	%D%/student.c \
	%D%/student.h
