//! Writing files so that a reader sees all of a file or nothing.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::run::error::RunError;

/// Writes a file whole: into a temporary file beside it, flushed to disk, then renamed.
///
/// # Errors
/// [`RunError::Storage`]; the temporary file is removed as far as the disk allows.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    write_with(path, bytes, File::options().write(true).create(true).truncate(true))
}

/// The same for a file that its owner alone may read.
///
/// # Errors
/// As [`write_atomically`].
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    write_with(path, bytes, owner_only(File::options().write(true).create(true).truncate(true)))
}

/// Options by which a new file is its owner's alone.
#[cfg(unix)]
pub(crate) fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(not(unix))]
pub(crate) fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

fn write_with(path: &Path, bytes: &[u8], options: &OpenOptions) -> Result<(), RunError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = Path::new(&temporary);
    let written = options.open(temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_data()
    });
    let renamed = written.and_then(|()| fs::rename(temporary, path));
    renamed.map_err(|error| {
        // What could not be written whole is of no use; if it can't be removed either, a resume overwrites it.
        let _ = fs::remove_file(temporary);
        RunError::storage("cannot write", path, error)
    })
}

/// Makes a folder's new names durable.
///
/// # Errors
/// [`RunError::Storage`].
pub(crate) fn sync_folder(path: &Path) -> Result<(), RunError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| RunError::storage("cannot flush", path, error))
}

/// Creates a folder and those above it.
///
/// # Errors
/// [`RunError::Storage`].
pub(crate) fn create_folder(path: &Path) -> Result<(), RunError> {
    fs::create_dir_all(path).map_err(|error| RunError::storage("cannot create", path, error))
}
