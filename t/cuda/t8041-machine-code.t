#!/bin/sh
# The machine code of the hot kernels for sm_90: they move 16 bytes at a time,
# use the matrix units, and keep their numbers in registers.
. "$(dirname "$0")/../lib/tap.sh"

test -f "$build/kernels/cuda/norm.cuo" ||
    skip_all "no kernels were compiled by nvcc in this build"
tools=$("${GT_PYTHON:-python3}" -c 'import glob, sys
for p in sys.path:
    for d in glob.glob(p + "/nvidia/*/bin"):
        print(d)' 2>/dev/null | paste -sd: -)
PATH=$PATH:$tools:/usr/local/cuda/bin
if ! command -v cuobjdump >where || ! command -v nvdisasm >>where; then
    skip_all "needs nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm of PyPI"
fi

# code_for ARCH: the machine code of all kernels.
code_for() {
    for file in "$build"/kernels/cuda/*.cuo; do
        cuobjdump -arch "$1" -sass "$file" 2>>err
    done
}
code_for sm_90 >code
awk '
    /Function :/ { name = $NF; sub(/^_Z[A-Z]*[0-9]*/, "", name); seen[name] }
    /(LDG|LDGSTS)\.[A-Z0-9.]*128/ { loads[name]++ }
    /STG\.[A-Z0-9.]*128/ { stores[name]++ }
    /(LDL|STL)[. ]/ { spills[name]++ }
    /HMMA/ { products[name]++ }
    /F2F[.]/ { single[name]++ }
    END { for (name in seen) print name, loads[name] + 0, stores[name] + 0,
              products[name] + 0, spills[name] + 0, single[name] + 0 }' \
    code >counts
test -s counts || skip_all "the kernels of this build are not for sm_90"

# hot KERNEL LOADS STORES PRODUCTS NAME: at least so many instructions that
# load and store 16 bytes, and that multiply tiles, and none for local memory.
# An unrolled kernel has as many as its template says.
hot() {
    awk -v kernel="^$1" -v loads="$2" -v stores="$3" -v products="$4" '
        $1 ~ kernel { found++
            if ($2 < loads || $3 < stores || $4 < products || $5 > 0) bad++ }
        END { exit !(found == 1 && !bad) }' counts
    ok $? "$5" "$(grep "^$1" counts)"
}
half=I13__nv_bfloat16
hot "norm_fwd${half}Li8ELi24E" 6 3 0 \
    "the norm of 768 columns loads and stores 16 bytes at a time"
test "$(awk -v kernel="^norm_fwd${half}Li8ELi24E" '$1 ~ kernel { print $6 }' \
    counts)" = 0
ok $? "the norm of 768 columns rounds two numbers at a time"
hot "norm_bwd${half}Li8ELi24ELi32E" 9 3 0 \
    "the gradient of a norm of 768 columns loads and stores 16 bytes at a time"
hot "chunk_squaresIfLi4E" 1 0 0 \
    "the gradient's norm loads 16 bytes at a time"
hot "cross_entropy${half}Li8ELb1E" 1 1 0 \
    "the softmax of a row in shared memory moves 16 bytes at a time"
hot "cross_entropy${half}Li8ELb0E" 1 1 0 \
    "the softmax of a long row moves 16 bytes at a time"
hot "embed_fwd${half}Li8E" 2 1 0 "the embedding moves 16 bytes at a time"
hot "segments${half}Li8E" 1 1 0 \
    "the gradient of the embedding moves 16 bytes at a time"
hot "bias_parts${half}Li8E" 1 0 0 \
    "the gradient of a bias loads 16 bytes at a time"
hot "update_weightsILi0E13__nv_bfloat16" 4 3 0 \
    "the update by AdamW moves 16 bytes at a time"
hot "flash_fwd${half}Li64ELb0E" 8 0 64 \
    "attention with heads of 64 multiplies 64 tiles for each block of keys"
hot "flash_bwd_keys${half}Li64ELi64ELb0E" 8 0 128 \
    "the gradient of keys and values multiplies 128 tiles"
hot "flash_bwd_queries${half}Li64ELb0E" 8 0 96 \
    "the gradient of queries multiplies 96 tiles"

# What holds for every kernel and each GPU of the build: it waits for the one
# before it (ACQBULK) and then lets the next one start (PREEXIT), and uses no
# memory before; it loads nothing as if it were constant but the table of rope,
# which nobody writes; and it has no local memory but what t8040 knows.
scan() {
    awk -v waits="$1" '
        /Function :/ { name = $NF; sub(/^_Z[A-Z]*[0-9]*/, "", name)
                       all++; waited = !waits }
        /ACQBULK/ { waited = 1; good++ }
        /PREEXIT/ && !waited { print "starts the next too early:", name }
        /(LDG|LDGSTS|STG|RED|ATOM)[E.]/ && !waited && !early[name]++ {
            print "uses memory too early:", name }
        /LDG[A-Z0-9.]*\.CONSTANT/ && name !~ /^rope/ && !constant[name]++ {
            print "loads what others write as constant:", name }
        /(LDL|STL)[. ]/ && name !~ /^(rope|flash_fwd.*Lb1E|plain_bwd)/ &&
            !local[name]++ { print "has local memory:", name }
        END { if (good + 0 != (waits ? all : 0))
                  print good + 0, "of", all, "kernels wait" }'
}
for arch in sm_80 sm_90 sm_100 sm_120; do
    code_for $arch >code
    if grep -q 'Function :' code; then
        waits=1
        test $arch = sm_80 && waits=0
        is "$(scan $waits <code)" "" \
            "each kernel for $arch waits, and keeps its numbers in registers"
    fi
done
done_testing
