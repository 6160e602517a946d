//! What a new process does between its creation and the execution of its program.
//!
//! Invariant: it is a copy of one thread of a program that may have had many, so that any lock may be held for ever.
//! Nothing here allocates, frees, locks or panics; all that it needs was laid out by the parent in a [`Plan`], and every
//! call is a raw one (the C library's `setresuid` waits for the other threads, which aren't here).

use std::convert::Infallible;
use std::ffi::{CStr, CString, c_char};
use std::os::fd::RawFd;
use std::ptr;

use super::call;
use super::landlock::{Beneath, add_rule};
use crate::bpf::Program;
use crate::error::Step;
use crate::layout::{COVER, Entry};

/// What is mounted: where, and read-only apart from devices.
pub(crate) struct Mounts {
    /// An existing folder that the new root is mounted over for a moment.
    pub(crate) staging: CString,
    /// Size and mode of the new root.
    pub(crate) options: CString,
    /// Readable paths, and whether they are devices.
    pub(crate) sources: Vec<(CString, bool)>,
    /// Copies of the mounts at these paths: filled by the parent if it may, else by the child.
    pub(crate) trees: Vec<RawFd>,
    /// What the root is made of.
    pub(crate) entries: Vec<Entry>,
    /// The scratch folder's place in the new root, and the rights over it.
    pub(crate) scratch: Option<(CString, u64)>,
}

/// A change of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Everything that the child needs.
pub(crate) struct Plan {
    pub(crate) go_read: RawFd,
    pub(crate) go_write: RawFd,
    pub(crate) status: RawFd,
    pub(crate) standard: [RawFd; 3],
    pub(crate) ruleset: Option<RawFd>,
    pub(crate) change: Option<Change>,
    pub(crate) mounts: Option<Mounts>,
    pub(crate) limits: Vec<(u32, u64, u64)>,
    pub(crate) filter: Option<Program>,
    pub(crate) cookie: [u64; 3],
    pub(crate) working_folder: CString,
    pub(crate) program: CString,
    pub(crate) arguments: Vec<*const c_char>,
    pub(crate) environment: Vec<*const c_char>,
    /// The strings that the two lists above point into.
    pub(crate) _strings: Vec<CString>,
    /// Stop where the program would be executed, and tell what holds.
    pub(crate) rehearse: bool,
}

/// The first number of a report when a rehearsal is over; steps are smaller.
pub(crate) const REHEARSED: u32 = 1000;

/// What a rehearsal found to hold, as bits.
pub(crate) mod held {
    /// The process is the first of its own namespace and sees an empty root.
    pub(crate) const NAMESPACES: u32 = 1;
    /// A folder without a rule can't be opened.
    pub(crate) const LANDLOCK: u32 = 1 << 1;
    /// A call that isn't listed fails.
    pub(crate) const SECCOMP: u32 = 1 << 2;
    /// The limit on descriptors is the policy's.
    pub(crate) const LIMITS: u32 = 1 << 3;
    /// No descriptor is open beyond those that are needed.
    pub(crate) const DESCRIPTORS: u32 = 1 << 4;
    /// There are no capabilities.
    pub(crate) const NO_CAPABILITIES: u32 = 1 << 5;
}

const STATUS: usize = 3;
const RULESET: usize = 4;
const HERE: usize = libc::AT_FDCWD as isize as usize;
const EMPTY: &CStr = c"";
/// Options of the file system that covers a hidden folder.
const EMPTY_FOLDER: &CStr = c"mode=0555,size=4k,nr_inodes=1";

type Outcome<T = usize> = Result<T, (Step, i32)>;

trait At<T> {
    fn at(self, step: Step) -> Outcome<T>;
}

impl<T> At<T> for Result<T, i32> {
    fn at(self, step: Step) -> Outcome<T> {
        self.map_err(|error| (step, error))
    }
}

