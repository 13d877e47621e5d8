# libdata.a is for gdata, gtrain and the tests; what only gdata needs is listed
# with the program.
noinst_LIBRARIES += src/data/libdata.a
src_data_libdata_a_SOURCES = \
	%D%/batch.c \
	%D%/batch.h \
	%D%/corpus.c \
	%D%/corpus.h \
	%D%/corpus_docs.c \
	%D%/corpus_feed.c \
	%D%/corpus_impl.h \
	%D%/corpus_opts.c \
	%D%/cut.c \
	%D%/cut.h \
	%D%/files.c \
	%D%/files.h \
	%D%/gather.c \
	%D%/gather.h \
	%D%/hashset.c \
	%D%/hashset.h \
	%D%/jsonl.c \
	%D%/jsonl.h \
	%D%/leak.c \
	%D%/leak.h \
	%D%/lexicon.c \
	%D%/lexicon.h \
	%D%/lock.c \
	%D%/lock_check.c \
	%D%/lock.h \
	%D%/loose.h \
	%D%/ngram.c \
	%D%/ngram.h \
	%D%/parquet.h \
	%D%/documents.c \
	%D%/documents.h \
	%D%/permute.c \
	%D%/permute.h \
	%D%/prose.c \
	%D%/prose.h \
	%D%/prose_roff.c \
	%D%/shard.c \
	%D%/shard.h \
	%D%/source.c \
	%D%/source.h \
	%D%/tokenizer.h
src_data_libdata_a_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS) $(ZSTD_CFLAGS) \
	$(ISAL_CFLAGS) $(JANSSON_CFLAGS)

if HAVE_ISAL
src_data_libdata_a_SOURCES += %D%/gzip_isal.c
else
src_data_libdata_a_SOURCES += %D%/gzip_zlib.c
endif

if HAVE_PARQUET
src_data_libdata_a_SOURCES += %D%/parquet.c %D%/parquet_decode.c \
	%D%/parquet_decode.h %D%/parquet_footer.c \
	%D%/parquet_footer.h %D%/thrift.c %D%/thrift.h
else
src_data_libdata_a_SOURCES += %D%/parquet_none.c
endif

if HAVE_ZSTD
src_data_libdata_a_SOURCES += %D%/zstd.c
else
src_data_libdata_a_SOURCES += %D%/zstd_none.c
endif

# text to ids
src_data_libdata_a_SOURCES += \
	%D%/bpe.c \
	%D%/bpe.h \
	%D%/bpe_train.c \
	%D%/bpe_train.h \
	%D%/classes.c \
	%D%/classes.h \
	%D%/decoder.c \
	%D%/decoder.h \
	%D%/encode.c \
	%D%/encode.h \
	%D%/encoder.c \
	%D%/json.c \
	%D%/json.h \
	%D%/sink.c \
	%D%/sink.h \
	%D%/split.c \
	%D%/split.h \
	%D%/split_impl.h \
	%D%/tokenizer.c \
	%D%/tokfile.c \
	%D%/tokfile.h \
	%D%/tokfile_json.c \
	%D%/tokfile_pickle.c \
	%D%/tokfile_tiktoken.c \
	%D%/tokfile_write.c \
	%D%/word_key.h \
	%D%/words.c \
	%D%/words.h
EXTRA_DIST += scripts/classes

if X86_64
src_data_libdata_a_SOURCES += %D%/split_x86.c
else
src_data_libdata_a_SOURCES += %D%/split_none.c
endif

DATA_LIBS = src/data/libdata.a $(COMMON_LIBS) $(ZSTD_LIBS) $(ISAL_LIBS)

bin_PROGRAMS += gdata
gdata_SOURCES = \
	%D%/catalog.c \
	%D%/catalog.h \
	%D%/cmd_bpe.c \
	%D%/cmd_decode.c \
	%D%/cmd_dedup.c \
	%D%/cmd_encode.c \
	%D%/cmd_fetch.c \
	%D%/cmd_gather.c \
	%D%/cmd_info.c \
	%D%/cmd_leak.c \
	%D%/cmd_lock.c \
	%D%/cmd_ngram.c \
	%D%/cmd_verify.c \
	%D%/cmd_vocab.c \
	%D%/cmds.h \
	%D%/fetch.c \
	%D%/fetch.h \
	%D%/gdata.c
gdata_LDADD = $(DATA_LIBS)
