#!/bin/sh
# What `make install` installs is in one of the packages, or left out by name.
. "$(dirname "$0")/../lib/tap.sh"
packaging=$top/packaging

version=$(sed -n 's/^AC_INIT(\[gtrain\], \[\(.*\)\])$/\1/p' "$top/configure.ac")
is "$(sed -n '1s/^gtrain (\(.*\)) .*/\1/p' "$packaging/debian/changelog")
$(sed -n 's/^Version: *//p' "$packaging/gtrain.spec")
$(sed -n 's/^pkgver=//p' "$packaging/PKGBUILD")" "$version
$version
$version" "the packages have the version of configure.ac"

unset MAKEFLAGS MFLAGS
${MAKE:-make} -s -C "$build" install DESTDIR="$dir/root" prefix=/usr \
    libdir=/usr/lib/any >out 2>err
ok $? "make install works with another prefix"
(cd root && find . ! -type d | sed 's,^\./,,') | LC_ALL=C sort >installed

# A pattern of the lists names a file, or a folder with all that is in it.
missed() {
    while read -r file; do
        while read -r pattern; do
            # shellcheck disable=SC2254
            case $file in $pattern | $pattern/*) continue 2 ;; esac
        done <patterns
        echo "$file"
    done <installed
}
cat "$packaging"/debian/*install* >patterns
is "$(missed)" "" "packaging/debian has all that is installed"

sed -n '/^%files/,/^%changelog/{/^%_*{/p; /^%{/p;}' "$packaging/gtrain.spec" |
    sed 's,%{_bindir},usr/bin,; s,%{_libdir},usr/lib/any,
        s,%{_includedir},usr/include,; s,%{_mandir},usr/share/man,
        s,%{_docdir},usr/share/doc,; s,%{_datadir},usr/share,' >patterns
sed -n 's,^rm %{buildroot}%{_mandir},usr/share/man,p' "$packaging/gtrain.spec" >>patterns
is "$(missed)" "" "packaging/gtrain.spec has all that is installed"
done_testing
