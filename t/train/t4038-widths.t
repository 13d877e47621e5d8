#!/bin/sh
# Rates by width: the sizes of a model's numbers, at two widths.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
if ! command -v python3 >/dev/null; then
    skip_all "python3 is not installed"
fi
show_commands
rhythm 3000 >data.bin
small_ini model.vocab=64 data.train=data.bin train.batch=4 \
    train.micro_batch=4 model.linear_bias=no model.tied=no \
    optim.name=adamw optim.lr=0.01 >tiny.ini
PATH=$build:$PATH
export PATH PYTHONDONTWRITEBYTECODE=1
coordinates() { python3 "$top/bench/coordinates" --head 16 --widths 32,256 "$@" 2>err; }
grows() { awk -v by="$2" '$1 == "h.0.mlp.proj" { found = $NF > by }
    END { exit !found }' "$1"; }

coordinates tiny.ini >without && grows without 1
ok $? "at one rate, wider models of AdamW take larger steps" "$(cat without err)"
coordinates --base 32 tiny.ini >with && ! grows with 0.1 && grows with -1
ok $? "with optim.base_width, steps stay as large as in the narrow model" \
    "$(cat with err)"
awk 'NR == 1 { n = NF } NF != n || NR > 1 && ($2 <= 0 || $3 <= 0) { bad = 1 }
    END { exit bad || NR < 10 }' with
ok $? "the coordinate check has a size for each operation and width" "$(cat with)"
! coordinates --widths 40 tiny.ini >out && grep -q "at least two" err
ok $? "the coordinate check refuses a single width" "$(cat out err)"
done_testing
