#!/bin/sh
# The page says which parameters matter, of the runs that were chosen.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/serve.sh"

export GTRACK_ROOT="$dir/runs"
# three rates, of which the middle one is best; two optimisers, b lower by 0.25;
# two seeds
for lr in 1 0.1 0.01; do
    for name in a b; do
        for seed in 1 2; do
            awk -v lr=$lr -v name=$name -v seed=$seed 'BEGIN {
                loss = 3 + (lr != 0.1) + (name == "a") / 4
                loss += seed / 50 + lr / 1000
                printf "{\"val/loss\": %.4f, \"train/loss\": 1}\n", loss }' |
                gtrack log -q -e sweep -p lr=$lr -p opt=$name -p seed=$seed \
                    "$name-$lr-$seed" 2>err
        done
    done
done
echo '{"val/loss": 0.5}' | gtrack log -q -e sweep -p lr=1 -p opt=a -p seed=3 bad
bad=$(gtrack where bad)
sed 's/^status: .*/status: 4/' "$bad/meta.yaml" >new && cp new "$bad/meta.yaml"
rm -f "$bad"/.gtrack/attempt.*
echo '{"val/loss": 0.1}' | gtrack log -q other
start

filter="filter=experiment+%3D+'sweep'&first=100"
ask "/api/compare?$filter"
is "$(json '$j->{importance}[0]{metric}')" "min(val/loss)" \
    "the results of validation come first"
is "$(json 'join " ", map { $_->{param} } @{$j->{importance}[0]{params}}')" \
    "lr opt seed" "the parameter that explains most comes first"
is "$(json 'join " ", map { "$_->{text}:$_->{runs}:$_->{failed}" }
    @{$j->{importance}[0]{params}[0]{values}}')" "0.01:4:0 0.1:4:0 1:4:1" \
    "a run that failed is counted, but not in the mean"
is "$(json 'sprintf "%.4f %d", @{$j->{importance}[0]{params}[1]}{qw(gap pairs)}')" \
    "0.2500 6" "values are compared by runs that are equal otherwise"
json '$j->{importance}[0]{sentence}' >sentence
like sentence "^lr explains most of min(val/loss) (.*): the best is 0.1, with a mean of 3.155, better than 0.01 by 1.000 " \
    "a minimum in the middle is found"
like sentence " opt: b is better than a by 0.25" "words are compared, too"
like sentence "1 of 13 runs failed and are not in the means: 1 of them with lr = 1" \
    "the sentence says where runs failed"
json '$j->{command}' >command
like command "^gtrack compare 'experiment = " "the command has the filter"
eval "$(cat command)" >out2 2>err
ok $? "the command with the filter works" "$(cat command err)"
ask "/api/runs?$filter&sort=name&columns=name"
is "$(json '"$j->{matched} $j->{total} $j->{rows}[0]{name}"')" "13 14 a-0.01-1" \
    "a request for the chosen runs says how many there are"
ask "/api/figure?kind=loss&first=2&sort=name"
json '$j->{command}' >command
like command "loss a-0.01-1 a-0.01-2 -r" \
    "of too many runs, the first of the table are named"
done_testing
