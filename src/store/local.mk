noinst_LIBRARIES += src/store/libstore.a
src_store_libstore_a_CFLAGS = $(AM_CFLAGS) -fPIC $(JANSSON_CFLAGS)
src_store_libstore_a_SOURCES = \
	%D%/attempt.c \
	%D%/attempt.h \
	%D%/bulk.c \
	%D%/bulk.h \
	%D%/capture.c \
	%D%/capture.h \
	%D%/edit.c \
	%D%/edit.h \
	%D%/experiment.c \
	%D%/handed_run.c \
	%D%/handed_run.h \
	%D%/index.c \
	%D%/index.h \
	%D%/info.c \
	%D%/info.h \
	%D%/input.c \
	%D%/input.h \
	%D%/key.c \
	%D%/key.h \
	%D%/load.c \
	%D%/load.h \
	%D%/load_run.c \
	%D%/load_run.h \
	%D%/md5.c \
	%D%/md5.h \
	%D%/meta.c \
	%D%/meta.h \
	%D%/metric.c \
	%D%/metric.h \
	%D%/metric_append.c \
	%D%/metric_append.h \
	%D%/move.c \
	%D%/move.h \
	%D%/new_run.c \
	%D%/new_run.h \
	%D%/outline.c \
	%D%/outline.h \
	%D%/pack.c \
	%D%/pack.h \
	%D%/point_queue.c \
	%D%/point_queue.h \
	%D%/rewind.c \
	%D%/rewind.h \
	%D%/run.c \
	%D%/run.h \
	%D%/series.c \
	%D%/stage.c \
	%D%/stage.h \
	%D%/store.c \
	%D%/store.h \
	%D%/tfevents.c \
	%D%/tfevents.h \
	%D%/tfevents_impl.h \
	%D%/tfevents_read.c \
	%D%/unicode_letters.c \
	%D%/watcher.c \
	%D%/watcher.h \
	%D%/writer.c \
	%D%/writer.h

include src/store/fsck/local.mk
include src/store/lib/local.mk
include src/store/query/local.mk
include src/store/analysis/local.mk

STORE_LIBS = src/store/libstore.a $(COMMON_LIBS)
EXTRA_DIST += scripts/letters
