# The library for other programs.  All of it is one object, in which only the
# names of gtrack.h can be seen, so that an err_set() or a buf_add() of theirs is
# theirs.
src_store_libstore_a_SOURCES += \
	%D%/libgtrack.c

libgtrack_version = 0.1.0
libgtrack_so = libgtrack.so.$(libgtrack_version)

lib_LIBRARIES += libgtrack.a
libgtrack_a_SOURCES =
libgtrack_a_LIBADD = %D%/whole.o
EXTRA_libgtrack_a_DEPENDENCIES = %D%/whole.o
include_HEADERS += %D%/gtrack.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = %D%/gtrack.pc
EXTRA_DIST += %D%/libgtrack.map
CLEANFILES += %D%/whole.o $(libgtrack_so) libgtrack.so.0

%D%/whole.o: src/store/libstore.a src/common/libcommon.a
	$(AM_V_at)$(MKDIR_P) %D%
	$(AM_V_GEN)$(CC) -r -nostdlib -Wl,-u,gtrack_open -o $@ src/store/libstore.a \
	    src/common/libcommon.a && \
	$(OBJCOPY) -w --keep-global-symbol='gtrack_*' $@

# libgtrack.so.0 is the name by which programs and the Python package find it
all-local: libgtrack.so.0
libgtrack.so.0: %D%/whole.o %D%/libgtrack.map
	$(AM_V_CCLD)$(CC) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -shared \
	    -Wl,-soname,$@ -Wl,-z,relro \
	    -Wl,--version-script=$(srcdir)/%D%/libgtrack.map \
	    -o $(libgtrack_so) %D%/whole.o $(YAML_LIBS) $(LIBS) -lpthread && \
	ln -sf $(libgtrack_so) $@

install-exec-local: install-libgtrack-so
install-libgtrack-so: libgtrack.so.0
	$(MKDIR_P) '$(DESTDIR)$(libdir)'
	$(INSTALL_PROGRAM) $(libgtrack_so) '$(DESTDIR)$(libdir)'
	cd '$(DESTDIR)$(libdir)' && ln -sf $(libgtrack_so) libgtrack.so.0 && \
	    ln -sf libgtrack.so.0 libgtrack.so
uninstall-local: uninstall-libgtrack-so
uninstall-libgtrack-so:
	cd '$(DESTDIR)$(libdir)' && \
	    rm -f libgtrack.so libgtrack.so.0 $(libgtrack_so)
.PHONY: install-libgtrack-so uninstall-libgtrack-so
