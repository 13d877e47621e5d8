#!/bin/sh
# Parquet: one column of strings, as pyarrow wrote it (t/reference/parquet.py).
. "$(dirname "$0")/../lib/tap.sh"
shown=words
top=${top_srcdir:-..}
case $top in /*) ;; *) top=$PWD/$top ;; esac
seeds=$top/t/fuzz/seeds/parquet
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
gdata info "$seeds/plain.parquet" >out 2>words
if grep -q without words; then
    echo "1..0 # SKIP built without Parquet"
    exit 0
fi
x300=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "x" }')
# dedup leaves the second "first" and the second empty one out
printf '{"text":"%s"}\n' first '' "sec$(printf '\303\266')nd $(printf \
    '\344\270\255')" "$x300" end >want
for kind in plain snappy gzip2 zstd2 delta prefix groups; do
    gdata dedup -q "$seeds/$kind.parquet" >out 2>words
    if grep -q "without libzstd" words; then
        n=$((n + 1)); echo "ok $n - $kind # SKIP no libzstd"
        continue
    fi
    cmp -s want out; result $? "$kind"
    test "$(gdata info --tsv --no-header "$seeds/$kind.parquet" 2>words |
        cut -f5)" = 7; result $? "$kind: 7 rows"
done
gdata dedup -q --input parquet --field id "$seeds/plain.parquet" >out 2>words
test $? = 1 && grep -q 'plain.parquet.*"id" does not hold strings' words
result $? "a column of numbers is refused"
gdata dedup -q --field nothing "$seeds/plain.parquet" >out 2>words
test $? = 1 && grep -q 'no column "nothing"' words
result $? "a column that is not there"
gdata dedup -q "$seeds/encrypted.parquet" >out 2>words
test $? = 1 && grep -q 'encrypted.parquet.*"text" is encrypted' words
result $? "an encrypted column under a footer in the clear"
# made by fuzzing: 2^60 truth values that took no byte
timeout 20 gdata dedup -q "$seeds/endless.parquet" >out 2>words
test $? = 1 && grep -q 'endless.parquet.*damaged' words
result $? "a footer without end"
head -c 500 "$seeds/plain.parquet" >cut.parquet
gdata dedup -q cut.parquet >out 2>words
test $? = 1 && grep -q 'cut.parquet.*footer is missing' words
result $? "a file that ends early"
{ head -c 300 "$seeds/snappy.parquet"; printf 'XXXXXX'
  tail -c +307 "$seeds/snappy.parquet"; } >bad.parquet
gdata dedup -q bad.parquet >out 2>words; test $? = 1
result $? "damage is an error"
echo text >no.parquet
gdata dedup -q no.parquet >out 2>words
test $? = 1 && grep -q 'not a Parquet file' words
result $? "no Parquet file"
echo "1..$n"
