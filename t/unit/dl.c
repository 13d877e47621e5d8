/*
 * dl - libraries are found where pip installs NVIDIA's
 */
#include "config.h"
#include "common/dl.h"
#include "common/mem.h"
#include "common/path.h"
#include "t/lib/tap.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

struct library {
    long (*absolute)(long);
};

static const struct dl_symbol symbols[] = {
    { "labs", offsetof(struct library, absolute) }, { NULL, 0 }
};

/* A library of the system, which no program uses, in the packages as well. */
static void check_preload(const char *lib)
{
    void *other = dlopen("libresolv.so.2", RTLD_NOW);
    char *file = path_join(lib, "libgt-other.so.1");
    struct link_map *at;

    if (!other || dlinfo(other, RTLD_DI_LINKMAP, &at) < 0 ||
        symlink(at->l_name, file) < 0 || dlclose(other) != 0 ||
        dlopen("libresolv.so.2", RTLD_NOW | RTLD_NOLOAD)) {
        skip("what a library looks for by its name is opened before",
             "no library that can be closed");
    } else {
        dl_preload("libgt-other*.so.*");
        ok(dlopen("libresolv.so.2", RTLD_NOW | RTLD_NOLOAD),
           "what a library looks for by its name is opened before");
    }
    free(file);
}

/* A copy of this program in the folder bin beside the packages; called with a
 * name, it opens that library. */
static void check_own(const char *folder, struct err *e)
{
    char *bin = path_join(folder, "bin"), command[256];
    int status;

    ok(path_make(bin, e) == 0, "there is a folder of programs");
    snprintf(
        command, sizeof command,
        "cp \"$(readlink /proc/$PPID/exe)\" %s/own && %s/own libgt-test.so.1",
        bin, bin);
    status = system(command);
    ok(status == 0, "a program finds the packages of its own environment");
    free(bin);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/gt-dl-XXXXXX";
    void *address = dlsym(RTLD_DEFAULT, "labs");
    struct err e = { 0 };
    struct library got = { NULL };
    char *lib, *file;
    Dl_info self;

    if (argc > 1)
        return dl_load(&got, symbols, argv[1], &e) < 0;
    if (!mkdtemp(folder))
        return 1;
    lib = path_join(folder, "lib/python3.99/site-packages/nvidia/x/lib");
    file = path_join(lib, "libgt-test.so.1");
    if (!ok(address && dladdr(address, &self) && path_make(lib, &e) == 0 &&
                symlink(self.dli_fname, file) == 0,
            "a library lies in a package of Python"))
        return done_testing();
    unsetenv("CONDA_PREFIX");
    unsetenv("VIRTUAL_ENV");
    ok(dl_load(&got, symbols, "libgt-test.so.2 libgt-test.so.1", &e) < 0 &&
           e.kind == ERR_MISSING,
       "a library is not found where nobody looks");
    check_own(folder, &e);
    setenv("VIRTUAL_ENV", folder, 1);
    ok(dl_load(&got, symbols, "libgt-test.so.2 libgt-test.so.1", &e) == 0 &&
           got.absolute && got.absolute(-7) == 7,
       "a library is found in the packages of the active environment");
    free(file);
    file = dl_where(path_name(self.dli_fname));
    ok(file && file[0] == '/', "the path of an open library is found");
    free(file);
    file = path_join(lib, "libresolv.so.2"); /* the system's has no labs() */
    ok(symlink(self.dli_fname, file) == 0 &&
           dl_load(&got, symbols, "libresolv.so.2", &e) == 0 &&
           unlink(file) == 0,
       "the packages come before what the system has");
    check_preload(lib);
    path_remove(folder, &e);
    free(file);
    free(lib);
    return done_testing();
}