/// Takes all steps and executes the program, or reports what failed.
///
/// # Safety
///
/// Only in a process that was just cloned from one thread, with a plan whose descriptors are open and whose pointers
/// are valid.
pub(super) unsafe fn run(plan: &mut Plan) -> ! {
    let mut status = plan.status as usize;
    // SAFETY: the caller's promise.
    let (step, number) = match unsafe { take_steps(plan, &mut status) } {
        Ok(never) => match never {},
        Err((step, number)) => (step as u32, number),
    };
    // SAFETY: the descriptor is the status pipe's.
    unsafe { report(status, step, number as u32) };
    // SAFETY: ends the process, without handlers.
    unsafe {
        let _ = call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]);
        libc::_exit(127)
    }
}

/// # Safety
///
/// `status` is a descriptor that may be written to.
unsafe fn report(status: usize, first: u32, second: u32) {
    let message = [first, second];
    // SAFETY: the message is valid for its eight bytes.
    let _ = unsafe { call(libc::SYS_write, [status, message.as_ptr() as usize, 8, 0, 0, 0]) };
}

/// # Safety
///
/// As for [`run`].
unsafe fn take_steps(plan: &mut Plan, status: &mut usize) -> Outcome<Infallible> {
    // SAFETY: every call gets numbers, or pointers into the plan and into locals, which outlive it; the process is the
    // only user of its memory, descriptors and identity.
    unsafe {
        let _ = call(libc::SYS_close, [plan.go_write as usize, 0, 0, 0, 0, 0]);
        die_with_parent()?;
        wait_for_go(plan.go_read)?;
        reset_signals();

        call(libc::SYS_setsid, [0; 6]).at(Step::Session)?;
        for (place, descriptor) in plan.standard.iter().enumerate() {
            call(libc::SYS_dup3, [*descriptor as usize, place, 0, 0, 0, 0]).at(Step::Descriptors)?;
        }
        call(libc::SYS_dup3, [*status, STATUS, libc::O_CLOEXEC as usize, 0, 0, 0]).at(Step::Descriptors)?;
        *status = STATUS;
        if let Some(ruleset) = plan.ruleset {
            call(libc::SYS_dup3, [ruleset as usize, RULESET, libc::O_CLOEXEC as usize, 0, 0, 0])
                .at(Step::Descriptors)?;
        }
        let _ = call(libc::SYS_umask, [0o022, 0, 0, 0, 0, 0]);

        match &mut plan.mounts {
            Some(mounts) => {
                open_sources(mounts)?;
                change_user(plan.change)?;
                mount(mounts, plan.ruleset.is_some())?;
                join_keyring()?;
                empty_bounding_set()?;
            }
            None => {
                // Without namespaces the change of user takes the right to empty the set away.
                join_keyring()?;
                empty_bounding_set()?;
                change_user(plan.change)?;
            }
        }
        drop_capabilities()?;
        close_above(if plan.ruleset.is_some() { RULESET } else { STATUS })?;
        for (resource, soft, hard) in &plan.limits {
            let limit = [*soft, *hard];
            call(libc::SYS_prlimit64, [0, *resource as usize, limit.as_ptr() as usize, 0, 0, 0]).at(Step::Limits)?;
        }
        call(libc::SYS_chdir, [plan.working_folder.as_ptr() as usize, 0, 0, 0, 0, 0]).at(Step::WorkingFolder)?;
        let before = if plan.rehearse { look_before_filter(plan) } else { 0 };

        prctl(libc::PR_SET_NO_NEW_PRIVS, 1).at(Step::NoNewPrivileges)?;
        if plan.ruleset.is_some() {
            call(libc::SYS_landlock_restrict_self, [RULESET, 0, 0, 0, 0, 0]).at(Step::Landlock)?;
            let _ = call(libc::SYS_close, [RULESET, 0, 0, 0, 0, 0]);
        }
        if let Some(filter) = &mut plan.filter {
            install(filter)?;
        }
        if plan.rehearse {
            report(*status, REHEARSED, before | look_after_filter());
            let _ = call(libc::SYS_exit_group, [0; 6]);
            libc::_exit(0)
        }
        let [first, second, third] = plan.cookie;
        let arguments = [
            plan.program.as_ptr() as usize,
            plan.arguments.as_ptr() as usize,
            plan.environment.as_ptr() as usize,
            first as usize,
            second as usize,
            third as usize,
        ];
        match call(libc::SYS_execve, arguments) {
            Ok(_) => Err((Step::Execute, 0)),
            Err(error) => Err((Step::Execute, error)),
        }
    }
}

