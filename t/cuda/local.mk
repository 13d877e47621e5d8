# The CUDA device, emulated.  First the test of the operations again, of this
# device alone.
EXTRA_PROGRAMS += t/cuda/kernels_emu.t
emulated_tests = t/cuda/kernels_emu.t
t_cuda_kernels_emu_t_SOURCES = kernels/dev.c %D%/only_cuda.c
t_cuda_kernels_emu_t_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_CUDA=1
EXTRA_t_cuda_kernels_emu_t_DEPENDENCIES = $(t_unit_kernels_t_OBJECTS)
t_cuda_kernels_emu_t_LDADD = $(t_unit_kernels_t_OBJECTS) t/emu/libemu.a \
	$(KERNELS_LIBS) -lstdc++

# Too slow for every day, the test of all options of the model:
# GT_TEST_DEVICE=cuda t/cuda/model-emu.
EXTRA_PROGRAMS += t/cuda/model-emu
t_cuda_model_emu_SOURCES = kernels/dev.c
t_cuda_model_emu_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_CUDA=1
EXTRA_t_cuda_model_emu_DEPENDENCIES = $(t_unit_model_t_OBJECTS)
t_cuda_model_emu_LDADD = $(t_unit_model_t_OBJECTS) t/emu/libemu.a $(TRAINER_LIBS) \
	-lstdc++

# The emulation itself: it finds what it is there to find.
EXTRA_PROGRAMS += t/cuda/emu.t
emulated_tests += t/cuda/emu.t
t_cuda_emu_t_SOURCES = t/lib/tap.h
t_cuda_emu_t_LDADD = %D%/emu.emuo -lstdc++ -lpthread
t_cuda_emu_t_DEPENDENCIES = %D%/emu.emuo
EXTRA_DIST += %D%/emu.cu
CLEANFILES += %D%/emu.emuo %D%/emu.emuo.d
-include %D%/emu.emuo.d

# Races on shared memory, of every kernel: make check-races.
EXTRA_PROGRAMS += t/cuda/kernels_race t/cuda/race
t_cuda_kernels_race_SOURCES = kernels/dev.c
t_cuda_kernels_race_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_CUDA=1
t_cuda_kernels_race_DEPENDENCIES = $(t_unit_kernels_t_OBJECTS) \
	$(RACE_OBJECTS) t/emu/libemu.a
t_cuda_kernels_race_LDADD = $(t_unit_kernels_t_OBJECTS) $(RACE_OBJECTS) \
	t/emu/libemu.a $(KERNELS_LIBS) -lstdc++
t_cuda_race_SOURCES = t/lib/tap.h
t_cuda_race_DEPENDENCIES = %D%/race.raceo t/emu/emu_race.emuo
t_cuda_race_LDADD = %D%/race.raceo t/emu/emu_race.emuo -lstdc++ -lpthread
EXTRA_DIST += %D%/race.cu
CLEANFILES += %D%/race.raceo %D%/race.raceo.d
-include %D%/race.raceo.d
# The second time, our own kernels compute the products.  Each has one thread, so
# make -j2 does both at once; those of the references wait without spinning.
check-races: races-all races-products
	$(AM_V_at)t/cuda/race
	$(AM_V_at)echo "no kernel has a race on shared memory"
races-all: t/cuda/kernels_race t/cuda/race
	$(AM_V_at)$(T_ENV) GT_TEST_DEVICE=cuda t/cuda/kernels_race >$@.log 2>&1 || \
	    { grep -v '^ok' $@.log; exit 1; }
	$(AM_V_at)rm -f $@.log
races-products: t/cuda/kernels_race
	$(AM_V_at)$(T_ENV) for op in linear_fwd linear_bwd linear_act_fwd \
	    act_linear_bwd head muon; do \
	    GT_TEST_DEVICE=cuda GT_CUBLASLT=off KERNELS_ONLY=$$op \
	        t/cuda/kernels_race >$@.log 2>&1 || \
	        { grep -v '^ok' $@.log; exit 1; }; \
	done
	$(AM_V_at)rm -f $@.log
.PHONY: check-races races-all races-products

# The device beside its operations.
EXTRA_PROGRAMS += t/cuda/device.t
emulated_tests += t/cuda/device.t
t_cuda_device_t_SOURCES = %D%/device.c t/lib/tap.h kernels/dev.c
t_cuda_device_t_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_CUDA=1
t_cuda_device_t_LDADD = t/emu/libemu.a $(KERNELS_LIBS) -lstdc++

# What only a build with NVIDIA's headers can see.
if HAVE_CUDA
if !CUDA_EMU
check_PROGRAMS += t/cuda/abi.t
test_programs += t/cuda/abi.t
endif
endif
t_cuda_abi_t_SOURCES = %D%/abi.c t/lib/tap.h kernels/cuda/cublaslt.c
t_cuda_abi_t_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
t_cuda_abi_t_LDADD = $(COMMON_LIBS)
if HAVE_CUDNN
check_PROGRAMS += t/cuda/sdpa
EXTRA_PROGRAMS += t/cuda/sdpa_graph.t
emulated_tests += t/cuda/sdpa_graph.t
endif
t_cuda_sdpa_graph_t_SOURCES = %D%/sdpa_graph.c t/lib/tap.h
t_cuda_sdpa_graph_t_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
t_cuda_sdpa_graph_t_LDADD = t/emu/libemu.a $(KERNELS_LIBS) -lstdc++
t_cuda_sdpa_SOURCES = %D%/sdpa.c t/lib/tap.h kernels/cuda/cudnn.c kernels/cuda/sdpa_graph.c
t_cuda_sdpa_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
t_cuda_sdpa_LDADD = $(COMMON_LIBS)


check_PROGRAMS += t/cuda/nvml
t_cuda_nvml_SOURCES = %D%/nvml.c
t_cuda_nvml_LDADD = $(TRAINER_LIBS)

# What needs a GPU.
EXTRA_DIST += %D%/check-gpu bench/gpu-kit
check-gpu: all-am $(check_PROGRAMS)
	$(AM_V_at)$(T_ENV) prove -e sh $(top_srcdir)/t/cuda/check-gpu
bench-gpu: all-am $(check_PROGRAMS)
	$(AM_V_at)$(top_srcdir)/bench/gpu.sh $(abs_top_builddir)
# The same for a machine that builds nothing: a folder to carry there.
gpu-kit: gtrain t/unit/kernels.t t/unit/model.t
	$(AM_V_at)$(top_srcdir)/bench/gpu-kit . gpu-kit
.PHONY: check-gpu bench-gpu gpu-kit coverage-cuda
clean-local: clean-gpu-kit
clean-gpu-kit:
	rm -rf gpu-kit
.PHONY: clean-gpu-kit

# Lines of the kernels that the judge runs; configure with --enable-coverage.
# Without a home no plans are found, so that choosing them counts too.
coverage-cuda: t/cuda/kernels_emu.t
	$(AM_V_at)rm -f $(EMU_OBJECTS:.emuo=.gcda)
	$(AM_V_at)$(T_ENV) HOME= XDG_CACHE_HOME= t/cuda/kernels_emu.t >$@.log 2>&1 || \
	    { grep -v '^ok' $@.log; exit 1; }
	$(AM_V_at)rm -f $@.log
	$(AM_V_at)for f in $(EMU_OBJECTS:.emuo=); do \
	    gcov -n -o $$f.gcda $(top_srcdir)/$$f.cu 2>/dev/null | \
	        grep -A1 "^File '.*$$f.cu'" | sed -n \
	        "s|^Lines executed:|$$f.cu |p"; \
	done
