# Numbers made by other programs, and the scripts that made them.
EXTRA_DIST += \
	%D%/biases \
	%D%/biases.py \
	%D%/core.py \
	%D%/fasttext/both.bin \
	%D%/fasttext/docs.jsonl \
	%D%/fasttext/expected.jsonl \
	%D%/fasttext/tree.bin \
	%D%/fasttext/words.bin \
	%D%/filters.py \
	%D%/fp8.py \
	%D%/fp8.txt \
	%D%/gguf_check.py \
	%D%/gguf_tokens.py \
	%D%/hf_loss.py \
	%D%/model.py \
	%D%/model.txt \
	%D%/options.py \
	%D%/parquet.py \
	%D%/sentencepiece.json \
	%D%/sentencepiece.py \
	%D%/stride.py \
	%D%/stride.txt \
	%D%/teacher.py \
	%D%/teacher.txt
