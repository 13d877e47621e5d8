src_common_libcommon_a_SOURCES += \
	%D%/http.c
