src_store_libstore_a_SOURCES += \
	%D%/fsck.c \
	%D%/fsck_store.c
