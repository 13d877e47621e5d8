/*
 * attempt - rewinds, and the index's records
 */
#include "config.h"
#include "store/format/attempt.h"

#include <string.h>
#include <sys/stat.h>

#include "store/format/metric.h"
#include "store/read/index.h"
#include "t/fuzz/fuzz.h"

static void rewinds(const uint8_t *data, size_t n)
{
    static const char run[] = "attempt.in"; /* where targets run */
    static int fd = -1;
    struct arena mem = { 0 };
    struct rewind_list list;

    if (fd < 0) {
        mkdir(run, 0777);
        mkdir("attempt.in/.gtrack", 0777);
    }
    fuzz_rewrite(&fd, "attempt.in/.gtrack/rewinds", data, n);
    rewinds_load(&list, &mem, run, NULL, PATH_NO_LINKS, &(struct err){ 0 });
    for (size_t i = 0; i < list.n; i++)
        FUZZ_CHECK(strlen(list.cut[i].key) <= n);
    arena_clear(&mem);
}

static void records(const uint8_t *data, size_t n)
{
    struct unpack_keep keep = { 0 };
    struct unpack u = { (const char *)data, (const char *)data + n, true,
                        &keep };
    struct run_info run = { 0 };

    if (unpack_run(&u, &run))
        FUZZ_CHECK(u.at <= u.end && run.id);
    arena_clear(&keep.mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rewinds(data, n);
    records(data, n);
    return 0;
}
