#!/bin/sh
# gdata clean keeps the documents that datatrove's filters keep, with the words
# of both being what white space separates.  Part of `make check-peers`; skipped
# without datatrove.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" ||
    skip_all "make check-peers asks the peers"
"$python" -c 'import datatrove, regex' 2>/dev/null ||
    skip_all "no datatrove and regex in $python; set GT_PYTHON"
clean=$top/t/peers/clean.py

"$python" -B "$clean" make docs.jsonl 2>err &&
    "$python" -B "$clean" filter docs.jsonl theirs 2>err
ok $? "datatrove filters texts at each threshold"
gdata clean -q --rules "$top/conf/clean-gopher.ini" -o ours docs.jsonl >out 2>err &&
    "$python" -B "$clean" compare theirs ours >out 2>err
ok $? "gdata clean keeps the same of $(wc -l <docs.jsonl) documents"
is "$(cut -d' ' -f2 theirs.why | sort -u | tr '\n' ' ')" \
    "gopher_above_avg_threshold gopher_below_alpha_threshold \
gopher_below_avg_threshold gopher_enough_stop_words gopher_long_doc \
gopher_short_doc gopher_too_many_bullets gopher_too_many_ellipsis \
gopher_too_many_end_ellipsis gopher_too_many_hashes kept " \
    "each rule drops some of these documents"
done_testing
