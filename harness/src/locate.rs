//! Where the suite, the sealed packages and the certifier are (SPEC §15.10): named by flag or variable, else beside the
//! executable, else in the source tree; never in the caller's folder alone.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use parthack_env::input::{InputError, MAX_FILE_BYTES, Place};

use crate::failure::Failure;
use crate::run::files::open_regular;

/// The suite that is used when none is named.
pub const DEFAULT_SUITE: &str = "pb-cste-1";
/// Name of the certifier's program.
pub const CERTIFIER: &str = "parthack-certifier";
/// Folders above the executable that are looked at: `target/x86_64-…/release/deps/` is four below the workspace.
const MAX_ASCENT: usize = 6;

/// What the user said about places; each may be left open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Suite folder, or the name of a suite that is installed.
    pub suite: Option<PathBuf>,
    /// Folder of sealed packages.
    pub sealed: Option<PathBuf>,
    /// The certifier's program.
    pub certifier: Option<PathBuf>,
}

impl Places {
    /// The folder of the suite: it holds a `suite.json`.
    ///
    /// # Errors
    /// [`Failure::Environment`] if there is none where one was looked for.
    pub fn suite(&self) -> Result<PathBuf, Failure> {
        let name = self.suite.as_deref().unwrap_or(Path::new(DEFAULT_SUITE));
        if self.suite.is_some() && (name.join("suite.json").is_file() || !is_plain_name(name)) {
            return Ok(name.to_path_buf());
        }
        let mut looked = Vec::new();
        for root in roots() {
            let folder = root.join("tasks").join(name);
            if folder.join("suite.json").is_file() {
                return Ok(folder);
            }
            looked.push(folder);
        }
        Err(not_found(
            &format!("no suite {:?}", name.display().to_string()),
            &looked,
            "--suite DIR (or PARTHACK_SUITE)",
        ))
    }

    /// The folder of the suite's sealed packages.
    ///
    /// # Errors
    /// [`Failure::Environment`] if there is none where one was looked for.
    pub fn sealed(&self) -> Result<PathBuf, Failure> {
        if let Some(folder) = &self.sealed {
            return Ok(folder.clone());
        }
        let suite = self.suite()?;
        let name = fs::canonicalize(&suite).ok().and_then(|path| path.file_name().map(PathBuf::from));
        let name = name.unwrap_or_else(|| PathBuf::from(DEFAULT_SUITE));
        let beside_suite = suite.parent().and_then(Path::parent).map(Path::to_path_buf);
        let mut looked = Vec::new();
        for root in beside_suite.into_iter().chain(roots()) {
            let folder = root.join("sealed").join(&name);
            if folder.is_dir() {
                return Ok(folder);
            }
            looked.push(folder);
        }
        // A suite alone in its folder, as `task new` lays one out: packages stand in `sealed/` itself.
        let alone = suite.parent().map(|parent| parent.join("sealed"));
        if let Some(folder) = alone.filter(|folder| folder.is_dir()) {
            return Ok(folder);
        }
        let what = format!("no sealed packages for the suite in {}", suite.display());
        Err(not_found(&what, &looked, "--sealed DIR (or PARTHACK_SEALED)"))
    }

    /// The folder of recorded exchanges that come with the suite, if there is one: `recordings/<suite>` beside `tasks/`.
    #[must_use]
    pub fn recordings(&self) -> Option<PathBuf> {
        let suite = fs::canonicalize(self.suite().ok()?).ok()?;
        let name = suite.file_name()?;
        let beside_suite = suite.parent().and_then(Path::parent).map(Path::to_path_buf);
        let mut folders = beside_suite.into_iter().chain(roots()).map(|root| root.join("recordings").join(name));
        folders.find(|folder| folder.is_dir())
    }

    /// The certifier's program.
    ///
    /// # Errors
    /// [`Failure::Environment`] if there is none where one was looked for.
    pub fn certifier(&self) -> Result<PathBuf, Failure> {
        if let Some(program) = &self.certifier {
            return Ok(program.clone());
        }
        let program = format!("{CERTIFIER}{}", std::env::consts::EXE_SUFFIX);
        let mut folders: Vec<PathBuf> = executable_folders().into_iter().take(2).collect();
        for root in roots() {
            folders.extend(["target/release", "target/debug"].map(|profile| root.join(profile)));
        }
        let mut looked = Vec::new();
        for path in folders.into_iter().map(|folder| folder.join(&program)) {
            if path.is_file() {
                return Ok(path);
            }
            if !looked.contains(&path) {
                looked.push(path);
            }
        }
        let how = "--certifier FILE (or PARTHACK_CERTIFIER), or build it: cargo build --release -p parthack-certifier";
        Err(not_found("no certifier program", &looked, how))
    }
}