/// # Safety
///
/// As for [`run`]. The same for all functions below.
unsafe fn prctl(option: i32, value: usize) -> Result<usize, i32> {
    // SAFETY: options that are used here take numbers.
    unsafe { call(libc::SYS_prctl, [option as usize, value, 0, 0, 0, 0]) }
}

unsafe fn die_with_parent() -> Outcome {
    // SAFETY: as above.
    unsafe { prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize) }.at(Step::ParentDeath)
}

/// The parent writes one byte once the maps stand; if it is gone, the pipe ends.
unsafe fn wait_for_go(descriptor: RawFd) -> Outcome<()> {
    let mut byte = 0_u8;
    loop {
        // SAFETY: one byte is written into a local.
        match unsafe { call(libc::SYS_read, [descriptor as usize, (&raw mut byte) as usize, 1, 0, 0, 0]) } {
            Ok(1) => return Ok(()),
            Ok(_) => return Err((Step::Go, libc::EPIPE)),
            Err(libc::EINTR) => {}
            Err(error) => return Err((Step::Go, error)),
        }
    }
}

/// Signals that the parent ignores or blocks would stay so in the program.
unsafe fn reset_signals() {
    let default = [0_u64; 4];
    let none = 0_u64;
    for signal in 1..=64_usize {
        // SAFETY: zeroes are the kernel's structure for the default action; two signals can't be changed, and needn't.
        let _ = unsafe { call(libc::SYS_rt_sigaction, [signal, default.as_ptr() as usize, 0, 8, 0, 0]) };
    }
    let set = libc::SIG_SETMASK as usize;
    // SAFETY: the mask is a live value of eight bytes.
    let _ = unsafe { call(libc::SYS_rt_sigprocmask, [set, (&raw const none) as usize, 0, 8, 0, 0]) };
}

unsafe fn change_user(change: Option<Change>) -> Outcome<()> {
    let Some(Change { uid, gid }) = change else { return Ok(()) };
    let (uid, gid) = (uid as usize, gid as usize);
    // SAFETY: numbers alone; raw calls change this thread, which is the only one.
    unsafe {
        call(libc::SYS_setgroups, [0; 6]).at(Step::Groups)?;
        call(libc::SYS_setresgid, [gid, gid, gid, 0, 0, 0]).at(Step::Group)?;
        call(libc::SYS_setresuid, [uid, uid, uid, 0, 0, 0]).at(Step::User)?;
        // A change of user clears it.
        die_with_parent()?;
    }
    Ok(())
}

/// What the kernel calls `struct mount_attr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    namespace: u64,
}

const READ_ONLY: u64 = 1;
const NO_SET_USER_ID: u64 = 2;
const NO_DEVICES: u64 = 4;
const RECURSIVE: usize = 0x8000;
const CLONE_TREE: usize = 1;
const FROM_EMPTY_PATH: usize = 4;

/// Copies the mounts at a path.
///
/// # Safety
///
/// Sound for any path; the caller owns the descriptor.
pub(super) unsafe fn copy_mount(path: &CStr, device: bool) -> Result<RawFd, i32> {
    let flags = CLONE_TREE | RECURSIVE | libc::O_CLOEXEC as usize;
    let attributes = MountAttributes {
        set: READ_ONLY | NO_SET_USER_ID | if device { 0 } else { NO_DEVICES },
        clear: 0,
        propagation: libc::MS_PRIVATE,
        namespace: 0,
    };
    let at = (RECURSIVE, (&raw const attributes) as usize);
    // SAFETY: the strings end in zero and the structure is valid for its size.
    unsafe {
        let tree = call(libc::SYS_open_tree, [HERE, path.as_ptr() as usize, flags, 0, 0, 0])?;
        let empty = libc::AT_EMPTY_PATH as usize;
        let arguments = [tree, EMPTY.as_ptr() as usize, empty | at.0, at.1, size_of::<MountAttributes>(), 0];
        match call(libc::SYS_mount_setattr, arguments) {
            Ok(_) => Ok(tree as RawFd),
            Err(error) => {
                let _ = call(libc::SYS_close, [tree, 0, 0, 0, 0, 0]);
                Err(error)
            }
        }
    }
}

