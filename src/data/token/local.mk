# Text to ids.
src_data_libdata_a_SOURCES += \
	%D%/bpe.c \
	%D%/bpe_train.c \
	%D%/chat_template.c \
	%D%/encoder.c \
	%D%/nfc.c \
	%D%/pretokenize.c \
	%D%/tokenizer.c \
	%D%/tokfile.c \
	%D%/tokfile_json.c \
	%D%/tokfile_json_model.c \
	%D%/tokfile_pickle.c \
	%D%/tokfile_tiktoken.c \
	%D%/tokfile_write.c \
	%D%/words.c

# The tables of nfc.c
nodist_src_data_libdata_a_SOURCES = %D%/nfc_rows.c
CLEANFILES += %D%/nfc_rows.c
EXTRA_DIST += scripts/nfc scripts/nfc.txt
src/data/token/nfc_rows.c: scripts/nfc scripts/nfc.txt
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(srcdir)/scripts/nfc <$(srcdir)/scripts/nfc.txt >$@.tmp && mv $@.tmp $@

if X86_64
src_data_libdata_a_SOURCES += %D%/pretokenize_x86.c
endif
