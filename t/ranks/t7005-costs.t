#!/bin/sh
# What ranks keep and send is what gtrain plan says of each way to share.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_ranks_case

# costs MODE RANKS OPTION...: bytes kept to the last one; what is sent besides
# gradients and weights, loss and readings, is little and depends on no model
costs() {
    mode=$1 count=$2
    shift 2
    rm -rf run
    "$gtrain" -q --config c.ini --ranks "$count" --root run "$@" \
        --set parallel.mode="$mode" --set eval.every=0 \
        --set checkpoint.last=no >log 2>&1
    plan=$("$gtrain" plan c.ini --ranks "$count" "$@" --only memory --tsv \
        --no-header | awk -v mode="$mode" '$1 == mode')
    want=$(echo "$plan" | cut -f 2-6)
    kept=$(for part in weights gradients moments activations inputs; do
        cat run/0/*/params/derived.bytes.$part; echo; done | paste -s -)
    bad=
    test "$kept" = "$want" || bad="kept $kept, planned $want: $(tail -n 1 log)"
    test "$count" -eq 1 && sent=0 ||
        sent=$(awk '$3 == 3 { print $2 }' run/0/*/metrics/perf/sent_bytes)
    awk -v sent="$sent" -v plan="$(echo "$plan" | cut -f 8)" 'BEGIN {
        exit !(sent != "" && sent >= plan && sent - plan < 16384) }' ||
        bad="$bad sent $sent, planned $(echo "$plan" | cut -f 8)"
    is "$bad" "" "$mode on $count ranks keeps and sends what plan says ($*)"
}
costs ddp 1
for count in $(repeats 3 '2 3 4'); do
    for mode in ddp zero1 zero2 fsdp; do
        costs $mode "$count"
    done
done
for mode in ddp zero1 zero2 fsdp; do
    costs "$mode" 2 --set train.deterministic=no
    costs "$mode" 3 --set train.precision=bf16 --set model.tied=no
done
for mode in ddp zero1 zero2 fsdp; do
    costs "$mode" 3 --set train.deterministic=no --set parallel.sum_type=bf16
done
for mode in ddp zero1 fsdp; do
    costs "$mode" 2 --set optim.moments=bf16
done
for mode in ddp zero1 zero2 fsdp; do
    costs "$mode" 2 --set train.precision=bf16 --set optim.masters=bf16
done
costs zero2 2 --set optim.name=muon
costs fsdp 3 --set optim.name=muon --set model.layers=5
costs fsdp 3 --set parallel.reshard=no
costs fsdp 2 --set model.layers=2

# sent MODE TYPE: what plan says a rank sends in a step
sent() {
    "$gtrain" plan c.ini --ranks 4 --set train.deterministic=no \
        --set parallel.sum_type="$2" --only memory --tsv --no-header |
        awk -v mode="$1" '$1 == mode { print $8 }'
}
is "$(($(sent ddp bf16) * 2))" "$(sent ddp fp32)" \
    "with parallel.sum_type = bf16, ddp sends half of the bytes"

# losses: those of the last run
losses() { awk '{ print $2 }' run/0/*/metrics/train/loss; }
for count in $(repeats 2 '2 20'); do
    for type in fp32 bf16; do
        rm -rf run
        "$gtrain" -q --config c.ini --ranks "$count" --root run \
            --set train.batch=40 --set train.deterministic=no \
            --set checkpoint.last=no --set parallel.sum_type=$type >log 2>&1
        losses >$type
    done
    bad=$(paste fp32 bf16 | awk '
        { off = $1 > $2 ? $1 - $2 : $2 - $1; same += !off }
        off > 1e-3 { print "is " $2 ", want " $1 }
        END { if (NR != 3 || same == NR) print NR " losses, " same " equal" }')
    is "$bad" "" "$count ranks that sum in bf16 have the losses of fp32, nearly"
done
"$gtrain" --config c.ini --set parallel.sum_type=bf16 >log 2>&1
is $? 2 "sums in bf16 are refused with train.deterministic"
like log 'parallel.sum_type.*use fp32, or train.deterministic = no' \
    "the error says which of the two settings to change"
done_testing
