# Ids to files, to batches, and back.
src_data_libdata_a_SOURCES += \
	%D%/decoder.c \
	%D%/documents.c \
	%D%/encode_corpus.c \
	%D%/loader.c \
	%D%/lock.c \
	%D%/lock_check.c \
	%D%/mixture.c \
	%D%/permute.c \
	%D%/shard.c \
	%D%/shares.c \
	%D%/sink.c
