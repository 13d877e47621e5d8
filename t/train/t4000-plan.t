#!/bin/sh
# gtrain plan counts what is known from elsewhere, to the last digit.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
value() {       # value CONF PART ROW COLUMN [OPTION]...
    conf=$1 part=$2 row=$3 column=$4
    shift 4
    gtrain plan "$top/conf/$conf.ini" --only "$part" --tsv --no-header "$@" |
        awk -F'\t' -v row="$row" -v column="$column" \
            '$1 == row { print $column }'
}
is "$(value c4-30M parameters all 3)" 29995520 "c4-30M has 30M parameters"
is "$(value c4-30M training 'tokens for 20 a parameter' 2)" 599910400 \
    "c4-30M trains on 20 tokens for each parameter"
is "$(value c4-30M training steps 2)" 4576 \
    "c4-30M takes 4,576 steps for its tokens"
is "$(value c4-29M parameters all 3)" 28946944 "c4-29M has 29M parameters"
is "$(value c4-29M training steps 2)" 8833 "c4-29M takes 8,833 steps on one GPU"
is "$(value c4-29M training steps 2 --ranks 2 \
    --set train.tokens_per_step=131072)" 4416 \
        "c4-29M takes half the steps on two GPUs"
is "$(value c4-29M training 'steps, each rank with this batch' 2 --gpus 2)" \
    4416 "--gpus 2 has the steps with twice the batch as well"
is "$(value gpt2-124M parameters all 3)" 124475904 \
    "gpt2-124M has GPT-2's parameters and padding"
is "$(value gpt2-124M parameters all 3 --set model.vocab_multiple=1)" 124439808 \
    "gpt2-124M without padding has GPT-2's parameters"
is "$(value gpt2-124M training 'tensors with decay' 2)" 50 \
    "gpt2-124M has 50 tensors with weight decay"
is "$(value gpt2-124M training 'tensors without' 2)" 98 \
    "gpt2-124M has 98 tensors without weight decay"
is "$(value gpt2-124M training 'warm-up steps' 2 \
    --set 'schedule.warmup=375M tokens')" 715 \
        "375M tokens of warm-up are 715 steps"
is "$(value gpt2-124M training steps 2 \
    --set schedule.steps=0 --set schedule.tokens=10B)" 19073 \
    "10B tokens of training are 19,073 steps"
is "$(value gpt2-124M training \
    'hours at this step time' 2 --step-time 330ms | cut -c1-5)" 1.748 \
    "19,073 steps of 0.33 s take 1.748 hours"
value gpt2-124M training 'hours at this step time' 2 --step-time 330ms \
    --set train.ramp=100% --set train.ramp_from=256 --set train.micro_batch=1 |
    awk '{ part = $1 / 1.748 } END { exit !(part > 0.74 && part < 0.76) }'
ok $? "a batch that grows from half of its size takes three quarters of the hours"
is "$(value gpt-300M training epochs 2 | cut -c1-5)" 8.192 \
    "gpt-300M trains for 8.192 epochs"
is "$(value c4-30M training 'warm-up steps' 2 \
    --set schedule.chinchilla=0 --set schedule.steps=4400)" 44 \
        "a warm-up of 1% of 4,400 steps is 44 steps"
is "$(value gpt2-124M training 'micro-batches of a step, each rank' 2 \
       --ranks 8)" 1 "8 ranks of 64 sequences need no accumulation"
# tokens that no whole number of micro-batches makes are refused, with advice
out=$(gtrain plan "$top/conf/gpt2-124M.ini" --ranks 9 2>&1)
is $? 2 "a number of ranks that divides no batch is refused"
is "$(echo "$out" | grep -c '589824')" 1 \
    "the refusal names the nearest batch that fits"
is "$(value gpt2-124M memory ddp 2 --set optim.masters=bf16)" \
    $((2 * 124475904)) "master weights in bf16 take 2 bytes and have no copies"
# hours and prices, on several devices, for several files
hours() { gtrain plan --only time --tsv --no-header "$@"; }
is "$(value gpt2-124M time 'this machine' 2)" 1 \
    "plan has a row for the machine it runs on"
