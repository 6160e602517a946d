//! Self-confinement, of the certifier and of built-in evaluators: what a process gives up once its files are open.

use std::os::fd::BorrowedFd;

use crate::SetUpError;

/// What holds for the process from here on. Seccomp always does: without it there is no report but an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfConfinement {
    /// The version of Landlock, if the kernel has it. Without it the filter alone refuses to open files.
    pub landlock: Option<u32>,
    /// Instructions of the system call filter.
    pub filter_instructions: usize,
}

/// Confines the calling process for the rest of its life, after it has opened its files.
///
/// Non-dumpable and without core files, so that processes of the same user can't read its memory, environment or
/// descriptors; every descriptor closed but the standard three and those in `keep`; no capabilities and none to gain; a
/// Landlock ruleset that allows nothing; and a filter that leaves reading, writing, memory, time and exit. Any other call
/// (open, socket, fork, thread, exec, ptrace, kill, memory for code) kills the process.
///
/// The process must have one thread. Descriptors that it still needs must be in `keep`: any other `File` it holds is
/// closed under it, and a build with assertions aborts when that is dropped: let go of such files before.
///
/// # Errors
///
/// [`SetUpError::Step`], with what failed; the process should end then. It is partly confined at most.
#[cfg(target_os = "linux")]
pub fn confine_self(keep: &[BorrowedFd<'_>]) -> Result<SelfConfinement, SetUpError> {
    use std::os::fd::AsRawFd as _;

    use crate::Tier;
    use crate::bpf::{Action, MACHINE, assemble};
    use crate::error::{Errno, Step};
    use crate::raw::own;

    let failed = |(step, errno): (Step, Errno)| SetUpError::Step {
        tier: Tier::Landlocked,
        step,
        errno,
        subject: Some("the process itself".to_owned()),
    };
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
    if threads.as_ref().is_ok_and(|threads| *threads > 1) {
        return Err(failed((Step::Threads, Errno(libc::EBUSY))));
    }
    let machine = MACHINE.ok_or(failed((Step::Filter, Errno(libc::ENOSYS))))?;
    let mut program = assemble(machine, &crate::filter::self_confined(), Action::Kill);
    own::hide().map_err(failed)?;
    let keep: Vec<_> = keep.iter().map(|descriptor| descriptor.as_raw_fd()).collect();
    own::close_all_but(&keep).map_err(failed)?;
    own::renounce().map_err(failed)?;
    let landlock = match own::enter_empty_ruleset() {
        Ok(version) => Some(version),
        Err((Step::Landlock, Errno(libc::ENOSYS | libc::EOPNOTSUPP | libc::EPERM))) => None,
        Err(other) => return Err(failed(other)),
    };
    own::filter(&mut program).map_err(failed)?;
    Ok(SelfConfinement { landlock, filter_instructions: program.instructions.len() })
}

/// Confines the calling process: not possible on this system.
///
/// # Errors
///
/// Always [`SetUpError::NotAtThisTier`].
#[cfg(all(unix, not(target_os = "linux")))]
pub fn confine_self(_: &[BorrowedFd<'_>]) -> Result<SelfConfinement, SetUpError> {
    Err(SetUpError::NotAtThisTier {
        tier: crate::Tier::Limited,
        what: "a process that confines itself",
        needs: "Linux with seccomp",
    })
}
