#include "config.h"
#include "store/capture.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "store/run.h"

static void machine(struct run *r)
{
    struct utsname u;

    if (uname(&u) < 0)
        return;
    run_tag(r, "gtrack.host", u.nodename);
    run_tag(r, "gtrack.system", u.release);
}

void capture(struct run *r)
{
    machine(r);
}
