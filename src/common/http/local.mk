src_common_libcommon_a_SOURCES += \
	%D%/http.c \
	%D%/http.h \
	%D%/http_impl.h \
	%D%/http_try.c
