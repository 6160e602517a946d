//! One folder of exchanges.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{CassetteError, Entry, Label, Prune, Pruned, RecordedExchange};
use crate::regular;

/// Temporary files begin with this, then the process id.
const TEMPORARY: &str = ".tmp-";

/// The most bytes of an exchange's file; larger ones are broken.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Numbers the temporary files of this process.
static COUNTER: AtomicU64 = AtomicU64::new(0);

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CassetteError {
    move |source| CassetteError::Io { action, path: path.to_owned(), source }
}

fn broken(path: &Path) -> impl FnOnce(String) -> CassetteError {
    move |problem| CassetteError::Broken { path: path.to_owned(), problem }
}

/// Where a key's exchange stands, or `None` for what is no key.
fn place(folder: &Path, key: &str) -> Option<PathBuf> {
    is_key(key).then(|| folder.join("exchanges").join(&key[..2]).join(format!("{key}.json")))
}

/// Whether a text is 64 lower-case hexadecimal digits.
pub(super) fn is_key(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn get(folder: &Path, key: &str) -> Result<Option<RecordedExchange>, CassetteError> {
    let Some(path) = place(folder, key) else { return Ok(None) };
    match read(&path) {
        Ok(bytes) => RecordedExchange::read(&bytes, key).map(Some).map_err(broken(&path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // No process of ours puts a folder, a pipe or a device there, nor so many bytes.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Err(broken(&path)(error.to_string())),
        Err(error) => Err(failed("read", &path)(error)),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    regular::read(path, MAX_FILE_BYTES)
}

pub(super) fn put(folder: &Path, exchange: RecordedExchange) -> Result<RecordedExchange, CassetteError> {
    let exchange = exchange.sealed().map_err(broken(folder))?;
    let Some(path) = place(folder, &exchange.key) else { return Err(broken(folder)("no key".to_owned())) };
    if let Some(stored) = get(folder, &exchange.key)? {
        return Ok(stored);
    }
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(failed("make", parent))?;
    let temporary = temporary_in(parent);
    let bytes = exchange.bytes().map_err(broken(&path))?;
    let result = write_whole(&temporary, &bytes).and_then(|()| fs::hard_link(&temporary, &path));
    // If this fails, a file is left that nobody reads.
    let _ = fs::remove_file(&temporary);
    match result {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed("write", &path)(error)),
    }
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(failed("flush", parent))?;
    // Whoever came first counts, so that every caller goes on with the same answer.
    match get(folder, &exchange.key)? {
        Some(stored) => Ok(stored),
        None => Err(broken(&path)("it vanished while it was written".to_owned())),
    }
}

/// A name for a temporary file that no other of this process has.
fn temporary_in(folder: &Path) -> PathBuf {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    folder.join(format!("{TEMPORARY}{}-{number}", std::process::id()))
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A process of the same id may have left one.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The names in a folder, in order; a folder that isn't there has none.
fn names(folder: &Path) -> Result<Vec<String>, CassetteError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("list", folder)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("list", folder))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// The folders `exchanges/ab`.
fn shelves(folder: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let exchanges = folder.join("exchanges");
    let shelves = names(&exchanges)?.into_iter().filter(|name| name.len() == 2);
    Ok(shelves.map(|name| exchanges.join(name)).filter(|path| path.is_dir()).collect())
}

/// Removes the temporary files that a killed process left. Nobody else may be writing into the folder.
pub(super) fn sweep(folder: &Path) -> Result<(), CassetteError> {
    for shelf in shelves(folder)? {
        for name in names(&shelf)?.into_iter().filter(|name| name.starts_with(TEMPORARY)) {
            remove(&shelf.join(name))?;
        }
    }
    Ok(())
}

/// Removes a file, whatever it is, or an empty folder; what is in another folder is none of ours.
fn remove(path: &Path) -> Result<(), CassetteError> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|of| of.is_dir());
    let removed = if is_folder { fs::remove_dir(path) } else { fs::remove_file(path) };
    removed.map_err(failed("remove", path))
}

/// Keys and files of the exchanges, by key.
pub(super) fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>, CassetteError> {
    let mut files = Vec::new();
    for shelf in shelves(folder)? {
        for name in names(&shelf)? {
            if let Some(key) = name.strip_suffix(".json").filter(|key| is_key(key)) {
                files.push((key.to_owned(), shelf.join(&name)));
            }
        }
    }
    Ok(files)
}

/// The listing's line for a file. Whatever is wrong with it is said there, so that one file never stops a listing.
pub(super) fn entry(folder: &Path, key: String, path: &Path) -> Entry {
    entry_of(folder, key, read(path))
}

fn entry_of(folder: &Path, key: String, content: io::Result<Vec<u8>>) -> Entry {
    let (bytes, exchange) = match content {
        Ok(content) => (content.len() as u64, RecordedExchange::read(&content, &key)),
        Err(error) => (0, Err(format!("cannot be read: {error}"))),
    };
    let exchange = exchange.map(|exchange| {
        Box::new(Label {
            cell: exchange.cell,
            role: exchange.role,
            config: exchange.config,
            repeat: exchange.repeat,
            attempt: exchange.attempt,
            status: exchange.response.status,
        })
    });
    Entry { folder: folder.to_owned(), key, bytes, exchange }
}

/// Writes every whole exchange anew without its request; returns the keys of those that were changed.
pub(super) fn strip(folder: &Path, dry_run: bool) -> Result<Vec<String>, CassetteError> {
    let mut stripped = Vec::new();
    for (key, path) in files(folder)? {
        let content = read(&path).map_err(failed("read", &path))?;
        let exchange = RecordedExchange::read(&content, &key).map_err(broken(&path))?;
        if exchange.is_stripped() {
            continue;
        }
        let bytes = exchange.stripped().and_then(|exchange| exchange.bytes()).map_err(broken(&path))?;
        if !dry_run {
            let temporary = temporary_in(path.parent().unwrap_or(folder));
            let written = write_whole(&temporary, &bytes).and_then(|()| fs::rename(&temporary, &path));
            written.map_err(failed("write", &path))?;
        }
        stripped.push(key);
    }
    Ok(stripped)
}

/// Whether something succeeded; the first that did not is kept.
fn is_done(result: Result<(), CassetteError>, first: &mut Result<(), CassetteError>) -> bool {
    let done = result.is_ok();
    if first.is_ok() {
        *first = result;
    }
    done
}

pub(super) fn prune(folder: &Path, what: Prune<'_>, dry_run: bool) -> Result<Pruned, CassetteError> {
    let mut pruned = Pruned::default();
    // The first that can't be read or removed is named when the others are gone.
    let mut left = Ok(());
    let remove = |path: &Path| if dry_run { Ok(()) } else { remove(path) };
    for (key, path) in files(folder)? {
        let content = read(&path);
        if let Err(error) = &content
            && !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound)
        {
            // It may be sound for somebody who is allowed to read it.
            left = left.and(content.map(|_| ()).map_err(failed("read", &path)));
            continue;
        }
        let entry = entry_of(folder, key, content);
        let goes = match what {
            Prune::Broken => entry.exchange.is_err(),
            Prune::Unused(used) => entry.exchange.is_err() || !used.contains(&entry.key),
        };
        if goes && is_done(remove(&path), &mut left) {
            pruned.bytes += entry.bytes;
            pruned.exchanges.push(entry.key);
        }
    }
    for shelf in shelves(folder)? {
        for name in names(&shelf)? {
            let Some(rest) = name.strip_prefix(TEMPORARY) else { continue };
            let process = rest.split('-').next().unwrap_or_default();
            if is_alive(process) {
                continue;
            }
            let path = shelf.join(&name);
            let bytes = fs::symlink_metadata(&path).map_or(0, |of| of.len());
            if is_done(remove(&path), &mut left) {
                pruned.bytes += bytes;
                pruned.temporary += 1;
            }
        }
    }
    left.map(|()| pruned)
}

/// Whether a process lives; where this can't be told, only our own does.
fn is_alive(process: &str) -> bool {
    process == std::process::id().to_string() || Path::new("/proc").join(process).is_dir()
}
