# Runs chosen by filters.
src_store_libstore_a_SOURCES += \
	%D%/differ.c \
	%D%/differ.h \
	%D%/filter.c \
	%D%/filter.h \
	%D%/filter_impl.h \
	%D%/filter_parse.c \
	%D%/filter_resolve.c \
	%D%/find_key.c \
	%D%/find_key.h \
	%D%/select.c
