# Many processes.
check_PROGRAMS += t/ranks/coll.t
test_programs += t/ranks/coll.t
t_ranks_coll_t_SOURCES = %D%/coll.c t/lib/tap.h
t_ranks_coll_t_LDADD = $(TRAINER_LIBS)
check_PROGRAMS += t/ranks/coll-many.t
test_programs += t/ranks/coll-many.t
t_ranks_coll_many_t_SOURCES = %D%/coll-many.c t/lib/tap.h
t_ranks_coll_many_t_LDADD = $(TRAINER_LIBS)
dist_check_SCRIPTS += \
	%D%/t7001-mpi.t \
	%D%/t7002-ranks.t \
	%D%/t7003-sweep.t \
	%D%/t7004-nccl.t \
	%D%/t7005-costs.t \
	%D%/t7006-many.t \
	%D%/t7008-nodes.t \
	%D%/t7010-slurm.t \
	%D%/t7020-kills.t \
	%D%/t7021-faults.t \
	%D%/t7022-disks.t
EXTRA_DIST += %D%/slurm-cluster