/// Before the change of user: the new one may not be able to reach the paths.
unsafe fn open_sources(mounts: &mut Mounts) -> Outcome<()> {
    for (tree, (path, device)) in mounts.trees.iter_mut().zip(&mounts.sources) {
        if *tree < 0 {
            // SAFETY: the path ends in zero; the process owns the descriptor.
            *tree = unsafe { copy_mount(path, *device) }.at(Step::Sources)?;
        }
    }
    Ok(())
}

unsafe fn mount(mounts: &Mounts, landlock: bool) -> Outcome<()> {
    const TMPFS: &CStr = c"tmpfs";
    const ROOT: &CStr = c"/";
    const DOT: &CStr = c".";
    let file_system = |at: &CStr, options: &CStr, flags: u64| {
        let (kind, at, options) = (TMPFS.as_ptr() as usize, at.as_ptr() as usize, options.as_ptr() as usize);
        // SAFETY: all strings end in zero.
        unsafe { call(libc::SYS_mount, [kind, at, kind, flags as usize, options, 0]) }
    };
    let enter = |at: &CStr| {
        // SAFETY: the string ends in zero.
        unsafe { call(libc::SYS_chdir, [at.as_ptr() as usize, 0, 0, 0, 0, 0]) }
    };
    let closed = libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: strings end in zero and live in the plan; the process has mounts of its own.
    unsafe {
        let private = (libc::MS_REC | libc::MS_PRIVATE) as usize;
        call(libc::SYS_mount, [0, ROOT.as_ptr() as usize, 0, private, 0, 0]).at(Step::PrivateMounts)?;
        file_system(&mounts.staging, &mounts.options, closed).at(Step::Root)?;
        enter(&mounts.staging).at(Step::Root)?;
        for entry in &mounts.entries {
            match entry {
                Entry::Folder(at) => {
                    call(libc::SYS_mkdirat, [HERE, at.as_ptr() as usize, 0o755, 0, 0, 0]).at(Step::Entry)?;
                }
                Entry::File(at) => {
                    let mode = (libc::S_IFREG | 0o644) as usize;
                    call(libc::SYS_mknodat, [HERE, at.as_ptr() as usize, mode, 0, 0, 0]).at(Step::Entry)?;
                }
                Entry::Link { target, at } => {
                    let arguments = [target.as_ptr() as usize, HERE, at.as_ptr() as usize, 0, 0, 0];
                    call(libc::SYS_symlinkat, arguments).at(Step::Entry)?;
                }
                Entry::Bind { source, at } => {
                    let tree = mounts.trees.get(*source).copied().unwrap_or(-1) as usize;
                    let arguments = [tree, EMPTY.as_ptr() as usize, HERE, at.as_ptr() as usize, FROM_EMPTY_PATH, 0];
                    call(libc::SYS_move_mount, arguments).at(Step::Bind)?;
                }
                Entry::Scratch { at, options } => {
                    file_system(at, options, closed | libc::MS_NOEXEC).at(Step::Scratch)?;
                }
                Entry::HideFolder(at) => {
                    let flags = closed | libc::MS_NOEXEC | libc::MS_RDONLY;
                    covered(file_system(at, EMPTY_FOLDER, flags)).at(Step::Hide)?;
                }
                Entry::HideFile(at) => {
                    let (cover, at) = (COVER.as_ptr() as usize, at.as_ptr() as usize);
                    covered(call(libc::SYS_mount, [cover, at, 0, libc::MS_BIND as usize, 0, 0])).at(Step::Hide)?;
                }
            }
        }
        call(libc::SYS_pivot_root, [DOT.as_ptr() as usize, DOT.as_ptr() as usize, 0, 0, 0, 0]).at(Step::Pivot)?;
        call(libc::SYS_umount2, [DOT.as_ptr() as usize, libc::MNT_DETACH as usize, 0, 0, 0, 0]).at(Step::Pivot)?;
        enter(ROOT).at(Step::Pivot)?;
        let attributes = MountAttributes { set: READ_ONLY, clear: 0, propagation: 0, namespace: 0 };
        let pointer = (&raw const attributes) as usize;
        let arguments = [HERE, ROOT.as_ptr() as usize, 0, pointer, size_of::<MountAttributes>(), 0];
        call(libc::SYS_mount_setattr, arguments).at(Step::ReadOnly)?;
        if let (Some((at, allowed)), true) = (&mounts.scratch, landlock) {
            let flags = (libc::O_PATH | libc::O_CLOEXEC) as usize;
            let folder = call(libc::SYS_openat, [HERE, at.as_ptr() as usize, flags, 0, 0, 0]).at(Step::Rule)?;
            let rule = Beneath { allowed: *allowed, parent: folder as RawFd };
            add_rule(RULESET as RawFd, &rule).at(Step::Rule)?;
        }
    }
    Ok(())
}

