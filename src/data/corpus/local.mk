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
	%D%/corpus_opts.c \
	%D%/corpus_parquet.h \
	%D%/download.c \
	%D%/download.h \
	%D%/fetch.c \
	%D%/fetch.h \
	%D%/gather.c \
	%D%/gather.h \
	%D%/gzip.c \
	%D%/gzip.h \
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
	%D%/source.c \
	%D%/source.h \
	%D%/source_url.c \
	%D%/source_url.h

if HAVE_ISAL
src_data_libdata_a_SOURCES += %D%/gzip_isal.c
else
src_data_libdata_a_SOURCES += %D%/gzip_zlib.c
endif

if HAVE_PARQUET
src_data_libdata_a_SOURCES += \
	%D%/corpus_parquet.c \
	%D%/parquet.c \
	%D%/parquet.h \
	%D%/parquet_decode.c \
	%D%/parquet_decode.h \
	%D%/parquet_footer.c \
	%D%/parquet_footer.h \
	%D%/parquet_page.c \
	%D%/parquet_page.h \
	%D%/thrift.c \
	%D%/thrift.h
else
src_data_libdata_a_SOURCES += %D%/corpus_parquet_none.c
endif

if HAVE_ZSTD
src_data_libdata_a_SOURCES += %D%/zstd.c
else
src_data_libdata_a_SOURCES += %D%/zstd_none.c
endif
