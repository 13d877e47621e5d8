# The CUDA device.  A .cu file becomes a .cuo by nvcc, and an .emuo by the C++
# compiler through the emulation of t/emu; the suffixes differ from .o because
# sdpa.c and attention.cu lie side by side.
cu_sources = \
	%D%/activation.cu \
	%D%/attention.cu \
	%D%/device.cu \
	%D%/elementwise.cu \
	%D%/embed.cu \
	%D%/fp8.cu \
	%D%/gemm_cublaslt.cu \
	%D%/gemm_trial.cu \
	%D%/head.cu \
	%D%/linear.cu \
	%D%/mix.cu \
	%D%/norm.cu \
	%D%/reduce.cu \
	%D%/update.cu
EXTRA_DIST += $(cu_sources)

# What is in C, for the device and for its emulation.
cuda_c = \
	%D%/algorithms.c
if HAVE_CUDNN
cuda_c += %D%/sdpa.c %D%/sdpa_graph.c
else
cuda_c += %D%/sdpa_none.c
endif
EXTRA_DIST += %D%/cublaslt.c %D%/cudnn.c %D%/sdpa.c %D%/sdpa_graph.c \
	%D%/sdpa_none.c

if HAVE_CUDA
if CUDA_EMU
CUDA_LIBRARY = t/emu/libemu.a
else
CUDA_LIBRARY = kernels/libcuda.a
noinst_LIBRARIES += kernels/libcuda.a
CUDA_OBJECTS = $(cu_sources:.cu=.cuo)
endif
endif
kernels_libcuda_a_SOURCES = $(cuda_c) %D%/cublaslt.c
if HAVE_CUDNN
kernels_libcuda_a_SOURCES += %D%/cudnn.c
endif
kernels_libcuda_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
kernels_libcuda_a_LIBADD = $(CUDA_OBJECTS)
kernels_libcuda_a_DEPENDENCIES = $(CUDA_OBJECTS)

SUFFIXES = .cu .cuo .emuo
AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =

# What ptxas says of registers is kept beside the object: t8040-nvcc.t reads
# it.  The host's part of a .cu file is checked when it is compiled for the
# emulation, with the warnings that nvcc's own output would not pass.
.cu.cuo:
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && \
	$(NVCC) -std=c++20 $(NVCCFLAGS) $(CUDA_GENCODE) $(GT_NVCCFLAGS) -I. \
	    $(AM_CPPFLAGS) -MD -MP -MF $@.d -MT $@ -Xptxas -v -x cu -c $< \
	    -o $@ >$@.log 2>&1 || { cat $@.log; rm -f $@; exit 1; }
CLEANFILES += $(cu_sources:.cu=.cuo) $(cu_sources:.cu=.cuo.d) \
	$(cu_sources:.cu=.cuo.log)
-include $(cu_sources:.cu=.cuo.d)
