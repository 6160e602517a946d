//! Probes of the kernel's side doors: other call interfaces, namespaces, mounts, keys, shared memory.

use super::files::read_open;
use super::{Attempt, Probe};
use crate::Tier;
use crate::error::Errno;
use crate::raw::attempts;

const REFUSED_BY_FILTER: Tier = Tier::Filtered;
const ROOT: &str = "the user is root";

pub(super) static PROBES: &[Probe] = &[
    Probe::new("io-uring", "set up a ring that opens files without system calls", REFUSED_BY_FILTER, |_| {
        done(attempts::io_ring())
    })
    .possible_where("the kernel allows io_uring"),
    Probe::new("old-interface", "open a private file by the 32-bit interface", REFUSED_BY_FILTER, |context| {
        read_open(attempts::open_by_old_interface(&context.secret())?)
    })
    .possible_where("an x86-64 kernel with the 32-bit interface"),
    Probe::new(
        "page-faults",
        "handle page faults in the program",
        REFUSED_BY_FILTER,
        |_| done(attempts::page_faults()),
    )
    .possible_where("the kernel allows userfaultfd"),
    Probe::new("mount", "mount a private folder over a public one", REFUSED_BY_FILTER, |context| {
        attempts::mount_over(&context.private(), &context.public())?;
        Ok(std::fs::read(context.public().join("secret"))?)
    })
    .possible_where(ROOT),
    Probe::new("user-namespace", "enter a user namespace", REFUSED_BY_FILTER, |_| done(attempts::user_namespace()))
        .possible_where("user namespaces are allowed"),
    Probe::new("chroot", "change the root folder", REFUSED_BY_FILTER, |context| {
        done(attempts::change_root(&context.public()))
    })
    .possible_where(ROOT),
    Probe::new("keyring", "read a key from the session keyring", REFUSED_BY_FILTER, |context| {
        Ok(attempts::read_key(context.get("KEY")?)?)
    })
    .possible_where("the kernel keeps keys"),
    Probe::new("sysv-memory", "make a System V shared memory segment", REFUSED_BY_FILTER, |_| {
        done(attempts::shared_segment())
    })
    .possible_where("the kernel has System V IPC"),
    Probe::new("message-queue", "make a POSIX message queue", REFUSED_BY_FILTER, |_| done(attempts::message_queue()))
        .possible_where("the kernel has POSIX message queues"),
];

fn done(outcome: Result<(), Errno>) -> Attempt {
    Ok(outcome.map(|()| Vec::new())?)
}
