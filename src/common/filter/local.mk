# Filters of anything: of runs, of documents.
src_common_libcommon_a_SOURCES += \
	%D%/filter_tree.c
