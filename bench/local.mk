# benchmarks

EXTRA_PROGRAMS += bench/store
bench_store_SOURCES = bench/store.c
bench_store_LDADD = $(STORE_LIBS)

# src/data: documents, inflating, batches; built by `make bench-data`
EXTRA_PROGRAMS += bench/data
bench_data_SOURCES = %D%/data.c
bench_data_LDADD = $(DATA_LIBS)

# gplot beside matplotlib
EXTRA_DIST += %D%/plot %D%/plot-peer.py
bench-plot: gplot t/mkruns
	$(AM_V_at)top_srcdir='$(top_srcdir)' $(top_srcdir)/bench/plot
.PHONY: bench-plot
