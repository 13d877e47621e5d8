# Formats of files that others made.
src_common_libcommon_a_SOURCES += \
	%D%/image_size.c \
	%D%/json_scan.c \
	%D%/protobuf.c \
	%D%/secret.c \
	%D%/source_list.c \
	%D%/yaml.c

# The tables of unicode.h
nodist_src_common_libcommon_a_SOURCES = %D%/unicode_table.c
CLEANFILES += %D%/unicode_table.c
EXTRA_DIST += scripts/unicode scripts/unicode.txt
src/common/format/unicode_table.c: scripts/unicode scripts/unicode.txt
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(srcdir)/scripts/unicode <$(srcdir)/scripts/unicode.txt >$@.tmp && \
	mv $@.tmp $@
