# Choosing runs, columns, rows.
gtrack_SOURCES += \
	%D%/auto_columns.c \
	%D%/auto_columns.h \
	%D%/column.c \
	%D%/column.h \
	%D%/column_parse.c \
	%D%/column_parse.h \
	%D%/compare_table.c \
	%D%/compare_table.h \
	%D%/copy.c \
	%D%/copy.h \
	%D%/file_tree.c \
	%D%/file_tree.h \
	%D%/importance.c \
	%D%/importance.h \
	%D%/left_out.c \
	%D%/left_out.h \
	%D%/row_groups.c \
	%D%/row_groups.h \
	%D%/run_facts.c \
	%D%/run_facts.h \
	%D%/slurm_jobs.c \
	%D%/slurm_jobs.h \
	%D%/track.c \
	%D%/track.h \
	%D%/value_line.c \
	%D%/value_line.h
