#!/bin/sh
# The page of gtrack serve in a real browser; run by make check-page.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
command -v python3 >/dev/null || skip_all "no python3"
command -v chromium >/dev/null || skip_all "no chromium"
command -v chromedriver >/dev/null || skip_all "no chromedriver"
"$build/gtrack" serve --help >/dev/null 2>&1 || skip_all "no gtrack serve"

make_store rates seeds resume ranks grid odd
PYTHONDONTWRITEBYTECODE=1 exec python3 "$top/t/page/page.py" "$dir" \
    "$build/t/lib/mkruns"
