# Claims of documents, and bundles of runs.
gtrack_SOURCES += \
	%D%/bundle.c \
	%D%/bundle.h \
	%D%/claimed_figures.c \
	%D%/claimed_figures.h \
	%D%/claims.c \
	%D%/claims.h
