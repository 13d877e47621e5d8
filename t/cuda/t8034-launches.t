#!/bin/sh
# doc/cuda.md says how often the device launches each kernel.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case
"$gtrain" devices | grep -q 'emulated GPU' || skip_all "the device is a GPU"

# Times that are all alike choose what is fused.
export GT_EMU_CUDNN=1 GT_EMU_TIMELESS=1

# counts FILE STEPS MICRO: how often a training of STEPS steps, of MICRO
# micro-batches each, launches each kernel
counts() {
    rm -f launched
    GT_EMU_LAUNCHES=launched train "$1.runs" --set train.precision=bf16 \
        --set model.width=64 --set model.vocab=300 --set train.device=cuda \
        --set train.cuda_graphs=no --set schedule.steps="$2" \
        --set train.tokens_per_step=$((32 * $3)) --set eval.every=0
    sed 's/^(//; s/[ <)].*//' launched | sort | uniq -c |
        awk '{ print $2 "\t" $1 }' >"$1"
}

# more FILE THAN: how often FILE has each kernel more than THAN does
more() {
    awk -F '\t' 'NR == FNR { had[$1] = $2; next }
        $2 > had[$1] { print $1 "\t" $2 - had[$1] }' "$2" "$1"
}

# documented: the same of a model of two layers, by the table of doc/cuda.md
documented() {
    awk -F ' *[|] *' '/^[|] kernel [|] once / { table = 1; next }
        !/^[|]/ { table = 0 }
        table && $2 !~ /^-|attention|sum\*/ { print $2 "\t" $3 + 2 * $4 }' \
        "$top/doc/cuda.md"
}

counts warm 1 2 # devices are checked and algorithms chosen
counts two 1 2
counts three 1 3
counts steps 2 2
{
    more three two
    more steps two | grep -E '^(chunk_squares|add_chunks|update_weights)'
} | sort >is
documented | sort >want
cmp -s is want && test -s want
ok $? "doc/cuda.md has the launches of a micro-step and of an update" \
    "$(diff want is)"
done_testing
