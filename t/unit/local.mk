# A C test is one file of this folder, linked with what it tests.
unit_tests = \
	t/unit/common.t \
	t/unit/cores.t \
	t/unit/corpus.t \
	t/unit/crash.t \
	t/unit/dl.t \
	t/unit/death_watch.t \
	t/unit/edit.t \
	t/unit/filter.t \
	t/unit/fp8.t \
	t/unit/gpus.t \
	t/unit/half.t \
	t/unit/http.t \
	t/unit/index.t \
	t/unit/quantize.t \
	t/unit/jsonl.t \
	t/unit/kernels.t \
	t/unit/kernels_same.t \
	t/unit/legend.t \
	t/unit/library.t \
	t/unit/live.t \
	t/unit/loader.t \
	t/unit/mlflow.t \
	t/unit/model.t \
	t/unit/near.t \
	t/unit/optim.t \
	t/unit/outline.t \
	t/unit/paired.t \
	t/unit/piece_cache.t \
	t/unit/plot.t \
	t/unit/pretokenize.t \
	t/unit/python_random.t \
	t/unit/random_normal.t \
	t/unit/range.t \
	t/unit/save.t \
	t/unit/secret.t \
	t/unit/schedule.t \
	t/unit/sentencepiece.t \
	t/unit/serve.t \
	t/unit/shard.t \
	t/unit/shares.t \
	t/unit/source_list.t \
	t/unit/spawn.t \
	t/unit/store.t \
	t/unit/sweep.t \
	t/unit/table.t \
	t/unit/teacher.t \
	t/unit/tokenizer.t \
	t/unit/tokfile.t \
	t/unit/trainer.t \
	t/unit/vec.t \
	t/unit/words.t \
	t/unit/yaml.t
if X86_64 # it calls the products of AVX-512
unit_tests += t/unit/gemm.t
endif
check_PROGRAMS += $(unit_tests)
test_programs += $(unit_tests)

t_unit_common_t_SOURCES = %D%/common.c t/lib/tap.h
t_unit_common_t_LDADD = $(COMMON_LIBS)
t_unit_cores_t_SOURCES = %D%/cores.c t/lib/tap.h
t_unit_cores_t_LDADD = $(COMMON_LIBS)
t_unit_near_t_SOURCES = %D%/near.c t/lib/tap.h
t_unit_near_t_LDADD = $(DATA_LIBS)
t_unit_corpus_t_SOURCES = %D%/corpus.c t/lib/tap.h
t_unit_corpus_t_LDADD = $(DATA_LIBS)
t_unit_crash_t_SOURCES = %D%/crash.c t/lib/tap.h
t_unit_crash_t_LDADD = $(STORE_LIBS)
t_unit_dl_t_SOURCES = %D%/dl.c t/lib/tap.h
t_unit_dl_t_LDADD = $(COMMON_LIBS)
t_unit_death_watch_t_SOURCES = %D%/death_watch.c t/lib/tap.h
t_unit_death_watch_t_LDADD = $(TRAINER_LIBS)
t_unit_edit_t_SOURCES = %D%/edit.c t/lib/tap.h
t_unit_edit_t_LDADD = $(STORE_LIBS)
t_unit_filter_t_SOURCES = %D%/filter.c t/lib/tap.h
t_unit_filter_t_LDADD = $(STORE_LIBS)
t_unit_gemm_t_SOURCES = %D%/gemm.c t/lib/tap.h
t_unit_gemm_t_LDADD = $(KERNELS_LIBS)
t_unit_fp8_t_SOURCES = %D%/fp8.c t/lib/tap.h
t_unit_fp8_t_LDADD = $(KERNELS_LIBS)
t_unit_gpus_t_SOURCES = %D%/gpus.c t/lib/tap.h
t_unit_gpus_t_LDADD = $(KERNELS_LIBS)
t_unit_half_t_SOURCES = %D%/half.c t/lib/tap.h
t_unit_half_t_LDADD = $(KERNELS_LIBS)
t_unit_http_t_SOURCES = %D%/http.c t/lib/tap.h
t_unit_http_t_LDADD = $(COMMON_LIBS)
t_unit_index_t_SOURCES = %D%/index.c t/lib/tap.h
t_unit_index_t_LDADD = $(STORE_LIBS)
t_unit_quantize_t_SOURCES = %D%/quantize.c t/lib/tap.h
t_unit_quantize_t_LDADD = $(KERNELS_LIBS)
t_unit_legend_t_SOURCES = %D%/legend.c t/lib/tap.h
t_unit_legend_t_LDADD = $(PLOT_LIBS)
t_unit_piece_cache_t_SOURCES = %D%/piece_cache.c t/lib/tap.h
t_unit_piece_cache_t_LDADD = $(DATA_LIBS)
t_unit_library_t_SOURCES = %D%/library.c t/lib/tap.h
t_unit_library_t_LDADD = libgtrack.a $(YAML_LIBS) -lpthread
t_unit_live_t_SOURCES = %D%/live.c t/lib/tap.h src/track/serve/live.c
t_unit_live_t_LDADD = $(STORE_LIBS)
t_unit_loader_t_SOURCES = %D%/loader.c t/lib/tap.h
t_unit_loader_t_LDADD = $(DATA_LIBS)
t_unit_mlflow_t_SOURCES = %D%/mlflow.c t/lib/tap.h
t_unit_mlflow_t_LDADD = $(STORE_LIBS)
t_unit_mlflow_t_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
t_unit_model_t_SOURCES = %D%/model.c t/lib/tap.h
t_unit_model_t_LDADD = $(TRAINER_LIBS)
t_unit_optim_t_SOURCES = %D%/optim.c t/lib/tap.h
t_unit_optim_t_LDADD = $(TRAINER_LIBS)
t_unit_outline_t_SOURCES = %D%/outline.c t/lib/tap.h
t_unit_outline_t_LDADD = $(STORE_LIBS)
t_unit_plot_t_SOURCES = %D%/plot.c t/lib/tap.h
t_unit_plot_t_LDADD = $(PLOT_LIBS)
t_unit_pretokenize_t_SOURCES = %D%/pretokenize.c t/lib/tap.h
t_unit_pretokenize_t_LDADD = $(DATA_LIBS)
t_unit_python_random_t_SOURCES = %D%/python_random.c t/lib/tap.h
t_unit_python_random_t_LDADD = $(TRAINER_LIBS)
t_unit_random_normal_t_SOURCES = %D%/random_normal.c t/lib/tap.h
t_unit_random_normal_t_LDADD = $(KERNELS_LIBS)
t_unit_range_t_SOURCES = %D%/range.c t/lib/tap.h
t_unit_range_t_LDADD = $(PLOT_LIBS)
t_unit_paired_t_SOURCES = %D%/paired.c t/lib/tap.h
t_unit_paired_t_LDADD = $(STORE_LIBS)
t_unit_save_t_SOURCES = %D%/save.c t/lib/tap.h
t_unit_save_t_LDADD = $(COMMON_LIBS)
t_unit_secret_t_SOURCES = %D%/secret.c t/lib/tap.h
t_unit_secret_t_LDADD = $(COMMON_LIBS)
t_unit_schedule_t_SOURCES = %D%/schedule.c t/lib/tap.h
t_unit_schedule_t_LDADD = $(TRAINER_LIBS)
t_unit_sentencepiece_t_SOURCES = %D%/sentencepiece.c %D%/few_merges.h t/lib/tap.h
t_unit_sentencepiece_t_LDADD = $(DATA_LIBS)
t_unit_sentencepiece_t_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
t_unit_serve_t_SOURCES = %D%/serve.c t/lib/tap.h src/track/serve/answer.c \
	src/track/serve/guard.c
