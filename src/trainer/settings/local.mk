# The settings.
src_trainer_libtrainer_a_SOURCES += \
	%D%/settings.c \
	%D%/settings.def \
	%D%/words.def
