#!/bin/sh
# What a store that a stranger made may not do.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

# a run whose meta.yaml names another place than its folder
run=theirs/0/0123456789abcdef0123456789abcdef
mkdir -p $run/metrics $run/params $run/tags $run/artifacts
cat >theirs/0/meta.yaml <<'END'
artifact_location: ''
creation_time: 1700000000000
experiment_id: '0'
last_update_time: 1700000000000
lifecycle_stage: active
name: Default
END
cat >$run/meta.yaml <<'END'
artifact_uri: ''
end_time: 1700000001000
entry_point_name: ''
experiment_id: '0'
lifecycle_stage: active
run_id: "../../../TARGET"
run_name: evil
source_name: ''
source_type: 4
source_version: ''
start_time: 1700000000000
status: 3
tags: []
user_id: x
END
echo '1700000000000 1 1' >$run/metrics/l
echo key >$run/artifacts/authorized_keys

mkdir -p a/b/c
g -r a/b/c import theirs
test -z "$(find . -name 'TARGET*')" && test -d "a/b/c/0/${run##*/}"
ok $? "import writes a run below its own store whatever its meta.yaml says"
g -r theirs export --to mlflow -o a/b/d
test -z "$(find . -name 'TARGET*')" && test -d "a/b/d/0/${run##*/}"
ok $? "export to MLflow writes a run below the folder that it was given"
g -r theirs ls -c id --tsv
grep -q "^${run##*/}" out
ok $? "the id of a run is the name of its folder"
mv $run theirs/0/short
g -r a/b/e import theirs
test $? -ne 0 && grep -q '32 hexadecimal digits' err
ok $? "a run whose folder has no proper id is not copied"

done_testing
