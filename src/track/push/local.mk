# Runs to W&B and MLflow servers.
gtrack_SOURCES += \
	%D%/login.c \
	%D%/mlflow.c \
	%D%/push.c \
	%D%/push_mlflow.c \
	%D%/push_wandb.c \
	%D%/wandb.c \
	%D%/wandb_files.c \
	%D%/wandb_lines.c \
	%D%/wandb_media.c
