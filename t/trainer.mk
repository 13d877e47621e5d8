# tests of this area
check_PROGRAMS += t/model.t
test_programs += t/model.t
t_model_t_SOURCES = %D%/model.c %D%/tap.h
t_model_t_LDADD = $(TRAINER_LIBS)
EXTRA_DIST += doc/numerics.md doc/planning.md %D%/reference/model.py %D%/reference/model.txt \
	%D%/reference/gguf_check.py %D%/reference/hf_loss.py

check_PROGRAMS += t/schedule.t
test_programs += t/schedule.t
t_schedule_t_SOURCES = %D%/schedule.c %D%/tap.h
t_schedule_t_LDADD = $(TRAINER_LIBS)

dist_check_SCRIPTS += %D%/t4000-plan.t %D%/t4010-train.t \
	%D%/t4020-settings.t \
	%D%/t4030-convert.t \
	%D%/t4031-import.t \
	%D%/t4040-conf.t \
	%D%/t4050-eval.t

check_PROGRAMS += t/trainer.t
test_programs += t/trainer.t
t_trainer_t_SOURCES = %D%/trainer.c %D%/tap.h
t_trainer_t_LDADD = $(TRAINER_LIBS)

peer_scripts += %D%/t9050-options.t
EXTRA_DIST += %D%/t9050-options.t %D%/reference/options.py
check-peers: bench/start
