#!/bin/sh
# gtrack bundle and verify: an archive of runs is checked on another machine.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
unset GTRAIN_ISA
encode_letters tokens/data
ok $? "a text is encoded"
small_ini data.tokenizer=tok "data.train=tokens/data_*.bin" \
    train.micro_batch=2 schedule.steps=20 checkpoint.every=10 >c.ini
gtrain --config c.ini --name one -q >out 2>&1 &&
    gtrain --config c.ini --name two -q --set train.seed=2 \
        --set checkpoint.folder="$dir/elsewhere" >>out 2>&1
ok $? "two models are trained"
echo 'Free for all.' >LICENSE
echo 'Loss <!-- gtrack: one | at(train/loss, 20) | .3f -->?<!-- /gtrack -->' \
    >report.md
gtrack claims --fill report.md >out 2>&1
ok $? "a report is filled in"
mkdir figures program
echo 'gplot loss one -o loss.pdf' >figures/make.sh
echo 'int main(void) { return 0; }' >program/main.c

# bundle NAME STATUS [ARGUMENT]...: head has what it prints
bundle() {
    name=$1 status=$2
    shift 2
    gtrack bundle "$@" >head 2>err
    is $? "$status" "$name"
}
# verify NAME STATUS [ARGUMENT]...: rows are in out
verify() {
    name=$1 status=$2
    shift 2
    gtrack verify "$@" --tsv --no-header >out 2>err
    is $? "$status" "$name"
}
bundle "runs are packed" 0 one two -o paper.tar --add report.md --add figures \
    --sources program --checkpoints last --data
cp head paper.head
bundle "the head is handed to a command" 0 one -o dated.tar --anchor 'cat >dated; echo told'
is "$(cat dated)
told" "$(cat head)" "the command of --anchor gets the head that is printed"
bundle "a command of --anchor that fails is an error" 1 one -o dated.tar --anchor 'exit 3'
tar tf paper.tar >names
ok $? "tar reads the archive"
for file in README files/report.md files/figures/make.sh files/LICENSE \
    files/tokens/data_000000.bin files/tokens/data.tokens.lock \
    files/tok/tokenizer.json sources/program/main.c MANIFEST; do
    like names "^paper/$file\$" "the archive has $file"
done
is "$(grep -c 'checkpoints/step-00000020/model.safetensors' names)" 2 \
    "the last checkpoint of each run is packed, wherever it was"
is "$(grep -c 'checkpoints/step-00000010/' names)" 0 \
    "earlier checkpoints are not packed"
bundle "the same runs are packed again" 0 one two -o paper2.tar --add report.md \
    --add figures --sources program --checkpoints last --data
is "$(cat head)" "$(cat paper.head)" "two archives of the same files have the same head"
mkdir unpacked
(tar xf paper.tar -C unpacked && cd unpacked/paper && sha256sum --quiet -c MANIFEST) \
    >out 2>&1
ok $? "sha256sum accepts the files by MANIFEST"
is "$(sha256sum <unpacked/paper/MANIFEST | cut -d ' ' -f 1)" "$(cat head)" \
    "the head is the SHA-256 of MANIFEST"

# Elsewhere, without the store and the data
mkdir away
cd away || exit 1
cp ../paper.tar .
verify "an archive is verified elsewhere" 0 paper.tar --head "$(cat ../head)" \
    --replay
is "$(cut -f1-3 out | grep -v ^head | tr '\t' ' ')" \
    "files $(wc -l <../names) files passed
claims report.md passed
run one passed
run two passed
replay one passed
replay two passed" "each check has a row"
like out "^replay${tab}one.*120 numbers and 2 checkpoints are equal to the last bit" \
    "the run is certified with the data of the archive"
verify "steps that are drawn are computed again" 0 paper.tar --sample 2
like out "^replay${tab}two.*certified" "a sample certifies each run"
is "$(ls | grep -vx "out\|err")" "paper.tar" "nothing is left behind"
verify "the files are kept" 0 paper.tar --keep kept
ok "$(test -f kept/README && test -f kept/mlruns/0/meta.yaml; echo $?)" \
    "the files are in the folder"
verify "a folder that exists is not unpacked into" 2 paper.tar --keep kept
if "$build/t/lib/disturb" -n 1 true; test $? = 137; then
    "$build/t/lib/disturb" -c write -p again -n 9 gtrack verify paper.tar \
        --keep again >out 2>&1
    test $? = 137 && ! test -e again && test -e again.saving.tmp
    ok $? "a verification that is killed leaves no folder of this name"
    verify "what a killed verification left is removed" 0 paper.tar --keep again
    is "$(diff -r kept again && ls -d again*)" again \
        "the files are kept after a kill as without one"
else
    skip "a verification that is killed" "no right to supervise system calls"
