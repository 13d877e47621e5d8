# Columns of Parquet files.
src_data_libdata_a_SOURCES += \
	%D%/parquet.c \
	%D%/parquet.h \
	%D%/parquet_decode.c \
	%D%/parquet_decode.h \
	%D%/parquet_footer.c \
	%D%/parquet_footer.h \
	%D%/parquet_page.c \
	%D%/parquet_page.h \
	%D%/thrift.c \
	%D%/thrift.h
