#!/bin/sh
# What a run records by itself.
tool=$(cd "${top_builddir:-.}" && pwd)/t/lib/store-tool
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
GTRACK_CACHE=
HOME=$dir
GIT_CEILING_DIRECTORIES=$dir
GIT_CONFIG_NOSYSTEM=1
export GTRACK_CACHE HOME GIT_CEILING_DIRECTORIES GIT_CONFIG_NOSYSTEM
n=0
ok() {
    n=$((n + 1))
    if test "$1" -eq 0; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
tag() { cat "$run/tags/$1" 2>/dev/null; }

mkdir "$dir/plain" && cd "$dir/plain" || exit 1
run=$(SLURM_JOB_ID=4711 SLURM_ARRAY_TASK_ID=3 "$tool" capture "$dir/s")
test -d "$run"
ok $? "a run outside of any repository"
test "$(tag mlflow.source.name)" = "prog --lr 1e-3"
ok $? "its command"
test "$(tag gtrack.host)" = "$(uname -n)" && test -n "$(tag gtrack.cpu)" &&
    test -n "$(tag gtrack.memory)"
ok $? "its machine: $(tag gtrack.cpu), $(tag gtrack.memory)"
case "$(tag gtrack.libraries)" in glibc-*libyaml*) true ;; *) false ;; esac
ok $? "its libraries"
test "$(tag gtrack.slurm.job_id)" = 4711 &&
    test "$(tag gtrack.slurm.array_task_id)" = 3 &&
    grep -q '^job: "4711"' "$run/.gtrack/attempt.1.yaml"
ok $? "Slurm's variables"
grep -q '^reason: "of its own will"' "$run/.gtrack/attempt.1.yaml" &&
    grep -q '^state: "FAILED"' "$run/.gtrack/attempt.1.yaml" &&
    grep -q '^gpus: 2' "$run/.gtrack/attempt.1.yaml" &&
    grep -q '^status: 4' "$run/meta.yaml"
ok $? "how it ended, and why"
test ! -e "$run/tags/mlflow.source.git.commit"
ok $? "no commit where there is none"

if ! git --version >/dev/null 2>&1; then
    ok 0 "a commit # SKIP no git"
    echo "1..$n"
    exit 0
fi
mkdir "$dir/repo" && cd "$dir/repo" || exit 1
git init -q -b trunk . && git config user.name me && git config user.email m@e
git remote add origin https://me:secret@host.example/repo.git
echo one >file && git add file && git commit -q -m one
run=$("$tool" capture "$dir/s")
test "$(tag mlflow.source.git.commit)" = "$(git rev-parse HEAD)" &&
    test "$(tag mlflow.source.git.branch)" = trunk
ok $? "the commit and the branch"
test "$(tag mlflow.source.git.repoURL)" = https://host.example/repo.git
ok $? "the remote, without the password"
test "$(tag mlflow.source.git.dirty)" = false &&
    test ! -e "$run/artifacts/git.diff"
ok $? "a clean tree"
i=0
while test $i -lt 1000; do
    echo "line $i of a long change"
    i=$((i + 1))
done >file
run=$("$tool" capture "$dir/s")
test "$(tag mlflow.source.git.dirty)" = true &&
    test "$(git diff HEAD)" = "$(cat "$run/artifacts/git.diff")"
ok $? "a changed tree, with the change as an artifact"
case "$(tag mlflow.source.git.diff)" in
diff*"the rest is in the artifact git.diff"*) true ;;
*) false ;;
esac
ok $? "and its beginning as a tag"
"$tool" check "$dir/s" >/dev/null
ok $? "MLflow would take it all"
echo "1..$n"
