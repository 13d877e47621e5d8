# tests of gtrack, and of what all programs print tables with
check_PROGRAMS += t/table.t
test_programs += t/table.t
t_table_t_SOURCES = %D%/table.c %D%/tap.h
t_table_t_LDADD = $(COMMON_LIBS)
dist_check_SCRIPTS += \
	%D%/t5010-track.t \
	%D%/t5011-track-examples.t \
	%D%/t5012-exchange.t \
	%D%/t5013-lost.t \
	%D%/t5020-push.t \
	%D%/t9010-track-peers.t
peer_scripts += %D%/t9010-track-peers.t
EXTRA_DIST += %D%/track-lib.sh %D%/server.pl %D%/tls-front.py %D%/peers-filters.py
EXTRA_DIST += %D%/fuzz/import.c %D%/fuzz/seeds/import/csv \
	%D%/fuzz/seeds/import/far %D%/fuzz/seeds/import/jsonl \
	%D%/fuzz/seeds/import/llmc \
	%D%/fuzz/seeds/import/nanogpt %D%/fuzz/seeds/import/tensorboard \
	%D%/fuzz/seeds/import/wandb
