#!/bin/sh
# The examples of each manual can be copied from the rendered page: a shell
# reads them, the programs accept their options, and their settings exist.
. "$(dirname "$0")/../lib/tap.sh"
bin=$build
command -v mandoc >/dev/null || skip_all "no mandoc"
test -x "$bin/gtrain" || skip_all "no gtrain"
mkdir "$dir/stubs" "$dir/local" "$dir/run"
ln -s "$top/conf" "$dir/run/conf"
export bin dir

# examples PREFIX: write the examples of the rendered page on standard input to
# PREFIX.1.sh, PREFIX.2.ini and so on.  A display begins six columns to the
# right of its section's text, in column 11, or of a list's, in column 19.  A
# display that begins with [section] is a settings file, with those that follow
# it; one that runs a program of ours is for a shell.
examples() {
    awk -v prefix="$1" '
    BEGIN {
        programs = "(^|\n *|[|&;(] *|do |[$#%>] )"
        programs = programs "(gtrain|gdata|gtrack|gplot|mpirun|srun|torchrun) "
    }
    function end_group() {
        display = first == 11 || first == 19
        if (display && group ~ /^\[[a-z]+\]\n/) {
            if (!ini)
                ini = prefix "." ++n ".ini"
            printf "%s\n", group >ini
        } else if (group) {
            ini = ""
            if (display && group ~ programs)
                printf "%s", group >(prefix "." ++n ".sh")
        }
        group = ""
    }
    { match($0, /^ */) }
    RLENGTH < 11 || /^ *$/ { end_group() }
    RLENGTH < 11 && /[^ ]/ { ini = "" }
    RLENGTH < 11 || /^ *$/ { next }
    group == "" { first = RLENGTH }
    { group = group substr($0, first + 1) "\n" }
    END { end_group() }'
}

# What the shell finds instead of the programs.  Ours are asked for their help,
# which they give when they accept all options; gtrain also reads the settings.
# A launcher starts one of ours, and other programs do nothing.
cat >"$dir/stubs/gtrain" <<'END'
#!/bin/sh
known() {
    "$bin/gtrain" "$@" >/dev/null
}
prog=${0##*/}
case $prog in
mpirun | srun | torchrun)
    while test $# -gt 0 && ! test -e "$dir/stubs/$1"; do shift; done
    test $# = 0 || { prog=$1; shift; }
esac
case $prog in
gtrain | gdata | gtrack | gplot) test -x "$bin/$prog" || exit 0 ;;
*) exit 0 ;;
esac
before=
for word; do
    case $prog:$1:$before$word in
    gtrain:sweep:--grid=* | gtrain:sweep:--random=* | gtrain:sweep:-[gr]?*)
        known sweep -q --dry-run "$before$word" ;;
    gtrain:sweep:--set=* | gtrain:sweep:-s?*)
        known sweep -q --dry-run --grid=train.seed=1,2 "$before$word" ;;
    gtrain:*:--set=* | gtrain:*:-s?*) known --show-config "$before$word" ;;
    esac
    case $word in
    conf/*) test -e "$word" || echo "there is no $word" >&2 ;;
    esac
    case $word in
    --set | --grid | --random) before=$word= ;;
    -[sgr]) before=$word ;;
    *) before= ;;
    esac
done
case $prog:$1 in
gtrain:-*) set -- train "$@" ;;
esac
n=$# help=--help
for word; do
    test "$word" != -- || { set -- "$@" $help; help=; }
    set -- "$@" "$word"
done
shift $n
"$bin/$prog" "$@" $help >/dev/null || echo "$prog $*" >&2
END
chmod +x "$dir/stubs/gtrain"
for name in gdata gtrack gplot mpirun srun torchrun cat duckdb head jq sh sed shuf tail; do
    ln "$dir/stubs/gtrain" "$dir/stubs/$name"
done

# What is wrong with the example in a file.
check_example() {
    LC_ALL=C grep -n '[^ -~]' "$1" && echo "has characters beyond ASCII"
    grep -n '^[$#%>] ' "$1" && echo "has a prompt"
    grep -nE '.{70}' "$1" && echo "is wider than 80 columns in the page"
    cd "$dir/run" || return
    case $1 in
    *.sh)
        timeout 60 env PATH="$dir/stubs" /bin/sh "$1" ;;
    *.ini)
        if grep -qE '^\[(grid|random|sweep)\]' "$1"; then
            # its base is a file beside it
            mkdir -p "$dir/sweep" && cp "$top"/conf/*.ini "$1" "$dir/sweep" &&
                "$bin/gtrain" sweep --dry-run -q "$dir/sweep/${1##*/}" >/dev/null
        else
            "$bin/gtrain" --show-config --config "$1" >/dev/null
        fi
    esac
}

# As mdoc pages look where the system does not change groff's characters: only
# \- is a minus sign and only \(aq is an apostrophe.
cat >"$dir/local/mdoc.local" <<'END'
.char - \[hy]
.char ' \[cq]
.char ` \[oq]
.char ^ \[u02C6]
.char ~ \[u02DC]
END
render_by_groff() {
    groff -M "$dir/local" -mandoc -Tutf8 -P-c -rLL=78n "$1" | col -bx
}
for page in "$top"/man/*.[1-8]; do
    name=${page##*/}
    mandoc -Tutf8 "$page" | col -bx >"$dir/$name"
    examples "$dir/$name" <"$dir/$name"
    bad=
    n_examples=0
    for example in "$dir/$name".*.sh "$dir/$name".*.ini; do
        test -e "$example" || continue
        n_examples=$((n_examples + 1))
        found=$(check_example "$example" 2>&1)
        test -z "$found" || bad=$bad$(cat "$example")"
$found
"
    done
    is "$bad" "" "the programs accept the examples of $name"
    case $name in
    *.1 | *.ini.5)
        test $n_examples -gt 3
        ok $? "$name has more than three examples" "$n_examples"
    esac
    if command -v groff >/dev/null && test -d /usr/share/groff; then
        mkdir -p "$dir/mandoc" "$dir/groff"
        rm -f "$dir/mandoc"/* "$dir/groff"/*
        examples "$dir/mandoc/$name" <"$dir/$name"
        render_by_groff "$page" | examples "$dir/groff/$name"
        is "$(diff -r "$dir/mandoc" "$dir/groff" 2>&1)" "" \
            "groff renders the examples of $name as mandoc does"
    fi
done
done_testing