t_unit_serve_t_LDADD = $(COMMON_LIBS)
t_unit_serve_t_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
t_unit_shard_t_SOURCES = %D%/shard.c t/lib/tap.h
t_unit_shard_t_LDADD = $(DATA_LIBS)
t_unit_shares_t_SOURCES = %D%/shares.c t/lib/tap.h
t_unit_shares_t_LDADD = $(DATA_LIBS)
t_unit_source_list_t_SOURCES = %D%/source_list.c t/lib/tap.h
t_unit_source_list_t_LDADD = $(COMMON_LIBS)
t_unit_spawn_t_SOURCES = %D%/spawn.c t/lib/tap.h
t_unit_spawn_t_LDADD = $(COMMON_LIBS)
t_unit_store_t_SOURCES = %D%/store.c t/lib/tap.h
t_unit_store_t_LDADD = $(STORE_LIBS)
t_unit_sweep_t_SOURCES = %D%/sweep.c t/lib/tap.h
t_unit_sweep_t_LDADD = $(TRAINER_LIBS)
t_unit_table_t_SOURCES = %D%/table.c t/lib/tap.h
t_unit_table_t_LDADD = $(COMMON_LIBS)
t_unit_teacher_t_SOURCES = %D%/teacher.c t/lib/tap.h
t_unit_teacher_t_LDADD = $(KERNELS_LIBS)
t_unit_tokenizer_t_SOURCES = %D%/tokenizer.c %D%/few_merges.h t/lib/tap.h
t_unit_tokenizer_t_LDADD = $(DATA_LIBS)
t_unit_tokfile_t_SOURCES = %D%/tokfile.c %D%/few_merges.h t/lib/tap.h
t_unit_tokfile_t_LDADD = $(DATA_LIBS)
t_unit_trainer_t_SOURCES = %D%/trainer.c t/lib/tap.h
t_unit_trainer_t_LDADD = $(TRAINER_LIBS)
t_unit_vec_t_SOURCES = %D%/vec.c t/lib/tap.h
t_unit_vec_t_LDADD = $(COMMON_LIBS)
t_unit_words_t_SOURCES = %D%/words.c t/lib/tap.h
t_unit_words_t_LDADD = $(DATA_LIBS)
t_unit_yaml_t_SOURCES = %D%/yaml.c t/lib/tap.h
t_unit_yaml_t_LDADD = $(STORE_LIBS)

t_unit_jsonl_t_SOURCES = %D%/jsonl.c t/lib/tap.h
t_unit_jsonl_t_LDADD = $(DATA_LIBS)
kernels_cases = %D%/kernels.h %D%/kernels_ops.c %D%/kernels_ops_attn.c t/lib/tap.h
t_unit_kernels_t_SOURCES = %D%/kernels.c %D%/kernels_grad.c %D%/kernels_judge.c \
	$(kernels_cases)
t_unit_kernels_t_LDADD = $(KERNELS_LIBS)
t_unit_kernels_same_t_SOURCES = %D%/kernels_same.c $(kernels_cases)
t_unit_kernels_same_t_LDADD = $(KERNELS_LIBS)

EXTRA_DIST += %D%/filters.txt %D%/filters.golden
