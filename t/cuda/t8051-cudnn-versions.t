#!/bin/sh
# Versions of cuDNN that are known to be wrong are not used.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case
GT_EMU_CUDNN=1 "$gtrain" devices | grep -q 'emulated.*cuDNN [0-9]' ||
    skip_all "the device is a GPU, or the emulation is built without cuDNN"
export GT_EMU_CUDNN=1 GT_EMU_TIMELESS=1 GT_DEVICE_CHECK=off

# refused VERSION CAPABILITY PARTS WHY [SETTING]: a step in which cuDNN does not
# compute these parts of attention, and the reason
refused() {
    GT_EMU_CUDNN_VERSION=$1 GT_EMU_CAPABILITY=$2 train "of$1.$2.runs" \
        --set train.precision=bf16 --set train.device=cuda --set eval.every=0 \
        --set schedule.steps=1 ${5:+--set "$5"}
    status=$?
    is "$status $(sed -n "s/.*cuDNN $1 is not used for the \\([a-z]*\\) .*($4.*slower.*/\\1/p" log |
        tr '\n' ' ')" "0 ${3:+$3 }" \
        "cuDNN $1 on a GPU of capability $2 computes all but '$3'${5:+ with $5}"
}
refused 91000 90 'forward gradient' 'this version computes attention wrongly'
refused 91001 80 'forward gradient' 'this version computes attention wrongly'
refused 91002 90 gradient '9.15.1 is needed where'
refused 91500 90 gradient '9.15.1 is needed where'
refused 91501 90 '' ''
refused 92600 90 gradient 'it may be NaN for one position' model.context=1
refused 90600 100 'forward gradient' '9.7 is needed on this GPU'
refused 91800 120 'forward gradient' '9.18.1 is needed on this GPU'
refused 91801 120 '' ''
grep -q 'gradient of attention: emulated_sdpa (cuDNN 91801)' log
ok $? "the log names the kernel of attention and the version of cuDNN"
done_testing
