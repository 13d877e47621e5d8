# Alerts: whom to tell what becomes true of runs.
src_store_libstore_a_SOURCES += \
	%D%/alert_list.c \
	%D%/alert_watch.c
