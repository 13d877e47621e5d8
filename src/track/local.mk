# gtrack: list, compare, move and push runs
bin_PROGRAMS += gtrack
gtrack_SOURCES = \
	%D%/choose.c \
	%D%/choose.h \
	%D%/cmd_artifacts.c \
	%D%/cmd_best.c \
	%D%/cmd_compare.c \
	%D%/cmd_completion.c \
	%D%/cmd_diff.c \
	%D%/cmd_edit.c \
	%D%/cmd_exec.c \
	%D%/cmd_export.c \
	%D%/cmd_fsck.c \
	%D%/cmd_hours.c \
	%D%/cmd_import.c \
	%D%/cmd_log.c \
	%D%/cmd_ls.c \
	%D%/cmd_metrics.c \
	%D%/cmd_push.c \
	%D%/cmd_run.c \
	%D%/cmd_show.c \
	%D%/cmd_tail.c \
	%D%/cmd_watch.c \
	%D%/cmd_where.c \
	%D%/column.c \
	%D%/column.h \
	%D%/complete.c \
	%D%/complete.h \
	%D%/copy.c \
	%D%/copy.h \
	%D%/files.c \
	%D%/files.h \
	%D%/group.c \
	%D%/group.h \
	%D%/gtrack.c \
	%D%/import_csv.c \
	%D%/import_tensorboard.c \
	%D%/import_text.c \
	%D%/import_wandb.c \
	%D%/intake.c \
	%D%/intake.h \
	%D%/login.c \
	%D%/mlflow.c \
	%D%/mlflow.h \
	%D%/points.c \
	%D%/points.h \
	%D%/push.c \
	%D%/push.h \
	%D%/push_mlflow.c \
	%D%/push_wandb.c \
	%D%/rows.c \
	%D%/rows.h \
	%D%/spark.c \
	%D%/spark.h \
	%D%/track.c \
	%D%/track.h \
	%D%/wandb.c \
	%D%/wandb.h \
	%D%/wandb_artifact.c \
	%D%/wandb_parts.c \
	%D%/wandb_parts.h \
	%D%/wandb_run.c
gtrack_CPPFLAGS = $(AM_CPPFLAGS)
gtrack_LDADD = $(STORE_LIBS)

# Completion, from the option tables, where the shells look for it
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
fishcompdir = $(datadir)/fish/vendor_completions.d
nodist_bashcomp_DATA = completion/gtrack
nodist_zshcomp_DATA = completion/_gtrack
nodist_fishcomp_DATA = completion/gtrack.fish
CLEANFILES += completion/gtrack completion/_gtrack completion/gtrack.fish

completion/gtrack: gtrack$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./gtrack completion bash >$@
completion/_gtrack: gtrack$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./gtrack completion zsh >$@
completion/gtrack.fish: gtrack$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./gtrack completion fish >$@
