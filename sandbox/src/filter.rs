//! The system calls that a confined program may make, and those that a process leaves itself that confines itself.

use libc::{EACCES, ENOSYS, EPERM, c_long};

use crate::bpf::{Action, Condition, Rule};

/// What changes the list for a confined program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Files can't be opened for writing at all: where Landlock doesn't see to it.
    pub(crate) refuse_writing: bool,
    /// There is a scratch folder, so that calls which change files make sense.
    pub(crate) scratch: bool,
    /// Further threads are allowed.
    pub(crate) threads: bool,
    /// Sockets of the Internet protocols are allowed.
    pub(crate) network: bool,
    /// What the three unused registers of the one allowed `execve` hold.
    pub(crate) cookie: [u64; 3],
}

fn allow(call: c_long) -> Rule {
    Rule { call, conditions: Vec::new(), action: Action::Allow }
}

fn refuse(call: c_long, errno: i32) -> Rule {
    Rule { call, conditions: Vec::new(), action: Action::Refuse(errno) }
}

fn when(call: c_long, conditions: &[Condition]) -> Rule {
    Rule { call, conditions: conditions.to_vec(), action: Action::Allow }
}

/// Allows a call for each of these values of one 32-bit argument.
fn values(call: c_long, argument: u8, values: &[u32]) -> Vec<Rule> {
    values.iter().map(|value| when(call, &[Condition::Low { argument, mask: u32::MAX, value: *value }])).collect()
}

/// Memory, time, waiting, reading and writing what is open, and looking at oneself.
const PLAIN: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_getdents64,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_signalfd4,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_fadvise64,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_membarrier,
    libc::SYS_mseal,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getrusage,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_capget,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getcpu,
    libc::SYS_umask,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_shutdown,
    libc::SYS_recvfrom,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
];

/// Calls of the first years that newer machines don't have.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_signalfd,
    libc::SYS_getpgrp,
    libc::SYS_getrlimit,
    libc::SYS_arch_prctl,
    libc::SYS_time,
    libc::SYS_alarm,
    libc::SYS_pause,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[c_long] = &[libc::SYS_getrlimit];

/// Calls that change files: with a scratch folder, where Landlock keeps them inside it.
const CHANGING: &[c_long] = &[
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_renameat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmod,
    libc::SYS_utimensat,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
];
#[cfg(target_arch = "x86_64")]
const CHANGING_OLD: &[c_long] =
    &[libc::SYS_mkdir, libc::SYS_rmdir, libc::SYS_unlink, libc::SYS_rename, libc::SYS_link, libc::SYS_symlink];
#[cfg(not(target_arch = "x86_64"))]
const CHANGING_OLD: &[c_long] = &[];

/// Calls on sockets, for a program with network.
const TALKING: &[c_long] = &[
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
];

const THREAD: u32 = libc::CLONE_THREAD as u32;
const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
/// Opening for writing, creating or truncating.
const WRITING: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND) as u32;

