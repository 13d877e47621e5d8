# The CPU's own operations, compiled for each instruction set.
cpu_sources = \
	%D%/activation.c \
	%D%/attention.c \
	%D%/attention_decode.c \
	%D%/elementwise.c \
	%D%/embed.c \
	%D%/gemm.c \
	%D%/gemm_tile.c \
	%D%/head.c \
	%D%/linear.c \
	%D%/mix.c \
	%D%/norm.c \
	%D%/ops_table.c \
	%D%/quantize.c \
	%D%/rows.c \
	%D%/update.c

CPU_LIBS = kernels/libcpu-plain.a
if X86_64
CPU_LIBS += kernels/libcpu-avx512.a kernels/libcpu-avx2.a
endif
if AARCH64
CPU_LIBS += kernels/libcpu-neon.a
endif
if SVE
CPU_LIBS += kernels/libcpu-sve512.a kernels/libcpu-sve256.a
endif
noinst_LIBRARIES += $(CPU_LIBS)
EXTRA_LIBRARIES = kernels/libcpu-avx512.a kernels/libcpu-avx2.a \
	kernels/libcpu-sve512.a kernels/libcpu-sve256.a kernels/libcpu-neon.a
kernels_libcpu_avx512_a_SOURCES = $(cpu_sources)
kernels_libcpu_avx512_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=avx512
kernels_libcpu_avx512_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS) $(AVX512_CFLAGS)
kernels_libcpu_avx2_a_SOURCES = $(cpu_sources)
kernels_libcpu_avx2_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=avx2
kernels_libcpu_avx2_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS) $(AVX2_CFLAGS)
kernels_libcpu_sve512_a_SOURCES = $(cpu_sources)
kernels_libcpu_sve512_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=sve512 -DCPU_SVE=512
kernels_libcpu_sve512_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS) $(SVE_CFLAGS)512
kernels_libcpu_sve256_a_SOURCES = $(cpu_sources)
kernels_libcpu_sve256_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=sve256 -DCPU_SVE=256
kernels_libcpu_sve256_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS) $(SVE_CFLAGS)256
kernels_libcpu_neon_a_SOURCES = $(cpu_sources)
kernels_libcpu_neon_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=neon -DCPU_NEON
kernels_libcpu_neon_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS)
kernels_libcpu_plain_a_SOURCES = $(cpu_sources)
kernels_libcpu_plain_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_ISA=plain
kernels_libcpu_plain_a_CFLAGS = $(AM_CFLAGS) $(CPU_CFLAGS)
