# Models in the files of other programs.
src_trainer_libtrainer_a_SOURCES += \
	%D%/convert.c \
	%D%/convert_gguf.c \
	%D%/convert_hf.c \
	%D%/convert_hf_config.c \
	%D%/convert_llmc.c

# The Python file beside a model that transformers has no class for
nodist_src_trainer_libtrainer_a_SOURCES += %D%/own_model.c
CLEANFILES += %D%/own_model.c
EXTRA_DIST += python/modeling_gtrain.py scripts/quote
src/trainer/convert/own_model.c: python/modeling_gtrain.py scripts/quote
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(srcdir)/scripts/quote \
	    trainer/convert/convert.h convert_own_model \
	    $(srcdir)/python/modeling_gtrain.py >$@.tmp && mv $@.tmp $@
