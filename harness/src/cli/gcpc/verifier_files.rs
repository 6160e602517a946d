//! The files of a verifier that a command line names: each file under a path of its own, none lost.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use parthack_env::input::MAX_FILE_BYTES;

use super::source::text;
use crate::failure::{Exit, Failure};

/// A file that was named, or that lies in a folder that was.
struct Found {
    /// The file, without links.
    full: PathBuf,
    /// Its path in the verifier.
    path: String,
    text: String,
}

/// The texts of files and of all files below folders, path → text. A path starts below the folder that was named; where two different files
/// would have the same, all start below the deepest folder that holds everything that was named.
pub(super) fn verifier_files(named: &[PathBuf]) -> Result<BTreeMap<String, String>, Failure> {
    let mut found = Vec::new();
    for path in named {
        let full = full(path)?;
        if full.is_dir() {
            collect(path, &full, &mut vec![full.clone()], "", &mut found)?;
        } else {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            // What was named itself has to be text.
            found.push(Found { full, path: name, text: text(path)? });
        }
    }
    let mut files: BTreeMap<String, (PathBuf, String)> = BTreeMap::new();
    let mut clash = false;
    for Found { full, path, text } in &found {
        let (other, _) = files.entry(path.clone()).or_insert_with(|| (full.clone(), text.clone()));
        clash |= other != full;
    }
    if !clash {
        return Ok(files.into_iter().map(|(path, (_, text))| (path, text)).collect());
    }
    // Full paths tell all files apart, so paths below one folder do too.
    let above = found.iter().filter_map(|file| file.full.parent()).fold(None, |above: Option<&Path>, folder| {
        above.map_or(Some(folder), |above| above.ancestors().find(|above| folder.starts_with(above)))
    });
    let above = above.unwrap_or(Path::new("/"));
    let below = |file: &Found| file.full.strip_prefix(above).map_or_else(|_| file.path.clone(), slashes);
    Ok(found.iter().map(|file| (below(file), file.text.clone())).collect())
}

fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

fn full(path: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(path).map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: std::io::Error) -> Failure {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "check the path, and links that point to nothing",
        std::io::ErrorKind::PermissionDenied => "check its permissions",
        _ => "check for links that lead in a circle",
    };
    Failure::Other {
        exit: Exit::Input,
        message: format!("cannot read {}\nhint: {hint}", path.display()),
        source: Some(Box::new(error)),
    }
}

/// The files below a folder. Links are followed; `open` has the folders above, so that a link to one of them is found.
fn collect(
    folder: &Path,
    full_folder: &Path,
    open: &mut Vec<PathBuf>,
    prefix: &str,
    found: &mut Vec<Found>,
) -> Result<(), Failure> {
    let entries = fs::read_dir(full_folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut entries = entries.map_err(|error| unreadable(folder, error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let shown = folder.join(entry.file_name());
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let full = full(&shown)?;
        if !full.is_dir() {
            found.extend(read(&shown, full, path)?);
            continue;
        }
        if open.contains(&full) {
            let (link, to) = (shown.display(), full.display());
            let message = format!(
                "{link} is a link to {to}, a folder that holds it: what lies below it has no end\n\
                 hint: remove the link, or name the folders and files of the verifier one by one"
            );
            return Err(Failure::Other { exit: Exit::Input, message, source: None });
        }
        open.push(full.clone());
        collect(&shown, &full, open, &format!("{path}/"), found)?;
        open.pop();
    }
    Ok(())
}

/// A file that is text. What is no text, or no regular file, or too long, is no source; what can't be read is an error.
fn read(shown: &Path, full: PathBuf, path: String) -> Result<Option<Found>, Failure> {
    if !full.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(&full).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(shown, error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        eprintln!("note: {} has more than {MAX_FILE_BYTES} bytes and is left out of the verifier", shown.display());
        return Ok(None);
    }
    Ok(String::from_utf8(bytes).ok().map(|text| Found { full, path, text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("written");
        }
        folder
    }

    fn paths(of: &tempfile::TempDir, named: &[&str]) -> Vec<String> {
        let named: Vec<PathBuf> = named.iter().map(|name| of.path().join(name)).collect();
        verifier_files(&named).expect("readable").into_iter().map(|(path, text)| format!("{path}: {text}")).collect()
    }

    #[test]
    fn no_file_takes_the_place_of_another() {
        let of = folder(&[("x/tests/t.py", "1"), ("x/tests/sub/u.py", "2"), ("y/tests/t.py", "3"), ("y/v.py", "4")]);
        assert_eq!(paths(&of, &["x/tests"]), ["sub/u.py: 2", "t.py: 1"]);
        assert_eq!(paths(&of, &["x/tests", "y/v.py"]), ["sub/u.py: 2", "t.py: 1", "v.py: 4"]);
        let both = ["x/tests/sub/u.py: 2", "x/tests/t.py: 1", "y/tests/t.py: 3"];
        assert_eq!(paths(&of, &["x/tests", "y/tests"]), both);
        assert_eq!(paths(&of, &["y/tests", "x/tests"]), both);
        assert_eq!(paths(&of, &["x/tests/t.py", "y/tests/t.py"]), ["x/tests/t.py: 1", "y/tests/t.py: 3"]);
        assert_eq!(paths(&of, &["x/tests/t.py", "x/tests/t.py"]), ["t.py: 1"], "a file twice is one file");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_circles_are_named() {
        use std::os::unix::fs::symlink;
        let of = folder(&[("x/t.py", "1"), ("y/u.py", "2")]);
        symlink(of.path().join("y"), of.path().join("x/other")).expect("a link");
        symlink("t.py", of.path().join("x/again.py")).expect("a link");
        assert_eq!(paths(&of, &["x"]), ["again.py: 1", "other/u.py: 2", "t.py: 1"]);
        for (to, part) in [(".", "no end"), ("../x", "no end"), ("loop", "circle"), ("nowhere", "point to nothing")] {
            let link = of.path().join("x/loop");
            symlink(to, &link).expect("a link");
            let failure = verifier_files(&[of.path().join("x")]).expect_err("a circle");
            let (message, causes, hint) = failure.parts();
            assert!(
                message.contains("x/loop") && format!("{message} {hint}").contains(part),
                "{message} {causes:?} {hint}"
            );
            assert_eq!(failure.exit(), Exit::Input);
            fs::remove_file(link).expect("removed");
        }
    }
}
