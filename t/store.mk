check_PROGRAMS += t/store-tool t/store.t t/crash.t t/edit.t t/filter.t t/index.t t/mlflow.t t/yaml.t
test_programs += t/store.t t/crash.t t/edit.t t/filter.t t/index.t t/mlflow.t t/yaml.t
t_store_t_SOURCES = %D%/store.c %D%/tap.h
t_store_t_LDADD = $(STORE_LIBS)
t_filter_t_SOURCES = %D%/filter.c %D%/tap.h
t_filter_t_LDADD = $(STORE_LIBS)
EXTRA_DIST += %D%/filters.py %D%/filters.txt %D%/filters.golden
t_mlflow_t_SOURCES = %D%/mlflow.c %D%/tap.h
t_mlflow_t_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
t_mlflow_t_LDADD = $(STORE_LIBS)
t_index_t_SOURCES = %D%/index.c %D%/tap.h
t_index_t_LDADD = $(STORE_LIBS)
t_store_tool_SOURCES = %D%/store-tool.c
t_store_tool_LDADD = $(STORE_LIBS)
dist_check_SCRIPTS += %D%/t2001-torture.t %D%/t2002-library.t %D%/t2003-capture.t \
	%D%/t9001-mlflow.t
t_crash_t_SOURCES = %D%/crash.c %D%/tap.h
t_crash_t_LDADD = $(STORE_LIBS)
EXTRA_DIST += %D%/fuzz/attempt.c %D%/fuzz/filter.c %D%/fuzz/metric.c \
	%D%/fuzz/yaml.c %D%/fuzz/seeds/attempt/rewinds \
	%D%/fuzz/seeds/filter/all %D%/fuzz/seeds/metric/points \
	%D%/fuzz/seeds/yaml/meta
t_edit_t_SOURCES = %D%/edit.c %D%/tap.h
t_edit_t_LDADD = $(STORE_LIBS)
t_yaml_t_SOURCES = %D%/yaml.c %D%/tap.h
t_yaml_t_LDADD = $(STORE_LIBS)
peer_scripts += %D%/t9001-mlflow.t
