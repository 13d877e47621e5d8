#!/bin/sh
# gtrain plan --device computes step times from rates and bytes, and the
# documents have what it prints.
. "$(dirname "$0")/../lib/tap.sh"

# plan OPTION...: the rows for GPT-2 124M, separated by tabs
plan() {
    gtrain plan "$top/conf/gpt2-124M.ini" --tsv --no-header "$@"
}

# column MODE N OPTION...: the N-th column of the row of a mode
column() {
    mode=$1 number=$2
    shift 2
    plan --only step "$@" | awk -F "$tab" -v m="$mode" -v n="$number" \
        '$1 == m { print $n }'
}

# in_table FILE: are the rows of standard input rows of a table in FILE?
in_table() {
    sed "s/$tab/ | /g; s/^/| /; s/\$/ |/" >rows
    test -s rows && ! grep -vxF -f "$1" rows >missing
}

plan --device h200 --only operations | in_table "$top/doc/cuda.md"
ok $? "doc/cuda.md has the operations of a step" "$(cat missing)"
{
    plan --device a100-80gb --gpus 8 --only step
    plan --device h100 --gpus 8 --only step
    plan --device h100 --gpus 1024 --network 400Gb --only step \
        --set train.tokens_per_step=67108864
} >all
grep -E "^(ddp|fsdp)$tab" all | in_table "$top/doc/planning.md"
ok $? "doc/planning.md has the steps of 8 and of 1,024 GPUs" "$(cat missing)"

awk -F "$tab" '$1 == "sum" { sum = $5 } $1 != "sum" { all += $5 }
    END { exit !(sum > 0 && sum - all < 0.1 && all - sum < 0.1) }' <<END
$(plan --device h200 --only operations)
END
ok $? "the operations add up to their sum"

plan --only time --device h100 --gpus 8 --price 2/h | head -n 1 >row
awk -F "$tab" -v ms="$(column ddp 3 --device h100 --gpus 8)" '
    { off = $5 / (ms * 19073 / 3.6e6) - 1; price = $7 - 2 * $6 }
    END { exit !($1 == "H100" && $2 == 8 && off * off < 1e-6 &&
                 price * price < 1e-9 && $9 == "operations") }' row
ok $? "the hours and the price on a device follow from its step" "$(cat row)"

sent=$(plan --ranks 8 --only memory | awk -F "$tab" '$1 == "ddp" { print $8 }')
is "$(column ddp 5 --device h100 --gpus 8)" \
    "$(awk -v n="$sent" 'BEGIN { printf "%.1f", n / 450e9 / 0.8 * 1000 }')" \
    "sending takes the bytes of the memory table at 80% of the link's rate"
sent=$(plan --ranks 16 --only memory --set train.micro_batch=32 |
    awk -F "$tab" '$1 == "fsdp" { print $8 }')
is "$(column fsdp 5 --device h100 --gpus 16 --network 100Gb \
    --set train.micro_batch=32)" \
    "$(awk -v n="$sent" 'BEGIN { printf "%.1f", n / 12.5e9 / 0.8 * 1000 }')" \
    "GPUs of several machines send at 80% of the network's rate"
is "$(column ddp 8 --device a10g --set train.micro_batch=128)" no \
    "a step whose memory exceeds the GPU's does not fit"
for name in rtx4090 RTX-4090 l40s b200 A100-80GB; do
    plan --device $name --only operations | wc -l
done | uniq >out
is "$(wc -l <out)" 1 "GPUs are found by their names without spaces and dashes"
gtrain plan "$top/conf/gpt2-124M.ini" --device v100 >out 2>err
is "$? $(cat err)" "2 gtrain: --device v100: gtrain needs compute capability \
8.0, and a V100 has 7.0" "a GPU on which nothing could run is refused"

fp8="--set train.precision=bf16 --set train.fp8"
# shellcheck disable=SC2086 # words
test "$(column ddp 4 --device h200 $fp8=head)" \
    != "$(column ddp 4 --device h200)" &&
    plan --device h200 --only operations $fp8=mlp | awk -F "$tab" '
        $1 == "head" { exit !($5 < 20) }'
ok $? "products of fp8 have the rate of fp8"
# shellcheck disable=SC2086
gtrain plan "$top/conf/gpt2-124M.ini" --device a100-80gb $fp8=head 2>err >out
is $? 2 "fp8 is refused for a device that cannot multiply it"
like err 'train.fp8: A100 80GB cannot multiply fp8' "the message names it"
gtrain plan "$top/conf/gpt2-124M.ini" --device tpu 2>err >out
is $? 2 "a device that is not a GPU is refused"
like err "device expects cpu or a GPU.*not 'tpu'" "the message names some"
gtrain plan "$top/conf/gpt2-124M.ini" --device h100 --network fast 2>err >out
is $? 2 "a network without a rate is refused"
like err "network expects bits per second.*not 'fast'" "the message names it"
gtrain plan "$top/conf/gpt2-124M.ini" --only step 2>err >out
is $? 2 "--only step is refused without --device"
done_testing
