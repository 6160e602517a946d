//! Reads regular files alone. Whoever can name a file may name a pipe, which never answers, or a device, which never ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file, or a link to one, without waiting for anybody.
///
/// # Errors
/// What the system says; [`io::ErrorKind::InvalidInput`] for a folder, a pipe or a device.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    // What was opened counts: the path may lead elsewhere by now.
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(refused("a folder, a pipe or a device, expected a regular file"))
    }
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`]; [`io::ErrorKind::InvalidInput`] for a larger one.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(refused(&format!("more than {most} bytes"))) } else { Ok(bytes) }
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("found {what}"))
}
