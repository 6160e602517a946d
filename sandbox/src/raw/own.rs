//! Steps that a process takes on itself, for the certifier.

use std::os::fd::{AsRawFd as _, RawFd};

use super::{call, child, landlock};
use crate::bpf::Program;
use crate::error::{Errno, Step};

type Outcome<T> = Result<T, (Step, Errno)>;

fn at<T>(step: Step, answer: Result<T, i32>) -> Outcome<T> {
    answer.map_err(|error| (step, Errno(error)))
}

/// Other processes of the same user can't look into this one, and it leaves no core file.
pub(crate) fn hide() -> Outcome<()> {
    let none = [0_u64; 2];
    let pointer = none.as_ptr() as usize;
    // SAFETY: numbers, and a pointer to two live numbers.
    unsafe {
        at(Step::Dump, call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE as usize, 0, 0, 0, 0, 0]))?;
        at(Step::Limits, call(libc::SYS_prlimit64, [0, libc::RLIMIT_CORE as usize, pointer, 0, 0, 0]))?;
    }
    Ok(())
}

/// Closes every descriptor but the standard three and these.
pub(crate) fn close_all_but(keep: &[RawFd]) -> Outcome<()> {
    let mut keep: Vec<usize> = keep.iter().filter(|one| **one > 2).map(|one| *one as usize).collect();
    keep.sort_unstable();
    keep.dedup();
    let mut first = 3;
    for one in keep {
        if one > first {
            // SAFETY: the caller has promised to name all descriptors that it still uses; a use of another one fails
            // with an error, since nothing can be opened under its number after the filter stands.
            at(Step::Close, unsafe { child::close_between(first, one - 1) })?;
        }
        first = one + 1;
    }
    // SAFETY: as above.
    at(Step::Close, unsafe { child::close_between(first, u32::MAX as usize) })
}

/// Drops all capabilities and the right to gain any.
pub(crate) fn renounce() -> Outcome<()> {
    // SAFETY: the calls read live locals; the process has one thread, which the caller has checked.
    unsafe {
        child::drop_capabilities().map_err(|(step, error)| (step, Errno(error)))?;
        let no_new = [libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0, 0];
        at(Step::NoNewPrivileges, call(libc::SYS_prctl, no_new)).map(|_| ())
    }
}

/// Enters a Landlock ruleset that allows nothing; the kernel's version of it.
pub(crate) fn enter_empty_ruleset() -> Outcome<u32> {
    let version = landlock::version().map_err(|error| (Step::Landlock, error))?;
    let ruleset = landlock::nothing(version).map_err(|error| (Step::Ruleset, error))?;
    let arguments = [ruleset.as_raw_fd() as usize, 0, 0, 0, 0, 0];
    // SAFETY: numbers alone.
    at(Step::Landlock, unsafe { call(libc::SYS_landlock_restrict_self, arguments) })?;
    Ok(version)
}

/// Installs a filter for the rest of the process's life.
pub(crate) fn filter(program: &mut Program) -> Outcome<()> {
    // SAFETY: the program outlives the call.
    unsafe { child::install(program) }.map_err(|(step, error)| (step, Errno(error)))
}
