# Runs chosen by filters.
src_store_libstore_a_SOURCES += \
	%D%/differ.c \
	%D%/filter.c \
	%D%/run_value.c \
	%D%/select.c
