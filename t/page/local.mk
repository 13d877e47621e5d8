# The page of gtrack serve in a browser, by make check-page.  The tests are
# skipped without chromium and chromedriver.
page_scripts = %D%/t5500-page.t %D%/t5501-questions.t
EXTRA_DIST += \
	%D%/browser.py \
	%D%/harness.py \
	%D%/page.py \
	%D%/pictures.py \
	%D%/planted.py \
	%D%/questions.py \
	%D%/t5500-page.t \
	%D%/t5501-questions.t
