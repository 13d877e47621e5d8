# tests of the CPU's kernels
check_PROGRAMS += t/kernels.t
test_programs += t/kernels.t
t_kernels_t_SOURCES = %D%/kernels.c %D%/kernels.h %D%/kernels-grad.c \
	%D%/kernels-ops.c %D%/tap.h
t_kernels_t_LDADD = $(KERNELS_LIBS)
