# tests of src/data
include t/tokens.mk

check_PROGRAMS += t/batch.t t/corpus.t t/shard.t
test_programs += t/batch.t t/corpus.t t/shard.t
t_batch_t_SOURCES = %D%/batch.c %D%/tap.h
t_batch_t_LDADD = $(DATA_LIBS)
t_corpus_t_SOURCES = %D%/corpus.c %D%/tap.h
t_corpus_t_LDADD = $(DATA_LIBS)
t_shard_t_SOURCES = %D%/shard.c %D%/tap.h
t_shard_t_LDADD = $(DATA_LIBS)
dist_check_SCRIPTS += %D%/t3010-gather.t
dist_check_SCRIPTS += %D%/t3020-fetch.t
dist_check_SCRIPTS += %D%/t3030-care.t
EXTRA_DIST += %D%/httpd.pl
