# Whole trainings on the CPU.
dist_check_SCRIPTS += \
	%D%/t3001-allocs.t \
	%D%/t3002-same.t \
	%D%/t3050-train.t \
	%D%/t4000-plan.t \
	%D%/t4001-plan-step.t \
	%D%/t4002-plan-cpu.t \
	%D%/t4003-budget.t \
	%D%/t4010-train.t \
	%D%/t4011-endurance.t \
	%D%/t4011-elsewhere.t \
	%D%/t4020-settings.t \
	%D%/t4030-convert.t \
	%D%/t4031-import.t \
	%D%/t4032-gguf.t \
	%D%/t4040-conf.t \
	%D%/t4050-eval.t \
	%D%/t4051-documents.t \
	%D%/t4060-init.t \
	%D%/t4070-replay.t \
	%D%/t4071-batch.t \
	%D%/t4074-bisect.t \
	%D%/t4075-bundle.t \
	%D%/t4076-rehearse.t \
	%D%/t4080-bench.t