/// What this user can't come to, or what is gone, needs no cover: the program is the same user without capabilities.
fn covered(outcome: Result<usize, i32>) -> Result<usize, i32> {
    match outcome {
        Err(libc::EACCES | libc::ENOENT) => Ok(0),
        outcome => outcome,
    }
}

/// A session keyring survives a change of user and all namespaces. Where the call is absent or refused, so it is for
/// the program.
unsafe fn join_keyring() -> Outcome<()> {
    const JOIN: usize = 1;
    // SAFETY: a null name asks for a new keyring without a name.
    match unsafe { call(libc::SYS_keyctl, [JOIN, 0, 0, 0, 0, 0]) } {
        Ok(_) | Err(libc::ENOSYS | libc::EPERM) => Ok(()),
        Err(error) => Err((Step::Keyring, error)),
    }
}

/// Only possible with the capability for it; without, nothing can be regained either, since new privileges are given up.
unsafe fn empty_bounding_set() -> Outcome<()> {
    for capability in 0..64 {
        // SAFETY: numbers alone.
        match unsafe { prctl(libc::PR_CAPBSET_DROP, capability) } {
            Ok(_) => {}
            Err(libc::EINVAL | libc::EPERM) => break,
            Err(error) => return Err((Step::BoundingSet, error)),
        }
    }
    Ok(())
}

const CAPABILITY_VERSION: u32 = 0x2008_0522;

pub(super) unsafe fn drop_capabilities() -> Outcome<()> {
    let header = [CAPABILITY_VERSION, 0];
    let none = [0_u32; 6];
    let clear_ambient = libc::PR_CAP_AMBIENT_CLEAR_ALL as usize;
    // SAFETY: header and data are live values of the kernel's sizes.
    unsafe {
        match prctl(libc::PR_CAP_AMBIENT, clear_ambient) {
            Ok(_) | Err(libc::EINVAL) => {}
            Err(error) => return Err((Step::Capabilities, error)),
        }
        call(libc::SYS_capset, [header.as_ptr() as usize, none.as_ptr() as usize, 0, 0, 0, 0])
            .at(Step::Capabilities)
            .map(|_| ())
    }
}

pub(super) unsafe fn close_above(last: usize) -> Outcome<()> {
    // SAFETY: the process owns all its descriptors, and nothing that runs afterwards relies on those that go.
    unsafe { close_between(last + 1, u32::MAX as usize) }.at(Step::Close)
}

