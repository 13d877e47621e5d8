# Claims of documents, and bundles of runs.
gtrack_SOURCES += \
	%D%/bundle.c \
	%D%/claims.c \
	%D%/claims_check.c
