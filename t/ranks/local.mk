# Many processes.
check_PROGRAMS += t/ranks/coll.t
test_programs += t/ranks/coll.t
t_ranks_coll_t_SOURCES = %D%/coll.c t/lib/tap.h
t_ranks_coll_t_LDADD = $(TRAINER_LIBS)
check_PROGRAMS += t/ranks/coll_many.t
test_programs += t/ranks/coll_many.t
t_ranks_coll_many_t_SOURCES = %D%/coll_many.c t/lib/tap.h
t_ranks_coll_many_t_LDADD = $(TRAINER_LIBS)
check_PROGRAMS += t/ranks/strangers.t
test_programs += t/ranks/strangers.t
t_ranks_strangers_t_SOURCES = %D%/strangers.c t/lib/tap.h
t_ranks_strangers_t_LDADD = $(TRAINER_LIBS)
EXTRA_DIST += %D%/slurm-cluster
