#!/bin/sh
# bench/gpu.sh runs to its end, on the emulated device, and says where there is
# none; the kit that carries it has what it needs.
. "$(dirname "$0")/../lib/tap.sh"
takes_minutes
mkdir emu none
# The emulation takes 35 s for a measurement that says nothing of a GPU; that of
# the CPU tells whether the option works.
cat >emu/gtrain <<END
#!/bin/sh
test -n "\${GT_LONG:-}" || test "\$*" != 'devices --measure --aligned' ||
    set -- devices --aligned
exec '$build/gtrain-emulated' "\$@"
END
chmod +x emu/gtrain
gtrain devices --measure --tsv --no-header | awk -F '\t' '
    $1 == "cpu" && NF == 6 && $3 > 0 && $4 > 0 && $5 > 0 && $6 > 0 {
        good = 1 } END { exit !good }'
ok $? "gtrain devices --measure prints the rates of products and of a copy"
ROWS=tiny STEPS=3 TORCH=no "$top/bench/gpu.sh" emu >out 2>&1
ok $? "bench/gpu.sh runs to its end"
grep -q '^cuda  *bf16  *passed' out
ok $? "bench/gpu.sh checks the device first"
GT_EMU_LEAVE_OUT=cross_entropy ROWS=tiny TORCH=no "$top/bench/gpu.sh" emu \
    >bad 2>&1
test $? = 1 && grep -q 'wrong numbers; nothing is measured' bad
ok $? "bench/gpu.sh measures nothing on a device that computes wrong numbers"
awk '$1 == "tiny" && $2 + 0 > 0 && $4 + 0 > 0 && $6 + 0 > 0 && NF == 20 {
    good = 1 } END { exit !good }' out
ok $? "bench/gpu.sh prints the rate and the times of a step"
grep -q '^attention_bwd .* [0-9.]*$' out
ok $? "bench/gpu.sh prints every operation beside its lower bound"
is "$(grep -cE '^(GT_OVERLAP|train.cuda_graphs|GT_CUDNN|train.deterministic)=[a-z]* +[0-9.]+$' \
    out)" 4 "bench/gpu.sh tries what could be at fault for a slow step"
printf '#!/bin/sh\necho "cuda  no CUDA device"\n' >none/gtrain
chmod +x none/gtrain
! "$top/bench/gpu.sh" none >out 2>&1 &&
    grep -q 'no CUDA device here' out
ok $? "bench/gpu.sh without a GPU fails with a message"
"$top/bench/gpu-kit" "$build" kit >out 2>&1 &&
    kit/run gtrain --version >>out 2>&1 &&
    test -x kit/t/unit/kernels.t && test -f kit/t/reference/model.txt
ok $? "the program of bench/gpu-kit starts in the kit's folder"
done_testing
