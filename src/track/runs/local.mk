# Choosing runs, columns, rows.
gtrack_SOURCES += \
	%D%/again.c \
	%D%/again.h \
	%D%/auto_columns.c \
	%D%/auto_columns.h \
	%D%/column.c \
	%D%/column.h \
	%D%/column_parse.c \
	%D%/column_parse.h \
	%D%/column_sort.c \
	%D%/column_sort.h \
	%D%/compare_table.c \
	%D%/compare_table.h \
	%D%/copy.c \
	%D%/copy.h \
	%D%/file_tree.c \
	%D%/file_tree.h \
	%D%/ls_columns.c \
	%D%/ls_columns.h \
	%D%/row_groups.c \
	%D%/row_groups.h \
	%D%/run_facts.c \
	%D%/run_facts.h \
	%D%/slurm_jobs.c \
	%D%/slurm_jobs.h \
	%D%/spark.c \
	%D%/spark.h \
	%D%/track.c \
	%D%/track.h \
	%D%/value_line.c \
	%D%/value_line.h
