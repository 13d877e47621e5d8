# The documents of gtrack report.
gtrack_SOURCES += \
	%D%/report.c \
	%D%/report_facts.c
