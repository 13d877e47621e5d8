# The machine: its rates, its name, and whether it computes correctly.
src_trainer_libtrainer_a_SOURCES += \
	%D%/device_attention.c \
	%D%/device_check.c \
	%D%/hardware.c
