# Jobs of several processes, and what they exchange.
src_trainer_libtrainer_a_SOURCES += \
	%D%/coll.c \
	%D%/coll.h \
	%D%/coll_device.c \
	%D%/coll_host.c \
	%D%/coll_many.c \
	%D%/coll_many.h \
	%D%/coll_nccl.c \
	%D%/coll_nccl.h \
	%D%/coll_queue.c \
	%D%/coll_queue.h \
	%D%/coll_tcp.c \
	%D%/death_watch.c \
	%D%/death_watch.h \
	%D%/halves.c \
	%D%/halves.h \
	%D%/hello.c \
	%D%/hello.h \
	%D%/launch.c \
	%D%/launch.h \
	%D%/local_ranks.c \
	%D%/local_ranks.h \
	%D%/parallel.c \
	%D%/parallel.h \
	%D%/parallel_shares.c \
	%D%/peer_socket.c \
	%D%/peer_socket.h \
	%D%/rank_memory.c \
	%D%/rank_memory.h \
	%D%/rendezvous.c \
	%D%/rendezvous.h

if HAVE_MPI
src_trainer_libtrainer_a_SOURCES += %D%/coll_mpi.c
endif
