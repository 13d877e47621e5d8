/*
 * confine_calls - a filter of the system calls of a command that reads
 *
 * Landlock says nothing about modes, owners, times and attributes of files, nor
 * about sockets other than those of TCP.  The calls below fail with EPERM, as
 * do those of other interfaces of the kernel that a reader has no need of.
 */
#include "config.h"
#include "common/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__

enum { X32 = 0x40000000, FCHMODAT2 = 452 };

/* The first one is that which a program with connections needs. */
static const unsigned refused[] = {
    /* clang-format off */
    SYS_socket,
    SYS_chmod, SYS_fchmod, SYS_fchmodat, FCHMODAT2, SYS_chown, SYS_fchown,
    SYS_lchown, SYS_fchownat, SYS_utime, SYS_utimes, SYS_futimesat,
    SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_mknod,
    SYS_mknodat, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
    SYS_unshare, SYS_setns, SYS_open_tree, SYS_move_mount, SYS_fsopen,
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
    SYS_pidfd_getfd, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
    SYS_io_uring_setup, SYS_add_key, SYS_request_key, SYS_keyctl,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
    SYS_kexec_file_load, SYS_reboot, SYS_swapon, SYS_swapoff,
    /* clang-format on */
};
enum { REFUSED = sizeof refused / sizeof refused[0], OTHERS = 6 };

/* Load a word of the call. */
static struct sock_filter load(size_t at)
{
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)at);
}

/* Skip `yes` or `no` instructions after comparing the word with k. */
static struct sock_filter compare(unsigned how, unsigned k, int yes, int no)
{
    return (struct sock_filter){ (unsigned short)(BPF_JMP | how | BPF_K),
                                 (unsigned char)yes, (unsigned char)no, k };
}

static struct sock_filter end(unsigned with)
{
    return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, with);
}

bool confine_calls(bool connect)
{
    struct sock_filter f[REFUSED + OTHERS];
    struct sock_fprog program = { 0, f };
    const int first = connect ? 1 : 0, n = REFUSED - first;
    unsigned short at = 0;

    f[at++] = load(offsetof(struct seccomp_data, arch));
    f[at++] = compare(BPF_JEQ, AUDIT_ARCH_X86_64, 0, n + 3);
    f[at++] = load(offsetof(struct seccomp_data, nr));
    f[at++] = compare(BPF_JGE, X32, n + 1, 0);
    for (int i = 0; i < n; i++)
        f[at++] = compare(BPF_JEQ, refused[first + i], n - i, 0);
    f[at++] = end(SECCOMP_RET_ALLOW);
    f[at++] = end(SECCOMP_RET_ERRNO | EPERM);
    program.len = at;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool confine_has_calls(void)
{
    const unsigned action = SECCOMP_RET_ERRNO;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

#else

bool confine_calls(bool connect)
{
    (void)connect;
    return false;
}

bool confine_has_calls(void)
{
    return false;
}

#endif
