# The files of a store.
src_store_libstore_a_SOURCES += \
	%D%/attempt.c \
	%D%/chain.c \
	%D%/experiment.c \
	%D%/info.c \
	%D%/key.c \
	%D%/meta.c \
	%D%/metric.c \
	%D%/saved_panels.c \
	%D%/store.c \
	%D%/tfevents.c
