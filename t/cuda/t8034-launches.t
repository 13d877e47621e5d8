#!/bin/sh
# The kernels that gtrain plan lists for a step on a GPU are those that the
# device launches, as often and in the same shapes.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case
"$gtrain" devices | grep -q 'emulated GPU' || skip_all "the device is a GPU"

# Times that are all alike choose what is fused.
export GT_EMU_CUDNN=1 GT_EMU_TIMELESS=1
options='--set train.precision=bf16 --set model.width=64 --set model.vocab=300'

# counts FILE STEPS MICRO: how often a training of STEPS steps, of MICRO
# micro-batches each, launches each kernel
counts() {
    rm -f launched
    # shellcheck disable=SC2086
    GT_EMU_LAUNCHES=launched train "$1.runs" $options \
        --set train.device=cuda --set train.cuda_graphs=no \
        --set schedule.steps="$2" --set train.tokens_per_step=$((32 * $3)) \
        --set eval.every=0
    sed 's/^(//; s/[<)].*//' launched | sort | uniq -c |
        awk '{ n = $1; $1 = ""; sub(/^ /, ""); print $0 "\t" n }' >"$1"
}

# more FILE THAN: how often FILE has each kernel more than THAN does
more() {
    awk -F '\t' 'NR == FNR { had[$1] = $2; next }
        $2 > had[$1] { print $1 "\t" $2 - had[$1] }' "$2" "$1"
}

counts warm 1 2 # devices are checked and algorithms chosen
counts two 1 2
counts three 1 3
counts steps 2 2
update='chunk_squares|add_chunks|update_weights'
{
    more three two
    more steps two | grep -E "^($update)"
} | sort >is
# shellcheck disable=SC2086
"$gtrain" plan --config base.ini $options --device h200 --only launches --tsv \
    --no-header | awk -F '\t' '$1 != "sum" && $1 !~ /^attention/ {
        name = $1 ~ /^product/ ? "product " $2 : $1
        n[name] += $3 }
    END { for (name in n) print name "\t" n[name] }' | sort >want
cmp -s is want && test -s want
ok $? "the launches of a micro-step and of an update are those of the plan" \
    "$(diff want is)"
grep -q '^product' is
ok $? "the products of cuBLASLt are among them"
done_testing
