# The page that gtrack serve shows: modules come after those that they import
PAGE_FILES = \
	%D%/index.html \
	%D%/style.css \
	%D%/text.js \
	%D%/state.js \
	%D%/dom.js \
	%D%/api.js \
	%D%/chosen.js \
	%D%/paint.js \
	%D%/values.js \
	%D%/pointer.js \
	%D%/chart.js \
	%D%/grid.js \
	%D%/files.js \
	%D%/media.js \
	%D%/charts.js \
	%D%/rows.js \
	%D%/table.js \
	%D%/runs.js \
	%D%/spread.js \
	%D%/compare.js \
	%D%/markdown.js \
	%D%/run.js \
	%D%/main.js
EXTRA_DIST += $(PAGE_FILES)
