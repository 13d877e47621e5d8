# A C test is one file of this folder, linked with what it tests; add it to
# test_programs and check_PROGRAMS.  A shell test goes to dist_check_SCRIPTS.
# Numbers: 0 source and documents, 1 common, 2 store, 3 kernels and graph and
# data, 4 trainer, 5 gtrack, 6 gplot, 7 many processes, 8 CUDA, 9 end to end.
#
# Each area lists its tests in a fragment of its own, AREA.mk.
include t/store.mk
include t/kernels.mk
include t/data.mk
include t/trainer.mk
include t/track.mk
include t/plot.mk
include t/cuda.mk
include t/ranks.mk
include t/end.mk

check_PROGRAMS += t/common.t
test_programs += t/common.t
t_common_t_SOURCES = %D%/common.c %D%/tap.h
t_common_t_LDADD = $(COMMON_LIBS)

dist_check_SCRIPTS += \
	%D%/t0001-layers.t \
	%D%/t0002-headers.t \
	%D%/t0003-style.t \
	%D%/t0004-options.t \
	%D%/t0005-manuals.t

TESTS = $(dist_check_SCRIPTS) $(test_programs)
TEST_EXTENSIONS = .t
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh
T_ENV = top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	PATH='$(abs_top_builddir):'$$PATH; export PATH; \
	GTRACK_CACHE=; export GTRACK_CACHE; \
	OMP_WAIT_POLICY=passive; export OMP_WAIT_POLICY; \
	CC='$(CC)'; export CC; CXX='$(CXX)'; export CXX;
AM_TESTS_ENVIRONMENT = $(T_ENV)

# The same tests under prove(1): faster to read, and ends in one line.  (all-am,
# since all would be another make, at work on the same files as this one.)
prove: all-am $(check_PROGRAMS)
	$(AM_V_at)$(T_ENV) prove -j2 $(PROVE_FLAGS) \
	    $(dist_check_SCRIPTS:%=$(top_srcdir)/%) $(test_programs)
# Only the C programs: what sanitizers are for.
prove-unit: all-am $(check_PROGRAMS)
	$(AM_V_at)$(T_ENV) prove -j2 $(PROVE_FLAGS) $(test_programs)
# Thousands of kills and faults: tests look at GT_LONG.
check-long: all-am $(check_PROGRAMS)
	$(AM_V_at)$(T_ENV) GT_LONG=1 prove -j2 $(PROVE_FLAGS) \
	    $(dist_check_SCRIPTS:%=$(top_srcdir)/%) $(test_programs)
# Beside other people's programs, where GT_PYTHON has those of peers.txt.
EXTRA_DIST += %D%/peers.txt %D%/tap.sh
check-peers: all-am $(check_PROGRAMS)
	$(AM_V_at)$(T_ENV) GT_PEERS=1 prove $(PROVE_FLAGS) \
	    $(peer_scripts:%=$(top_srcdir)/%)
.PHONY: prove prove-unit check-long check-peers
