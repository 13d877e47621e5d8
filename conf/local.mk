# Settings files, each of which is loaded, planned and trained for a step by a
# test; rules of gdata clean; and the tasks of gtrain eval.
confdir = $(pkgdatadir)/conf
dist_conf_DATA = \
	%D%/c4-29M.ini \
	%D%/c4-30M.ini \
	%D%/chat.ini \
	%D%/clean-c4.ini \
	%D%/clean-fineweb.ini \
	%D%/clean-gopher.ini \
	%D%/fast-124M.ini \
	%D%/fast-30M.ini \
	%D%/gpt-300M.ini \
	%D%/gpt2-124M.ini \
	%D%/quickstart.ini \
	%D%/shakespeare-char.ini \
	%D%/sweep-lr.ini \
	%D%/tasks.ini
