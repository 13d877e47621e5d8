noinst_LIBRARIES += \
	kernels/libkernels.a \
	kernels/libcpu-avx512.a \
	kernels/libcpu-avx2.a \
	kernels/libcpu-plain.a

kernels_libkernels_a_SOURCES = \
	%D%/act.c \
	%D%/attention.c \
	%D%/cpu.c \
	%D%/cpu.h \
	%D%/dev.c \
	%D%/dev.h \
	%D%/embed.c \
	%D%/half.h \
	%D%/head.c \
	%D%/int8.c \
	%D%/linear.c \
	%D%/norm.c \
	%D%/normal.c \
	%D%/ops.h \
	%D%/optim.c \
	%D%/point.c \
	%D%/ref.h \
	%D%/tensor.h
kernels_libkernels_a_CFLAGS = $(AM_CFLAGS)

# The CPU's own operations, compiled for each instruction set.
cpu_sources = \
	%D%/bend.h \
	%D%/cpu_act.c \
	%D%/cpu_attention.c \
	%D%/cpu_embed.c \
	%D%/cpu_few.c \
	%D%/cpu_gemm.c \
	%D%/cpu_head.c \
	%D%/cpu_heads.c \
	%D%/cpu_int8.c \
	%D%/cpu_linear.c \
	%D%/cpu_muon.c \
	%D%/cpu_norm.c \
	%D%/cpu_normal.c \
	%D%/cpu_ops.c \
	%D%/cpu_optim.c \
	%D%/cpu_point.c \
	%D%/cpu_rows.c \
	%D%/cpu_tile.c \
	%D%/drop.h \
	%D%/few.h \
	%D%/gemm.h \
	%D%/rows.h \
	%D%/tiles.h \
	%D%/vec.h
kernels_libcpu_avx512_a_SOURCES = $(cpu_sources)
kernels_libcpu_avx512_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=avx512
kernels_libcpu_avx512_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS) $(AVX512_CFLAGS)
kernels_libcpu_avx2_a_SOURCES = $(cpu_sources)
kernels_libcpu_avx2_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=avx2
kernels_libcpu_avx2_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS) $(AVX2_CFLAGS)
kernels_libcpu_plain_a_SOURCES = $(cpu_sources)
kernels_libcpu_plain_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=plain
kernels_libcpu_plain_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS)

include kernels/cuda.mk

KERNELS_LIBS = kernels/libkernels.a $(CUDA_LIBRARY) kernels/libcpu-avx512.a \
	kernels/libcpu-avx2.a kernels/libcpu-plain.a kernels/libkernels.a \
	$(COMMON_LIBS) $(CUDA_LIBS)
