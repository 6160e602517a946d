//! Escape attempts that need system calls of their own, for the probes. Each is bounded and cleans up after itself.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::call;
use crate::error::Errno;

type Outcome<T> = Result<T, Errno>;

/// What a forked child of a probe does; nothing that allocates.
#[derive(Clone, Copy)]
pub(crate) enum Deed {
    /// Ends at once.
    Exit,
    /// Waits until the pipe ends.
    WaitOn(RawFd),
    /// Starts a session, forks again, and lets that process write to the pipe.
    Daemon(RawFd),
}

/// Which call makes the process.
#[derive(Clone, Copy)]
pub(crate) enum Fork {
    /// The old `clone`, as `fork` in the C library.
    Clone,
    /// `clone3`.
    Clone3,
}

fn path_text(path: &Path) -> Outcome<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))
}

fn number(arguments: (libc::c_long, [usize; 6])) -> Outcome<usize> {
    // SAFETY: private to this module; each caller says why its arguments are sound.
    unsafe { call(arguments.0, arguments.1) }.map_err(Errno)
}

fn descriptor(arguments: (libc::c_long, [usize; 6])) -> Outcome<OwnedFd> {
    // SAFETY: each caller names a call that answers a new descriptor.
    number(arguments).map(|new| unsafe { OwnedFd::from_raw_fd(new as RawFd) })
}

/// Makes a process that does one thing; its number.
pub(crate) fn fork(fork: Fork, deed: Deed) -> Outcome<i32> {
    // Eight zero words but for the signal at the end: `struct clone_args` as of its first version.
    let arguments = [0_u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    let answer = match fork {
        // A copy of this process, which has one thread; the child below makes raw calls alone.
        Fork::Clone => number((libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0, 0, 0]))?,
        Fork::Clone3 => number((libc::SYS_clone3, [arguments.as_ptr() as usize, size_of_val(&arguments), 0, 0, 0, 0]))?,
    };
    if answer != 0 {
        return Ok(answer as i32);
    }
    let mut byte = 0_u8;
    let pointer = (&raw mut byte) as usize;
    match deed {
        Deed::Exit => {}
        // One byte into a local.
        Deed::WaitOn(pipe) => drop(number((libc::SYS_read, [pipe as usize, pointer, 1, 0, 0, 0]))),
        Deed::Daemon(pipe) => {
            let _ = number((libc::SYS_setsid, [0; 6]));
            if number((libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0, 0, 0])) == Ok(0) {
                let _ = number((libc::SYS_write, [pipe as usize, pointer, 1, 0, 0, 0]));
            }
        }
    }
    loop {
        let _ = number((libc::SYS_exit_group, [0; 6]));
    }
}

/// Waits for a child.
pub(crate) fn wait_for(child: i32) {
    // No pointers but null ones.
    let _ = number((libc::SYS_wait4, [child as usize, 0, 0, 0, 0, 0]));
}

/// Sends a signal to a process number.
pub(crate) fn kill(process: i32, signal: i32) -> Outcome<()> {
    number((libc::SYS_kill, [process as usize, signal as usize, 0, 0, 0, 0])).map(drop)
}

/// Makes a process the one that is told when a descriptor is ready: a way to signal it.
pub(crate) fn own_descriptor(file: &File, process: i32) -> Outcome<()> {
    let arguments = [file.as_raw_fd() as usize, libc::F_SETOWN as usize, process as usize, 0, 0, 0];
    number((libc::SYS_fcntl, arguments)).map(drop)
}

/// Attaches to a process as a debugger, and lets it go.
pub(crate) fn trace(process: i32) -> Outcome<()> {
    let process_number = process as usize;
    number((libc::SYS_ptrace, [libc::PTRACE_ATTACH as usize, process_number, 0, 0, 0, 0]))?;
    wait_for(process);
    let _ = number((libc::SYS_ptrace, [libc::PTRACE_DETACH as usize, process_number, 0, 0, 0, 0]));
    Ok(())
}

