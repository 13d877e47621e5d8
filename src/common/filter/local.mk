# Filters of anything: of runs, of documents.
src_common_libcommon_a_SOURCES += \
	%D%/filter_lex.c \
	%D%/filter_test.c \
	%D%/filter_tree.c
