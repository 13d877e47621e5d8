# The documents of gtrack report.
gtrack_SOURCES += \
	%D%/report.c