/// Reads the memory of a process.
pub(crate) fn read_memory(process: i32, address: u64, length: usize) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0_u8; length];
    let here = [bytes.as_mut_ptr() as usize, length];
    let there = [address as usize, length];
    // Both lists have one entry; the kernel writes into the vector, which is as long as it is told.
    let arguments = [process as usize, here.as_ptr() as usize, 1, there.as_ptr() as usize, 1, 0];
    let count = number((libc::SYS_process_vm_readv, arguments))?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Takes a descriptor out of another process.
pub(crate) fn steal_descriptor(process: i32, wanted: i32) -> Outcome<File> {
    let process = descriptor((libc::SYS_pidfd_open, [process as usize, 0, 0, 0, 0, 0]))?;
    let arguments = [process.as_raw_fd() as usize, wanted as usize, 0, 0, 0, 0];
    descriptor((libc::SYS_pidfd_getfd, arguments)).map(File::from)
}

/// Asks for the limits of another process.
pub(crate) fn limits_of(process: i32) -> Outcome<()> {
    let mut limit = [0_u64; 2];
    let arguments = [process as usize, libc::RLIMIT_NOFILE as usize, 0, limit.as_mut_ptr() as usize, 0, 0];
    number((libc::SYS_prlimit64, arguments)).map(drop)
}

/// Reads the beginning of whatever is open under a number.
pub(crate) fn read_descriptor(wanted: i32) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0_u8; 256];
    let arguments = [wanted as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0];
    let count = number((libc::SYS_pread64, arguments))?;
    bytes.truncate(count);
    Ok(bytes)
}

/// A file in memory without a name.
pub(crate) fn memory_file() -> Outcome<File> {
    descriptor((libc::SYS_memfd_create, [c"probe".as_ptr() as usize, 0, 0, 0, 0, 0])).map(File::from)
}

/// A socket of this family and type.
pub(crate) fn socket(family: i32, kind: i32) -> Outcome<()> {
    descriptor((libc::SYS_socket, [family as usize, kind as usize, 0, 0, 0, 0])).map(drop)
}

/// The families of sockets that the probes ask for, with a type that each has.
pub(crate) mod families {
    pub(crate) const NETLINK: (i32, i32) = (libc::AF_NETLINK, libc::SOCK_RAW);
    pub(crate) const PACKET: (i32, i32) = (libc::AF_PACKET, libc::SOCK_RAW);
    pub(crate) const VSOCK: (i32, i32) = (libc::AF_VSOCK, libc::SOCK_STREAM);
    pub(crate) const ALG: (i32, i32) = (libc::AF_ALG, libc::SOCK_SEQPACKET);
}

/// A ring for input and output without system calls.
pub(crate) fn io_ring() -> Outcome<()> {
    let parameters = [0_u64; 15];
    // 120 bytes, which the kernel reads and writes.
    descriptor((libc::SYS_io_uring_setup, [2, parameters.as_ptr() as usize, 0, 0, 0, 0])).map(drop)
}

/// A descriptor that handles page faults of the process itself.
pub(crate) fn page_faults() -> Outcome<()> {
    descriptor((libc::SYS_userfaultfd, [libc::O_CLOEXEC as usize, 0, 0, 0, 0, 0])).map(drop)
}

/// Opens a file through the 32-bit interface of the kernel, whose call numbers differ.
#[cfg(target_arch = "x86_64")]
pub(crate) fn open_by_old_interface(path: &Path) -> Outcome<File> {
    const OPEN: i32 = 5;
    let text = path_text(path)?;
    let bytes = text.as_bytes_with_nul();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let arguments = [0, 1 << 16, protection as usize, flags as usize, usize::MAX, 0];
    let place = number((libc::SYS_mmap, arguments))?;
    if bytes.len() > 1 << 16 {
        return Err(Errno(libc::ENAMETOOLONG));
    }
    let mut answer = OPEN;
    // SAFETY: the mapping is new, writable and long enough; the interrupt changes no register but those that are named,
    // and memory only as the call does, which reads a path below 4 GiB.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), place as *mut u8, bytes.len());
        std::arch::asm!(
            "mov {saved}, rbx",
            "mov rbx, {path}",
            "int 0x80",
            "mov rbx, {saved}",
            saved = out(reg) _,
            path = in(reg) place,
            inout("eax") answer,
            in("ecx") 0,
            in("edx") 0,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    if answer < 0 {
        return Err(Errno(-answer));
    }
    // SAFETY: a new descriptor.
    Ok(unsafe { File::from_raw_fd(answer) })
}

/// There is no such interface on this machine.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn open_by_old_interface(_: &Path) -> Outcome<File> {
    Err(Errno(libc::ENOSYS))
}

