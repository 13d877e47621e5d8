# Models in the files of other programs.
src_trainer_libtrainer_a_SOURCES += \
	%D%/convert.c \
	%D%/convert.h \
	%D%/convert_gguf.c \
	%D%/convert_gguf_impl.h \
	%D%/convert_gguf_numbers.c \
	%D%/convert_gguf_tokens.c \
	%D%/convert_hf.c \
	%D%/convert_hf_config.c \
	%D%/convert_llmc.c \
	%D%/convert_own.c \
	%D%/convert_own_model.c
