# Runs computed again: replay, bisect, batch and rehearse.
src_trainer_libtrainer_a_SOURCES += \
	%D%/bisect.c \
	%D%/certify.c \
	%D%/certify_record.c \
	%D%/recorded_run.c \
	%D%/rehearse_scene.c