/// What the kernel calls `struct file_handle`, with room.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    handle: [u8; 128],
}

/// Opens a file by its inode, past all folders above it.
pub(crate) fn open_by_handle(path: &Path, same_file_system: &File) -> Outcome<File> {
    let text = path_text(path)?;
    let mut handle = Handle { bytes: 128, kind: 0, handle: [0; 128] };
    let mut mount = 0_i32;
    let here = libc::AT_FDCWD as isize as usize;
    let pointer = (&raw mut handle) as usize;
    // The kernel writes at most 128 bytes of handle, and one number.
    number((libc::SYS_name_to_handle_at, [here, text.as_ptr() as usize, pointer, (&raw mut mount) as usize, 0, 0]))?;
    let arguments = [same_file_system.as_raw_fd() as usize, pointer, libc::O_RDONLY as usize, 0, 0, 0];
    descriptor((libc::SYS_open_by_handle_at, arguments)).map(File::from)
}

/// Mounts a folder over another, in mounts of the process's own.
pub(crate) fn mount_over(source: &Path, target: &Path) -> Outcome<()> {
    let (source, target) = (path_text(source)?, path_text(target)?);
    number((libc::SYS_unshare, [libc::CLONE_NEWNS as usize, 0, 0, 0, 0, 0]))?;
    let private = (libc::MS_REC | libc::MS_PRIVATE) as usize;
    number((libc::SYS_mount, [0, c"/".as_ptr() as usize, 0, private, 0, 0]))?;
    let arguments = [source.as_ptr() as usize, target.as_ptr() as usize, 0, libc::MS_BIND as usize, 0, 0];
    number((libc::SYS_mount, arguments)).map(drop)
}

/// Enters a user namespace of the process's own.
pub(crate) fn user_namespace() -> Outcome<()> {
    number((libc::SYS_unshare, [libc::CLONE_NEWUSER as usize, 0, 0, 0, 0, 0])).map(drop)
}

/// Changes the root folder of the process.
pub(crate) fn change_root(path: &Path) -> Outcome<()> {
    let text = path_text(path)?;
    number((libc::SYS_chroot, [text.as_ptr() as usize, 0, 0, 0, 0, 0])).map(drop)
}

/// A segment of System V shared memory, removed at once.
pub(crate) fn shared_segment() -> Outcome<()> {
    let mode = (libc::IPC_CREAT | 0o600) as usize;
    let segment = number((libc::SYS_shmget, [libc::IPC_PRIVATE as usize, 4096, mode, 0, 0, 0]))?;
    let _ = number((libc::SYS_shmctl, [segment, libc::IPC_RMID as usize, 0, 0, 0, 0]));
    Ok(())
}

/// A message queue, removed at once.
pub(crate) fn message_queue() -> Outcome<()> {
    let name = c"parthack-probe";
    let flags = (libc::O_CREAT | libc::O_RDWR) as usize;
    let queue = descriptor((libc::SYS_mq_open, [name.as_ptr() as usize, flags, 0o600, 0, 0, 0]))?;
    drop(queue);
    let _ = number((libc::SYS_mq_unlink, [name.as_ptr() as usize, 0, 0, 0, 0, 0]));
    Ok(())
}

