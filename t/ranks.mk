# many processes
check_PROGRAMS += t/coll.t
test_programs += t/coll.t
t_coll_t_SOURCES = %D%/coll.c %D%/tap.h
t_coll_t_LDADD = $(COLL_LIBS) $(COMMON_LIBS)
dist_check_SCRIPTS += %D%/t7001-mpi.t %D%/t7002-ranks.t %D%/t7003-sweep.t \
	%D%/t7004-nccl.t %D%/t7005-costs.t \
	%D%/t7010-slurm.t
peer_scripts += %D%/t9060-torchrun.t
EXTRA_DIST += %D%/t9060-torchrun.t %D%/slurm-cluster %D%/ranks-lib.sh %D%/nccl-shim.c

# searches
check_PROGRAMS += t/sweep.t
test_programs += t/sweep.t
t_sweep_t_SOURCES = %D%/sweep.c %D%/tap.h
t_sweep_t_LDADD = $(COLL_LIBS) $(COMMON_LIBS)
