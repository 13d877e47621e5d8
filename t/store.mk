check_PROGRAMS += t/store.t
test_programs += t/store.t
t_store_t_SOURCES = %D%/store.c %D%/tap.h
t_store_t_LDADD = $(STORE_LIBS)
