# Bytes of files and servers, inflated.
src_data_libdata_a_SOURCES += \
	%D%/download.c \
	%D%/source.c

if HAVE_ISAL
src_data_libdata_a_SOURCES += %D%/gzip_isal.c
else
src_data_libdata_a_SOURCES += %D%/gzip_zlib.c
endif

if HAVE_ZSTD
src_data_libdata_a_SOURCES += %D%/zstd.c
else
src_data_libdata_a_SOURCES += %D%/zstd_none.c
endif
