noinst_LIBRARIES += src/common/libcommon.a
src_common_libcommon_a_SOURCES = \
	%D%/buf.c \
	%D%/buf.h \
	%D%/clock.c \
	%D%/clock.h \
	%D%/conf.c \
	%D%/conf.h \
	%D%/confine.h \
	%D%/dl.c \
	%D%/dl.h \
	%D%/err.c \
	%D%/err.h \
	%D%/filelock.c \
	%D%/filelock.h \
	%D%/hash.c \
	%D%/hash.h \
	%D%/log.c \
	%D%/log.h \
	%D%/mem.c \
	%D%/mem.h \
	%D%/num.c \
	%D%/num.h \
	%D%/opt.c \
	%D%/opt.h \
	%D%/path.c \
	%D%/path.h \
	%D%/program.c \
	%D%/program.h \
	%D%/random.c \
	%D%/random.h \
	%D%/rng.h \
	%D%/save.c \
	%D%/save.h \
	%D%/sha256.c \
	%D%/sha256.h \
	%D%/shortest.c \
	%D%/sig.c \
	%D%/sig.h \
	%D%/spawn.c \
	%D%/spawn.h \
	%D%/utf8.c \
	%D%/utf8.h
src_common_libcommon_a_CFLAGS = $(AM_CFLAGS) -fPIC $(CURL_CFLAGS) $(YAML_CFLAGS) \
	$(INIH_CFLAGS) $(JANSSON_CFLAGS)

include src/common/output/local.mk
include src/common/http/local.mk
include src/common/machine/local.mk
include src/common/format/local.mk
include src/common/filter/local.mk
include src/common/stats/local.mk

# libcurl is opened when needed (http_try.c), so nothing links with it
COMMON_LIBS = src/common/libcommon.a $(JANSSON_LIBS) \
	$(YAML_LIBS) $(INIH_LIBS) $(ZLIB_LIBS) -lpthread

src_common_libcommon_a_SOURCES += %D%/confine_calls.c
if HAVE_LANDLOCK
src_common_libcommon_a_SOURCES += %D%/confine.c
else
src_common_libcommon_a_SOURCES += %D%/confine_none.c
endif
