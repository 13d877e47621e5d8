# Settings files; each is loaded, planned and trained for a step by a test.
confdir = $(pkgdatadir)/conf
dist_conf_DATA = \
	%D%/quickstart.ini
