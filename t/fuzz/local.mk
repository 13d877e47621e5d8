# Fuzzing, by libFuzzer or drive.c: without limit, or FUZZ_SECONDS for each
# target.
EXTRA_DIST += \
	%D%/attempt.c \
	%D%/convert.c \
	%D%/corpus.c \
	%D%/drive.c \
	%D%/filter.c \
	%D%/fuzz.h \
	%D%/import.c \
	%D%/jsonl.c \
	%D%/lock.c \
	%D%/manual_text.c \
	%D%/metric.c \
	%D%/parquet.c \
	%D%/run \
	%D%/seeds/attempt/rewinds \
	%D%/seeds/convert/gpt2 \
	%D%/seeds/convert/llama \
	%D%/seeds/convert/llmc \
	%D%/seeds/corpus/lines.gz \
	%D%/seeds/corpus/lines.jsonl \
	%D%/seeds/corpus/lines.zst \
	%D%/seeds/corpus/text.txt \
	%D%/seeds/corpus/two.gz \
	%D%/seeds/filter/all \
	%D%/seeds/import/csv \
	%D%/seeds/import/far \
	%D%/seeds/import/jsonl \
	%D%/seeds/import/llmc \
	%D%/seeds/import/nanogpt \
	%D%/seeds/import/tensorboard \
	%D%/seeds/import/wandb \
	%D%/seeds/jsonl/object \
	%D%/seeds/lock/one \
	%D%/seeds/manual_text/roff \
	%D%/seeds/metric/points \
	%D%/seeds/parquet/delta.parquet \
	%D%/seeds/parquet/encrypted.parquet \
	%D%/seeds/parquet/endless.parquet \
	%D%/seeds/parquet/groups.parquet \
	%D%/seeds/parquet/gzip2.parquet \
	%D%/seeds/parquet/plain.parquet \
	%D%/seeds/parquet/prefix.parquet \
	%D%/seeds/parquet/snappy.parquet \
	%D%/seeds/parquet/zstd2.parquet \
	%D%/seeds/settings/c4 \
	%D%/seeds/settings/sweep \
	%D%/seeds/shard/llmc.bin \
	%D%/seeds/shard/two.npy \
	%D%/seeds/tensors/half \
	%D%/seeds/tensors/two \
	%D%/seeds/tokfile/json \
	%D%/seeds/tokfile/merges \
	%D%/seeds/tokfile/pickle1 \
	%D%/seeds/tokfile/pickle2 \
	%D%/seeds/tokfile/pickle4 \
	%D%/seeds/tokfile/tiktoken \
	%D%/seeds/tokfile/vocab \
	%D%/seeds/yaml/meta \
	%D%/settings.c \
	%D%/shard.c \
	%D%/tensors.c \
	%D%/tokenizer.c \
	%D%/tokfile.c \
	%D%/yaml.c
FUZZ_SECONDS = 0
FUZZ_TARGETS =
fuzz: all
	$(AM_V_at)FUZZ_LIBS='$(DATA_LIBS)' \
	    $(top_srcdir)/t/fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)
.PHONY: fuzz
clean-fuzz:
	-rm -rf fuzz
clean-local: clean-fuzz
.PHONY: clean-fuzz
