# A model in memory, with its data, its device and the other ranks.
src_trainer_libtrainer_a_SOURCES += \
	%D%/engine.c \
	%D%/engine_data.c
