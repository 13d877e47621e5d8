# The page: what it is made from, and its server.
gtrack_SOURCES += \
	%D%/answer.c \
	%D%/answer_compare.c \
	%D%/answer_edit.c \
	%D%/answer_figure.c \
	%D%/answer_files.c \
	%D%/answer_kinds.c \
	%D%/answer_run.c \
	%D%/answer_runs.c \
	%D%/freeze.c \
	%D%/guard.c \
	%D%/live.c \
	%D%/site.c
if HAVE_MICROHTTPD
gtrack_SOURCES += %D%/http_server.c %D%/serve.c
else
gtrack_SOURCES += %D%/serve_none.c
endif

# The page itself, as arrays of bytes
nodist_gtrack_SOURCES += %D%/page_files.c
CLEANFILES += %D%/page_files.c
EXTRA_DIST += scripts/embed
src/track/serve/page_files.c: $(PAGE_FILES) scripts/embed
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	(cd $(top_srcdir) && scripts/embed $(PAGE_FILES)) >$@.tmp && mv $@.tmp $@
