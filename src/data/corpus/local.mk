# Documents from files and servers.
src_data_libdata_a_SOURCES += \
	%D%/catalog.c \
	%D%/clean.c \
	%D%/clean_lists.c \
	%D%/clean_replace.c \
	%D%/clean_rules.def \
	%D%/corpus.c \
	%D%/corpus_docs.c \
	%D%/corpus_feed.c \
	%D%/corpus_files.c \
	%D%/corpus_parquet.c \
	%D%/corpus_writer.c \
	%D%/fasttext.c \
	%D%/grams.c \
	%D%/hashset.c \
	%D%/jsonl.c \
	%D%/leak.c \
	%D%/near.c \
	%D%/roll.c \
	%D%/where.c

include src/data/corpus/parquet/local.mk
include src/data/corpus/source/local.mk
