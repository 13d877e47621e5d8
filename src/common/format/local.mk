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
	%D%/unicode.c \
	%D%/unicode.h \
	%D%/yaml.c \
	%D%/yaml.h

EXTRA_DIST += scripts/unicode