/// The list of a confined program; what isn't on it fails with `EPERM`.
pub(crate) fn confined(shape: &Shape) -> Vec<Rule> {
    let mut rules: Vec<Rule> = PLAIN.iter().chain(OLD).copied().map(allow).collect();
    // A caller that finds these absent falls back on calls whose arguments a filter can see.
    rules.push(refuse(libc::SYS_clone3, ENOSYS));
    rules.push(refuse(libc::SYS_openat2, ENOSYS));
    rules.push(refuse(libc::SYS_io_uring_setup, ENOSYS));
    if shape.threads {
        let flags = Condition::Low { argument: 0, mask: THREAD | NEW_NAMESPACES, value: THREAD };
        rules.push(when(libc::SYS_clone, &[flags]));
    }
    let cookie = [3, 4, 5].map(|argument| Condition::Whole { argument, value: shape.cookie[argument as usize - 3] });
    rules.push(when(libc::SYS_execve, &cookie));
    rules.push(refuse(libc::SYS_execve, EACCES));
    open(shape, &mut rules);
    if shape.scratch {
        rules.extend(CHANGING.iter().chain(CHANGING_OLD).copied().map(allow));
    }
    // Not `F_SETOWN` and its kin: they aim signals at other processes.
    let record_locks = [36, 37, 38];
    let descriptor_commands = [
        libc::F_DUPFD,
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_GETLK,
        libc::F_SETLK,
        libc::F_SETLKW,
        libc::F_DUPFD_CLOEXEC,
        libc::F_GETPIPE_SZ,
    ];
    let commands: Vec<u32> =
        descriptor_commands.into_iter().chain(record_locks).map(|command| command as u32).collect();
    rules.extend(values(libc::SYS_fcntl, 1, &commands));
    let requests = [libc::TCGETS, libc::TIOCGWINSZ, libc::FIONREAD, libc::FIONBIO, libc::FIOCLEX, libc::FIONCLEX];
    rules.extend(values(libc::SYS_ioctl, 1, &requests.map(|request| request as u32)));
    const NAME_A_MAPPING: u32 = 0x5356_4d41;
    let options = [libc::PR_SET_NAME as u32, libc::PR_GET_NAME as u32, libc::PR_GET_DUMPABLE as u32, NAME_A_MAPPING];
    rules.extend(values(libc::SYS_prctl, 0, &options));
    rules.extend(values(libc::SYS_personality, 0, &[u32::MAX]));
    rules.push(when(libc::SYS_tgkill, &[Condition::OwnProcess { argument: 0 }]));
    rules.push(when(libc::SYS_kill, &[Condition::OwnProcess { argument: 0 }]));
    let myself = Condition::Low { argument: 0, mask: u32::MAX, value: 0 };
    rules.push(when(libc::SYS_prlimit64, &[myself, Condition::Whole { argument: 2, value: 0 }]));
    // A connected pair talks to itself alone; event loops wake themselves up with one.
    const KIND: u32 = 0xf;
    let local = Condition::Low { argument: 0, mask: u32::MAX, value: libc::AF_UNIX as u32 };
    let stream = Condition::Low { argument: 1, mask: KIND, value: libc::SOCK_STREAM as u32 };
    rules.push(when(libc::SYS_socketpair, &[local, stream]));
    if shape.network {
        for family in [libc::AF_INET, libc::AF_INET6] {
            for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM] {
                let family = Condition::Low { argument: 0, mask: u32::MAX, value: family as u32 };
                let kind = Condition::Low { argument: 1, mask: KIND, value: kind as u32 };
                rules.push(when(libc::SYS_socket, &[family, kind]));
            }
        }
        rules.extend(TALKING.iter().copied().map(allow));
    } else {
        rules.push(when(libc::SYS_sendto, &[Condition::Whole { argument: 4, value: 0 }]));
    }
    rules
}

fn open(shape: &Shape, rules: &mut Vec<Rule>) {
    #[cfg(target_arch = "x86_64")]
    const CALLS: &[(c_long, u8)] = &[(libc::SYS_openat, 2), (libc::SYS_open, 1)];
    #[cfg(not(target_arch = "x86_64"))]
    const CALLS: &[(c_long, u8)] = &[(libc::SYS_openat, 2)];
    for (call, argument) in CALLS {
        if shape.refuse_writing {
            rules.push(when(*call, &[Condition::Low { argument: *argument, mask: WRITING, value: 0 }]));
            rules.push(refuse(*call, EACCES));
        } else {
            rules.push(allow(*call));
        }
    }
}

/// The answer to what a confined program's list doesn't have.
pub(crate) const CONFINED_OTHERWISE: Action = Action::Refuse(EPERM);

