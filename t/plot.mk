# Tests of src/plot, and of what it runs programs with.
check_PROGRAMS += t/spawn.t
test_programs += t/spawn.t
t_spawn_t_SOURCES = %D%/spawn.c %D%/tap.h
t_spawn_t_LDADD = $(COMMON_LIBS)
