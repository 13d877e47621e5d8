# What the programs print, accept and refuse.
EXTRA_DIST += \
	%D%/plot-hella.golden \
	%D%/plot-names.golden \
	%D%/plot-resume.golden
