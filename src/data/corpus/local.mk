# Documents from files and servers.
src_data_libdata_a_SOURCES += \
	%D%/catalog.c \
	%D%/catalog.h \
	%D%/corpus.c \
	%D%/corpus.h \
	%D%/corpus_docs.c \
	%D%/corpus_feed.c \
	%D%/corpus_files.c \
	%D%/corpus_files.h \
	%D%/corpus_impl.h \
	%D%/corpus_parquet.c \
	%D%/corpus_parquet.h \
	%D%/fetch.c \
	%D%/fetch.h \
	%D%/gather.c \
	%D%/gather.h \
	%D%/hashset.c \
	%D%/hashset.h \
	%D%/jsonl.c \
	%D%/jsonl.h \
	%D%/leak.c \
	%D%/leak.h \
	%D%/locate.c \
	%D%/locate.h \
	%D%/magic.c \
	%D%/magic.h \
	%D%/normalize.h \
	%D%/where.c \
	%D%/where.h

include src/data/corpus/parquet/local.mk
include src/data/corpus/source/local.mk
