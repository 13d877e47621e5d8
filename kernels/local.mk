# What a device can compute: the contract, the references, and the devices.
noinst_LIBRARIES += kernels/libkernels.a
kernels_libkernels_a_SOURCES = \
	%D%/activation.c \
	%D%/attention.c \
	%D%/dev.c \
	%D%/elementwise.c \
	%D%/embed.c \
	%D%/fp8.c \
	%D%/gpus.c \
	%D%/head.c \
	%D%/linear.c \
	%D%/mix.c \
	%D%/norm.c \
	%D%/quantize.c \
	%D%/update.c \
	%D%/cpu/cpu.c
kernels_libkernels_a_CFLAGS = $(AM_CFLAGS)

include kernels/cpu/local.mk
include kernels/cuda/local.mk

KERNELS_LIBS = kernels/libkernels.a $(CUDA_LIBRARY) $(CPU_LIBS) \
	kernels/libkernels.a $(COMMON_LIBS) $(CUDA_LIBS)