/// Closes descriptors from the first to the last number.
pub(super) unsafe fn close_between(first: usize, last: usize) -> Result<(), i32> {
    // SAFETY: as for the caller.
    match unsafe { call(libc::SYS_close_range, [first, last, 0, 0, 0, 0]) } {
        Ok(_) => Ok(()),
        // Before Linux 5.9: one by one, up to the highest number that there can be.
        Err(libc::ENOSYS) => {
            let mut limit = [0_u64; 2];
            let pointer = limit.as_mut_ptr() as usize;
            // SAFETY: the kernel writes two numbers into the array.
            unsafe { call(libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE as usize, 0, pointer, 0, 0]) }?;
            let [_, most] = limit;
            for descriptor in first..=last.min(most.min(1 << 20) as usize) {
                // SAFETY: as for the caller.
                let _ = unsafe { call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0]) };
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// What the kernel calls `struct sock_fprog`.
#[repr(C)]
struct FilterProgram {
    length: u16,
    instructions: *const libc::sock_filter,
}

pub(super) unsafe fn install(filter: &mut Program) -> Outcome<()> {
    // SAFETY: a number comes back.
    let own = unsafe { call(libc::SYS_getpid, [0; 6]) }.at(Step::Seccomp)?;
    for place in &filter.own_process {
        if let Some(instruction) = filter.instructions.get_mut(*place) {
            instruction.k = own as u32;
        }
    }
    let program =
        FilterProgram { length: filter.instructions.len() as u16, instructions: filter.instructions.as_ptr() };
    let set_filter = libc::SECCOMP_SET_MODE_FILTER as usize;
    // SAFETY: the instructions outlive the call, which copies them.
    unsafe { call(libc::SYS_seccomp, [set_filter, 0, (&raw const program) as usize, 0, 0, 0]) }
        .at(Step::Seccomp)
        .map(|_| ())
}

/// What of the set-up shows before the filter hides it.
unsafe fn look_before_filter(plan: &Plan) -> u32 {
    let mut found = 0;
    let header = [CAPABILITY_VERSION, 0];
    let mut data = [u32::MAX; 6];
    let mut limit = [0_u64; 2];
    let pointer = limit.as_mut_ptr() as usize;
    // SAFETY: the kernel reads and writes live locals of its sizes.
    unsafe {
        if call(libc::SYS_capget, [header.as_ptr() as usize, data.as_mut_ptr() as usize, 0, 0, 0, 0]).is_ok()
            && data == [0; 6]
        {
            found |= held::NO_CAPABILITIES;
        }
        let expected = plan.limits.iter().find(|(resource, ..)| *resource as usize == libc::RLIMIT_NOFILE as usize);
        if call(libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE as usize, 0, pointer, 0, 0]).is_ok()
            && expected.is_some_and(|(_, soft, hard)| limit == [*soft, *hard])
        {
            found |= held::LIMITS;
        }
        // Nothing above what is needed can be duplicated.
        let open = (RULESET + 1..128).any(|it| {
            // SAFETY: asks for flags.
            call(libc::SYS_fcntl, [it, libc::F_GETFD as usize, 0, 0, 0, 0]).is_ok()
        });
        if !open {
            found |= held::DESCRIPTORS;
        }
        let absent = call(libc::SYS_faccessat, [HERE, c"/proc/self".as_ptr() as usize, 0, 0, 0, 0]);
        if call(libc::SYS_getpid, [0; 6]) == Ok(1) && absent == Err(libc::ENOENT) {
            found |= held::NAMESPACES;
        }
    }
    found
}

/// What the filter and Landlock refuse.
unsafe fn look_after_filter() -> u32 {
    let mut found = 0;
    let flags = (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) as usize;
    // SAFETY: strings end in zero; a descriptor that does open goes with the process.
    unsafe {
        if call(libc::SYS_openat, [HERE, c"/".as_ptr() as usize, flags, 0, 0, 0]) == Err(libc::EACCES) {
            found |= held::LANDLOCK;
        }
        if call(libc::SYS_memfd_create, [c"x".as_ptr() as usize, 0, 0, 0, 0, 0]) == Err(libc::EPERM) {
            found |= held::SECCOMP;
        }
    }
    found
}

/// A null pointer that ends a list of strings.
pub(crate) const END: *const c_char = ptr::null();
