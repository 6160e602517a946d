//! The certifier process: the only program that opens sealed packages (SPEC §4, §15.6).
//!
//! `parthack-certifier --tasks DIR --sealed DIR` reads every package of `--sealed` and its public file, closes them, and
//! then talks `parthack.certifier/1` on stdin and stdout until stdin ends.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use parthack_certifier::protocol::PROTOCOL;
use parthack_certifier::serve::serve;
use parthack_certifier::store::Store;
use parthack_env::input::MAX_FILE_BYTES;

const USAGE: &str = "usage: parthack-certifier --tasks DIR --sealed DIR";
/// Exit codes of the project's table: usage, bad input file, environment.
const EXIT_USAGE: u8 = 2;
const EXIT_INPUT: u8 = 3;
const EXIT_ENVIRONMENT: u8 = 4;

fn main() -> ExitCode {
    let (tasks, sealed) = match read_arguments(std::env::args_os().skip(1)) {
        Ok(Arguments::Folders { tasks, sealed }) => (tasks, sealed),
        Ok(Arguments::Say(text)) => {
            println!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(message) => return fail(EXIT_USAGE, &format!("{message}\n{USAGE}")),
    };
    let store = match load(&tasks, &sealed) {
        Ok(store) => store,
        Err(LoadError::Io(path, error)) => {
            return fail(EXIT_ENVIRONMENT, &format!("{}: {error}", path.display()));
        }
        Err(LoadError::File(path, what)) => return fail(EXIT_INPUT, &format!("{}: {what}", path.display())),
    };
    match serve(store, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(EXIT_ENVIRONMENT, &error.to_string()),
    }
}

fn fail(code: u8, message: &str) -> ExitCode {
    eprintln!("parthack-certifier: {message}");
    ExitCode::from(code)
}

enum Arguments {
    Folders { tasks: PathBuf, sealed: PathBuf },
    Say(String),
}

fn read_arguments(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Arguments, String> {
    let (mut tasks, mut sealed) = (None, None);
    while let Some(argument) = arguments.next() {
        let place = match argument.to_str() {
            Some("--tasks") => &mut tasks,
            Some("--sealed") => &mut sealed,
            Some("--help" | "-h") => {
                return Ok(Arguments::Say(format!("{USAGE}\n\nTalks {PROTOCOL} on stdin and stdout.")));
            }
            Some("--version" | "-V") => {
                return Ok(Arguments::Say(format!("parthack-certifier {}", env!("CARGO_PKG_VERSION"))));
            }
            _ => return Err(format!("found the argument {argument:?}, expected --tasks or --sealed")),
        };
        let folder = arguments.next().ok_or_else(|| format!("{argument:?} needs a folder"))?;
        if place.replace(PathBuf::from(folder)).is_some() {
            return Err(format!("{argument:?} stands twice"));
        }
    }
    match (tasks, sealed) {
        (Some(tasks), Some(sealed)) => Ok(Arguments::Folders { tasks, sealed }),
        _ => Err("both folders are needed".to_owned()),
    }
}

enum LoadError {
    Io(PathBuf, io::Error),
    File(PathBuf, String),
}

/// Reads every `ID.json` of the sealed folder, and the public file of the same name.
fn load(tasks: &Path, sealed: &Path) -> Result<Store, LoadError> {
    let mut store = Store::default();
    let entries = std::fs::read_dir(sealed).map_err(|error| LoadError::Io(sealed.to_owned(), error))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| LoadError::Io(sealed.to_owned(), error))?;
        let name = PathBuf::from(entry.file_name());
        if name.extension().is_some_and(|extension| extension == "json") {
            names.push(name);
        }
    }
    names.sort();
    for name in names {
        let Some(id) = name.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let private = sealed.join(&name);
        store.add_private(id, read_private(&private)?);
        let public = tasks.join(&name);
        if public.exists() {
            store.add_public(id, read(&public)?);
        }
    }
    Ok(store)
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    let wrap = |error| LoadError::Io(path.to_owned(), error);
    let length = std::fs::metadata(path).map_err(wrap)?.len();
    if length > MAX_FILE_BYTES {
        let what = format!("found {length} bytes, expected at most {MAX_FILE_BYTES}");
        return Err(LoadError::File(path.to_owned(), what));
    }
    std::fs::read(path).map_err(wrap)
}

/// A package must be a plain file with one name: a second link could lie in a public folder.
fn read_private(path: &Path) -> Result<Vec<u8>, LoadError> {
    let metadata = std::fs::symlink_metadata(path).map_err(|error| LoadError::Io(path.to_owned(), error))?;
    if !metadata.is_file() {
        return Err(LoadError::File(path.to_owned(), "found no plain file".to_owned()));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if metadata.nlink() > 1 {
            let what =
                format!("found {} links, expected one: a second name would lead round the sandbox", metadata.nlink());
            return Err(LoadError::File(path.to_owned(), what));
        }
    }
    read(path)
}
