# The ranks of a job and what they do together.
noinst_LIBRARIES += src/trainer/libcoll.a
src_trainer_libcoll_a_SOURCES = \
	%D%/coll.c \
	%D%/coll.h \
	%D%/coll_none.c \
	%D%/coll_tcp.c \
	%D%/launch.c \
	%D%/launch.h \
	%D%/queue.c \
	%D%/queue.h \
	%D%/rendezvous.c \
	%D%/rendezvous.h \
	%D%/sweep.c \
	%D%/sweep.h
if HAVE_MPI
src_trainer_libcoll_a_SOURCES += %D%/coll_mpi.c
endif
src_trainer_libcoll_a_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
COLL_LIBS = src/trainer/libcoll.a $(MPI_LIBS)