is "$(value gpt2-124M time P100 4 --mfu 0.4,60% | tr '\n' ' ')" "0.4 0.6 " \
    "--mfu takes several fractions, with a row for each"
is "$(value gpt2-124M time P100 2 --gpus 4)" 4 \
    "the hours of a device are those of as many as --gpus says"
is "$(value gpt2-124M time 'T4 x 2' 2 --gpus 4)" 2 \
    "a row of several devices keeps its number"
is "$(value gpt2-124M time 'this machine' 3 --set plan.peak_tflops=0.5)" 0.5 \
    "the hours on this machine are those at plan.peak_tflops"
is "$(value gpt2-124M time 'this machine' 3 --gpus 4 \
    --set plan.peak_tflops=0.5)" 2.0 "plan.peak_tflops is the rate of one rank"
is "$(value gpt2-124M time 'this step time' 5 --step-time 330ms | cut -c1-5)" \
    1.748 "--only time has the hours at a step time"
hours "$top/conf/gpt2-124M.ini" --price 2.5/h --step-time 3600 |
    awk -F'\t' '{ d = $7 / $6 - 2.5; if (d > 1e-9 || d < -1e-9) bad = 1 }
        $1 == "this step time" { price = $7 } END { exit bad || !price }'
ok $? "--price multiplies the hours of all devices"
hours "$top/conf/c4-30M.ini" "$top/conf/c4-29M.ini" | grep P100 | cut -f1,2 |
    sed 's,.*/,,' >both
is "$(cat both)" "c4-30M.ini${tab}P100
c4-29M.ini${tab}P100" "plan compares several files, row by row"
# what a run records as its MFU gives back the time that it took
rhythm 4000 >train.bin
small_ini model.vocab=32 plan.peak_tflops=0.5 schedule.steps=4 data.train=train.bin >mfu.ini
gtrain --config mfu.ini --name measured >out 2>&1
gtrack ls measured -c 'last(perf/tokens_per_s),last(perf/mfu),train/tokens' --tsv \
    --no-header >recorded
IFS=$tab read -r rate mfu tokens <recorded
hours mfu.ini --mfu "$mfu" | awk -F'\t' -v rate="$rate" -v tokens="$tokens" '
    $1 == "this machine" {
    off = $5 * 3600 * rate / tokens - 1 } END { exit !(tokens && off * off < 1e-8) }'
ok $? "the recorded perf/mfu gives the hours at the recorded tokens/s" \
    "$(cat out recorded)"
# in fp32, AdamW has 16 bytes for each parameter
gtrain plan "$top/conf/c4-30M.ini" --set plan.hardware=mine:1:128:1 --fit \
    --only time --tsv --no-header | awk -F'\t' '$1 == "mine" {
        r = $9 * 16 / (0.9 * 128 * 1024 ^ 3) } END { exit !(r > 0.99 && r < 1.01) }'
ok $? "--fit names the parameters that fit a memory"
is "$(value c4-30M training 'hours from one checkpoint to the next' 2 \
    --step-time 36)" 5.0 "plan has the time from checkpoint to checkpoint"
part() {        # part SETTING...: what validation adds to 1,000 steps
    for set; do
        shift
        set -- "$@" --set "$set"
    done
    value c4-30M training 'validation, part of these FLOP' 2 \
        --set schedule.chinchilla=0 --set schedule.steps=1000 \
        --set eval.sequences=768 "$@"
}
is "$(part eval.every=10% eval.at_start=yes)" 0.0055 \
    "11 validations on 768 sequences take 0.0055 of the operations of training"
is "$(part eval.every=300 'data.val=a:a.bin, b:b.bin')" 0.004 \
    "4 validations on as many sequences of each of two sources are counted"
is "$(part eval.every=10m) $(part eval.sequences=0) $(part eval.every=0)" "  " \
    "a part that the settings do not tell is left out"
is "$(value gpt2-124M training exports 2)" "hf (gpt2), llm.c, gguf" \
    "plan names the formats that can represent GPT-2"
