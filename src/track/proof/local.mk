# Claims of documents, and bundles of runs.
gtrack_SOURCES += \
	%D%/bundle.c \
	%D%/bundle.h \
	%D%/claims.c \
	%D%/claims.h \
	%D%/claims_check.c
