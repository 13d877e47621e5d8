# Numbers made by other programs, and the scripts that made them.
EXTRA_DIST += \
	%D%/filters.py \
	%D%/gguf_check.py \
	%D%/gguf_tokens.py \
	%D%/hf_loss.py \
	%D%/model.py \
	%D%/model.txt \
	%D%/options.py \
	%D%/parquet.py \
	%D%/sentencepiece.json \
	%D%/sentencepiece.py