/// The list of a process that confines itself once all its files are open; anything else kills it.
pub(crate) fn self_confined() -> Vec<Rule> {
    let mut rules: Vec<Rule> = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_pread64,
        libc::SYS_lseek,
        libc::SYS_close,
        libc::SYS_fstat,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_sched_yield,
        libc::SYS_sigaltstack,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_restart_syscall,
        libc::SYS_ppoll,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ]
    .into_iter()
    .map(allow)
    .collect();
    #[cfg(target_arch = "x86_64")]
    rules.push(allow(libc::SYS_poll));
    let without_execution = Condition::Low { argument: 2, mask: libc::PROT_EXEC as u32, value: 0 };
    rules.push(when(libc::SYS_mmap, &[without_execution]));
    rules.push(when(libc::SYS_mprotect, &[without_execution]));
    // Builds with assertions look whether a descriptor is open before they close it.
    rules.extend(values(libc::SYS_fcntl, 1, &[libc::F_GETFD as u32]));
    // The standard library asks for a file's size before it reads it, and does without.
    rules.push(refuse(libc::SYS_statx, ENOSYS));
    rules.push(refuse(libc::SYS_newfstatat, EPERM));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::interpreter::answer;
    use crate::bpf::{MACHINE, assemble};

    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

    fn shape() -> Shape {
        Shape {
            refuse_writing: true,
            scratch: false,
            threads: true,
            network: false,
            cookie: [0x1_0000_0001, 2, u64::MAX],
        }
    }

    /// Name, call, arguments, allowed.
    type Row = (&'static str, c_long, [u64; 6], bool);

    fn check(rules: &[Rule], otherwise: Action, rows: &[Row]) {
        let machine = MACHINE.expect("a machine with filters");
        let mut program = assemble(machine, rules, otherwise);
        for at in program.own_process.clone() {
            program.instructions[at].k = 4242;
        }
        for (name, call, arguments, allowed) in rows {
            assert_eq!(answer(&program, machine, *call, *arguments) == ALLOW, *allowed, "{name}");
        }
    }

    #[test]
    fn a_confined_program() {
        let (unix, inet) = (libc::AF_UNIX as u64, libc::AF_INET as u64);
        let (stream, datagram) = (libc::SOCK_STREAM as u64, libc::SOCK_DGRAM as u64);
        let cloexec = libc::SOCK_CLOEXEC as u64;
        let thread = libc::CLONE_THREAD as u64 | libc::CLONE_VM as u64 | libc::CLONE_SIGHAND as u64;
        let rows: &[Row] = &[
            ("read", libc::SYS_read, [0; 6], true),
            ("execve with the cookie", libc::SYS_execve, [9, 9, 9, 0x1_0000_0001, 2, u64::MAX], true),
            ("execve with half the cookie", libc::SYS_execve, [9, 9, 9, 1, 2, u64::MAX], false),
            ("execve", libc::SYS_execve, [9, 9, 9, 0, 0, 0], false),
            ("execveat", libc::SYS_execveat, [9, 9, 9, 0x1_0000_0001, 2, u64::MAX], false),
            ("fork", libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0, 0, 0, 0], false),
            ("thread", libc::SYS_clone, [thread, 0, 0, 0, 0, 0], true),
            ("thread with a namespace", libc::SYS_clone, [thread | libc::CLONE_NEWNET as u64, 0, 0, 0, 0, 0], false),
            ("clone3", libc::SYS_clone3, [0; 6], false),
            ("open to read", libc::SYS_openat, [0, 0, libc::O_CLOEXEC as u64, 0, 0, 0], true),
            ("open to write", libc::SYS_openat, [0, 0, libc::O_WRONLY as u64, 0, 0, 0], false),
            ("open to create", libc::SYS_openat, [0, 0, libc::O_CREAT as u64, 0, 0, 0], false),
            ("unlink", libc::SYS_unlinkat, [0; 6], false),
            ("chmod", libc::SYS_fchmodat, [0; 6], false),
            ("signal to itself", libc::SYS_tgkill, [4242, 5, 6, 0, 0, 0], true),
            ("signal to another", libc::SYS_tgkill, [4243, 5, 6, 0, 0, 0], false),
            ("kill of all", libc::SYS_kill, [u64::MAX, 9, 0, 0, 0, 0], false),
            ("owner of a descriptor", libc::SYS_fcntl, [0, libc::F_SETOWN as u64, 0, 0, 0, 0], false),
            ("duplicate", libc::SYS_fcntl, [0, libc::F_DUPFD_CLOEXEC as u64, 0, 0, 0, 0], true),
            ("terminal input", libc::SYS_ioctl, [0, libc::TIOCSTI, 0, 0, 0, 0], false),
            ("local stream pair", libc::SYS_socketpair, [unix, stream | cloexec, 0, 0, 0, 0], true),
            ("local datagram pair", libc::SYS_socketpair, [unix, datagram, 0, 0, 0, 0], false),
            ("socket", libc::SYS_socket, [inet, stream, 0, 0, 0, 0], false),
            ("send to an address", libc::SYS_sendto, [3, 0, 0, 0, 1 << 40, 16], false),
            ("limits of another", libc::SYS_prlimit64, [7, 7, 0, 0, 0, 0], false),
            ("own limits", libc::SYS_prlimit64, [0, 7, 0, 1 << 40, 0, 0], true),
            ("new own limits", libc::SYS_prlimit64, [0, 7, 1 << 40, 0, 0, 0], false),
            ("ptrace", libc::SYS_ptrace, [0; 6], false),
            ("memory file", libc::SYS_memfd_create, [0; 6], false),
            ("keyring", libc::SYS_keyctl, [0; 6], false),
        ];
        check(&confined(&shape()), CONFINED_OTHERWISE, rows);
        let scratch = Shape { refuse_writing: false, scratch: true, threads: false, ..shape() };
        let rows: &[Row] = &[
            ("open to write", libc::SYS_openat, [0, 0, libc::O_WRONLY as u64, 0, 0, 0], true),
            ("unlink", libc::SYS_unlinkat, [0; 6], true),
            ("thread", libc::SYS_clone, [thread, 0, 0, 0, 0, 0], false),
        ];
        check(&confined(&scratch), CONFINED_OTHERWISE, rows);
        let network = Shape { network: true, ..shape() };
        let rows: &[Row] = &[
            ("socket", libc::SYS_socket, [inet, stream | cloexec, 0, 0, 0, 0], true),
            ("local socket", libc::SYS_socket, [unix, stream, 0, 0, 0, 0], false),
            ("raw socket", libc::SYS_socket, [inet, libc::SOCK_RAW as u64, 0, 0, 0, 0], false),
            ("send to an address", libc::SYS_sendto, [3, 0, 0, 0, 1 << 40, 16], true),
            ("listen", libc::SYS_listen, [3, 1, 0, 0, 0, 0], false),
        ];
        check(&confined(&network), CONFINED_OTHERWISE, rows);
    }

    #[test]
    fn the_certifier() {
        let rows: &[Row] = &[
            ("read", libc::SYS_read, [0; 6], true),
            ("memory", libc::SYS_mmap, [0, 0, 3, 0, 0, 0], true),
            ("code", libc::SYS_mmap, [0, 0, 7, 0, 0, 0], false),
            ("memory into code", libc::SYS_mprotect, [0, 0, 5, 0, 0, 0], false),
            ("duplicate", libc::SYS_fcntl, [0; 6], false),
            ("open", libc::SYS_openat, [0; 6], false),
            ("socket", libc::SYS_socket, [0; 6], false),
            ("fork", libc::SYS_clone, [0; 6], false),
            ("thread", libc::SYS_clone3, [0; 6], false),
            ("execute", libc::SYS_execve, [0; 6], false),
            ("kill", libc::SYS_kill, [0; 6], false),
            ("ptrace", libc::SYS_ptrace, [0; 6], false),
        ];
        check(&self_confined(), Action::Kill, rows);
        let length = assemble(1, &self_confined(), Action::Kill).instructions.len();
        assert!(length < 90, "{length} instructions");
    }
}
