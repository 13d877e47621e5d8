# tests of the tokenizer
EXTRA_DIST += doc/tokens.md
check_PROGRAMS += t/lexicon.t t/split.t t/tokenizer.t t/words.t
test_programs += t/lexicon.t t/split.t t/tokenizer.t t/words.t
t_lexicon_t_SOURCES = %D%/lexicon.c %D%/tap.h
t_lexicon_t_LDADD = $(DATA_LIBS)
t_split_t_SOURCES = %D%/split.c %D%/tap.h
t_split_t_LDADD = $(DATA_LIBS)
t_tokenizer_t_SOURCES = %D%/tokenizer.c %D%/tap.h
t_tokenizer_t_LDADD = $(DATA_LIBS)
t_words_t_SOURCES = %D%/words.c %D%/tap.h
t_words_t_LDADD = $(DATA_LIBS)
dist_check_SCRIPTS += %D%/t3020-bpe.t %D%/t3021-encode.t
EXTRA_DIST += %D%/fuzz/tokenizer.c %D%/fuzz/tokfile.c \
	%D%/fuzz/seeds/tokfile/json %D%/fuzz/seeds/tokfile/merges \
	%D%/fuzz/seeds/tokfile/pickle1 %D%/fuzz/seeds/tokfile/pickle2 \
	%D%/fuzz/seeds/tokfile/pickle4 %D%/fuzz/seeds/tokfile/tiktoken \
	%D%/fuzz/seeds/tokfile/vocab

# beside tokenizers and tiktoken
peer_scripts += %D%/t9020-peers-tokenizer.t
EXTRA_DIST += %D%/t9020-peers-tokenizer.t %D%/peers-tokenizer.py
