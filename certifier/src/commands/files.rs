//! Files that are there whole or not at all: written beside, synced, and given their name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::Failure;

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// Its owner alone.
    Owner,
    /// Whom the user's mask allows.
    Everyone,
}

/// Writes a file that is not there yet. Whenever the process ends, the name has the whole content or nothing.
///
/// # Errors
/// Something has the name already, or the system refuses; nothing is left behind then.
pub(super) fn write_new(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), Failure> {
    let beside = beside(path)?;
    let written = write_beside(&beside, bytes, readers).and_then(|()| name(&beside, path));
    // It is gone already where it was renamed.
    let _ = fs::remove_file(&beside);
    written.and_then(|()| sync_folder_of(path)).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::taken(path),
        _ => Failure::written(path, &error),
    })
}

/// Removes a file, if it is there.
///
/// # Errors
/// The system refuses.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::environment(
            format!("cannot remove {}: {error}", path.display()),
            "check its folder's permissions",
        )),
        _ => Ok(()),
    }
}

/// Bytes from the system's source of random ones.
///
/// # Errors
/// There is none.
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(bytes))
}

/// A name in the same folder that no reader of packages takes for one.
fn beside(path: &Path) -> Result<PathBuf, Failure> {
    let Some(name) = path.file_name() else {
        return Err(Failure::usage(format!("{} is no file name", path.display()), "name a file"));
    };
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.unfinished", std::process::id()));
    Ok(path.with_file_name(beside))
}

fn write_beside(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = readers;
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives a file its name, unless something has it. A link does that in one step; a file system without links looks first.
fn name(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            if fs::symlink_metadata(to).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        linked => linked,
    }
}

/// Syncs the folder of a file, so that its name is there after a crash; where folders can't be opened, that is up to them.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    match File::open(folder) {
        Ok(folder) if cfg!(unix) => folder.sync_all(),
        _ => Ok(()),
    }
}
