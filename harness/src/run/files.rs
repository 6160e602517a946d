//! Writing files so that a reader sees all of a file or nothing, and reading no other than regular ones.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use parthack_model::regular;

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

/// Writes a file that a user named. A link stays, and what it leads to is written. A regular file is replaced whole and keeps its
/// permissions; into anything else, such as a pipe or a device, the bytes go as they are.
///
/// # Errors
/// [`RunError::Storage`].
pub(crate) fn write_output(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let failed = |error| RunError::storage("cannot write", path, error);
    let permissions = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
        Ok(_) => {
            let opened = File::options().write(true).open(path);
            return opened.and_then(|mut file| file.write_all(bytes)).map_err(failed);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let target = behind_links(path).map_err(failed)?;
    let Some(name) = target.file_name() else { return Err(failed(io::ErrorKind::IsADirectory.into())) };
    // A name that nobody else has: what stands beside the target is the user's.
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(temporary);
    let mut file = File::options().write(true).create_new(true).open(&temporary).map_err(failed)?;
    let written = permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions));
    let written = written.and_then(|()| file.write_all(bytes)).and_then(|()| file.sync_data());
    written.and_then(|()| fs::rename(&temporary, &target)).map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

/// What a path names in the end, whether it is there or not.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            // No link, or nothing there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Opens a file to be read if it is a regular one or a link to one: a pipe might never answer, and a device never end.
///
/// # Errors
/// What the system says, in words that stand behind "found".
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    regular::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => io::Error::new(error.kind(), "a folder, a pipe or a device"),
        _ => error,
    })
}

/// Reads a regular file whole.
///
/// # Errors
/// As [`open_regular`].
pub(crate) fn read_regular(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path.as_ref())?.read_to_end(&mut bytes)?;
    Ok(bytes)
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    fn pipe(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
    }

    #[test]
    fn outputs_go_into_pipes_and_behind_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        pipe(&at("pipe"));
        symlink("pipe", at("to-pipe")).expect("a link");
        for name in ["pipe", "to-pipe"] {
            let reader = Command::new("cat").arg(at("pipe")).stdout(std::process::Stdio::piped()).spawn();
            let reader = reader.expect("a reader");
            write_output(&at(name), b"through").expect("written");
            assert_eq!(reader.wait_with_output().expect("read").stdout, b"through");
            assert!(fs::symlink_metadata(at("pipe")).expect("still there").file_type().is_fifo());
        }
        fs::write(at("target"), "before").expect("written");
        fs::set_permissions(at("target"), fs::Permissions::from_mode(0o640)).expect("set");
        fs::create_dir(at("deep")).expect("a folder");
        symlink("../target", at("deep/link")).expect("a link");
        symlink("deep/link", at("link")).expect("a link");
        symlink("absent", at("dangling")).expect("a link");
        for (name, target) in [("link", "target"), ("dangling", "absent"), ("new", "new")] {
            write_output(&at(name), name.as_bytes()).expect("written");
            assert_eq!(fs::read(at(target)).expect("there"), name.as_bytes());
            assert_eq!(fs::symlink_metadata(at(name)).expect("there").is_symlink(), name != target, "{name}");
        }
        assert!(fs::symlink_metadata(at("deep/link")).expect("there").is_symlink());
        assert_eq!(fs::metadata(at("target")).expect("there").permissions().mode() & 0o777, 0o640);
        symlink("round", at("round")).expect("a link");
        for wrong in ["deep", "round", "no/folder"] {
            assert!(matches!(write_output(&at(wrong), b"x"), Err(RunError::Storage { .. })), "{wrong}");
        }
        let names = fs::read_dir(folder.path()).expect("read").count();
        assert_eq!(names, 9, "a temporary file was left behind");
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        pipe(&at("pipe"));
        fs::write(at("file"), "text").expect("written");
        symlink("file", at("link")).expect("a link");
        assert_eq!(read_regular(at("link")).expect("read"), b"text");
        for wrong in [at("pipe"), folder.path().to_path_buf()] {
            let error = read_regular(wrong).expect_err("refused");
            assert_eq!(error.to_string(), "a folder, a pipe or a device");
        }
    }
}
