# What the tests share: a TAP library for C and for shell, servers that
# misbehave as told, and programs that make or damage a store.
EXTRA_DIST += \
	%D%/ask.pl \
	%D%/fixtures.sh \
	%D%/httpd.pl \
	%D%/server.pl \
	%D%/serve.sh \
	%D%/tap.sh \
	%D%/tls-front.py \
	%D%/wandb-log.pl

check_PROGRAMS += t/lib/kill-at t/lib/mkruns t/lib/store-tool t/lib/allocs.so
t_lib_kill_at_SOURCES = %D%/kill-at.c
t_lib_kill_at_LDADD =
t_lib_mkruns_SOURCES = %D%/mkruns.c
t_lib_mkruns_LDADD = $(STORE_LIBS)
t_lib_store_tool_SOURCES = %D%/store-tool.c
t_lib_store_tool_LDADD = $(STORE_LIBS)
t_lib_allocs_so_SOURCES = %D%/allocs.c
t_lib_allocs_so_CFLAGS = -std=gnu11 -Wall -Wextra -fPIC
t_lib_allocs_so_LDFLAGS = -shared
t_lib_allocs_so_LDADD =
