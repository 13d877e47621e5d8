# libdata.a is for gdata, gtrain and the tests.
noinst_LIBRARIES += src/data/libdata.a
src_data_libdata_a_SOURCES =
src_data_libdata_a_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS) $(ZSTD_CFLAGS) \
	$(ISAL_CFLAGS) $(JANSSON_CFLAGS)

include src/data/token/local.mk
include src/data/corpus/local.mk
include src/data/shards/local.mk

DATA_LIBS = src/data/libdata.a $(COMMON_LIBS) $(ZSTD_LIBS) $(ISAL_LIBS)

bin_PROGRAMS += gdata
# The commands, in the order of the help text
gdata_SOURCES = \
	%D%/cmd_bpe.c \
	%D%/cmd_classify.c \
	%D%/cmd_clean.c \
	%D%/cmd_decode.c \
	%D%/cmd_encode.c \
	%D%/cmd_dedup.c \
	%D%/cmd_fetch.c \
	%D%/cmd_gather.c \
	%D%/cmd_info.c \
	%D%/cmd_leak.c \
	%D%/cmd_lock.c \
	%D%/cmd_sample.c \
	%D%/cmd_verify.c \
	%D%/cmd_vocab.c \
	%D%/gdata.c
nodist_gdata_SOURCES = src/commit.c %D%/cmds.c
gdata_LDADD = $(DATA_LIBS)
