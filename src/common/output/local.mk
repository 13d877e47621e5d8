src_common_libcommon_a_SOURCES += \
	%D%/emit.c \
	%D%/emit.h \
	%D%/pager.c \
	%D%/pager.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/table.c \
	%D%/table.h \
	%D%/table_cell.c \
	%D%/table_data.c \
	%D%/table_form.c \
	%D%/table_impl.h
