src_common_libcommon_a_SOURCES += \
	%D%/emit.c \
	%D%/pager.c \
	%D%/progress.c \
	%D%/table.c \
	%D%/table_form.c
