# Columns of Parquet files.
src_data_libdata_a_SOURCES += \
	%D%/parquet.c \
	%D%/parquet_decode.c \
	%D%/thrift.c
