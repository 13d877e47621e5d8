src_common_libcommon_a_SOURCES += \
	%D%/http.c \
	%D%/http_try.c
