#!/bin/sh
# Parquet as pyarrow wrote it (t/reference/parquet.py): a column of strings, and
# the others as JSON.
. "$(dirname "$0")/../lib/tap.sh"
show_commands
seeds=$top/t/fuzz/corpus/parquet
x300=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "x" }')
# dedup leaves the second "first" and the second empty one out
printf '{"id":%d,"meta":{"a":1,"text":"no"},"tags":["a","b"],"text":"%s"}\n' 0 first 1 '' 2 "sec$(printf '\303\266')nd $(
    printf '\344\270\255')" 5 "$x300" 6 end >want
for kind in plain snappy gzip2 zstd2 lz4 brotli2 delta prefix groups; do
    gdata dedup -q "$seeds/$kind.parquet" >out 2>err
    if grep -q "without libzstd\|cannot find lib" err; then
        skip "the strings of $kind.parquet are read" "no library for it"
        continue
    fi
    cmp -s want out; ok $? "the strings of $kind.parquet are read"
    test "$(gdata info --tsv --no-header "$seeds/$kind.parquet" 2>err |
        cut -f5)" = 7; ok $? "info counts 7 rows in $kind.parquet"
done

# lists and structures: null lists become empty, and null structures have nulls
cat >want <<'END'
{"text":"a","endings":["a",null,"b"],"choices":{"text":["a",null,"b"],"label":[1,2],"of":{"n":0}},"none":{"a":null},"last":[true,false]}
{"text":"b","endings":[],"choices":{"text":[],"label":[1,2],"of":{"n":1}},"none":{"a":null},"last":[]}
{"text":"c","endings":[],"choices":{"text":[],"label":[1,2],"of":{"n":2}},"none":{"a":1},"last":[null]}
{"text":"d","endings":["中"],"choices":{"text":["中"],"label":[1,2],"of":{"n":3}},"none":{"a":null},"last":[]}
END
keeps() { # keeps LEFT_OUT KIND...
    left_out=$1
    shift
    for kind; do
        gdata dedup -q "$seeds/$kind.parquet" >out 2>err
        cmp want out
        ok $? "dedup keeps the other columns of $kind.parquet"
        like err "left out, .*: $left_out$" \
            "dedup names the columns of $kind.parquet that it leaves out"
    done
}
keeps 'twice, records.a, map.key_value.key, map.key_value.value' nested nested2
printf '{"text":"%s","tags":[%s]}\n' a '"x"' b '' c '"y","z"' >want
gdata dedup -q "$seeds/required.parquet" >out
cmp want out
ok $? "lists that cannot be null are kept"
gdata dedup -q --where 'choices.of.n >= 2' "$seeds/nested2.parquet" 2>err |
    cut -c 1-12 >out
is "$(cat out)" '{"text":"c",
{"text":"d",' "--where reads a column within structures"
gdata dedup -q --field choices "$seeds/nested.parquet" >out 2>err
test $? = 1 && grep -q 'there is no column "choices"' err
ok $? "a structure is refused as text"

cat >want <<'END'
{"text":"a","int":1,"long":4611686018427387904,"unsigned":18446744073709551615,"small":4294967295,"real":0.5,"half":0.25,"truth":true,"label":"x","list":[1]}
{"text":"b","int":-2,"long":-1,"unsigned":0,"small":0,"real":1e+300,"half":null,"truth":false,"label":null,"list":[1]}
{"text":"","int":null,"long":0,"unsigned":2,"small":2,"real":null,"half":null,"truth":true,"label":"","list":[1]}
{"text":"c\n\"c\"","int":2147483647,"long":5,"unsigned":null,"small":null,"real":-1.25,"half":-8.0,"truth":false,"label":"中","list":[1]}
END
keeps 'when, day, bytes' scalars scalars2
gdata dedup -q "$seeds/split.parquet" >out 2>err
test $? -eq 1 && like err 'column "real": values in encoding 9 are not' \
    "numbers in an encoding that is not supported are an error"
gdata dedup -q --input parquet --field id "$seeds/plain.parquet" >out 2>err
test $? = 1 && grep -q 'plain.parquet.*"id" does not contain strings' err
ok $? "a column of numbers is refused as text"
gdata dedup -q --field nothing "$seeds/plain.parquet" >out 2>err
test $? = 1 && grep -q 'no column "nothing"' err
ok $? "a column that is not there is an error"
gdata dedup -q "$seeds/plain.parquet" >want 2>err
gdata dedup -q --field 'nothing|text|id' "$seeds/plain.parquet" >out 2>err
test $? = 0 && cmp want out
ok $? "--field reads the first column that a file has of several"
gdata dedup -q --field list "$seeds/scalars.parquet" >out 2>err
test $? = 1 && grep -q 'the column "list" does not contain strings' err
ok $? "a column of lists is refused as text"
# of one name: read by name, numbers of one type would be taken for another's
sed s/small/label/g "$seeds/scalars.parquet" >twice.parquet
gdata dedup -q twice.parquet >out 2>err
test $? = 1 && grep -q 'twice.parquet: two columns are named "label"' err
ok $? "two columns of one name are an error"
sed 's/small/real\x00/g' "$seeds/scalars.parquet" >nul.parquet
gdata dedup -q nul.parquet >out 2>err
test $? = 1 && grep -q 'nul.parquet: two columns are named "real"' err
ok $? "a name that ends early is no other column's"
gdata dedup -q "$seeds/encrypted.parquet" >out 2>err
test $? = 1 && grep -q 'encrypted.parquet.*"text" is encrypted' err
ok $? "an encrypted column below a readable footer is an error"
# made by fuzzing: 2^60 truth values that took no byte
timeout 20 gdata dedup -q "$seeds/endless.parquet" >out 2>err
test $? = 1 && grep -q 'endless.parquet.*damaged' err
ok $? "a footer without end is an error"
head -c 500 "$seeds/plain.parquet" >cut.parquet
gdata dedup -q cut.parquet >out 2>err
test $? = 1 && grep -q 'cut.parquet.*footer is missing' err
ok $? "a Parquet file that ends early is an error"
{ head -c 300 "$seeds/snappy.parquet"; printf 'XXXXXX'
  tail -c +307 "$seeds/snappy.parquet"; } >bad.parquet
gdata dedup -q bad.parquet >out 2>err; test $? = 1
ok $? "a damaged Parquet file is an error"
# the number of the codec, behind the name of the column
perl -0777 -pe 's/(text\x15)\x02(?=\x16)/$1\x06/g' "$seeds/snappy.parquet" >lzo.parquet
gdata dedup -q lzo.parquet >out 2>err
is "$? $(grep -vc "warning: " err) $(grep -c "by lzo are not supported" err)" "1 1 1" \
    "a codec that is not supported is an error" "$(cat err)"
for kind in lz4 brotli2; do
    { head -c 23 "$seeds/$kind.parquet"; printf '\377\377\377\377\377\377'
      tail -c +30 "$seeds/$kind.parquet"; } >bad.parquet
    gdata dedup -q bad.parquet >out 2>err
    test $? != 0 && grep -q "cannot be inflated\|cannot find lib" err
    ok $? "a damaged page of $kind.parquet is an error"
done
echo text >no.parquet
gdata dedup -q no.parquet >out 2>err
test $? = 1 && grep -q 'not a Parquet file' err
ok $? "a file that is not Parquet is refused"
done_testing
