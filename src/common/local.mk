noinst_LIBRARIES += src/common/libcommon.a
src_common_libcommon_a_SOURCES = \
	%D%/buf.c \
	%D%/clock.c \
	%D%/conf.c \
	%D%/dl.c \
	%D%/err.c \
	%D%/hash.c \
	%D%/log.c \
	%D%/mem.c \
	%D%/num.c \
	%D%/opt.c \
	%D%/path.c \
	%D%/program.c \
	%D%/random.c \
	%D%/save.c \
	%D%/sha256.c \
	%D%/sig.c \
	%D%/spawn.c \
	%D%/utf8.c
src_common_libcommon_a_CFLAGS = $(AM_CFLAGS) -fPIC $(CURL_CFLAGS) $(YAML_CFLAGS) \
	$(INIH_CFLAGS) $(JANSSON_CFLAGS)

include src/common/output/local.mk
include src/common/http/local.mk
include src/common/machine/local.mk
include src/common/format/local.mk
include src/common/filter/local.mk
include src/common/stats/local.mk

# libcurl is opened when needed (http.c), so nothing links with it
COMMON_LIBS = src/common/libcommon.a $(JANSSON_LIBS) \
	$(YAML_LIBS) $(INIH_LIBS) $(ZLIB_LIBS) -lpthread

src_common_libcommon_a_SOURCES += %D%/confine_calls.c
if HAVE_LANDLOCK
src_common_libcommon_a_SOURCES += %D%/confine.c
else
src_common_libcommon_a_SOURCES += %D%/confine_none.c
endif
