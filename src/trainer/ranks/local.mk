# Jobs of several processes, and what they exchange.
src_trainer_libtrainer_a_SOURCES += \
	%D%/coll.c \
	%D%/coll_host.c \
	%D%/coll_nccl.c \
	%D%/coll_tcp.c \
	%D%/death_watch.c \
	%D%/hello.c \
	%D%/launch.c \
	%D%/parallel.c \
	%D%/parallel_shares.c \
	%D%/rendezvous.c

if HAVE_MPI
src_trainer_libtrainer_a_SOURCES += %D%/coll_mpi.c
endif
