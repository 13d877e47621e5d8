#!/bin/sh
# The commands of doc/tutorial.md work, in their order: as they stand in `make
# check-long`, and with three fifths of the steps in `make check-all`.
#
# With GT_PICTURES=1, the pictures of the tutorial, of README.md and of
# doc/gallery/page are drawn from these runs.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
test -n "${GT_PICTURES:-}" || takes_minutes
perl -MJSON::PP -MIO::Socket::INET -e 1 2>/dev/null ||
    skip_all "no perl with JSON::PP"
command -v gnuplot >/dev/null || skip_all "no gnuplot"
unset WANDB_ENTITY WANDB_PROJECT GTRACK_ROOT
mkdir srv home
"$top/t/lib/server.pl" wandb "$dir/srv" &
server=$!
trap 'kill "$server"; rm -rf "$dir"' EXIT
await_file srv/url
WANDB_BASE_URL=$(cat srv/url)
WANDB_API_KEY=$(printf 'k%.0s' $(seq 40))
export WANDB_BASE_URL WANDB_API_KEY

# one script for each section, of the lines that are indented by four spaces
awk '/^## / { n++; name = substr($0, 4); print name >("names") }
     /^$/ && was { print "" >(n + 0 ".sh") }
     { was = /^    / }
     was { print substr($0, 5) >(n + 0 ".sh") }' "$top/doc/tutorial.md"
if test -z "${GT_LONG:-}${GT_PICTURES:-}"; then
    sed -i 's/^chinchilla = 20$/chinchilla = 12/' ./*.sh
    grep -qx 'chinchilla = 12' ./*.sh
    ok $? "the tutorial trains for the steps that a model of its size should have"
fi
mkdir tutorial
i=0
while read -r name; do
    i=$((i + 1))
    test -f "$i.sh" || continue
    check "the tutorial works: $name" sh -exc "cd tutorial; . ../$i.sh"
done <names
cd tutorial || exit 1
is "$(find . -name '*.pdf' -size +2k | wc -l)" 6 \
    "the tutorial draws six figures"
is "$(grep -c 'gtrack{[^}]*}{}' report.tex)" 0 \
    "no number of the report is missing"
if command -v pdflatex >/dev/null; then
    pdflatex -halt-on-error -interaction=nonstopmode report.tex >out 2>&1
    ok $? "the report is compiled"
fi
if test -z "${GT_PICTURES:-}"; then
    done_testing
    exit
fi
draw() {
    file=$top/doc/tutorial/$1
    shift
    check "a picture of the tutorial is drawn: ${file##*/}" \
        gplot "$@" --size 10cmx6.4cm -o "$file"
}
mkdir -p "$top/doc/tutorial"
draw loss-300.png loss lr-1e-3 lr-3e-3 lr-1e-2 --skip 300
draw lr.png lr stitched
draw grid.png sweep optim.lr,model.width val/loss --sweep grid
draw sizes.png sweep optim.lr val/loss --sweep grid
draw memory.png memory two-ranks
draw util.png util two-ranks
check "the pictures of the page are drawn" \
    python3 -B "$top/t/page/pictures.py" . "$top/doc/gallery/page"
done_testing