fi
(ulimit -f 8 && exec gtrack verify paper.tar) >out 2>err
is "$? $(grep -c 'cannot write .*File too large' err) $(wc -l <out)" "1 1 0" \
    "an archive is not called damaged if its files cannot be written"
verify "another head is found" 1 paper.tar --head 0123
like out "^head.*failed${tab}is not the hash given" "the head is named"

# pack FOLDER: an archive of what is in the folder, with MANIFEST at its end
pack() {
    (cd "$1" && find paper -type f ! -name MANIFEST) >list
    sed 's/^[^ ]*  /paper\//' "$1/paper/MANIFEST" >wanted
    { grep -Fxf list wanted; grep -Fvxf wanted list; echo paper/MANIFEST; } >order
    tar cf changed.tar -C "$1" --format=ustar --no-recursion -T order
}
# forge FOLDER: make MANIFEST fit the files
forge() {
    (cd "$1/paper" && sed 's/^[^ ]*  //' MANIFEST | xargs sha256sum >new &&
        mv new MANIFEST)
}
# changed: a fresh copy of the files
changed() {
    rm -rf files
    mkdir files
    tar xf paper.tar -C files
}
changed
echo x >>files/paper/files/figures/make.sh
pack files
verify "a changed file is found" 1 changed.tar
like err "changed.tar: files/figures/make.sh has another SHA-256 than MANIFEST says" \
    "the changed file is named"
changed
rm files/paper/files/LICENSE
pack files
verify "a missing file is found" 1 changed.tar
like err "changed.tar: files/LICENSE of MANIFEST is missing" \
    "the missing file is named"
changed
echo x >files/paper/more
pack files
verify "a file that was added is found" 1 changed.tar
like err "changed.tar: more is not in MANIFEST" "the file that was added is named"
changed
sed -i 's/-->[0-9.]*<!--/-->0.123<!--/' files/paper/files/report.md
forge files
pack files
verify "a number that was changed in the report is found" 1 changed.tar
like out "^claims${tab}report.md${tab}failed" "the report is named"
changed
one=$(grep -lx one files/paper/mlruns/0/*/tags/mlflow.runName || grep -l one \
    files/paper/mlruns/0/*/tags/mlflow.runName)
