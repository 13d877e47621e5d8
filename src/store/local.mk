noinst_LIBRARIES += src/store/libstore.a
src_store_libstore_a_CFLAGS = $(AM_CFLAGS) -fPIC $(JANSSON_CFLAGS)
src_store_libstore_a_SOURCES =

include src/store/format/local.mk
include src/store/read/local.mk
include src/store/write/local.mk
include src/store/fsck/local.mk
include src/store/lib/local.mk
include src/store/query/local.mk
include src/store/analysis/local.mk
include src/store/alert/local.mk

STORE_LIBS = src/store/libstore.a $(COMMON_LIBS)
