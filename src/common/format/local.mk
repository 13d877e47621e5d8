# Formats of files that others made.
src_common_libcommon_a_SOURCES += \
	%D%/image_size.c \
	%D%/image_size.h \
	%D%/json_scan.c \
	%D%/json_scan.h \
	%D%/protobuf.c \
	%D%/protobuf.h \
	%D%/secret.c \
	%D%/secret.h \
	%D%/source_list.c \
	%D%/source_list.h \
	%D%/tar.c \
	%D%/tar.h \
	%D%/unicode.h \
	%D%/yaml.c \
	%D%/yaml.h

# The tables of unicode.h
nodist_src_common_libcommon_a_SOURCES = %D%/unicode_table.c
CLEANFILES += %D%/unicode_table.c
EXTRA_DIST += scripts/unicode scripts/unicode.txt
src/common/format/unicode_table.c: scripts/unicode scripts/unicode.txt
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(srcdir)/scripts/unicode <$(srcdir)/scripts/unicode.txt >$@.tmp && \
	mv $@.tmp $@
