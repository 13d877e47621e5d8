# Beside other people's programs, where GT_PYTHON has those of requirements.txt.
peer_scripts += \
	%D%/t9001-mlflow.t \
	%D%/t9010-track.t \
	%D%/t9020-tokenizer.t \
	%D%/t9021-sentencepiece.t \
	%D%/t9022-llama.t \
	%D%/t9023-chat.t \
	%D%/t9024-tasks.t \
	%D%/t9040-data.t \
	%D%/t9045-clean.t \
	%D%/t9046-classify.t \
	%D%/t9050-options.t \
	%D%/t9060-torchrun.t \
	%D%/t9070-python.t \
	%D%/t9080-cudnn.t \
	%D%/t9090-bare.t
EXTRA_DIST += $(peer_scripts) \
	%D%/classify.py \
	%D%/clean.py \
	%D%/filters.py \
	%D%/libraries.txt \
	%D%/requirements.txt \
	%D%/sentencepiece.py \
	%D%/tasks.py \
	%D%/test_libraries.py \
	%D%/test_python.py \
	%D%/tokenizer.py
check-peers: bench/start
