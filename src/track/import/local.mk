# Readers of other trackers' logs.
gtrack_SOURCES += \
	%D%/import.c \
	%D%/import_csv.c \
	%D%/import_mlflow.c \
	%D%/import_tensorboard.c \
	%D%/import_text.c \
	%D%/import_wandb.c
if HAVE_SQLITE
gtrack_SOURCES += %D%/import_sqlite.c
else
gtrack_SOURCES += %D%/import_sqlite_none.c
endif
