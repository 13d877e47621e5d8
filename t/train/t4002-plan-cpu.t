#!/bin/sh
# gtrain plan --device cpu computes step times from the rates it is given.
. "$(dirname "$0")/../lib/tap.sh"

# 100 and 200 GFLOP/s, 2 and 1 billion numbers, 30 and 40 GB/s, 1M regions, and
# 2 GB/s between ranks
rates=100,200,2,1,30,40,1,2

# plan RATES OPTION...: the rows for a small model, separated by tabs
plan() {
    given=$1
    shift
    gtrain plan --device cpu --only step --tsv --no-header -s model.layers=2 \
        -s model.heads=4 -s model.width=256 -s model.context=128 \
        -s model.vocab=1000 -s train.micro_batch=8 -s train.batch=32 \
        -s plan.cpu_rates="$given" "$@" 2>err
}

# step OPTION...: the milliseconds of a step with ddp
step() { plan "$rates" "$@" | awk -F "$tab" '$1 == "ddp" { print $4 }'; }

# holds EXPRESSION: whether it is true
holds() { awk "BEGIN { exit !($1) }"; }

is "$(plan $rates --threads 1,2,64 | cut -f 1-3 | tr '\t\n' ', ')" \
    "ddp,1,1 ddp,1,2 ddp,1,64 " "there is a row for each number of threads"
is "$(plan $rates --threads 2,4 --ranks 2 | cut -f 1-3 | tr '\t\n' ', ')" \
    "ddp,2,2 zero1,2,2 zero2,2,2 fsdp,2,2 ddp,2,4 zero1,2,4 zero2,2,4 fsdp,2,4 " \
    "there is one for each way of sharding"
one=$(step --threads 1)
two=$(step --threads 2)
holds "$one / $two > 1.8 && $one / $two < 2"
ok $? "two threads take a little more than half as long ($one, $two)"
like err 'approaches 60 GB/s' \
    "the limit of the memory is that of 1 / B(n) = 1 / (n b) + 1 / S"
plan 100,200,2,1,30,60,1,2 --threads 1 >out
like err 'cannot tell the memory bandwidth' \
    "memory twice as fast with two threads has no limit"
plan $rates --threads 1,2 --only time -s schedule.steps=1000 | head -n 2 >rows
awk -F "$tab" -v one="$one" -v two="$two" '
    { off = $5 * 3600 / (NR == 1 ? one : two) - 1; bad += off * off > 1e-6 }
    END { exit bad || NR != 2 }' rows
ok $? "the hours on this CPU follow from the step of each number of threads" \
    "$(cat rows)"
plan $rates --threads 1 -s train.fp8=head -s train.precision=bf16 >out
is $? 2 "fp8 is refused for a CPU"
like err 'train.fp8: a CPU cannot multiply fp8' "the message names the CPU"

flops=$(gtrain plan --only operations --device cpu -s plan.cpu_rates=$rates \
    --threads 1 -s model.layers=2 -s model.heads=4 -s model.width=256 \
    -s model.context=128 -s model.vocab=1000 -s train.micro_batch=8 --tsv \
    --no-header 2>err | awk -F "$tab" '$1 == "sum" { print $3 }')
fast=1e9
is "$(plan 100,200,$fast,$fast,$fast,$fast,$fast,2 --threads 1 |
    awk -F "$tab" -v f="$flops" '{ off = $4 - 4 * f * 10
        print (off < 0 && off > -15 ? "near" : off) }')" near \
    "with fast memory, a step takes its operations at the rate of products"
many=$(step --threads 4096)
few=$(step --threads 32)
holds "$many > $few"
ok $? "a step with too many threads takes longer ($few, $many)"
slow=$(plan 100,200,2,1,30,40,0.1,2 --threads 2 | cut -f 4)
holds "$slow > $two"
ok $? "slow regions make two threads slower ($two, $slow)"
alone=$(plan 100,200,2,1,30,40,0.1,2 --threads 1 | cut -f 4)
is "$alone" "$one" "one thread has no regions"

sent=$(plan $rates --threads 1 --ranks 2 | awk -F "$tab" '$1 == "ddp" {
    print $6 }')
bytes=$(gtrain plan --only memory -s model.layers=2 -s model.heads=4 \
    -s model.width=256 -s model.context=128 -s model.vocab=1000 \
    -s train.micro_batch=8 -s train.batch=32 --ranks 2 --tsv --no-header |
    awk -F "$tab" '$1 == "ddp" { print $8 }')
is "$sent" "$(awk -v n="$bytes" 'BEGIN { printf "%.1f", n / 2e9 * 1000 }')" \
    "sending takes the bytes of the memory table at the rate between ranks"
is "$(plan $rates --threads 1 --ranks 2 | awk -F "$tab" '$1 == "ddp" {
    print $6 - $7 }')" 0 "the only thread of a rank does not compute meanwhile"

# On this machine, ranks of one thread share its cores.
plan $rates --ranks 1024 --set train.threads=1 --set train.micro_batch=1 \
    --set train.batch=1024 >out
shared=$(awk -F "$tab" '$1 == "ddp" { print $4 }' out)
plan $rates --ranks 1024 --threads 1 --set train.micro_batch=1 \
    --set train.batch=1024 >out
own=$(awk -F "$tab" '$1 == "ddp" { print $4 }' out)
holds "$shared > 2 * $own"
ok $? "ranks that share the cores of this machine are slower ($own, $shared)"

gtrain plan "$top/conf/c4-30M.ini" --set train.tokens_per_step=8192 \
    --device cpu --threads 1,2,4,8,16,32,64 --only step --tsv --no-header \
    --set plan.cpu_rates=104,205,4,1.6,29,38,1.9,3.5 2>err |
    sed "s/$tab/ | /g; s/^/| /; s/\$/ |/" >rows
test "$(grep -cxF -f rows "$top/doc/planning.md")" = 7
ok $? "doc/planning.md has the times of up to 64 threads"

plan 1,2,3 >out
is $? 2 "three rates are refused"
like err 'plan.cpu_rates.*expects 8 numbers, not 3' "the message counts them"
plan 100,200,2,1,30,40,1,0 >out
is $? 2 "a rate of 0 is refused"
plan $rates --threads 2,x >out
is $? 2 "threads that are not numbers are refused"
like err "threads expects up to 16 numbers.*not '2,x'" "the message names them"
gtrain plan --device h100 --threads 2 --only step 2>err >out
is $? 2 "--threads is refused for a GPU"
done_testing
