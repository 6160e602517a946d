//! System calls: the one module of the project that is allowed to be unsafe. Each block says why it is sound; what leaves
//! the module is safe to call.
#![expect(unsafe_code, reason = "confinement is made of system calls that no safe library of this size offers whole")]

pub(crate) mod attempts;
pub(crate) mod calls;
pub(crate) mod child;
pub(crate) mod landlock;
pub(crate) mod launch;
pub(crate) mod own;

use libc::c_long;

/// One system call with the error number as the error.
///
/// # Safety
///
/// The call must be sound with these arguments: pointers valid for what the kernel reads and writes, and no memory or
/// descriptor that safe code relies on taken away.
unsafe fn call(number: c_long, arguments: [usize; 6]) -> Result<usize, i32> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: passed on to the caller.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    // SAFETY: the location is the calling thread's own, also in a child that was cloned from it.
    if answer == -1 { Err(unsafe { *libc::__errno_location() }) } else { Ok(answer as usize) }
}