is "$(value c4-30M training exports 2)" "hf (own class)" \
    "plan says that c4-30M is exported with a class of its own"
is "$(value gpt2-124M training exports 2 --set model.mlp=relu)" "hf (gpt2)" \
    "plan says that llm.c and GGUF cannot represent a GPT-2 with relu"
for wrong in --mfu=0 --mfu=0.5,2 --price=cheap --set=plan.hardware=zzz --set=run.tags=zzz; do
    out=$(gtrain plan "$top/conf/gpt2-124M.ini" "$wrong" 2>&1)
    is $? 2 "plan $wrong is refused"
    is "$(echo "$out" | cut -d' ' -f1)" gtrain: \
        "plan $wrong prints nothing before its message"
done
# the step of gpt2-124M has 512 sequences; three ranks make 510 of them
gtrain plan "$top/conf/gpt2-124M.ini" --only time --fit --tsv --no-header |
    awk -F'\t' '$8 < 2 || 512 % $8 { print $1, $8 }' >bad
is "$(cat bad)" "" "--fit names micro-batches that training accepts"
is "$(value gpt2-124M time T4 8 --fit --ranks 3 --set train.micro_batch=1 \
    --set train.tokens_per_step=0 --set train.batch=510)" 34 \
        "--fit names a divisor of the sequences that each of 3 ranks takes"
gtrain plan "$top/conf/gpt2-124M.ini" --only nonsense >/dev/null 2>&1
is $? 2 "plan --only refuses an unknown part"

# presets: shapes and sizes as their names and the manual promise
for size in 30 60 125 250; do
    preset=model.preset=llama-${size}M
    gtrain --set $preset --show-config | awk '/^\[/ { section = $1 }
        section == "[model]" { v[$1] = $3 } END { w = v["width"]
            deep = w / v["layers"]; wide = v["d_ff"] - 8 / 3 * w
            exit !(w / v["heads"] == 64 && deep >= 50 && deep <= 100 &&
                wide > -0.01 && wide < 64) }'
    ok $? \
        "llama-${size}M has heads of 64, a d_ff of 8/3 and 50 to 100 a layer"
    gtrain plan --set $preset --only parameters --tsv --no-header |
        awk -v m=$size '$1 == "all" { r = $3 / m / 1e6 }
            END { exit !(r > 0.96 && r < 1.04) }'
    ok $? "llama-${size}M has nearly the parameters that its name says"
done
gtrain --set model.preset=gpt3-13B --show-config |
    grep -E '^(lr|tokens_per_step) =' >rates
is "$(cat rates)" "tokens_per_step = 2097152
lr = 0.0001" "gpt3-13B has the batch and the learning rate of its authors"
gtrain --set model.preset=gpt3-13B --set train.batch=8 --set optim.lr=1 \
    --show-config | grep -E '^(lr|batch|tokens_per_step) =' >rates
is "$(cat rates)" "batch = 8
tokens_per_step = 0
lr = 1.0" "--set takes precedence over the batch and the rate of a preset"

# every settings file of ours plans, but rules of gdata clean and tasks are none
for conf in "$top"/conf/*.ini; do
    grep -q '^\[sweep\]' "$conf" && continue
    case $conf in */clean-* | */tasks.ini) continue ;; esac
    gtrain plan "$conf" --set model.vocab=50257 >/dev/null 2>&1
    is $? 0 "plan accepts ${conf##*/}"
done

# Rates need no vocabulary, unless the number of steps follows from it.
small_ini data.tokenizer=nowhere schedule.steps=100 model.vocab=0 >far.ini
gtrain plan far.ini --only schedule --points 3 --tsv >rates 2>err
is "$(wc -l <rates)" 4 "the rates of settings are planned without their tokenizer"
gtrain plan far.ini --only schedule --set schedule.steps=0 \
    --set schedule.chinchilla=20 >rates 2>err
is $? 3 "steps that follow from the size of the model need the tokenizer"
like err "no tokenizer nowhere" "the message names the tokenizer"
done_testing
