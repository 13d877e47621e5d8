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
END
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
done_testing
