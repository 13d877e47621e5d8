# What the tests share: a TAP library for C and for shell, servers that
# misbehave as told, and programs that make or damage a store.
EXTRA_DIST += \
	%D%/ask.pl \
	%D%/campaign.sh \
	%D%/commands.sh \
	%D%/fixtures.sh \
	%D%/folder \
	%D%/httpd.pl \
	%D%/parquet.pl \
	%D%/power_cut.pl \
	%D%/run_facts.pl \
	%D%/server.pl \
	%D%/serve.sh \
	%D%/tap.sh \
	%D%/tls_front.py \
	%D%/wandb_log.pl

check_PROGRAMS += t/lib/disk.so t/lib/disturb t/lib/mkruns \
	t/lib/shim.so t/lib/store_tool t/lib/tries.so
t_lib_tries_so_SOURCES = %D%/tries.c
t_lib_tries_so_CFLAGS = -std=gnu11 -Wall -Wextra -fPIC
t_lib_tries_so_LDFLAGS = -shared
t_lib_tries_so_LDADD =
t_lib_disk_so_SOURCES = %D%/disk.c
t_lib_disk_so_CFLAGS = -std=gnu11 -Wall -Wextra -fPIC
t_lib_disk_so_LDFLAGS = -shared
t_lib_disk_so_LDADD =
t_lib_disturb_SOURCES = %D%/disturb.c %D%/disturb.h %D%/record.c
t_lib_disturb_LDADD =
t_lib_mkruns_SOURCES = %D%/mkruns.c
t_lib_mkruns_LDADD = $(STORE_LIBS)
t_lib_store_tool_SOURCES = %D%/store_tool.c
t_lib_store_tool_LDADD = $(STORE_LIBS)
t_lib_shim_so_SOURCES = %D%/shim.c
t_lib_shim_so_CFLAGS = -std=gnu11 -Wall -Wextra -fPIC
t_lib_shim_so_LDFLAGS = -shared
t_lib_shim_so_LDADD =
