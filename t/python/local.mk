# The Python package.  t2010-python.t runs the tests in the files
# test_*.py, and t2011-wheel.t builds and installs the wheel.
EXTRA_DIST += \
	%D%/store.py \
	%D%/tap.py \
	%D%/test_door.py \
	%D%/test_manual.py \
	%D%/test_media.py \
	%D%/test_mlflow.py \
	%D%/test_process.py \
	%D%/test_run.py \
	%D%/test_sweep.py \
	%D%/test_wandb.py \
	%D%/wandb_calls.py
