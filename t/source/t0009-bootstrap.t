#!/bin/sh
# ./bootstrap asks configure for CUDA where a GPU is, or when told to.
. "$(dirname "$0")/../lib/tap.sh"

# A copy of the script, with a configure and a make that only note their
# arguments, and packages that are all there.
mkdir -p tree/build-aux bin
sed 's/^get_packages() {/& return 0;/' "$top/bootstrap" >tree/bootstrap
: >tree/configure.ac
: >tree/build-aux/tap-driver.sh
stub() { { echo '#!/bin/sh'; cat; } >"$1"; chmod +x "$1"; }
stub tree/configure <<'END'
printf '%s\n' "$@" >args
cp "$CONFIG_H" config.h
END
echo '#define HAVE_CUDA 1' >with.h
: >without.h
export CONFIG_H="$PWD/with.h"
touch -d tomorrow tree/configure
chmod +x tree/bootstrap
stub bin/make </dev/null
stub bin/nvcc </dev/null
stub bin/ls <<'END'
exit 2 # no /dev/nvidia0 here, whatever this machine has
END
stub bin/nvidia-smi </dev/null
PATH=$PWD/bin:$PATH

configured() {  # run bootstrap, and print what configure was given
    rm -rf tree/build
    tree/bootstrap "$@" >out 2>err
    tr '\n' '|' <tree/build/args
}

is "$(configured build)" '--without-cuda|' \
    "a machine without a GPU builds without CUDA"
like err 'without CUDA.*no GPU' "bootstrap says that CUDA is left out"
is "$(configured build --enable-werror)" '--enable-werror|--without-cuda|' \
    "other options do not change that"
is "$(configured build --with-cuda)" '--with-cuda|' \
    "--with-cuda compiles for several kinds of GPUs"
is "$(configured build CUDA_ARCH=90)" 'CUDA_ARCH=90|' \
    "kinds of GPUs that are named are built for"
is "$(configured check)" '|' "the tests compile what nvcc can compile"

stub bin/nvidia-smi <<'END'
echo 9.0
echo 8.0
echo 9.0
END
is "$(configured build)" 'CUDA_ARCH=80 90|' \
    "a machine with GPUs builds for their architectures"

is "$(tail -n 1 err)" "bootstrap: done; the programs are in $PWD/tree/build" \
    "nothing more is said when CUDA was built"
CONFIG_H=$PWD/without.h
configured build >/dev/null
like err 'without CUDA, although this machine has a GPU' \
    "CUDA that could not be built on a machine with a GPU is told at the end"
cp tree/bootstrap kept
sed 's/^has_nvcc() {/& return 1;/' kept >tree/bootstrap
is "$(configured build)" '|' "without nvcc configure is told nothing"
is "$(tail -n 1 err)" "bootstrap: built without CUDA: this machine has a GPU, \
but no CUDA toolkit (nvcc)" \
    "a GPU without a toolkit is told on the last line"
cp kept tree/bootstrap
stub bin/nvidia-smi <<'END'
echo 7.5
END
is "$(configured build)" '--without-cuda|' \
    "a GPU that is too old is not built for"
like err 'the GPU has compute capability 7.5, and' "the compute capability of a GPU that is too old is told"
stub bin/nvidia-smi <<'END'
echo 7.5
echo 8.6
END
is "$(configured build)" 'CUDA_ARCH=86|' "a newer GPU beside an old one is"
stub bin/nvidia-smi <<'END'
echo "Failed to initialize NVML: Driver/library version mismatch"
exit 18
END
is "$(configured build)" '--without-cuda|' \
    "what a failing nvidia-smi prints is not taken for a GPU"

sed 's/^get_packages() {/& printf "%s\\n" "$1"; return 0;/' \
    "$top/bootstrap" >tree/bootstrap
tree/bootstrap packages >out 2>err
unlike out 'chromium' "a browser is not installed unless asked for"
like out '^cmd bindfs bindfs$' "what the tests use to fake a disk is installed"
tree/bootstrap packages slurm page >out 2>err
like out '^cmd chromedriver chromium-driver$' \
    "the packages of the browser tests are installed when asked for"
like out '^cmd slurmd slurmd$' "several kinds of packages can be asked for"
tree/bootstrap packages pages >out 2>err
is $? 1 "bootstrap refuses packages that it does not know"

# Systems without Debian's packages: PATH has the shell's own tools, and one
# package manager; what is missing is told in its words.
mkdir tools
for tool in sh cat dirname sed mktemp rm sort tr tail id; do
    ln -s "$(command -v $tool)" tools/$tool
done
tells() {  # MANAGER: what bootstrap says to type, the required packages first
    cp "$top/bootstrap" tree/bootstrap
    stub "tools/$1" </dev/null
    env -i PATH="$PWD/tools" tree/bootstrap packages slurm page 2>&1 |
        sed -n '/^ *sudo /{s///;s/ $//;p;}'
    rm "tools/$1"
}
is "$(tells apt-get)" \
"apt-get install autoconf automake g++ gcc libcurl4-openssl-dev libinih-dev \
libjansson-dev libyaml-dev make perl pkg-config zlib1g-dev
apt-get install bindfs chromium chromium-driver clang-format fish git \
gnuplot-nox groff iproute2 libisal-dev libmicrohttpd-dev libopenmpi-dev \
libsqlite3-dev libzstd-dev mandoc munge openmpi-bin poppler-utils python3 \
slurm-client slurmctld slurmd strace xz-utils zsh zstd" \
    "a system with apt-get is told what the packages of Debian are called"
