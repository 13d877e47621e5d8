# What writes runs and changes them.
src_store_libstore_a_SOURCES += \
	%D%/edit.c \
	%D%/new_run.c \
	%D%/point_queue.c \
	%D%/provenance.c \
	%D%/run.c \
	%D%/run_output.c \
	%D%/writer.c
