# Ids to files, to batches, and back.
src_data_libdata_a_SOURCES += \
	%D%/bestfit.c \
	%D%/bestfit.h \
	%D%/decoder.c \
	%D%/decoder.h \
	%D%/documents.c \
	%D%/documents.h \
	%D%/encode_block.c \
	%D%/encode_block.h \
	%D%/encode_corpus.c \
	%D%/encode_corpus.h \
	%D%/loader.c \
	%D%/loader.h \
	%D%/lock.c \
	%D%/lock.h \
	%D%/lock_check.c \
	%D%/mixture.c \
	%D%/mixture.h \
	%D%/permute.c \
	%D%/permute.h \
	%D%/shard.c \
	%D%/shard.h \
	%D%/shares.c \
	%D%/shares.h \
	%D%/shuffle.c \
	%D%/shuffle.h \
	%D%/sink.c \
	%D%/sink.h
