/*
 * confine_calls - a filter of the system calls of a command that reads
 *
 * Landlock says nothing about modes, owners, times and attributes of files,
 * limits and priorities of processes, nor sockets other than those of TCP.  The
 * calls below fail with EPERM, as do others that a reader has no need of.
 */
#include "config.h"
#include "common/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__

/* The last ones are of calls that older headers do not know. */
enum { X32 = 0x40000000, PIDFD_GETFD = 438, FCHMODAT2 = 452 };
enum { SETXATTRAT = 463, REMOVEXATTRAT = 466, FILE_SETATTR = 469 };

/* The first one is that which a program with connections needs. */
static const unsigned refused[] = {
    /* clang-format off */
    SYS_socket,
    SYS_chmod, SYS_fchmod, SYS_fchmodat, FCHMODAT2, SYS_chown, SYS_fchown,
    SYS_lchown, SYS_fchownat, SYS_utime, SYS_utimes, SYS_futimesat,
    SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SETXATTRAT,
    REMOVEXATTRAT, FILE_SETATTR, SYS_setpriority, SYS_ioprio_set,
    SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setattr, SYS_shmget,
    SYS_semget, SYS_msgget, SYS_mknod, SYS_mknodat, SYS_mount, SYS_umount2,
    SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_open_tree,
    SYS_move_mount, SYS_fsopen, SYS_ptrace, SYS_process_vm_readv,
    SYS_process_vm_writev, SYS_kcmp, PIDFD_GETFD, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_add_key,
    SYS_request_key, SYS_keyctl, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot,
    SYS_swapon, SYS_swapoff,
    /* clang-format on */
};
/* Of ioctl(): to change attributes of a file, and to type into a terminal. */
static const unsigned requests[] = { FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR,
                                     TIOCSTI, TIOCLINUX };
enum { REFUSED = sizeof refused / sizeof refused[0], REQUESTS = 4, OTHERS = 9 };
enum { LOAD = BPF_LD | BPF_W | BPF_ABS }; /* a word of the call */

struct filter {
    struct sock_filter f[REFUSED + REQUESTS + OTHERS + 2];
    unsigned short n;
};

static void add(struct filter *p, int code, unsigned k)
{
    p->f[p->n++] = (struct sock_filter){ (unsigned short)code, 0, 0, k };
}

/* Compare it with k, and go to the instruction `yes` or `no`; 0: the next. */
static void compare(struct filter *p, int how, unsigned k, int yes, int no)
{
    add(p, BPF_JMP | how | BPF_K, k);
    p->f[p->n - 1].jt = (unsigned char)(yes ? yes - p->n : 0);
    p->f[p->n - 1].jf = (unsigned char)(no ? no - p->n : 0);
}

bool confine_calls(bool connect)
{
    const int first = connect ? 1 : 0;
    const int allow = REFUSED - first + REQUESTS + OTHERS, refuse = allow + 1;
    struct filter p = { .n = 0 };

    add(&p, LOAD, offsetof(struct seccomp_data, arch));
    compare(&p, BPF_JEQ, AUDIT_ARCH_X86_64, 0, refuse);
    add(&p, LOAD, offsetof(struct seccomp_data, nr));
    compare(&p, BPF_JGE, X32, refuse, 0);
    for (int i = first; i < REFUSED; i++)
        compare(&p, BPF_JEQ, refused[i], refuse, 0);
    compare(&p, BPF_JEQ, SYS_prlimit64, 0, p.n + 3);
    add(&p, LOAD, offsetof(struct seccomp_data, args[0])); /* 0: this process */
    compare(&p, BPF_JEQ, 0, allow, refuse);
    compare(&p, BPF_JEQ, SYS_ioctl, 0, allow);
    add(&p, LOAD, offsetof(struct seccomp_data, args[1]));
    for (int i = 0; i < REQUESTS; i++)
        compare(&p, BPF_JEQ, requests[i], refuse, 0);
    add(&p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    add(&p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                 &(struct sock_fprog){ p.n, p.f }) == 0;
}

bool confine_has_calls(void)
{
    const unsigned action = SECCOMP_RET_ERRNO;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

#else

bool confine_calls(bool connect UNUSED)
{
    return false;
}

bool confine_has_calls(void)
{
    return false;
}

#endif
