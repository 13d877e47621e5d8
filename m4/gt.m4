# GT_ARG_WERROR: strict warnings always; errors if asked for.
AC_DEFUN([GT_ARG_WERROR],
[AC_ARG_ENABLE([werror],
  [AS_HELP_STRING([--enable-werror], [stop at the first warning])])
GT_CFLAGS="-std=gnu11"
for flag in -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wold-style-definition -Wpointer-arith -Wwrite-strings -Wvla \
            -Wformat=2 -Wundef -Wdouble-promotion -Wcast-qual -Wconversion \
            -Wimplicit-fallthrough -Wnull-dereference \
            -Wno-missing-field-initializers; do
  AS_VAR_PUSHDEF([cache], [gt_cv_flag_$flag])
  AC_CACHE_CHECK([whether $CC takes $flag], [cache],
    [save=$CFLAGS; CFLAGS="$CFLAGS -Werror $flag"
     AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [AS_VAR_SET([cache], [yes])],
                       [AS_VAR_SET([cache], [no])])
     CFLAGS=$save])
  AS_VAR_IF([cache], [yes], [GT_CFLAGS="$GT_CFLAGS $flag"])
  AS_VAR_POPDEF([cache])
done
# What clang finds beyond gcc in constants that are correct as they are.
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#ifndef __clang__
#error no
#endif]])],
  [for flag in double-promotion enum-float-conversion format-nonliteral \
               implicit-int-float-conversion sign-conversion \
               string-concatenation string-conversion; do
     GT_CFLAGS="$GT_CFLAGS -Wno-$flag"
   done])
AS_IF([test "x$enable_werror" = xyes], [GT_CFLAGS="$GT_CFLAGS -Werror"])
AC_SUBST([GT_CFLAGS])])

# GT_ARG_SANITIZE: --enable-sanitize[=address,undefined]
AC_DEFUN([GT_ARG_SANITIZE],
[AC_ARG_ENABLE([sanitize],
  [AS_HELP_STRING([--enable-sanitize@<:@=LIST@:>@],
                  [build with sanitizers (address,undefined)])],
  [], [enable_sanitize=no])
AS_CASE([$enable_sanitize], [no], [], [yes], [gt_sanitize=address,undefined],
        [gt_sanitize=$enable_sanitize])
AS_IF([test -n "$gt_sanitize"],
  [GT_CFLAGS="$GT_CFLAGS -fsanitize=$gt_sanitize -fno-omit-frame-pointer"
   GT_LDFLAGS="$GT_LDFLAGS -fsanitize=$gt_sanitize"])
AM_CONDITIONAL([SANITIZE], [test -n "$gt_sanitize"])
AC_SUBST([GT_LDFLAGS])])

# GT_ARG_COVERAGE: --enable-coverage
AC_DEFUN([GT_ARG_COVERAGE],
[AC_ARG_ENABLE([coverage],
  [AS_HELP_STRING([--enable-coverage], [count executed lines, for gcov])])
AS_IF([test "x$enable_coverage" = xyes],
  [GT_CFLAGS="$GT_CFLAGS --coverage -O0"
   GT_LDFLAGS="$GT_LDFLAGS --coverage"])])

# GT_ARG_HARDENING: guards against overwritten memory, unless the sanitizers
# guard better.  They come all or none; _FORTIFY_SOURCE needs optimisation.
AC_DEFUN([GT_ARG_HARDENING],
[AC_ARG_ENABLE([hardening],
  [AS_HELP_STRING([--disable-hardening],
                  [do without _FORTIFY_SOURCE, stack protector and RELRO])])
gt_guards=none
guard_cflags="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong"
guard_ldflags="-Wl,-z,relro,-z,now"
AS_IF([test "x$enable_hardening" != xno && test -z "$gt_sanitize" &&
       test "x$enable_coverage" != xyes],
  [AC_CACHE_CHECK([whether $CC takes $guard_cflags $guard_ldflags],
    [gt_cv_guards],
    [save_CFLAGS=$CFLAGS; CFLAGS="$CFLAGS -Werror $guard_cflags"
     save_LDFLAGS=$LDFLAGS; LDFLAGS="$LDFLAGS $guard_ldflags"
     AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]])],
                    [gt_cv_guards=yes], [gt_cv_guards=no])
     CFLAGS=$save_CFLAGS; LDFLAGS=$save_LDFLAGS])
   AS_IF([test "x$gt_cv_guards" = xyes],
    [GT_CFLAGS="$GT_CFLAGS $guard_cflags"
     GT_LDFLAGS="$GT_LDFLAGS $guard_ldflags"
     gt_guards="_FORTIFY_SOURCE, stack protector, RELRO"
     GT_CHECK_PIE])])
