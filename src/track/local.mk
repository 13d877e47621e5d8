# gtrack: list, compare, move and push runs
bin_PROGRAMS += gtrack
gtrack_SOURCES = \
	%D%/choose.c \
	%D%/choose.h \
	%D%/cmd_compare.c \
	%D%/cmd_ls.c \
	%D%/cmd_show.c \
	%D%/column.c \
	%D%/column.h \
	%D%/files.c \
	%D%/files.h \
	%D%/group.c \
	%D%/group.h \
	%D%/gtrack.c \
	%D%/track.c \
	%D%/track.h
gtrack_CPPFLAGS = $(AM_CPPFLAGS)
gtrack_LDADD = $(STORE_LIBS)
