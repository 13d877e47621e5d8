# Choosing runs, columns, rows.
gtrack_SOURCES += \
	%D%/column.c \
	%D%/column_parse.c \
	%D%/compare_table.c \
	%D%/file_tree.c \
	%D%/importance.c \
	%D%/track.c \
	%D%/value_line.c
