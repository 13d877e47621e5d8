# What writes runs and changes them.
src_store_libstore_a_SOURCES += \
	%D%/claimed_run.c \
	%D%/claimed_run.h \
	%D%/edit.c \
	%D%/edit.h \
	%D%/move.c \
	%D%/move.h \
	%D%/new_run.c \
	%D%/new_run.h \
	%D%/point_queue.c \
	%D%/point_queue.h \
	%D%/provenance.c \
	%D%/provenance.h \
	%D%/run.c \
	%D%/run.h \
	%D%/run_output.c \
	%D%/run_output.h \
	%D%/staging.c \
	%D%/staging.h \
	%D%/stored_run.c \
	%D%/stored_run.h \
	%D%/writer.c \
	%D%/writer.h
