#!/bin/sh
# Questions about a sweep of 200 runs, asked of the page; run by make check-page.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
command -v python3 >/dev/null || skip_all "no python3"
command -v chromium >/dev/null || skip_all "no chromium"
command -v chromedriver >/dev/null || skip_all "no chromedriver"
"$build/gtrack" serve --help >/dev/null 2>&1 || skip_all "no gtrack serve"

export GTRACK_ROOT="$dir/runs"
PYTHONDONTWRITEBYTECODE=1 exec python3 "$top/t/page/questions.py" "$dir"
