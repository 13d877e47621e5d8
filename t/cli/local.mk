# What the programs print, accept and refuse.
dist_check_SCRIPTS += \
	%D%/t2001-torture.t \
	%D%/t2002-library.t \
	%D%/t2003-capture.t \
	%D%/t2004-kill.t \
	%D%/t2005-kills.t \
	%D%/t2006-faults.t \
	%D%/t2007-power.t \
	%D%/t3010-gather.t \
	%D%/t3020-bpe.t \
	%D%/t3021-encode.t \
	%D%/t3022-fetch.t \
	%D%/t3023-sentencepiece.t \
	%D%/t3030-checks.t \
	%D%/t3040-parquet.t \
	%D%/t5010-track.t \
	%D%/t5011-track-examples.t \
	%D%/t5012-exchange.t \
	%D%/t5013-lost.t \
	%D%/t5014-hostile.t \
	%D%/t5015-fsck.t \
	%D%/t5016-bounds.t \
	%D%/t5017-claims.t \
	%D%/t5018-hours.t \
	%D%/t5019-sweep.t \
	%D%/t5020-push.t \
	%D%/t5021-alert.t \
	%D%/t5022-paired.t \
	%D%/t5023-forecast.t \
	%D%/t5030-serve.t \
	%D%/t5031-serve-run.t \
	%D%/t5032-serve-freeze.t \
	%D%/t6010-figures.t \
	%D%/t6020-options.t \
	%D%/t6030-script.t \
	%D%/t6040-json.t \
	%D%/t6050-hist.t \
	%D%/t6060-verify.t \
	%D%/t6070-timeline.t
EXTRA_DIST += \
	%D%/plot-hella.golden \
	%D%/plot-names.golden \
	%D%/plot-resume.golden