/// Maps memory and writes to a byte of it every 256 MiB.
pub(crate) fn map_memory(bytes: usize, shared: bool) -> Outcome<()> {
    let flags = libc::MAP_ANONYMOUS | if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let place = number((libc::SYS_mmap, [0, bytes, protection as usize, flags as usize, usize::MAX, 0]))?;
    for offset in (0..bytes).step_by(256 << 20) {
        // SAFETY: inside the new mapping.
        unsafe { std::ptr::write_volatile((place + offset) as *mut u8, 1) };
    }
    // The mapping is this function's own.
    let _ = number((libc::SYS_munmap, [place, bytes, 0, 0, 0, 0]));
    Ok(())
}

/// Processor time of this process in milliseconds.
pub(crate) fn cpu_milliseconds() -> u64 {
    let mut time = [0_i64; 2];
    let clock = libc::CLOCK_PROCESS_CPUTIME_ID as usize;
    let _ = number((libc::SYS_clock_gettime, [clock, time.as_mut_ptr() as usize, 0, 0, 0, 0]));
    time[0] as u64 * 1000 + time[1] as u64 / 1_000_000
}

/// Waits without doing anything.
pub(crate) fn pause(milliseconds: i32) {
    // SAFETY: no descriptors, so no pointers.
    unsafe { libc::poll(std::ptr::null_mut(), 0, milliseconds) };
}

const SESSION: usize = -3_isize as usize;
const UNLINK: usize = 9;
const SEARCH: usize = 10;
const READ: usize = 11;

/// Adds a key to the session keyring; its number.
pub(crate) fn add_key(name: &str, value: &[u8]) -> Outcome<usize> {
    let name = CString::new(name).map_err(|_| Errno(libc::EINVAL))?;
    let kind = c"user".as_ptr() as usize;
    number((libc::SYS_add_key, [kind, name.as_ptr() as usize, value.as_ptr() as usize, value.len(), SESSION, 0]))
}

/// Takes a key out of the session keyring again.
pub(crate) fn remove_key(key: usize) {
    let _ = number((libc::SYS_keyctl, [UNLINK, key, SESSION, 0, 0, 0]));
}

/// Reads a key of the session keyring by its name.
pub(crate) fn read_key(name: &str) -> Outcome<Vec<u8>> {
    let name = CString::new(name).map_err(|_| Errno(libc::EINVAL))?;
    let kind = c"user".as_ptr() as usize;
    let key = number((libc::SYS_keyctl, [SEARCH, SESSION, kind, name.as_ptr() as usize, 0, 0]))?;
    let mut bytes = vec![0_u8; 256];
    let count = number((libc::SYS_keyctl, [READ, key, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0]))?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Something that the certifier must not be able to do, tried after it has confined itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forbidden {
    Socket,
    Fork,
    Trace,
    Code,
    Kill,
}

/// Tries it.
pub(crate) fn forbidden(deed: Forbidden) -> Outcome<()> {
    match deed {
        Forbidden::Socket => socket(libc::AF_INET, libc::SOCK_STREAM),
        Forbidden::Fork => fork(Fork::Clone, Deed::Exit).map(wait_for),
        // Asks to be traced by the parent.
        Forbidden::Trace => number((libc::SYS_ptrace, [libc::PTRACE_TRACEME as usize, 0, 0, 0, 0, 0])).map(drop),
        Forbidden::Code => {
            let flags = libc::MAP_ANONYMOUS | libc::MAP_PRIVATE;
            let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            number((libc::SYS_mmap, [0, 4096, protection as usize, flags as usize, usize::MAX, 0])).map(drop)
        }
        // Signal 0 to its own parent: a question alone.
        Forbidden::Kill => {
            let parent = number((libc::SYS_getppid, [0; 6]))?;
            kill(parent as i32, 0)
        }
    }
}

/// A standard descriptor of this process.
pub(crate) fn standard(number: RawFd) -> Outcome<OwnedFd> {
    // SAFETY: borrowed for the time of a duplication, which fails if it isn't open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned().map_err(|error| Errno::of(&error))
}