is "$(tells dnf)" \
"dnf install 'pkgconfig(inih)' 'pkgconfig(jansson)' 'pkgconfig(libcurl)' \
'pkgconfig(yaml-0.1)' 'pkgconfig(zlib)' /usr/bin/automake \
/usr/bin/autoreconf /usr/bin/c++ /usr/bin/cc /usr/bin/make \
/usr/bin/pkg-config /usr/bin/prove
dnf install 'pkgconfig(libisal)' 'pkgconfig(libmicrohttpd)' \
'pkgconfig(libzstd)' 'pkgconfig(sqlite3)' /usr/bin/bindfs \
/usr/bin/chromedriver /usr/bin/clang-format /usr/bin/fish /usr/bin/git \
/usr/bin/groff /usr/bin/mandoc /usr/bin/pdftotext /usr/bin/python3 \
/usr/bin/strace /usr/bin/xz /usr/bin/zsh /usr/bin/zstd chromium gnuplot \
iproute munge openmpi openmpi-devel slurm slurm-slurmctld slurm-slurmd" \
    "a system with dnf is told what the packages of Fedora are called"
is "$(tells apk)" \
"apk add build-base linux-headers cmd:automake cmd:autoreconf cmd:c++ \
cmd:make cmd:pkg-config cmd:prove pc:inih pc:jansson pc:libcurl pc:yaml-0.1 \
pc:zlib
apk add chromium chromium-chromedriver cmd:bindfs cmd:clang-format cmd:fish \
cmd:git cmd:gnuplot cmd:groff cmd:ip cmd:mandoc cmd:mpirun cmd:munged \
cmd:pdftotext cmd:python3 cmd:strace cmd:xz cmd:zsh cmd:zstd openmpi-dev \
pc:libisal pc:libmicrohttpd pc:libzstd pc:sqlite3 slurm" \
    "a system with apk is told what the packages of Alpine are called"
is "$(tells pacman)" \
"pacman -S --needed base-devel curl jansson libinih libyaml perl zlib
pacman -S --needed bindfs chromium clang fish git gnuplot groff iproute2 \
isa-l libmicrohttpd mandoc munge openmpi poppler python slurm-llnl sqlite \
strace xz zsh zstd" \
    "a system with pacman is told what the packages of Arch Linux are called"

# configure with stand-ins for nvcc and cc, of which GT_CHECK_CUDA and GT_OPENMP are
# run
rm -r bin
mkdir -p conf/m4 toolkit/include lib
cp "$top/m4/gt.m4" conf/m4
cat >conf/configure.ac <<'END'
AC_INIT([cuda], [1])
AC_CANONICAL_HOST
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
GT_OPENMP
GT_CHECK_CUDA
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
echo "gencode $CUDA_GENCODE"
echo "libs $CUDA_LIBS"
echo "$gt_rows"
END
stub nvcc <<'END'
case $* in
*--dryrun*) echo "#\$ TOP=$TOOLKIT" >&2 ;;
*--list-gpu-arch*) printf 'compute_%s\n' 80 90 ;;
*) exit "${NVCC_STATUS-0}" ;;
esac
END
# Debian's packages keep the library in the folder of the system's libraries.
stub cc <<END
test "\$1" = -print-multiarch && { echo "../..$PWD/lib"; exit; }
case \$NO_OPENMP\$* in yes*openmp*) exit 1 ;; esac
exec ${CC:-cc} "\$@"
END
echo 'int cudaGetDeviceCount(void) { return 0; }' >cudart.c
${CC:-cc} -c cudart.c && ar rc lib/libcudart_static.a cudart.o
configure() {
    TOOLKIT=$PWD/toolkit sh conf/configure CC="$PWD/cc" NVCC="$PWD/nvcc" \
        --with-cuda=check "$@" >out 2>err
}
echo 'X = $(CUDA_LIBS)' >conf/Makefile.am
if ! (cd conf && aclocal -I m4 && autoconf && automake --add-missing) >log 2>&1
then
    skip "configure finds CUDA" "autotools: $(tail -n 1 log)"
else
    configure CUDA_ARCH="90 120"
    like out '^ *cuda .*/nvcc, sm_90,120' "a toolkit of Debian's packages is found"
    like out "^libs -L.*/lib -lcudart_static" "libcudart beside the system's libraries is found"
    like out 'sm_90 -gencode arch=compute_90,code=compute_90$' \
        "a GPU that nvcc does not know has the newest PTX that it knows"
    like err 'does not know sm_120; its newest is sm_90' "a GPU that nvcc does not know is a warning"
    NVCC_STATUS=1 configure
    like out '^ *cuda *no .*-ccbin g++' \
        "an nvcc that refuses the C++ compiler is told, and what to set"
    mkdir -p toolkit/lib64 toolkit/targets/sbsa-linux/lib
    cp lib/libcudart_static.a toolkit/lib64
    cp lib/libcudart_static.a toolkit/targets/sbsa-linux/lib
    configure --host=aarch64-linux-gnu
    like out "^libs -L.*/targets/sbsa-linux/lib -lcudart_static" \
        "for aarch64, libcudart is that of the toolkit for aarch64"
    NO_OPENMP=yes configure
    like err 'error: .*/cc cannot compile OpenMP; clang needs libomp-dev' \
        "a compiler without OpenMP is told, and the package that clang lacks"
fi
done_testing
