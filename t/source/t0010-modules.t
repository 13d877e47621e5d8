#!/bin/sh
# The modules of the page can be joined to one script, and load nothing else.
. "$(dirname "$0")/../lib/tap.sh"
command -v perl >/dev/null || skip_all "no perl"

check "the modules of the page follow their rules" \
    "$top/scripts/modules" "$top/src/track/page"

mkdir page
cat >page/local.mk <<'END'
PAGE_FILES = \
	%D%/index.html \
	%D%/b.js \
	%D%/a.js
END
echo '<p style="color: red">' >page/index.html
cat >page/b.js <<'END'
/* b.js is the second. */
import { f } from "./a.js";
const x = 1;
f.innerHTML = "<b>";
END
cat >page/a.js <<'END'
export { f };
const x = "src='https://example.org/a.js'";
END
: >page/c.js
"$top/scripts/modules" page >out 2>err
is "$?" 1 "modules that break a rule end the check with status 1"
is "$(cat out)" "page/c.js: not listed in local.mk
page/index.html:1: a style or a script within the markup
page/b.js:2: imports a.js, which comes later
page/b.js:4: forbidden: innerHTML
page/a.js:1: an export that declares nothing
page/a.js:2: an address of another host
page/a.js: does not begin with what it is for
page/a.js: x is also in b.js" "scripts/modules finds each broken rule"

printf '/* a.js */\nexport const a = 1;\n' >page/a.js
printf 'import { a } from "./a.js";\nexport function b() {}\n' >page/b.js
"$top/scripts/embed" page/index.html page/a.js page/b.js >out 2>err
is "$(perl -0777 -ne '@f = /\{\n(.*?)0 \};/gs;
    $_ = join "", map chr, $f[1] =~ /\d+/g; print' out)" "/* a.js */
const a = 1;
function b() {}" "scripts/embed joins modules without imports and exports"
is "$(grep -c '^    { "' out)" 2 "the joined modules are one file"
done_testing