/// The folder of the bundled Python package, for PYTHONPATH: `python/` beside `tasks/`.
#[must_use]
pub fn python_package() -> Option<PathBuf> {
    roots().into_iter().map(|root| root.join("python")).find(|folder| folder.join("parthack").is_dir())
}

/// A name without a path in it.
fn is_plain_name(name: &Path) -> bool {
    let mut parts = name.components();
    matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None))
        && !name.to_string_lossy().ends_with('/')
}

/// The executable's folder and those above it, nearest first.
fn executable_folders() -> Vec<PathBuf> {
    let executable = std::env::current_exe().and_then(fs::canonicalize);
    executable
        .map(|path| path.ancestors().skip(1).take(MAX_ASCENT).map(Path::to_path_buf).collect())
        .unwrap_or_default()
}

/// Folders that hold `tasks/` and `sealed/`, best first: above the executable, an installation's share, the source tree.
fn roots() -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for folder in executable_folders() {
        for candidate in [folder.clone(), folder.join("share").join("parthack")] {
            if candidate.join("tasks").is_dir() && candidate.join("sealed").is_dir() {
                roots.push(candidate);
            }
        }
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf);
    roots.extend(source.filter(|source| source.join("tasks").is_dir() && !roots.contains(source)));
    roots
}

fn not_found(what: &str, looked: &[PathBuf], how: &str) -> Failure {
    let places: Vec<String> = looked.iter().map(|path| path.display().to_string()).collect();
    let message = if places.is_empty() {
        format!("{what}; there is no folder with tasks/ and sealed/ above the executable")
    } else {
        format!("{what}; looked for {}", places.join(", "))
    };
    Failure::absent(message, format!("name it with {how}"))
}

/// Reads an input file of at most [`MAX_FILE_BYTES`]; symbolic links are followed.
///
/// # Errors
/// [`InputError`] for a file that is missing, not a regular file, unreadable, or larger.
pub fn read_input(path: &Path) -> Result<Vec<u8>, InputError> {
    read_at_most(path, MAX_FILE_BYTES)
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// As [`read_input`].
pub fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    let fault = |found: String, expected: String| InputError::new(Place::File, found, expected).in_file(path);
    let unreadable = |error: std::io::Error| {
        let hint = "check the path; a relative path starts at the folder the program was called in";
        fault(error.to_string(), "a readable file".to_owned()).hint(hint)
    };
    let file = open_regular(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => fault(error.to_string(), "a regular file".to_owned()).hint("name a file"),
        _ => unreadable(error),
    })?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        let hint = "no file of this project comes near the limit; check that this is the right one";
        return Err(fault(format!("more than {most} bytes"), format!("at most {most} bytes")).hint(hint));
    }
    Ok(bytes)
}

/// The `*.{extension}` files of a folder, by name; its subfolders are not entered.
///
/// # Errors
/// [`InputError`] for a folder that can't be read.
pub fn files_of(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, InputError> {
    let fault = |error: std::io::Error| {
        InputError::new(Place::File, error.to_string(), "a readable folder")
            .hint("check the path; a relative path starts at the folder the program was called in")
            .in_file(folder)
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        if path.extension().is_some_and(|found| found == extension) && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_and_paths() {
        for (name, plain) in [("pb-cste-1", true), ("./x", false), ("a/b", false), ("../x", false), ("/x", false)] {
            assert_eq!(is_plain_name(Path::new(name)), plain, "{name}");
        }
    }

    #[test]
    fn the_source_tree_has_the_suite() {
        let folder = Places::default().suite().expect("a suite");
        assert!(folder.ends_with("tasks/pb-cste-1"), "{}", folder.display());
        let sealed = Places::default().sealed().expect("packages");
        assert!(sealed.ends_with("sealed/pb-cste-1"), "{}", sealed.display());
    }

    #[test]
    fn what_is_not_there_says_where_it_was_looked_for() {
        let places = Places { suite: Some("no-such-suite".into()), ..Places::default() };
        let (message, _, hint) = places.suite().expect_err("none").parts();
        assert!(message.contains("tasks/no-such-suite"), "{message}");
        assert!(hint.contains("--suite"), "{hint}");
    }
}
