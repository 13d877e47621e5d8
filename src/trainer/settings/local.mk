# The settings.
src_trainer_libtrainer_a_SOURCES += \
	%D%/recipe.c \
	%D%/settings.c \
	%D%/settings.def \
	%D%/words.def
