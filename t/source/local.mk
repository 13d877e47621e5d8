# The source itself and its documents.
dist_check_SCRIPTS += \
	%D%/t0001-layers.t \
	%D%/t0002-headers.t \
	%D%/t0003-style.t \
	%D%/t0004-options.t \
	%D%/t0005-manuals.t \
	%D%/t0006-examples.t \
	%D%/t0007-facts.t \
	%D%/t0008-test-names.t \
	%D%/t0009-bootstrap.t \
	%D%/t0010-modules.t
