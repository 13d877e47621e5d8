#!/bin/sh
# The collectives through MPI, where there is one.
command -v mpirun >/dev/null && grep -q '^#define HAVE_MPI' config.h || {
    echo "1..0 # SKIP this build has no MPI, or there is no mpirun"
    exit 0
}
OMPI_MCA_btl_vader_single_copy_mechanism=none
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMP_NUM_THREADS=1
export OMPI_MCA_btl_vader_single_copy_mechanism OMPI_ALLOW_RUN_AS_ROOT \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMP_NUM_THREADS
n=0
for np in 2 3; do
    n=$((n + 1))
    if out=$(mpirun --oversubscribe -np $np t/coll.t 2>&1) &&
        test "${out##*
}" = well; then
        echo "ok $n - $np ranks under mpirun"
    else
        echo "not ok $n - $np ranks under mpirun"
        echo "$out" | sed 's/^/# /'
    fi
done
echo "1..$n"
