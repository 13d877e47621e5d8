# The CUDA device.  A .cu file becomes a .cuo by nvcc, and an .emuo by the C++
# compiler through the emulation; the suffixes differ from .o because norm.c
# and norm.cu lie side by side.
cu_sources = \
	%D%/act.cu \
	%D%/attention.cu \
	%D%/cuda.cu \
	%D%/decode.cu \
	%D%/embed.cu \
	%D%/head.cu \
	%D%/linear.cu \
	%D%/matmul.cu \
	%D%/norm.cu \
	%D%/optim.cu \
	%D%/point.cu \
	%D%/qknorm.cu \
	%D%/reduce.cu \
	%D%/side.cu \
	%D%/sort.cu
EXTRA_DIST += \
	$(cu_sources) \
	%D%/attn_plain.cuh \
	%D%/emu.cuh \
	%D%/emu_run.cuh \
	%D%/emu_warp.cuh \
	%D%/flash.cuh \
	%D%/launch.cuh \
	%D%/lt_emu.cu \
	%D%/ptx.cuh \
	%D%/reduce.cuh \
	%D%/sort.cuh

# What is in C, for both; then what only one of them has.
cuda_c = \
	%D%/cuda.h \
	%D%/lt.h \
	%D%/matmul.h \
	%D%/plans.c \
	%D%/plans.h \
	%D%/sdpa.h

noinst_LIBRARIES += kernels/libemu.a
kernels_libemu_a_SOURCES = $(cuda_c)
kernels_libemu_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
kernels_libemu_a_LIBADD = $(EMU_OBJECTS)
kernels_libemu_a_DEPENDENCIES = $(EMU_OBJECTS)
EMU_OBJECTS = $(cu_sources:.cu=.emuo) %D%/lt_emu.emuo

if HAVE_CUDA
if CUDA_EMU
CUDA_LIBRARY = kernels/libemu.a
else
CUDA_LIBRARY = kernels/libcuda.a
noinst_LIBRARIES += kernels/libcuda.a
CUDA_OBJECTS = $(cu_sources:.cu=.cuo)
endif
endif
kernels_libcuda_a_SOURCES = $(cuda_c) %D%/lt.c
kernels_libcuda_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
kernels_libcuda_a_LIBADD = $(CUDA_OBJECTS)
kernels_libcuda_a_DEPENDENCIES = $(CUDA_OBJECTS)
if HAVE_CUDNN
cudnn_c = %D%/sdpa.c %D%/sdpa_graph.c %D%/sdpa_graph.h
kernels_libcuda_a_SOURCES += $(cudnn_c) %D%/cudnn.c
kernels_libemu_a_SOURCES += $(cudnn_c) %D%/cudnn_emu.c %D%/cudnn_emu.h \
	%D%/cudnn_run.c
else
kernels_libcuda_a_SOURCES += %D%/sdpa_none.c
kernels_libemu_a_SOURCES += %D%/sdpa_none.c
endif
EXTRA_DIST += doc/cuda.md %D%/lt.c %D%/sdpa_none.c %D%/sdpa.c \
	%D%/sdpa_graph.c %D%/sdpa_graph.h %D%/cudnn.c %D%/cudnn_emu.c \
	%D%/cudnn_emu.h %D%/cudnn_run.c

SUFFIXES = .cu .cuo .emuo
AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
AM_V_EMU = $(am__v_EMU_@AM_V@)
am__v_EMU_ = $(am__v_EMU_@AM_DEFAULT_V@)
am__v_EMU_0 = @echo "  EMU     " $@;
am__v_EMU_1 =

# What ptxas says of registers is kept beside the object: t/t8040-nvcc.t reads
# it.  The host's part of a .cu file is checked when it is compiled for the
# emulation, with the warnings that nvcc's own output would not pass.
.cu.cuo:
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && \
	$(NVCC) -std=c++20 $(NVCCFLAGS) $(CUDA_GENCODE) $(GT_NVCCFLAGS) -I. \
	    $(AM_CPPFLAGS) -MD -MP -MF $@.d -MT $@ -Xptxas -v -x cu -c $< \
	    -o $@ >$@.log 2>&1 || { cat $@.log; rm -f $@; exit 1; }
.cu.emuo:
	$(AM_V_EMU)$(MKDIR_P) $(@D) && \
	$(CXX) -std=c++20 $(GT_EMUFLAGS) $(OPENMP_CFLAGS) $(CXXFLAGS) -I. \
	    $(AM_CPPFLAGS) -MD -MP -MF $@.d -MT $@ -x c++ -c $< -o $@
CLEANFILES += $(EMU_OBJECTS) $(EMU_OBJECTS:.emuo=.emuo.d) \
	$(cu_sources:.cu=.cuo) $(cu_sources:.cu=.cuo.d) \
	$(cu_sources:.cu=.cuo.log)
-include $(EMU_OBJECTS:.emuo=.emuo.d)
-include $(cu_sources:.cu=.cuo.d)
