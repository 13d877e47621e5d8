# benchmarks

EXTRA_PROGRAMS += bench/store
bench_store_SOURCES = bench/store.c
bench_store_LDADD = $(STORE_LIBS)