AC_DEFINE_UNQUOTED([GUARDS], ["$gt_guards"],
                   [Guards against overwritten memory.])])

# GT_CHECK_PIE: compilers make position-independent programs unless they are
# told not to; is it so here?
AC_DEFUN([GT_CHECK_PIE],
[AC_CACHE_CHECK([whether programs are position-independent], [gt_cv_pie],
  [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#ifndef __PIE__
#error no
#endif]])], [gt_cv_pie=yes], [gt_cv_pie=no])])
AS_IF([test "x$gt_cv_pie" = xyes], [gt_guards="$gt_guards, PIE"])])

# GT_CHECK_CPU(NAME): is this the kind of the processor?  It has vector
# instructions of its own.
AC_DEFUN([GT_CHECK_CPU],
[AC_CACHE_CHECK([for $1], [gt_cv_cpu_$1],
  [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#ifndef __$1__
#error no
#endif]])], [gt_cv_cpu_$1=yes], [gt_cv_cpu_$1=no])])
AM_CONDITIONAL(m4_toupper([$1]), [test "x$gt_cv_cpu_$1" = xyes])])

# GT_ROW(NAME, STATE, NOTE): one row of the table that configure ends with.
AC_DEFUN([GT_ROW],
[gt_rows="$gt_rows$(printf '    %-12s %-22s %s' "$1" "$2" "$3")
"])

# GT_REQUIRE(VAR, MODULE, PACKAGE): a library that must be there.
AC_DEFUN([GT_REQUIRE],
[PKG_CHECK_MODULES([$1], [$2],
  [GT_ROW([$(echo "$2" | cut -d' ' -f1)],
          [$($PKG_CONFIG --modversion $(echo "$2" | cut -d' ' -f1))], [])],
  [AC_MSG_ERROR([$2 is missing; on Debian: apt install $3])])])

# GT_OPTIONAL(NAME, VAR, MODULE, WHAT IS LOST): --with-NAME, HAVE_VAR.
AC_DEFUN([GT_OPTIONAL],
[AC_ARG_WITH([$1],
  [AS_HELP_STRING([--without-$1], [do without $4])], [], [with_$1=check])
have_$1=no
AS_IF([test "x$with_$1" != xno],
  [PKG_CHECK_MODULES([$2], [$3], [have_$1=yes],
    [AS_IF([test "x$with_$1" = xyes],
      [AC_MSG_ERROR([--with-$1 was given, but $3 is missing])])])])
AS_IF([test "x$have_$1" = xyes],
  [AC_DEFINE([HAVE_$2], [1], [Define to 1 to use $3.])
   GT_ROW([$1], [$($PKG_CONFIG --modversion $(echo "$3" | cut -d' ' -f1))], [])],
  [GT_ROW([$1], [no], [lost: $4])])
AM_CONDITIONAL([HAVE_$2], [test "x$have_$1" = xyes])])

# GT_CHECK_CUDA: --with-cuda[=DIR|emu], --without-cuda.
# The .cu files go through nvcc (HAVE_CUDA), or with emu through the C++
# compiler and the emulation of t/emu/emu.cuh (CUDA_EMU too).  Nothing is run,
# so a machine with the toolkit but no GPU will do.
AC_DEFUN([GT_CHECK_CUDA],
[AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
     [use the CUDA toolkit in DIR (default: check, which is yes if it is
      found); DIR may be emu: the device cuda is then emulated, for tests])],
  [], [with_cuda=check])
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler])
AC_ARG_VAR([CUDA_ARCH], [GPU architectures to build for (those of 80 90 100 that
      nvcc knows)])
have_cuda=no have_cudnn=no
AS_CASE([$with_cuda],
 [no], [AC_CHECK_HEADER([cudnn_backend.h], [have_cudnn=yes])],
 [emu], [AC_CHECK_HEADER([cudnn_backend.h], [have_cudnn=yes])
   have_cuda=emu
   CUDA_LIBS="-lstdc++ -lpthread"
   GT_ROW([cuda], [emulated], [the kernels run on the CPU, for tests])],
 [AS_CASE([$with_cuda],
    [yes|check], [cuda_path=$PATH:/usr/local/cuda/bin:/opt/cuda/bin],
    [cuda_path=$with_cuda/bin])
  AC_PATH_PROG([NVCC], [nvcc], [], [$cuda_path])
  AS_IF([test -n "$NVCC"],
    [cuda_home=$($NVCC --dryrun -x cu /dev/null -c -o /dev/null 2>&1 |
       sed -n 's/^#@S|@ TOP=//p' | head -n 1)
     test -n "$cuda_home" || cuda_home=$(dirname "$(dirname "$NVCC")")
     cuda_home=$(cd "$cuda_home" && pwd -P)
     AS_CASE([$host_cpu], [aarch64], [cuda_target=sbsa-linux],
             [cuda_target=$host_cpu-linux])
     # Debian and Ubuntu have packages with the library beside all others.
     for dir in "$cuda_home/targets/$cuda_target/lib" "$cuda_home/lib64" \
       "$cuda_home/lib" "/usr/lib/$($CC -print-multiarch 2>/dev/null)"; do
       test -f "$dir/libcudart_static.a" && cuda_lib=$dir && break
     done
     CUDA_CPPFLAGS="-isystem $cuda_home/include"
     CUDA_LIBS="${cuda_lib:+-L$cuda_lib }-lcudart_static -lstdc++ -lrt -lpthread -ldl"
     save_LIBS=$LIBS; LIBS="$CUDA_LIBS $LIBS"
     AC_CHECK_FUNC([cudaGetDeviceCount], [GT_CHECK_NVCC])
     LIBS=$save_LIBS
     save_CPPFLAGS=$CPPFLAGS; CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
     AC_CHECK_HEADER([cudnn_backend.h], [have_cudnn=yes])
     CPPFLAGS=$save_CPPFLAGS])
  AS_IF([test "x$have_cuda" = xyes],
    [AS_IF([test -z "$NVCCFLAGS"], [NVCCFLAGS=-O3])
     AS_IF([test -z "$CUDA_ARCH"],
       [for arch in 80 90 100; do
          $NVCC --list-gpu-arch 2>/dev/null | grep -qx "compute_$arch" &&
            CUDA_ARCH="${CUDA_ARCH:+$CUDA_ARCH }$arch"
        done])
     # What nvcc does not know yet, the driver compiles from the newest PTX.
     last=$($NVCC --list-gpu-arch 2>/dev/null |
       sed -n 's/^compute_\([[0-9]]*\)$/\1/p' | sort -n | tail -n 1)
     for arch in $CUDA_ARCH; do
       AS_IF([$NVCC --list-gpu-arch 2>/dev/null | grep -qx "compute_$arch"],
         [CUDA_GENCODE="$CUDA_GENCODE -gencode arch=compute_$arch,code=sm_$arch"
          ptx=$arch],
         [AC_MSG_WARN([$NVCC does not know sm_$arch; its newest is sm_$last])
          ptx=$last])
     done
     CUDA_GENCODE="$CUDA_GENCODE -gencode arch=compute_$ptx,code=compute_$ptx"
     AC_DEFINE_UNQUOTED([CUDA_LIBDIR], ["$cuda_lib"],
                        [Where libraries of CUDA are, if not on the path.])
     GT_ROW([cuda], [$NVCC, sm_$(echo $CUDA_ARCH | tr ' ' ',')], [])
     AS_IF([test "x$have_cudnn" = xyes],
       [GT_ROW([cudnn], [$cuda_home/include], [opened at run time])],
       [GT_ROW([cudnn], [no], [lost: NVIDIA's attention kernels])])],
    [test "x$with_cuda" = xcheck ||
       AC_MSG_ERROR([--with-cuda was given, but ${cuda_why:-nvcc or libcudart is missing}])])])
AS_IF([test "x$have_cuda" = xno],
      [GT_ROW([cuda], [no], [lost: training on NVIDIA GPUs${cuda_why:+; $cuda_why}])],
      [AC_DEFINE([HAVE_CUDA], [1], [Define to 1 to build the CUDA device.])])
GT_NVCCFLAGS= GT_EMUFLAGS="-Wall -Wextra -Wno-unknown-pragmas -fno-strict-aliasing"
AS_IF([test "x$enable_werror" = xyes],
  [GT_NVCCFLAGS="-Werror all-warnings" GT_EMUFLAGS="$GT_EMUFLAGS -Werror"])
AS_IF([test -n "$gt_sanitize"],
  [GT_EMUFLAGS="$GT_EMUFLAGS -fsanitize=$gt_sanitize -fno-omit-frame-pointer"])
AS_IF([test "x$enable_coverage" = xyes], [GT_EMUFLAGS="$GT_EMUFLAGS --coverage"])
AC_SUBST([GT_NVCCFLAGS])
AC_SUBST([GT_EMUFLAGS])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_LIBS])
AC_SUBST([CUDA_GENCODE])
AC_SUBST([CUDA_ARCH])
AM_CONDITIONAL([HAVE_CUDA], [test "x$have_cuda" != xno])
AM_CONDITIONAL([CUDA_EMU], [test "x$have_cuda" = xemu])
# Without CUDA, the tests still run the graphs for cuDNN, by a stand-in.
AM_CONDITIONAL([HAVE_CUDNN], [test "x$have_cudnn" = xyes])])

# GT_CHECK_NVCC: nvcc refuses C++ compilers that are newer than it knows.
AC_DEFUN([GT_CHECK_NVCC],
[AC_CACHE_CHECK([whether $NVCC compiles], [gt_cv_nvcc],
  [echo '__global__ void nothing() {}' >conftest.cu
   AS_IF([$NVCC $NVCCFLAGS -c conftest.cu -o conftest.o \
            >&AS_MESSAGE_LOG_FD 2>&1], [gt_cv_nvcc=yes], [gt_cv_nvcc=no])
   rm -f conftest.cu conftest.o])
AS_IF([test "x$gt_cv_nvcc" = xyes], [have_cuda=yes],
  [cuda_why="nvcc does not compile; if it refuses this version of g++, set NVCC_APPEND_FLAGS='-ccbin g++-12' or another"])])

# GT_SUMMARY: what was found; also compiled in, for --version -v.
AC_DEFUN([GT_SUMMARY],
[AC_PATH_PROG([GNUPLOT], [gnuplot], [no])
GT_ROW([gnuplot], [$GNUPLOT], [at run time; without it figures are drawn in the terminal only])
AC_MSG_NOTICE([

  $PACKAGE_NAME $PACKAGE_VERSION

    compiler     $CC $CFLAGS
    install in   $prefix
    OpenMP       ${OPENMP_CFLAGS:-no}
    sanitizers   ${gt_sanitize:-no}
    guards       $gt_guards

$gt_rows
  Now type 'make', then 'make check'.
])])

# GT_OPENMP: the flags of OpenMP, which is required.
AC_DEFUN([GT_OPENMP],
[AC_OPENMP
AS_IF([test "x$ac_cv_prog_c_openmp" = xunsupported],
  [AC_MSG_ERROR(
    [$CC cannot compile OpenMP; clang needs libomp-dev, clang-16 libomp-16-dev])])])

# GT_TRY_CFLAGS(VAR, FLAGS, [PROLOGUE]): those of the flags that the compiler
# takes, for a program with this prologue, all or none.
AC_DEFUN([GT_TRY_CFLAGS],
[AC_CACHE_CHECK([whether $CC takes $2], [gt_cv_cflags_$1],
  [save=$CFLAGS; CFLAGS="$CFLAGS -Werror $2"
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM([$3])], [gt_cv_cflags_$1=yes],
                     [gt_cv_cflags_$1=no])
   CFLAGS=$save])
AS_IF([test "x$gt_cv_cflags_$1" = xyes], [$1="$2"], [$1=])
AC_SUBST([$1])])

# GT_CPU_CFLAGS: flags of the CPU's operations and of each instruction set
# they are compiled for; kernels/cpu/cpu.c chooses at run time.  They work on
# numbers in memory that the graph has sized, so no stack is guarded.
AC_DEFUN([GT_CPU_CFLAGS],
[GT_TRY_CFLAGS([CPU_CFLAGS], [-fno-stack-protector -fno-math-errno -fno-trapping-math -ffp-contract=fast -ftree-vectorize -fvect-cost-model=dynamic])
GT_TRY_CFLAGS([AVX2_CFLAGS], [-mavx2 -mfma -mf16c])
GT_TRY_CFLAGS([AVX512_CFLAGS], [-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mfma -mf16c -mprefer-vector-width=512])
# one length of vectors at the end, for which all is compiled
GT_TRY_CFLAGS([SVE_CFLAGS], [-march=armv8.2-a+sve -msve-vector-bits=256],
  [[#include <arm_sve.h>
typedef svfloat32_t fixed __attribute__((arm_sve_vector_bits(256)));]])
SVE_CFLAGS=${SVE_CFLAGS%256}
AM_CONDITIONAL([SVE], [test -n "$SVE_CFLAGS"])
AS_IF([test -n "$SVE_CFLAGS"],
  [AC_DEFINE([HAVE_SVE], [1], [the CPU's operations for SVE])])
AC_CACHE_CHECK([whether the compiler and the assembler know vdpbf16ps],
  [gt_cv_avx512bf16],
  [AC_COMPILE_IFELSE(
     [AC_LANG_PROGRAM([],
        [[if (__builtin_cpu_supports("avx512bf16"))
            __asm__("vdpbf16ps %zmm0, %zmm1, %zmm2");]])],
     [gt_cv_avx512bf16=yes], [gt_cv_avx512bf16=no])])
AS_IF([test $gt_cv_avx512bf16 = yes],
  [AC_DEFINE([HAVE_AVX512BF16], [1], [products of pairs of bf16])])])
