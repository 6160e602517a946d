//! Landlock: rulesets that are made by the parent and entered by the child.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::path::Path;

use super::call;
use crate::error::Errno;
use crate::layout::{Allowed, Kind, Layout};

/// The rights over files that this crate names, by the kernel's bits.
pub(crate) mod rights {
    pub(crate) const EXECUTE: u64 = 1;
    pub(crate) const WRITE_FILE: u64 = 1 << 1;
    pub(crate) const READ_FILE: u64 = 1 << 2;
    pub(crate) const READ_DIR: u64 = 1 << 3;
    pub(crate) const REMOVE_DIR: u64 = 1 << 4;
    pub(crate) const REMOVE_FILE: u64 = 1 << 5;
    pub(crate) const MAKE_DIR: u64 = 1 << 7;
    pub(crate) const MAKE_REG: u64 = 1 << 8;
    pub(crate) const MAKE_SYM: u64 = 1 << 12;
    pub(crate) const REFER: u64 = 1 << 13;
    pub(crate) const TRUNCATE: u64 = 1 << 14;
}

/// What the kernel calls `struct landlock_ruleset_attr`.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scopes: u64,
}

/// What the kernel calls `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
pub(super) struct Beneath {
    pub(super) allowed: u64,
    pub(super) parent: RawFd,
}

const VERSION: usize = 1;
pub(super) const PATH_BENEATH: usize = 1;

/// The version of Landlock that the kernel speaks, from 1.
pub(crate) fn version() -> Result<u32, Errno> {
    // SAFETY: with this flag the kernel reads no pointer and answers a number.
    unsafe { call(libc::SYS_landlock_create_ruleset, [0, 0, VERSION, 0, 0, 0]) }
        .map(|version| version as u32)
        .map_err(Errno)
}

/// All rights over files that this version knows.
fn all_rights(version: u32) -> u64 {
    let bits = match version {
        1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    (1 << bits) - 1
}

/// Rights over a scratch folder.
pub(crate) fn scratch_rights(version: u32) -> u64 {
    use rights::*;
    (WRITE_FILE | READ_FILE | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER | TRUNCATE)
        & all_rights(version)
}

/// A ruleset that handles everything and allows nothing.
pub(crate) fn nothing(version: u32) -> Result<OwnedFd, Errno> {
    ruleset(version, BIND | CONNECT)
}

/// The rights over TCP: to take a port, and to connect.
const BIND: u64 = 1;
const CONNECT: u64 = 2;

fn ruleset(version: u32, network: u64) -> Result<OwnedFd, Errno> {
    let ruleset = Ruleset {
        files: all_rights(version),
        network: if version >= 4 { network } else { 0 },
        scopes: if version >= 6 { 3 } else { 0 },
    };
    let arguments = [(&raw const ruleset) as usize, size_of::<Ruleset>(), 0, 0, 0, 0];
    // SAFETY: the structure is valid for its size; fields that an older kernel doesn't know are zero, which it accepts.
    let descriptor = unsafe { call(libc::SYS_landlock_create_ruleset, arguments) }.map_err(Errno)?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
}

/// A ruleset that allows reading what the layout says, and connections if there is to be network.
pub(crate) fn reading(version: u32, layout: &Layout, network: bool) -> Result<OwnedFd, (Errno, String)> {
    let about = |path: &Path, error: Errno| (error, path.display().to_string());
    let refused = if network { BIND } else { BIND | CONNECT };
    let ruleset = ruleset(version, refused).map_err(|error| (error, "ruleset".to_owned()))?;
    for (path, allowed) in &layout.rules() {
        let allowed = match allowed {
            Allowed::Listing => rights::READ_DIR,
            Allowed::Reading(readable) => {
                let reading = match readable.kind {
                    Kind::Folder => rights::READ_FILE | rights::READ_DIR,
                    Kind::File => rights::READ_FILE,
                    Kind::Device => rights::READ_FILE | rights::WRITE_FILE,
                };
                reading | if readable.execute { rights::EXECUTE } else { 0 }
            }
        };
        let place = crate::layout::text(path).map_err(|_| about(path, Errno(libc::EINVAL)))?;
        // The path has no links; one that takes its place now must not be followed.
        let flags = libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        let at = libc::AT_FDCWD as isize as usize;
        // SAFETY: the path is a string with its zero; the new descriptor is owned by nobody else.
        let parent = unsafe {
            call(libc::SYS_openat, [at, place.as_ptr() as usize, flags as usize, 0, 0, 0])
                .map(|descriptor| OwnedFd::from_raw_fd(descriptor as RawFd))
        }
        .map_err(|error| about(path, Errno(error)))?;
        let rule = Beneath { allowed, parent: parent.as_raw_fd() };
        // SAFETY: the rule is a live value of the type that the kernel reads, and both descriptors are open.
        unsafe { add_rule(ruleset.as_raw_fd(), &rule) }.map_err(|error| about(path, Errno(error)))?;
    }
    Ok(ruleset)
}

/// Adds a rule to a ruleset.
///
/// # Safety
///
/// Sound with any numbers; unsafe so that a forked child may call it too, where nothing may allocate, and it doesn't.
pub(super) unsafe fn add_rule(ruleset: RawFd, rule: &Beneath) -> Result<(), i32> {
    let pointer: *const Beneath = rule;
    // SAFETY: the rule outlives the call.
    unsafe { call(libc::SYS_landlock_add_rule, [ruleset as usize, PATH_BENEATH, pointer as usize, 0, 0, 0]) }
        .map(|_| ())
}
