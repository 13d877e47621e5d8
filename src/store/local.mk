noinst_LIBRARIES += src/store/libstore.a
src_store_libstore_a_SOURCES = \
	%D%/attempt.c \
	%D%/attempt.h \
	%D%/bulk.c \
	%D%/bulk.h \
	%D%/capture.c \
	%D%/capture.h \
	%D%/edit.c \
	%D%/edit.h \
	%D%/experiment.c \
	%D%/filter.c \
	%D%/filter.h \
	%D%/filter_impl.h \
	%D%/filter_lex.c \
	%D%/filter_parse.c \
	%D%/filter_resolve.c \
	%D%/find_key.c \
	%D%/find_key.h \
	%D%/gtrack.h \
	%D%/index.c \
	%D%/index.h \
	%D%/input.c \
	%D%/input.h \
	%D%/key.c \
	%D%/key.h \
	%D%/libgtrack.c \
	%D%/load.c \
	%D%/load.h \
	%D%/load_run.c \
	%D%/load_run.h \
	%D%/md5.c \
	%D%/md5.h \
	%D%/meta.c \
	%D%/meta.h \
	%D%/metric.c \
	%D%/metric.h \
	%D%/new_run.c \
	%D%/new_run.h \
	%D%/pack.c \
	%D%/pack.h \
	%D%/point_queue.c \
	%D%/point_queue.h \
	%D%/run.c \
	%D%/run.h \
	%D%/select.c \
	%D%/stage.c \
	%D%/stage.h \
	%D%/store.c \
	%D%/store.h \
	%D%/tfevents.c \
	%D%/tfevents.h \
	%D%/unicode_letters.c \
	%D%/writer.c \
	%D%/writer.h

include src/store/fsck/local.mk

STORE_LIBS = src/store/libstore.a $(COMMON_LIBS)
EXTRA_DIST += scripts/letters

# The same for other people's programs: one object, in which only the names of
# gtrack.h can be seen, so that an err_set() or a buf_add() of theirs is theirs.
lib_LIBRARIES += libgtrack.a
libgtrack_a_SOURCES =
libgtrack_a_LIBADD = src/store/gtrack-whole.o
EXTRA_libgtrack_a_DEPENDENCIES = src/store/gtrack-whole.o
include_HEADERS += %D%/gtrack.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = %D%/gtrack.pc
CLEANFILES += %D%/gtrack-whole.o

src/store/gtrack-whole.o: src/store/libstore.a src/common/libcommon.a
	$(AM_V_GEN)$(CC) -r -nostdlib -Wl,-u,gtrack_open -o $@ src/store/libstore.a \
	    src/common/libcommon.a && \
	$(OBJCOPY) -w --keep-global-symbol='gtrack_*' $@
