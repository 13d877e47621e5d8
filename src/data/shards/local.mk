# Ids to files, to batches, and back.
src_data_libdata_a_SOURCES += \
	%D%/documents.c \
	%D%/encode_corpus.c \
	%D%/loader.c \
	%D%/lock.c \
	%D%/mixture.c \
	%D%/shard.c \
	%D%/sink.c
