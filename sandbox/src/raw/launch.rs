//! The creation of a process: the one place where a thread returns twice.

use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use super::call;
use super::child::{self, Plan};
use crate::error::Errno;

/// The namespaces of tier 3.
pub(crate) const NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// The one of them that cuts off the network.
pub(crate) const NETWORK: u64 = libc::CLONE_NEWNET as u64;

/// What the kernel calls `struct clone_args`, in its first version.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    process_descriptor: u64,
    child_number: u64,
    parent_number: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    thread_storage: u64,
}

/// Creates a process that follows the plan, in these new namespaces; its number and its descriptor.
pub(crate) fn launch(plan: &mut Plan, namespaces: u64) -> Result<(i32, OwnedFd), Errno> {
    let mut descriptor: RawFd = -1;
    let pointer: *mut RawFd = &raw mut descriptor;
    let flags = namespaces | libc::CLONE_PIDFD as u64;
    let arguments = CloneArguments {
        flags,
        process_descriptor: pointer as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArguments::default()
    };
    let all = u64::MAX;
    let mut previous = 0_u64;
    let set = libc::SIG_SETMASK as usize;
    // SAFETY: the masks are live values of eight bytes. No handler of the parent may run in the child, where it would act
    // on the parent's pipes; so signals wait until the parent has its mask back, or the child has reset them.
    unsafe {
        let _ = call(libc::SYS_rt_sigprocmask, [set, (&raw const all) as usize, (&raw mut previous) as usize, 8, 0, 0]);
    }
    // SAFETY: without CLONE_VM the child has a copy of this thread and its stack, as after a fork, and calls nothing but
    // `child::run`, which never returns and keeps to what such a copy may do. The plan is complete.
    let answer = unsafe {
        let size = size_of::<CloneArguments>();
        let answer = call(libc::SYS_clone3, [(&raw const arguments) as usize, size, 0, 0, 0, 0]);
        match answer {
            // Containers answer so in order that callers use the old call, which a filter can read.
            Err(libc::ENOSYS | libc::EPERM) => {
                let old = flags as usize | libc::SIGCHLD as usize;
                call(libc::SYS_clone, [old, 0, pointer as usize, 0, 0, 0])
            }
            other => other,
        }
    };
    if answer == Ok(0) {
        // SAFETY: this is the child.
        unsafe { child::run(plan) }
    }
    // SAFETY: the mask is a live value of eight bytes.
    unsafe {
        let _ = call(libc::SYS_rt_sigprocmask, [set, (&raw const previous) as usize, 0, 8, 0, 0]);
    }
    let number = answer.map_err(Errno)? as i32;
    // SAFETY: the kernel has just opened it for the parent.
    Ok((number, unsafe { OwnedFd::from_raw_fd(descriptor) }))
}
