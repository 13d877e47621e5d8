# gtrack: list, compare, move and push runs
bin_PROGRAMS += gtrack
# The commands, in the order of the help text
gtrack_SOURCES = \
	%D%/cmd_ls.c \
	%D%/cmd_show.c \
	%D%/cmd_compare.c \
	%D%/cmd_metrics.c \
	%D%/cmd_best.c \
	%D%/cmd_tail.c \
	%D%/cmd_watch.c \
	%D%/cmd_serve.c \
	%D%/cmd_diff.c \
	%D%/cmd_hours.c \
	%D%/cmd_forecast.c \
	%D%/cmd_artifacts.c \
	%D%/cmd_report.c \
	%D%/cmd_claims.c \
	%D%/cmd_card.c \
	%D%/cmd_bundle.c \
	%D%/cmd_verify.c \
	%D%/cmd_tag.c \
	%D%/cmd_rm.c \
	%D%/cmd_export.c \
	%D%/cmd_import.c \
	%D%/cmd_push.c \
	%D%/cmd_fsck.c \
	%D%/cmd_where.c \
	%D%/cmd_completion.c \
	%D%/cmd_log.c \
	%D%/cmd_exec.c \
	%D%/cmd_sweep.c \
	%D%/cmd_alert.c \
	%D%/gtrack.c
nodist_gtrack_SOURCES = src/commit.c %D%/cmds.c %D%/complete_scripts.c
gtrack_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS) $(SQLITE_CFLAGS)
gtrack_LDADD = src/plot/libplot.a src/sweep/libsweep.a $(STORE_LIBS)

include src/track/runs/local.mk
include src/track/report/local.mk
include src/track/import/local.mk
include src/track/push/local.mk
include src/track/page/local.mk
include src/track/serve/local.mk
include src/track/proof/local.mk

# Completion, from the option tables, where the shells look for it
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
fishcompdir = $(datadir)/fish/vendor_completions.d
nodist_bashcomp_DATA = completion/gtrack completion/gplot completion/gtrain \
	completion/gdata
nodist_zshcomp_DATA = completion/_gtrack
nodist_fishcomp_DATA = completion/gtrack.fish completion/gplot.fish \
	completion/gtrain.fish completion/gdata.fish
CLEANFILES += $(nodist_bashcomp_DATA) $(nodist_zshcomp_DATA) \
	$(nodist_fishcomp_DATA)

CLEANFILES += %D%/complete_scripts.c
EXTRA_DIST += scripts/completion/bash scripts/completion/zsh \
	scripts/completion/fish
src/track/complete_scripts.c: scripts/completion/bash scripts/completion/zsh \
    scripts/completion/fish scripts/quote
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cd $(srcdir)/scripts && \
	./quote track/complete.h complete_bash completion/bash \
	    complete_zsh completion/zsh complete_fish completion/fish \
	    >$(abs_builddir)/$@.tmp && \
	mv $(abs_builddir)/$@.tmp $(abs_builddir)/$@

completion/gtrack: gtrack$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && $(RUN) ./gtrack completion bash >$@
completion/_gtrack: gtrack$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && $(RUN) ./gtrack completion zsh >$@
completion/gtrack.fish: gtrack$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && $(RUN) ./gtrack completion fish >$@
# A shell looks for the script under the name of the program.
completion/gplot completion/gtrain completion/gdata: completion/gtrack
	$(AM_V_GEN)cp completion/gtrack $@
completion/gplot.fish completion/gtrain.fish completion/gdata.fish: \
		completion/gtrack.fish
	$(AM_V_GEN)cp completion/gtrack.fish $@
