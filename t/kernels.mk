# tests of the CPU's kernels
check_PROGRAMS += t/kernels.t t/kernels-same.t t/half.t
test_programs += t/kernels.t t/kernels-same.t t/half.t
t_kernels_t_SOURCES = %D%/kernels.c %D%/kernels.h %D%/kernels-grad.c \
	%D%/kernels-ops.c %D%/tap.h
t_kernels_t_LDADD = $(KERNELS_LIBS)
t_kernels_same_t_SOURCES = %D%/kernels-same.c %D%/kernels.h \
	%D%/kernels-ops.c %D%/tap.h
t_kernels_same_t_LDADD = $(KERNELS_LIBS)
t_half_t_SOURCES = %D%/half.c %D%/tap.h
t_half_t_LDADD = $(KERNELS_LIBS)

check_PROGRAMS += t/gemm.t
test_programs += t/gemm.t
t_gemm_t_SOURCES = %D%/gemm.c %D%/tap.h
t_gemm_t_LDADD = $(KERNELS_LIBS)

check_PROGRAMS += t/vec.t
test_programs += t/vec.t
t_vec_t_SOURCES = %D%/vec.c %D%/tap.h
t_vec_t_LDADD = $(COMMON_LIBS)

# no step of training asks for memory
check_PROGRAMS += t/allocs.so
t_allocs_so_SOURCES = %D%/allocs.c
t_allocs_so_CFLAGS = -std=gnu11 -Wall -Wextra -fPIC
t_allocs_so_LDFLAGS = -shared
t_allocs_so_LDADD =
dist_check_SCRIPTS += %D%/t3001-allocs.t %D%/t3002-same.t

check_PROGRAMS += t/int8.t
test_programs += t/int8.t
t_int8_t_SOURCES = %D%/int8.c %D%/tap.h
t_int8_t_LDADD = $(KERNELS_LIBS)

check_PROGRAMS += t/normal.t
test_programs += t/normal.t
t_normal_t_SOURCES = %D%/normal.c %D%/tap.h
t_normal_t_LDADD = $(KERNELS_LIBS)
