# The files of a store.
src_store_libstore_a_SOURCES += \
	%D%/attempt.c \
	%D%/attempt.h \
	%D%/chain.c \
	%D%/chain.h \
	%D%/changed.c \
	%D%/changed.h \
	%D%/dataset.c \
	%D%/dataset.h \
	%D%/experiment.c \
	%D%/info.c \
	%D%/info.h \
	%D%/key.c \
	%D%/key.h \
	%D%/md5.c \
	%D%/md5.h \
	%D%/meta.c \
	%D%/meta.h \
	%D%/metric.c \
	%D%/metric.h \
	%D%/metric_append.c \
	%D%/metric_append.h \
	%D%/rewind.c \
	%D%/rewind.h \
	%D%/store.c \
	%D%/store.h \
	%D%/tfevents.c \
	%D%/tfevents.h \
	%D%/tfevents_impl.h \
	%D%/tfevents_read.c
