#!/bin/sh
# NVML is asked for the right GPU, in the right units; what it will not tell is
# not a number, and a machine without it has none.  The library is a stand-in.
. "$(dirname "$0")/../lib/tap.sh"
nvml=$build/t/cuda/nvml
cat >fake.c <<'EOF'
#include <string.h>
static int up, asked, second;
int nvmlInit_v2(void) { up = 1; return 0; }
int nvmlShutdown(void) { return up = 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *s, void **d)
{
    *d = &up;
    return strcmp(s, "0000:1b:00.0") == 0 && up ? 0 : 6;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d)
{
    *d = i == 0 ? &up : &second;
    return i < 2 && up ? 0 : 2;
}
int nvmlDeviceGetUtilizationRates(void *d, unsigned *u)
{
    u[0] = d == &up ? 97 : 31, u[1] = 40;
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m)
{
    m[0] = 80000, m[1] = 30000, m[2] = 50000;
    return 0;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { *mw = 350500; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *mj)
{
    static unsigned long long all = 7000000;
    *mj = all;
    all += 2500;
    return 0;
}
int nvmlDeviceGetTemperature(void *d, int s, unsigned *t)
{
    *t = 60 + asked++;
    return s;
}
int nvmlDeviceGetClockInfo(void *d, int which, unsigned *mhz)
{
    *mhz = which == 1 ? 1980 : 2619;
    return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *r)
{
    return 3; /* NVML_ERROR_NOT_SUPPORTED */
}
#ifdef FAULTS
int nvmlDeviceGetTotalEccErrors(void *d, int type, int since,
                                unsigned long long *n)
{
    *n = 3;
    return type == 1 && since == 0 ? 0 : 2;
}
int nvmlDeviceGetRemappedRows(void *d, unsigned *corrected, unsigned *other,
                              unsigned *pending, unsigned *failed)
{
    *corrected = *other = 1, *pending = 1, *failed = FAULTS;
    return 0;
}
#endif
EOF
make_fake() {
    ${CC:-cc} -shared -fPIC -w -Wl,-soname,libnvidia-ml.so.1 "$@" fake.c \
        -o libnvidia-ml.so.1
}
make_fake || skip_all "a stand-in for NVML does not compile"
fake() { LD_LIBRARY_PATH=$dir "$nvml" "$@"; }
is "$(fake 0000:1b:00.0 1)" "97% 50000 B 350.5 W 2.5 J 60 C 1980 MHz 2619 MHz nan" \
    "readings come in watts, joules and bytes, or are NaN"
is "$(fake 0000:1c:00.0 1)" none \
    "the readings are those of the GPU at the address"
is "$(fake 0000:1b:00.0 6 | awk '{ print $8 }' | tr '\n' ' ')" "60 60 60 60 60 61 " \
    "slow readings are taken every fifth time"
is "$(fake 0000:1b:00.0 3 | awk '{ print $6 }' | tr '\n' ' ')" "2.5 5 7.5 " \
    "energy counts from the start of the run"
is "$(fake 0000:1b:00.0 1 2>&1 >/dev/null)" "" \
    "a library without the calls of faults is used without them"
make_fake -DFAULTS=0
fake 0000:1b:00.0 1 >out 2>log
like log '1b:00.0 had 3 errors that could not be corrected' \
    "errors of a GPU's memory are told"
like log 'damaged rows of its memory when it is reset' \
    "rows that wait to be replaced are told"
make_fake -DFAULTS=1
fake 0000:1b:00.0 1 >out 2>log
like log 'no spare rows of memory left' "a GPU without spare rows is told"
sed 's/nvmlDeviceGetPowerUsage/other/' fake.c >less.c
${CC:-cc} -shared -fPIC -w -Wl,-soname,libnvidia-ml.so.1 less.c \
    -o libnvidia-ml.so.1
is "$(fake 0000:1b:00.0 1)" "97% 50000 B nan W 2.5 J 60 C 1980 MHz 2619 MHz nan" \
    "a function that is missing costs its metric only"
make_fake
python=${GT_PYTHON:-python3}
export PYTHONPATH="$top/python" PYTHONDONTWRITEBYTECODE=1
export GTRACK_LIBRARY="$build/libgtrack.so.0"
if "$python" -c 'import gtrack' 2>err; then
    LD_LIBRARY_PATH=$dir "$python" - >out 2>err <<'EOF'
import glob, gtrack, time
run = gtrack.init(name="two", capture=False, system=0.05)
while not glob.glob("mlruns/*/*/metrics/system/1/gpu_util"):
    run.flush()
    time.sleep(0.01)
run.finish()
EOF
    gtrack metrics two --tsv --no-header >metrics
    is "$(grep 'system/.*gpu_\(util\|power\)' metrics | cut -f1,5 | tr '\t\n' '  ')" \
        "system/1/gpu_power_w 350.5 system/1/gpu_util 31.0 system/gpu_power_w 350.5 system/gpu_util 97.0 " \
        "a run of the Python package records all GPUs"
else
    skip "a run of the Python package records all GPUs" \
        "Python cannot load libgtrack: $(tail -n 1 err)"
fi
rm libnvidia-ml.so.1
if test -e /dev/nvidiactl; then
    skip "a machine without NVML has no readings" "this machine has a driver"
else
    is "$(fake 0000:1b:00.0 1)" none "a machine without NVML has no readings"
fi
done_testing
