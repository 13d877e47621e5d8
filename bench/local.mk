# Benchmarks.  Their programs are built with the tests, so that a change that
# breaks one is noticed.

check_PROGRAMS += bench/store
bench_store_SOURCES = bench/store.c
bench_store_LDADD = $(STORE_LIBS)

# bench/data times documents, decompression and batches; `make bench-data`
# compares gdata with Python packages
check_PROGRAMS += bench/data
bench_data_SOURCES = %D%/data.c
bench_data_LDADD = $(DATA_LIBS)
EXTRA_DIST += bench/bench-data
bench-data: gdata bench/data
	$(AM_V_at)top_srcdir='$(top_srcdir)' $(top_srcdir)/bench/bench-data
# gdata clean beside datatrove
EXTRA_DIST += bench/bench-clean
bench-clean: gdata
	$(AM_V_at)PATH="$$PWD:$$PATH" top_srcdir='$(top_srcdir)' $${GT_PYTHON:-python3} -B \
	    $(top_srcdir)/bench/bench-clean $(BENCH_FLAGS)
EXTRA_DIST += bench/bench-batches
bench-batches: bench/data
	$(AM_V_at)$(top_srcdir)/bench/bench-batches
# gdata dedup --near beside rensa and datasketch, and for large texts
EXTRA_DIST += bench/bench-near
bench-near: gdata
	$(AM_V_at)top_srcdir='$(top_srcdir)' $${GT_PYTHON:-python3} -B \
	    $(top_srcdir)/bench/bench-near $(BENCH_FLAGS)
.PHONY: bench-data bench-batches bench-clean bench-near

# gplot and matplotlib
EXTRA_DIST += %D%/plot %D%/plot_peer.py %D%/product_estimates.py
bench-plot: gplot t/lib/mkruns
	$(AM_V_at)top_srcdir='$(top_srcdir)' $(top_srcdir)/bench/plot
.PHONY: bench-plot

# the page of gtrack serve in a browser
EXTRA_DIST += %D%/page.py %D%/page_peers.py
bench-page: gtrack t/lib/mkruns
	$(AM_V_at)PATH="$$PWD:$$PATH" $${GT_PYTHON:-python3} -B \
	    $(top_srcdir)/bench/page.py t/lib/mkruns $(BENCH_FLAGS)
	$(AM_V_at)test -z "$$GT_PEERS" || PATH="$$PWD:$$PATH" $$GT_PYTHON -B \
	    $(top_srcdir)/bench/page_peers.py t/lib/mkruns $(PEERS_FLAGS)
.PHONY: bench-page

# training steps of gtrain and of PyTorch
check_PROGRAMS += bench/limits
bench_limits_SOURCES = %D%/limits.c
bench_limits_LDADD = $(COMMON_LIBS)
check_PROGRAMS += bench/products
bench_products_SOURCES = %D%/products.c
bench_products_LDADD = $(COMMON_LIBS)
EXTRA_DIST += bench/bench-cpu bench/torch_gpt.py
bench-cpu: gtrain bench/limits bench/products
	$(AM_V_at)$(srcdir)/bench/bench-cpu
EXTRA_DIST += bench/bench-gemm
bench-gemm: t/unit/kernels.t
	$(AM_V_at)$${GT_PYTHON:-python3} $(srcdir)/bench/bench-gemm
EXTRA_DIST += bench/bench-threads
bench-threads: gtrain
	$(AM_V_at)PATH="$$PWD:$$PATH" $${GT_PYTHON:-python3} -B \
	    $(srcdir)/bench/bench-threads $(BENCH_FLAGS)
EXTRA_DIST += bench/bench-first-step
bench-first-step: gtrain
	$(AM_V_at)PATH="$$PWD:$$PATH" $${GT_PYTHON:-python3} -B \
	    $(srcdir)/bench/bench-first-step $(BENCH_FLAGS)
.PHONY: bench-cpu bench-gemm bench-threads bench-first-step

EXTRA_DIST += bench/track
bench-track: bench/store gtrack
	$(srcdir)/bench/track $(BENCH_FLAGS)
.PHONY: bench-track

# training on a GPU: `make bench-gpu` is in t/cuda/local.mk
EXTRA_DIST += bench/gpu.sh bench/gpu_torch.py

# runs of gtrain and of PyTorch with the same weights and windows
check_PROGRAMS += bench/start
bench_start_SOURCES = %D%/start.c
bench_start_LDADD = $(TRAINER_LIBS)
EXTRA_DIST += %D%/bench-train %D%/torch_twin.py
bench-train: gtrain gdata bench/start
	$(AM_V_at)$(srcdir)/bench/bench-train $(BENCH_FLAGS)
.PHONY: bench-train

# the recipe and its baselines; recipe.tsv has what the runs showed
EXTRA_DIST += %D%/recipe %D%/recipe.tsv
bench-recipe: gtrain gdata gtrack
	$(AM_V_at)PATH="$$PWD:$$PATH" $${GT_PYTHON:-python3} -B \
	    $(srcdir)/bench/recipe $(BENCH_FLAGS)
.PHONY: bench-recipe

# a raw and a cleaned text; corpus.tsv has what the runs showed
EXTRA_DIST += %D%/corpus %D%/corpus.tsv
bench-corpus: gtrain gdata gtrack
	$(AM_V_at)PATH="$$PWD:$$PATH" $${GT_PYTHON:-python3} -B \
	    $(srcdir)/bench/corpus $(BENCH_FLAGS)
.PHONY: bench-corpus

# the coordinate check of rates by width, a program by itself
EXTRA_DIST += %D%/coordinates

# a job of up to 1,024 ranks on this machine
EXTRA_DIST += %D%/ranks
bench-ranks: gtrain
	$(AM_V_at)PATH="$$PWD:$$PATH" $${GT_PYTHON:-python3} -B \
	    $(srcdir)/bench/ranks $(BENCH_FLAGS)
.PHONY: bench-ranks

# sampling by gtrain, llama.cpp and transformers
EXTRA_DIST += %D%/bench-sample
bench-sample: gtrain bench/start bench/limits
	$(AM_V_at)$(srcdir)/bench/bench-sample $(BENCH_FLAGS)
.PHONY: bench-sample

# the Python package and other trackers
EXTRA_DIST += %D%/bench-python
bench-python: libgtrack.so.0
	$(AM_V_at)PYTHONPATH=$(abs_top_srcdir)/python \
	    GTRACK_LIBRARY=$(abs_top_builddir)/libgtrack.so.0 \
	    $${GT_PYTHON:-python3} $(srcdir)/bench/bench-python $(BENCH_FLAGS)
.PHONY: bench-python

# what chooses the cells of a sweep, beside Optuna and W&B
check_PROGRAMS += bench/ask
bench_ask_SOURCES = %D%/ask.c
bench_ask_LDADD = src/sweep/libsweep.a $(STORE_LIBS)
EXTRA_DIST += %D%/searches.py
bench-searches: gtrain bench/ask
	$(AM_V_at)$${GT_PYTHON:-python3} -B $(srcdir)/bench/searches.py \
	    --gtrain ./gtrain $(BENCH_FLAGS) bench/ask
.PHONY: bench-searches
