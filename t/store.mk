check_PROGRAMS += t/store.t t/filter.t
test_programs += t/store.t t/filter.t
t_store_t_SOURCES = %D%/store.c %D%/tap.h
t_store_t_LDADD = $(STORE_LIBS)
t_filter_t_SOURCES = %D%/filter.c %D%/tap.h
t_filter_t_LDADD = $(STORE_LIBS)
EXTRA_DIST += %D%/filters.py %D%/filters.txt %D%/filters.golden
