# tests of src/data
include t/tokens.mk

check_PROGRAMS += t/batch.t t/corpus.t t/http.t t/shard.t
test_programs += t/batch.t t/corpus.t t/http.t t/shard.t
t_batch_t_SOURCES = %D%/batch.c %D%/tap.h
t_batch_t_LDADD = $(DATA_LIBS)
t_corpus_t_SOURCES = %D%/corpus.c %D%/tap.h
t_corpus_t_LDADD = $(DATA_LIBS)
t_http_t_SOURCES = %D%/http.c %D%/tap.h
t_http_t_LDADD = $(COMMON_LIBS)
t_shard_t_SOURCES = %D%/shard.c %D%/tap.h
t_shard_t_LDADD = $(DATA_LIBS)
dist_check_SCRIPTS += %D%/t3010-gather.t
dist_check_SCRIPTS += %D%/t3020-fetch.t
dist_check_SCRIPTS += %D%/t3030-care.t %D%/t3040-parquet.t %D%/t3050-train.t
dist_check_SCRIPTS += %D%/t9040-data.t
peer_scripts += %D%/t9040-data.t
EXTRA_DIST += %D%/httpd.pl

# Fuzzing, by libFuzzer or t/fuzz/drive.c: without limit, or FUZZ_SECONDS for
# each target.
EXTRA_DIST += %D%/fuzz/drive.c %D%/fuzz/fuzz.h %D%/fuzz/run %D%/fuzz/corpus.c \
	%D%/fuzz/jsonl.c %D%/fuzz/lock.c %D%/fuzz/parquet.c %D%/fuzz/prose.c \
	%D%/fuzz/shard.c %D%/reference/parquet.py \
	%D%/fuzz/seeds/parquet/delta.parquet \
	%D%/fuzz/seeds/parquet/encrypted.parquet \
	%D%/fuzz/seeds/parquet/endless.parquet \
	%D%/fuzz/seeds/parquet/groups.parquet \
	%D%/fuzz/seeds/parquet/gzip2.parquet \
	%D%/fuzz/seeds/parquet/plain.parquet \
	%D%/fuzz/seeds/parquet/prefix.parquet \
	%D%/fuzz/seeds/parquet/snappy.parquet \
	%D%/fuzz/seeds/parquet/zstd2.parquet
EXTRA_DIST += %D%/fuzz/seeds/corpus/lines.gz \
	%D%/fuzz/seeds/corpus/lines.jsonl \
	%D%/fuzz/seeds/corpus/lines.zst \
	%D%/fuzz/seeds/corpus/text.txt \
	%D%/fuzz/seeds/corpus/two.gz \
	%D%/fuzz/seeds/jsonl/object \
	%D%/fuzz/seeds/lock/one \
	%D%/fuzz/seeds/prose/pod \
	%D%/fuzz/seeds/prose/roff \
	%D%/fuzz/seeds/shard/llmc.bin \
	%D%/fuzz/seeds/shard/two.npy
FUZZ_SECONDS = 0
FUZZ_TARGETS =
fuzz: all
	$(AM_V_at)FUZZ_LIBS='$(DATA_LIBS)' \
	    $(top_srcdir)/t/fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)
.PHONY: fuzz
clean-local:
	-rm -rf fuzz
