# What writes runs and changes them.
src_store_libstore_a_SOURCES += \
	%D%/bulk.c \
	%D%/bulk.h \
	%D%/capture.c \
	%D%/capture.h \
	%D%/edit.c \
	%D%/edit.h \
	%D%/handed_run.c \
	%D%/handed_run.h \
	%D%/move.c \
	%D%/move.h \
	%D%/new_run.c \
	%D%/new_run.h \
	%D%/point_queue.c \
	%D%/point_queue.h \
	%D%/run.c \
	%D%/run.h \
	%D%/stage.c \
	%D%/stage.h \
	%D%/watcher.c \
	%D%/watcher.h \
	%D%/writer.c \
	%D%/writer.h
