# The judge of the operations again, with the CUDA device emulated.
check_PROGRAMS += t/kernels-emu.t
test_programs += t/kernels-emu.t
t_kernels_emu_t_SOURCES = $(t_kernels_t_SOURCES) kernels/dev.c
t_kernels_emu_t_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_CUDA=1
t_kernels_emu_t_LDADD = kernels/libemu.a $(KERNELS_LIBS) -lstdc++

# The emulation itself: it finds what it is there to find.
check_PROGRAMS += t/emu.t
test_programs += t/emu.t
t_emu_t_SOURCES = %D%/tap.h
t_emu_t_LDADD = %D%/emu.emuo -lstdc++ -lpthread
t_emu_t_DEPENDENCIES = %D%/emu.emuo
EXTRA_DIST += %D%/emu.cu
CLEANFILES += %D%/emu.emuo %D%/emu.emuo.d
-include %D%/emu.emuo.d

# The device beside its operations.
check_PROGRAMS += t/device.t
test_programs += t/device.t
t_device_t_SOURCES = %D%/device.c %D%/tap.h kernels/dev.c
t_device_t_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_CUDA=1
t_device_t_LDADD = kernels/libemu.a $(KERNELS_LIBS) -lstdc++

# What only a build with NVIDIA's headers can see.
if HAVE_CUDA
if !CUDA_EMU
check_PROGRAMS += t/abi.t
test_programs += t/abi.t
endif
endif
t_abi_t_SOURCES = %D%/abi.c %D%/tap.h kernels/lt.c
t_abi_t_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
t_abi_t_LDADD = $(COMMON_LIBS)
if HAVE_CUDNN
check_PROGRAMS += t/sdpa
endif
t_sdpa_SOURCES = %D%/sdpa.c %D%/tap.h kernels/sdpa_graph.c
t_sdpa_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
t_sdpa_LDADD = $(COMMON_LIBS)

dist_check_SCRIPTS += \
	%D%/t8010-orders.t \
	%D%/t8040-nvcc.t \
	%D%/t8050-cudnn.t