one=${one%/tags/*}
sed -i '20s/ [0-9.]* / 1.5 /' "$one/metrics/train/loss"
forge files
pack files
verify "a loss that was changed is found by replaying" 1 changed.tar --replay
like out "^replay${tab}one${tab}failed.*differs at step 20: train/loss" \
    "the step of the changed loss is named"

like out "^run${tab}one" "the other checks have been made"
changed
printf x | dd of="$(ls -d files/paper/mlruns/0/*/artifacts/checkpoints/*/model.safetensors |
    head -n 1)" bs=1 seek=900 conv=notrunc 2>/dev/null
forge files
pack files
verify "a model that was changed is found without replaying" 1 changed.tar
like out "^checkpoint${tab}artifacts/checkpoints/step-00000020/model.safetensors of" \
    "the changed model is named"
verify "a sample is drawn again" 0 paper.tar --sample 2 --challenge mine
verify "a challenge without a sample is refused" 2 paper.tar --challenge mine

# Archives that are none, or were made to do harm
head -c 5000 paper.tar >short.tar
verify "an archive that was cut off is refused" 1 short.tar
like err "short.tar: the archive ends too early" "the end is the reason"
verify "a file that is no archive is refused" 1 ../text.txt
like err "not a tar archive" "the format is the reason"
verify "an archive that does not exist is not found" 3 nowhere.tar
echo x >x
tar cf up.tar --format=ustar --transform 's,^,paper/../../,' -P x
verify "a path that leads out of the folder is refused" 1 up.tar
like err "the path paper/../../x is not allowed" "the path is named"
mkdir paper
ln -s /etc paper/link
tar cf link.tar --format=ustar paper/link
verify "a link is refused" 1 link.tar
like err "paper/link in the archive is not a regular file" "the link is named"
tar cf none.tar --format=ustar x
verify "a file outside of the folder is refused" 1 none.tar
# a name that would be two lines of MANIFEST, of which one names no file
sum=$(sha256sum <x | cut -d ' ' -f 1)
two="a
$sum  b"
mkdir -p forged/"${two%/*}" && rmdir forged/"$two" && cp x forged/"$two"
printf '%s  %s\n' "$sum" "$two" >forged/MANIFEST
tar cf forged.tar --format=ustar forged/"$two" forged/MANIFEST
verify "a name that looks like two lines of MANIFEST is refused" 1 forged.tar
cd .. || exit 1
mkdir -p "$(gtrack where one)/artifacts/odd"
touch "$(gtrack where one)/artifacts/odd/a
b"
bundle "a name that would be two lines of MANIFEST is not packed" 1 one -o odd.tar
rm -r "$(gtrack where one)/artifacts/odd"

# Signatures
if ssh-keygen -q -t ed25519 -N '' -f key >out 2>&1 &&
    ssh-keygen -q -t ed25519 -N '' -f other >out 2>&1; then
    bundle "an archive is signed" 0 one -o signed.tar --sign key
    verify "the signature is that of the key" 0 signed.tar --signed-by key.pub
    like out "^signature${tab}signed.tar.sig${tab}passed" "the signature is a check"
    verify "the signature is not that of another key" 1 signed.tar --signed-by other.pub
    mkdir opened && tar xf signed.tar -C opened &&
        printf '%s\n' "gtrack $(cat key.pub)" >signers &&
        ssh-keygen -Y verify -f signers -I gtrack -n gtrack -s signed.tar.sig \
            <opened/signed/MANIFEST >out 2>&1
    ok $? "ssh-keygen alone verifies MANIFEST"
    bundle "another archive is packed" 0 two -o unsigned.tar
    verify "an archive without a signature is not signed" 1 unsigned.tar --signed-by key.pub
    cp signed.tar.sig unsigned.tar.sig
    verify "the signature of another archive does not hold" 1 unsigned.tar --signed-by key.pub
else
    skip "an archive is signed" "no ssh-keygen"
fi

# Figures
echo '![](loss.svg)' >figure.md
if gplot loss one -o loss.svg >out 2>&1; then
    bundle "a report with a figure is packed" 0 one -o figure.tar \
        --add figure.md --add loss.svg
    verify "a figure is verified from the runs of the archive" 0 figure.tar
    like out "^claims${tab}figure.md${tab}passed" "the report of the figure is named"
    printf 'step\tlr\n0\t1\n1\t2\n' >rates.tsv
    gplot schedule rates.tsv -o rates.svg >out 2>&1
    echo '![](rates.svg)' >rates.md
    bundle "a figure is packed with the table that it shows" 0 one \
        -o rates.tar --add rates.md --add rates.svg --add rates.tsv
    verify "a figure is verified from a file of the archive" 0 rates.tar
    printf 'step\tlr\n0\t1\n1\t3\n' >rates.tsv
    bundle "a figure is packed with another table" 0 one \
        -o rates.tar --add rates.md --add rates.svg --add rates.tsv
    verify "a figure of another table is not verified" 1 rates.tar
    like out "rates.md${tab}failed" "the report of that figure has failed"
else
    skip "a figure is verified" "gplot cannot draw here"
fi

# Without data, and from a commit
if git --version >out 2>&1; then
    git init -q work >out 2>&1
    mkdir work/sub
    echo code >work/code.py
    (cd work && git add code.py && git -c user.name=n -c user.email=e commit -qm c &&
        echo '{"step": 1, "loss": 2}' | (cd sub && gtrack log logged)) >out 2>&1
    ok $? "a run is logged in a repository"
    (cd work/sub && gtrack bundle logged -o code.tar >../../head 2>../../err)
    ok $? "a run of a repository is packed"
    tar tf work/sub/code.tar >names
    like names "^code/sources/[0-9a-f]*.tar" "the sources of its commit are packed"
    tar xOf work/sub/code.tar --wildcards 'code/sources/*' | tar tf - >names
    like names "^code.py" "the sources are those of the whole repository"
    (cd work && echo '* filter=x' >.gitattributes && git add .gitattributes &&
        git -c user.name=n -c user.email=e commit -qm filtered &&
        echo step=1 loss=2 | gtrack log filtered &&
        git config core.sshCommand "touch '$dir/ran'" &&
        git config core.fsmonitor "touch '$dir/ran'" &&
        git config filter.x.smudge "cat; echo changed; touch '$dir/ran'" &&
        gtrack bundle filtered -o ../code.tar) >out 2>err
    test $? -eq 0 && tar tf code.tar >names && ! grep -q sources/ names && test ! -e ran &&
        grep -q 'git would run filters' err
    ok $? "no filter of the repository changes the sources" "$(cat names err)"
else
    skip "the sources of a commit are packed" "git is not installed"
fi
bundle "runs are packed without data" 0 one -o small.tar
tar tf small.tar >names
unlike names 'data_000000.bin\|safetensors' "data and checkpoints are left out"
like names 'files/tokens/data.tokens.lock' "the lock tells what the data were"
verify "an archive without data is verified" 0 small.tar
bundle "data are packed with what is needed to compute steps again" 0 one \
    -o some.tar --data
is "$(tar tf some.tar | grep -c 'checkpoints/step-.*/model.safetensors')" 2 \
    "all checkpoints of a small run are packed"
GTRAIN_ISA=c verify "other instructions certify an archive" 0 some.tar --replay
like out "^replay${tab}one${tab}passed" "the verdict is passed"
echo step=1 loss=2 | gtrack log -r large big -q >out 2>&1
big=$(gtrack -r large where big)/artifacts/checkpoints
for i in 1 2 3 4 5; do
    mkdir -p "$big/step-0000000$i"
    truncate -s 40M "$big/step-0000000$i/model.safetensors"
done
bundle "a run with large checkpoints is packed" 0 -r large big -o big.tar \
    --checkpoints some
is "$(tar tf big.tar | sed -n 's/.*step-0*\([0-9]*\).model.*/\1/p' | tr '\n' ' ')" \
    "2 5 " "as many checkpoints as fit are packed, evenly spaced"
like err "big: 2 of 5 checkpoints are packed" "bundle says how many it has packed"
rm big.tar
(cd away && gtrack verify ../small.tar --replay >../out 2>../err)
is $? 1 "a run without its data is not computed again"
like out "^replay${tab}one${tab}failed.*data.tokenizer: no tokenizer tok" \
    "the missing file is the reason"
verify "the data may be elsewhere" 0 small.tar --replay --data .
gtrack -r swept sweep -q -o cells --grid a=1,2,3 -- sh -c 'echo loss={a}' \
    >out 2>&1 && gtrack -r swept rm 'a = 3' >out 2>&1
ok $? "a sweep is run, and a cell is deleted"
bundle "one cell of three is packed" 0 -r swept 'a = 1' -o cell.tar
like err "1 of the 3 children of .* are here; 1 of the others is deleted" \
    "bundle says how many cells it leaves out"
tar xOf cell.tar cell/README >readme
like readme "1 of the 3 children of .* are here" "the archive says so, too"
echo 'step=1 loss=2' | gtrack -r plain log bare -q >out 2>err
bundle "a run without parameters is packed" 0 -r plain bare -o bare.tar
verify "a run without parameters is verified" 0 bare.tar
like out "^run${tab}bare${tab}passed" "an empty folder of parameters is not missed"
mkdir cut
tar xf bare.tar -C cut
params=$(echo cut/bare/mlruns/0/*/tags)/../params
echo 3 >"$params"
is "$(gtrack -r cut/bare/mlruns ls -c damage --tsv --no-header 2>&1 | grep -c 'params')" \
    1 "a file in place of the parameters is damage"
bundle "an archive needs a name" 2 one
bundle "a run that does not exist is not found" 3 nobody -o no.tar
bundle "a file above the folder is refused" 2 one -o no.tar --add ../x
ok "$(test ! -e no.tar; echo $?)" "nothing is written in case of an error"

# In a fresh root folder there are no other programs, no network and no store.
mkdir -p root/bin root/tmp root/dev
: >root/dev/null
for program in gtrack gtrain; do
    cp "$build/$program" root/bin
    ldd "$build/$program" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "root${library%/*}"
        cp -n -L "$library" "root$library" 2>/dev/null
    done
done
cp paper.tar root
enter="$(command -v unshare) --map-root-user --net $(command -v chroot)"
if $enter root /bin/gtrack --version >out 2>&1; then
    PATH=/bin TMPDIR=/tmp $enter root /bin/gtrack verify /paper.tar --sample 1 \
        --head "$(cat paper.head)" --tsv --no-header >out 2>err
    ok $? "an archive is verified in a fresh root folder without network"
    like out "^replay${tab}one.*certified" "the runs are certified in a fresh root folder"
else
    skip "an archive is verified in a fresh root folder" \
        "unshare and chroot are not allowed here"
fi
mkdir -p secrets/sub secrets/step-00000001 && echo mine >secrets/sub/key &&
    echo weights >secrets/step-00000001/model.safetensors &&
    ln -s model.safetensors secrets/step-00000001/same &&
    ln -s "$dir/report.md" secrets/step-00000001/leak && ln -s . secrets/step-00000002
echo 'step=1 loss=2' | gtrack -r stranger log s -p "checkpoint.folder=$dir/secrets" 2>err
gtrack -r stranger bundle s -o s.tar --checkpoints all >out 2>err
tar tf s.tar >names
test $? -eq 0 && grep -q step-00000001/model names && ! grep -q key names
ok $? "a run that names any folder has only checkpoints packed from it" "$(cat names)"
grep -q step-00000001/same names && ! grep -q 'leak\|step-00000002' names &&
    grep -q 'step-00000001/leak is a link that leaves' err
ok $? "no link that leaves the folder of checkpoints is packed with them" "$(cat names err)"
ln -s "$top/README.md" COPYING && ln -s "$top/README.md" tokens/x.lock
gtrack bundle one -o asked.tar --data >out 2>err
tar tf asked.tar >names && grep -q data_000000.bin names && ! grep -q 'COPYING\|x.lock' names
ok $? "--data packs no licence or lock that is a link elsewhere" "$(cat names)"
done_testing
