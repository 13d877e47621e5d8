# Tests by what they test.  Numbers: 0 source and documents, 1 common, 2 store,
# 3 kernels and graph and data, 4 trainer, 5 gtrack, 6 gplot, 7 many processes,
# 8 CUDA, 9 other programs.

EXTRA_DIST += $(shell_tests) \
	t/formats/0.1.tar.xz \
	t/source/add-command.patch \
	t/source/add-figure-file.patch \
	t/source/add-figure-row.patch \
	t/source/add-operation.patch \
	t/source/add-position.patch \
	t/source/add-setting.patch

include t/lib/local.mk
include t/emu/local.mk
include t/unit/local.mk
include t/cli/local.mk
include t/python/local.mk
include t/ranks/local.mk
include t/cuda/local.mk
include t/page/local.mk
include t/peers/local.mk
include t/fuzz/local.mk
include t/reference/local.mk

TESTS = $(shell_tests) $(test_programs)
TEST_EXTENSIONS = .t
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh
T_ENV = top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	PATH='$(abs_top_builddir):'$$PATH; export PATH; \
	GTRACK_CACHE=; export GTRACK_CACHE; \
	OMP_WAIT_POLICY=passive; export OMP_WAIT_POLICY; \
	TMPDIR=$$('$(abs_top_srcdir)'/t/lib/folder); export TMPDIR; \
	CC='$(CC)'; export CC; CXX='$(CXX)'; export CXX;
AM_TESTS_ENVIRONMENT = $(T_ENV)

# The same tests under prove(1): faster to read, shows what failed (-f) and what
# the test says of it (-o), and ends in one line.  (all-am, since all would be
# another make, at work on the same files as this one.)  Three at once keep two
# cores busy while one of them waits.  GT_BUT: those of emulated_tests that are
# run otherwise.
prove: all-am $(check_PROGRAMS) $(if $(GT_ALL)$(GT_LONG),$(emulated)) $(more_tests)
	$(AM_V_at)$(T_ENV) prove -f -o -j3 $(PROVE_FLAGS) \
	    $(shell_tests:%=$(top_srcdir)/%) $(test_programs) $(filter-out $(GT_BUT),$(more_tests))
more_tests = $(if $(GT_ALL)$(GT_LONG),$(emulated_tests))
# Only the C programs: what sanitizers are for.
prove-unit: all-am $(check_PROGRAMS) $(more_tests)
	$(AM_V_at)$(T_ENV) prove -f -o -j2 $(PROVE_FLAGS) $(test_programs) $(filter-out $(GT_BUT),$(more_tests))
# With the emulated GPU, and campaigns of kills and faults, a few moments each.
check-all:
	$(AM_V_at)GT_ALL=1 $(MAKE) $(AM_MAKEFLAGS) prove
# With thousands of them: tests look at GT_LONG.
check-long:
	$(AM_V_at)GT_LONG=1 $(MAKE) $(AM_MAKEFLAGS) prove
# Beside other people's programs (t/peers).
check-peers: all-am $(check_PROGRAMS)
	$(AM_V_at)$(T_ENV) GT_PEERS=1 prove -f -o -j2 $(PROVE_FLAGS) \
	    $(peer_scripts:%=$(top_srcdir)/%)
# In a browser (t/page).
check-page: all-am $(check_PROGRAMS)
	$(AM_V_at)$(T_ENV) prove -f -o $(PROVE_FLAGS) \
	    $(page_scripts:%=$(top_srcdir)/%)
.PHONY: prove prove-unit check-all check-long check-peers check-page
