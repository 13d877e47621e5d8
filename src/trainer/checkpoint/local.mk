# Checkpoints: written, found and loaded.
src_trainer_libtrainer_a_SOURCES += \
	%D%/checkpoint.c \
	%D%/checkpoint_files.c \
	%D%/checkpoint_find.c \
	%D%/checkpoint_state.c
