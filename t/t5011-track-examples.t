#!/bin/sh
# The examples of gtrack's manual run, and every command tells its help.
top=$(cd "${top_srcdir:-..}" && pwd)
n=0
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
unset GTRACK_ROOT WANDB_BASE_URL
export HOME="$dir" LC_ALL=C.UTF-8
WANDB_API_KEY=$(printf 'k%.0s' $(seq 40)) && export WANDB_API_KEY
ok() {
    r=$?
    n=$((n + 1))
    if test $r = 0; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' out 2>/dev/null
    fi
}
for i in 1 2 3; do
    seq 1 5 | sed "s/.*/step=& train\/loss=$i.& val\/loss=$i.5/" |
        gtrack log -e sweep -p optim.lr=3e-$i -p seed=$i 2>err
done
grep '^\.Dl \$ gtrack' "$top/man/gtrack.1" | sed 's/^\.Dl \$ //' >examples
while read -r line; do
    case $line in
    *push*--dry-run*) ;;
    *push*) continue ;;         # t5020 pushes, to no one's server
    esac
    sh -c "$line" </dev/null >out 2>&1
    ok "$line"
done <examples
test "$n" -gt 8
ok "there are examples"
for shell in bash zsh fish; do
    gtrack completion $shell >script
    if command -v $shell >/dev/null; then
        $shell -n script >out 2>&1
        ok "the completion for $shell is $shell"
    else
        n=$((n + 1))
        echo "ok $n - the completion for $shell # SKIP no $shell"
    fi
done
if command -v bash >/dev/null; then
    gtrack completion bash >script.bash
    # shellcheck disable=SC2016
    bash -c '. ./script.bash; COMP_CWORD=2
        COMP_WORDS=(gtrack show run); _gtrack; echo "${COMPREPLY[@]}"
        COMP_WORDS=(gtrack ls --so); _gtrack; echo "${COMPREPLY[@]}"
        COMP_CWORD=3
        COMP_WORDS=(gtrack -r mlruns sho); _gtrack; echo "${COMPREPLY[@]}"' \
        >out 2>&1
    test "$(cat out)" = "run1 run2 run3 run4
--sort
show"
    ok "it completes runs and options"
else
    n=$((n + 1)); echo "ok $n - it completes runs and options # SKIP no bash"
fi
echo "1..$n"
