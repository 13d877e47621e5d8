#!/bin/sh
# What scripts/wheels makes, in a root without compilers and network, as a user
# without rights: GT_DIST is the folder with the wheels and the archive, and
# GT_ROOT the root, of any Linux.  Part of `make check-peers`.
. "$(dirname "$0")/../lib/tap.sh"
test -n "${GT_DIST:-}" || skip_all "GT_DIST names no folder with wheels"
test -d "${GT_ROOT:-/nowhere}" || skip_all "GT_ROOT names no root"
unshare -m true 2>/dev/null || skip_all "chroot needs the rights of root"
home=$GT_ROOT/home/nobody.$$
mkdir -p "$home" && chown 65534:65534 "$home"
trap 'rm -rf "$dir" "$home"' EXIT
cp "$GT_DIST"/*_"$(uname -m)".whl "$home"
xz -dc "$GT_DIST"/*-"$(uname -m)".tar.xz | tar -C "$home" -xf -
mv "$home"/gtrain-*/ "$home/suite"
# inside COMMAND: its output goes to the files out and err
inside() {
    unshare -mn sh -c '{ ip link set lo up || :; } 2>/dev/null
        mount -t proc proc "$0/proc" && exec chroot \
        --userspec=65534:65534 "$0" env -i HOME="$1" PATH="$2:/usr/bin:/bin" \
        LANG=C.UTF-8 sh -c "cd; $3"' "$GT_ROOT" "/home/nobody.$$" \
        "${bin:-/home/nobody.$$/suite/bin}" "$1" >out 2>err
}
awk 'BEGIN { for (i = 0; i < 4000; i++) print "line", i, "of", i * i % 97 }' \
    >"$home/text.txt"

python=${GT_PYTHON:-python3}
if "$python" -m auditwheel --version >/dev/null 2>&1; then
    for wheel in "$GT_DIST"/*.whl; do
        "$python" -m auditwheel show "$wheel" | tr '\n' ' ' >out 2>&1
        tag=${wheel%.whl}
        like out "tag: \"${tag##*-none-}\"" "auditwheel agrees with ${tag##*/}"
    done
else
    skip "auditwheel agrees with the tags" "no auditwheel"
fi
inside 'for p in gtrain gdata gtrack gplot; do $p --version || exit; done'
ok $? "the programs of the archive start" "$(cat err)"
inside '! command -v cc && ! command -v gcc'
ok $? "the root has no compiler"
inside 'gdata bpe -q --vocab 300 -o tok text.txt &&
    gdata encode -q -T tok --val 10% -o data/text text.txt'
ok $? "gdata turns a text into tokens" "$(cat err)"
train='gtrain -q --config quickstart --set train.max_time=0s
    --set schedule.steps=4 --set train.device=cpu --set sample.every=0
    --set recipe.depth=2 --set model.context=64'
inside "$(echo "$train" | tr '\n' ' ') -n one"
ok $? "gtrain finds its settings by name, and trains" "$(cat err)"
inside 'gtrack ls --tsv --no-header -c name,state'
is "$(cat out)" "one${tab}FINISHED" "gtrack lists the run"
inside 'gplot loss one'
ok $? "gplot draws its loss in the terminal" "$(cat err)"
inside 'gtrack serve --port 0 >url 2>&1 & pid=$!
    until grep -q http: url || ! kill -0 $pid; do :; done
    at=$(sed -n "s,.*http://\([^/]*\)/.*,\1,p" url | head -n 1)
    bash -c "exec 3<>/dev/tcp/${at%:*}/${at#*:} &&
        printf \"GET / HTTP/1.1\r\nHost: $at\r\nConnection: close\r\n\r\n\" >&3 &&
        head -n 1 <&3"
    kill $pid'
like out '^HTTP/1.1 [24]' "gtrack serves its page" "$(cat err)"

if inside 'python3 -m venv venv'; then
    inside 'venv/bin/pip install -q --no-index --disable-pip-version-check *.whl'
    ok $? "pip installs the wheels" "$(cat err)"
    bin=/home/nobody.$$/venv/bin
    inside 'python -c "
import gtrack
run = gtrack.init(project=\"p\", config={\"lr\": 0.1})
run.log({\"loss\": 2.5})
run.finish()"'
    ok $? "the installed module records a run" "$(cat err)"
    inside "$(echo "$train" | tr '\n' ' ') -n two && gtrack ls -r mlruns two --tsv --no-header -c name,state"
    is "$(cat out)" "two${tab}FINISHED" "the installed gtrain trains" "$(cat err)"
else
    skip "pip installs the wheels" "no python3-venv in the root"
fi
done_testing
