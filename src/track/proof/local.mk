# Claims of documents, and bundles of runs.
gtrack_SOURCES += \
	%D%/bundle.c \
	%D%/bundle.h \
	%D%/claimed_figures.c \
	%D%/claimed_figures.h \
	%D%/claimed_table.c \
	%D%/claimed_table.h \
	%D%/claims.c \
	%D%/claims.h \
	%D%/claims_check.c \
	%D%/claims_check.h
