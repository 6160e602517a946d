//! Safe wrappers of the system calls that the parent makes.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::call;
use crate::error::Errno;

/// Descriptors of this crate start here, above all that a child is given.
const FIRST_DESCRIPTOR: usize = 16;

fn errno<T>(answer: Result<T, i32>) -> Result<T, Errno> {
    answer.map_err(Errno)
}

/// A pipe: the reading end and the writing end, both closed on execution.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: the kernel writes two descriptors into the array, which live code owns from here on.
    let (read, write) = unsafe {
        errno(call(libc::SYS_pipe2, [ends.as_mut_ptr() as usize, libc::O_CLOEXEC as usize, 0, 0, 0, 0]))?;
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    Ok((raise(read)?, raise(write)?))
}

/// The same open file under a number that no standard descriptor has.
pub(crate) fn raise(descriptor: OwnedFd) -> Result<OwnedFd, Errno> {
    if descriptor.as_raw_fd() as usize >= FIRST_DESCRIPTOR {
        return Ok(descriptor);
    }
    let arguments = [descriptor.as_raw_fd() as usize, libc::F_DUPFD_CLOEXEC as usize, FIRST_DESCRIPTOR, 0, 0, 0];
    // SAFETY: duplicates an open descriptor; the new one is owned by nobody else.
    unsafe { errno(call(libc::SYS_fcntl, arguments)).map(|new| OwnedFd::from_raw_fd(new as RawFd)) }
}

/// A copy of a descriptor that programs inherit.
pub(crate) fn inheritable(file: &File) -> Result<OwnedFd, Errno> {
    let arguments = [file.as_raw_fd() as usize, libc::F_DUPFD as usize, 100, 0, 0, 0];
    // SAFETY: duplicates an open descriptor; the new one is owned by nobody else.
    unsafe { errno(call(libc::SYS_fcntl, arguments)).map(|new| OwnedFd::from_raw_fd(new as RawFd)) }
}

/// Reads and writes on the descriptor return instead of waiting.
pub(crate) fn do_not_wait(descriptor: BorrowedFd<'_>) -> Result<(), Errno> {
    let number = descriptor.as_raw_fd() as usize;
    // SAFETY: reads and changes flags of an open descriptor.
    unsafe {
        let flags = errno(call(libc::SYS_fcntl, [number, libc::F_GETFL as usize, 0, 0, 0, 0]))?;
        let flags = flags | libc::O_NONBLOCK as usize;
        errno(call(libc::SYS_fcntl, [number, libc::F_SETFL as usize, flags, 0, 0, 0])).map(|_| ())
    }
}

/// One descriptor to wait for, and afterwards whether something happened on it.
pub(crate) struct Wait<'a> {
    pub(crate) descriptor: BorrowedFd<'a>,
    pub(crate) writing: bool,
}

/// Waits until something happens on one of the descriptors, at most this many milliseconds (-1: for ever).
pub(crate) fn poll(waits: &[Wait<'_>], milliseconds: i32) -> Result<Vec<bool>, Errno> {
    let mut list: Vec<libc::pollfd> = waits
        .iter()
        .map(|wait| libc::pollfd {
            fd: wait.descriptor.as_raw_fd(),
            events: if wait.writing { libc::POLLOUT } else { libc::POLLIN },
            revents: 0,
        })
        .collect();
    // SAFETY: the list is valid for its length, for the time of the call.
    let answer = unsafe { libc::poll(list.as_mut_ptr(), list.len() as libc::nfds_t, milliseconds) };
    if answer < 0 {
        let error = Errno::of(&io::Error::last_os_error());
        return if error.0 == libc::EINTR { Ok(vec![false; waits.len()]) } else { Err(error) };
    }
    Ok(list.iter().map(|one| one.revents != 0).collect())
}

/// Sends a signal to a process that was made with its descriptor.
pub(crate) fn signal(process: BorrowedFd<'_>, signal: i32) -> Result<(), Errno> {
    let arguments = [process.as_raw_fd() as usize, signal as usize, 0, 0, 0, 0];
    // SAFETY: no pointers but a null one; the descriptor can't mean another process.
    unsafe { errno(call(libc::SYS_pidfd_send_signal, arguments)).map(|_| ()) }
}

/// Kills what is left of a child's process group.
pub(crate) fn kill_group(leader: i32) {
    // SAFETY: no pointers. The group's number is that of a child that wasn't reaped, so that it can't mean others.
    let _ = unsafe { call(libc::SYS_kill, [(-(leader as isize)) as usize, libc::SIGKILL as usize, 0, 0, 0, 0]) };
}

/// How a child ended: the kernel's status word, processor time in microseconds, most resident memory in KiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) cpu_microseconds: u64,
    pub(crate) resident_kib: u64,
}

/// Reaps a child if it has ended.
pub(crate) fn reap(child: i32) -> Result<Option<Ended>, Errno> {
    let mut status = 0_i32;
    let pointer: *mut i32 = &raw mut status;
    // SAFETY: zero is a valid value of the structure, which is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let arguments = [child as usize, pointer as usize, libc::WNOHANG as usize, (&raw mut usage) as usize, 0, 0];
    // SAFETY: both pointers are to live values of the types that the kernel writes.
    let answer = unsafe { errno(call(libc::SYS_wait4, arguments))? };
    if answer == 0 {
        return Ok(None);
    }
    let microseconds = |time: libc::timeval| (time.tv_sec as u64) * 1_000_000 + time.tv_usec as u64;
    Ok(Some(Ended {
        status,
        cpu_microseconds: microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
        resident_kib: usage.ru_maxrss as u64,
    }))
}

/// A pair of user and group that the calling process acts as.
pub(crate) fn identity() -> (u32, u32) {
    // SAFETY: these calls only return numbers.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// The hard limit of the calling process on a resource.
pub(crate) fn hard_limit(resource: u32) -> Result<u64, Errno> {
    let mut limit = [0_u64; 2];
    let arguments = [0, resource as usize, 0, limit.as_mut_ptr() as usize, 0, 0];
    // SAFETY: the kernel writes two numbers into the array.
    unsafe { errno(call(libc::SYS_prlimit64, arguments)) }.map(|_| limit[1])
}

/// Random numbers from the kernel.
pub(crate) fn random() -> Result<[u64; 3], Errno> {
    let mut numbers = [0_u64; 3];
    let length = size_of_val(&numbers);
    // SAFETY: the kernel fills the array, for which any bytes are valid.
    let filled = unsafe { errno(call(libc::SYS_getrandom, [numbers.as_mut_ptr() as usize, length, 0, 0, 0, 0]))? };
    if filled == length { Ok(numbers) } else { Err(Errno(libc::EIO)) }
}

/// Makes an unattached copy of the mounts at a path, read-only and without set-user-id programs, and unless it is a
/// device without devices.
pub(crate) fn copy_mount(path: &std::ffi::CStr, device: bool) -> Result<OwnedFd, Errno> {
    // SAFETY: the path is a string with its zero; the descriptor is owned by nobody else.
    let descriptor = unsafe { super::child::copy_mount(path, device) }.map_err(Errno)?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
