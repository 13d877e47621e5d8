#!/bin/sh
# NVML is asked for the right GPU, in the right units; what it will not tell is
# not a number, and a machine without it has none.  The library is a stand-in.
nvml=${top_builddir:-.}/t/cuda/nvml
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cat >"$dir/fake.c" <<'EOF'
#include <string.h>
static int up, asked;
int nvmlInit_v2(void) { up = 1; return 0; }
int nvmlShutdown(void) { return up = 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *s, void **d)
{
    *d = &up;
    return strcmp(s, "0000:1b:00.0") == 0 && up ? 0 : 6;
}
int nvmlDeviceGetUtilizationRates(void *d, unsigned *u)
{
    u[0] = 97, u[1] = 40;
    return d == &up ? 0 : 2;
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
EOF
if ! ${CC:-cc} -shared -fPIC -w -Wl,-soname,libnvidia-ml.so.1 "$dir/fake.c" \
    -o "$dir/libnvidia-ml.so.1"; then
    echo "1..0 # SKIP a stand-in for NVML does not compile"
    exit 0
fi
echo 1..5
is() {
    if test "$2" = "$3"; then echo "ok $1 - $4"; else
        echo "not ok $1 - $4"
        echo "# $2"
    fi
}
fake() { LD_LIBRARY_PATH=$dir "$nvml" "$@"; }
is 1 "$(fake 0000:1b:00.0 1)" \
    "97% 50000 B 350.5 W 2.5 J 60 C 1980 MHz 2619 MHz nan" \
    "a GPU's readings come in watts, joules, bytes; what it hides is NaN"
is 2 "$(fake 0000:1c:00.0 1)" none "another address is another GPU"
is 3 "$(fake 0000:1b:00.0 6 | awk '{ print $8 }' | tr '\n' ' ')" \
    "60 60 60 60 60 61 " "what changes slowly is asked for every fifth time"
is 4 "$(fake 0000:1b:00.0 3 | awk '{ print $6 }' | tr '\n' ' ')" \
    "2.5 5 7.5 " "energy counts from the start"
rm "$dir/libnvidia-ml.so.1"
if test -e /dev/nvidiactl; then
    echo "ok 5 # SKIP this machine has a driver"
else
    is 5 "$(fake 0000:1b:00.0 1)" none "a machine without NVML has no readings"
fi
