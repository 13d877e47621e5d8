#!/bin/sh
# What a run records by itself.
. "$(dirname "$0")/../lib/tap.sh"
show_commands
tool=$build/t/lib/store_tool
export GIT_CEILING_DIRECTORIES="$dir" GIT_CONFIG_NOSYSTEM=1
tag() { cat "$run/tags/$1" 2>/dev/null; }

mkdir "$dir/plain" && cd "$dir/plain" || exit 1
run=$(umask 077 && SLURM_JOB_ID=4711 SLURM_ARRAY_TASK_ID=3 \
    API_KEY=of-nobodys-business "$tool" capture "$dir/s")
test -d "$run"
ok $? "a run starts outside of any repository"
test "$(tag mlflow.source.name)" = "prog --lr 1e-3"
ok $? "the run records its command"
grep -qx 'arguments: \["prog", "--lr", "1e-3"\]' "$run/.gtrack/attempt.1.yaml"
ok $? "the run records the arguments of its command one by one"
gtrack exec -r "$dir/s" --name spaced -- printf '%s %s' "it's" 'a  b' >/dev/null 2>&1
spaced=$(gtrack where -r "$dir/s" spaced)/.gtrack/attempt.1.yaml
grep -qxF 'arguments: ["printf", "%s %s", "it'"'"'s", "a  b"]' "$spaced" &&
    gtrack cmd -r "$dir/s" spaced >"$dir/line" &&
    test "$(sh "$dir/line")" = "it's a  b"
ok $? "blanks and quotes in arguments survive from the record to the shell"
sed -i "s/^arguments: .*/command: \"printf '%s %s' it a\"/" "$spaced" &&
    test "$(gtrack cmd -r "$dir/s" spaced | sed "s/.*&& //")" = "printf '%s %s' it a"
ok $? "the line that an earlier version recorded is read, too"
test "$(tag gtrack.host)" = "$(uname -n)" && test -n "$(tag gtrack.cpu)" &&
    test -n "$(tag gtrack.memory)"
ok $? "the run records its machine"
case "$(tag gtrack.libraries)" in glibc-*libyaml*) true ;; *) false ;; esac
ok $? "the run records the versions of libraries"
test "$(tag gtrack.slurm.job_id)" = 4711 &&
    test "$(tag gtrack.slurm.array_task_id)" = 3 &&
    grep -q '^job: "4711"' "$run/.gtrack/attempt.1.yaml"
ok $? "the run records Slurm's variables"
test -n "$run" && ! grep -rq of-nobodys-business "$dir/s"
ok $? "the run records no variable of the environment but Slurm's"
test -n "$run" && test -z "$(find "$run" -perm /077)"
ok $? "the permissions of a run follow the umask"
grep -q '^reason: "of its own will"' "$run/.gtrack/attempt.1.yaml" &&
    grep -q '^state: "FAILED"' "$run/.gtrack/attempt.1.yaml" &&
    grep -q '^gpus: 2' "$run/.gtrack/attempt.1.yaml" &&
    grep -q '^status: 4' "$run/meta.yaml"
ok $? "the run records how and why it ended"
gtrack show -r "$dir/s" "${run##*/}" --aligned >"$dir/out" &&
    grep -q '^reason  *of its own will$' "$dir/out" &&
    test "$(gtrack ls -r "$dir/s" -w "reason like '%will'" -c reason --tsv --no-header)" = "of its own will"
ok $? "show, columns and filters have the reason why a run has failed"
test ! -e "$run/tags/mlflow.source.git.commit"
ok $? "no commit is recorded outside of a repository"

if ! git --version >/dev/null 2>&1; then
    skip "the run records the commit and the branch" "no git"
    done_testing
    exit
fi
mkdir "$dir/repo" && cd "$dir/repo" || exit 1
git init -q -b trunk . && git config user.name me && git config user.email m@e
git remote add origin https://me:secret@host.example/repo.git
echo one >file && git add file && git commit -q -m one
run=$("$tool" capture "$dir/s")
test "$(tag mlflow.source.git.commit)" = "$(git rev-parse HEAD)" &&
    test "$(tag mlflow.source.git.branch)" = trunk
ok $? "the run records the commit and the branch"
test "$(tag mlflow.source.git.repoURL)" = "https://me:***@host.example/repo.git"
ok $? "the run records the remote without the password"
test "$(tag mlflow.source.git.dirty)" = false &&
    test ! -e "$run/artifacts/git.diff"
ok $? "a clean tree has no diff"
i=0
while test $i -lt 1000; do
    echo "line $i of a long change"
    i=$((i + 1))
done >file
run=$("$tool" capture "$dir/s")
test "$(tag mlflow.source.git.dirty)" = true &&
    test "$(git diff HEAD)" = "$(cat "$run/artifacts/git.diff")"
ok $? "the diff of a changed tree is an artifact"
case "$(tag mlflow.source.git.diff)" in
diff*"the rest is in the artifact git.diff"*) true ;;
*) false ;;
esac
ok $? "the beginning of the diff is a tag"
git remote set-url origin https://user:p@ssw0rd@host.example/repo.git
run=$("$tool" capture "$dir/s" 2>err)
test "$(tag mlflow.source.git.repoURL)" = "https://user:***@host.example/repo.git"
ok $? "a password with an at sign is removed from the remote"
for key in core.fsmonitor diff.x.textconv diff.x.command filter.x.clean \
    filter.x.process core.sshCommand; do
    git config $key "touch '$dir/ran'; cat"
done
echo '* filter=x diff=x' >.gitattributes
rm -f "$dir/ran"
run=$("$tool" capture "$dir/s" 2>err)
test ! -e "$dir/ran" && test -n "$(tag mlflow.source.git.commit)"
ok $? "no program of the repository's configuration runs"
git config --remove-section filter.x
run=$("$tool" capture "$dir/s" 2>err)
test ! -e "$dir/ran" && test "$(tag mlflow.source.git.dirty)" = true
ok $? "the changes are recorded without the programs of a repository"
"$tool" check "$dir/s" >/dev/null
ok $? "every name and value is one that MLflow accepts"
done_testing
