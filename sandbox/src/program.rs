//! What a program needs in order to start: the interpreter of a script, the loader, the libraries of its installation.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::SetUpError;
use crate::policy::{Policy, real};

/// Where a search path is looked up when the environment has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Node ends at once when this exists and can't be read.
const OPENSSL: &str = "/etc/ssl/openssl.cnf";
/// The kernel follows this many scripts that interpret each other.
const MOST_INTERPRETERS: usize = 4;

/// What to execute, and what must be readable for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// What is handed to `execve`.
    pub(crate) program: PathBuf,
    /// The whole argument vector, its first element included.
    pub(crate) arguments: Vec<OsString>,
    /// Paths that must be readable; `true` where the file is executed.
    pub(crate) needs: BTreeMap<PathBuf, bool>,
    /// Anything that the user should know about the choice of program.
    pub(crate) note: Option<String>,
}

/// Finds out what the policy's program is.
pub(crate) fn resolve(policy: &Policy) -> Result<Launch, SetUpError> {
    let mut launch =
        Launch { program: policy.program.clone(), arguments: Vec::new(), needs: BTreeMap::new(), note: None };
    let mut first = vec![policy.program.clone().into_os_string()];
    if let Head::Script { interpreter, argument } = head(&policy.program)?
        && interpreter.file_name() == Some(OsStr::new("env"))
    {
        // The program would be executed a second time, which is refused; so the search happens here.
        let (name, flags) = env_words(&policy.program, argument.as_deref())?;
        let (found, note) = search(policy, &name)?;
        launch.needs.insert(policy.program.clone(), false);
        launch.note = note;
        first = std::iter::once(found.clone().into_os_string()).chain(flags).chain(first).collect();
        launch.program = found;
    }
    launch.arguments = first.into_iter().chain(policy.arguments.iter().cloned()).collect();
    let mut next = Some(launch.program.clone());
    let mut dynamic = None;
    for _ in 0..=MOST_INTERPRETERS {
        let Some(path) = next.take() else { break };
        installation(&path, &mut launch.needs);
        launch.needs.insert(path.clone(), true);
        match head(&path)? {
            Head::Script { interpreter, .. } => next = Some(interpreter),
            Head::Dynamic { loader } => dynamic = Some(loader),
            Head::Other => {}
        }
    }
    if let Some(loader) = dynamic {
        launch.needs.insert(loader, true);
        for library in ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", OPENSSL] {
            if Path::new(library).exists() {
                launch.needs.entry(PathBuf::from(library)).or_insert(false);
            }
        }
        for store in ["/nix/store", "/gnu/store"] {
            if real(&launch.program).is_ok_and(|program| program.starts_with(store)) {
                launch.needs.insert(PathBuf::from(store), false);
            }
        }
    }
    Ok(launch)
}

/// The libraries of a language that is installed around the program: `PREFIX/bin/PROGRAM` and `PREFIX/lib`, followed
/// from link to link, so that a virtual environment brings its base.
fn installation(program: &Path, needs: &mut BTreeMap<PathBuf, bool>) {
    let mut path = program.to_path_buf();
    for _ in 0..16 {
        if let Some(prefix) = path.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent) {
            let marked = prefix.join("pyvenv.cfg");
            let libraries = [prefix.join("lib"), prefix.join("lib64")];
            let is_language = libraries.iter().any(|library| holds_language(library));
            if marked.is_file() {
                needs.insert(marked.clone(), false);
            }
            if marked.is_file() || is_language {
                for library in libraries.into_iter().filter(|library| library.is_dir()) {
                    needs.entry(library).or_insert(false);
                }
            }
        }
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => break,
        }
    }
    if let Ok(last) = std::fs::canonicalize(program)
        && last != path
        && last != program
    {
        installation(&last, needs);
    }
}

fn holds_language(library: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(library) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        name == "node_modules" || name.to_string_lossy().starts_with("python3")
    })
}

enum Head {
    Script { interpreter: PathBuf, argument: Option<OsString> },
    Dynamic { loader: PathBuf },
    Other,
}

fn head(path: &Path) -> Result<Head, SetUpError> {
    let fault = |found: String, expected| SetUpError::Policy { path: path.to_path_buf(), found, expected };
    let mut file = std::fs::File::open(path).map_err(|error| fault(error.to_string(), "a readable program"))?;
    let metadata = file.metadata().map_err(|error| fault(error.to_string(), "a readable program"))?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(fault("no executable file".to_owned(), "a file with the permission to execute"));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(4096).read_to_end(&mut bytes).map_err(|error| fault(error.to_string(), "a readable program"))?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        let mut words = line.splitn(2, |byte| *byte == b' ' || *byte == b'\t');
        let interpreter = PathBuf::from(OsString::from_vec(words.next().unwrap_or_default().to_vec()));
        if !interpreter.is_absolute() {
            return Err(fault(format!("interpreter `{}`", interpreter.display()), "an absolute path after `#!`"));
        }
        let argument = words.next().map(|rest| OsString::from_vec(rest.trim_ascii().to_vec()));
        return Ok(Head::Script { interpreter, argument });
    }
    Ok(loader(&bytes, &mut file).map_or(Head::Other, |loader| Head::Dynamic { loader }))
}

/// The loader that a 64-bit little-endian ELF file names, if it is one.
fn loader(bytes: &[u8], file: &mut std::fs::File) -> Option<PathBuf> {
    use std::io::Seek as _;
    const INTERPRETER: u64 = 3;
    let number = |bytes: &[u8], at: usize, width: usize| -> Option<u64> {
        let mut value = [0; 8];
        value.get_mut(..width)?.copy_from_slice(bytes.get(at..at.checked_add(width)?)?);
        Some(u64::from_le_bytes(value))
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = usize::try_from(number(bytes, 32, 8)?).ok()?;
    let (size, count) = (number(bytes, 54, 2)?, number(bytes, 56, 2)?);
    for index in 0..count {
        let at = table.checked_add(usize::try_from(index.checked_mul(size)?).ok()?)?;
        if number(bytes, at, 4)? == INTERPRETER {
            let (offset, length) = (number(bytes, at + 8, 8)?, number(bytes, at + 32, 8)?);
            let mut name = vec![0; usize::try_from(length.min(4096)).ok()?];
            file.seek(std::io::SeekFrom::Start(offset)).ok()?;
            file.read_exact(&mut name).ok()?;
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            return Some(PathBuf::from(OsStr::from_bytes(name)));
        }
    }
    None
}

/// The program's name and its flags in a `#!/usr/bin/env …` line.
fn env_words(script: &Path, argument: Option<&OsStr>) -> Result<(OsString, Vec<OsString>), SetUpError> {
    let text = argument.unwrap_or_default().as_bytes();
    let (text, split) = match text.strip_prefix(b"-S") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let mut words: Vec<OsString> = if split {
        text.split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .map(|word| OsString::from_vec(word.to_vec()))
            .collect()
    } else {
        vec![OsString::from_vec(text.to_vec())]
    };
    let plain = words.iter().all(|word| !word.as_bytes().iter().any(|byte| b"\"'\\$#".contains(byte)));
    let named = words
        .first()
        .is_some_and(|word| !word.is_empty() && !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'='));
    if !plain || !named {
        return Err(SetUpError::Policy {
            path: script.to_path_buf(),
            found: format!("`env {}`", String::from_utf8_lossy(argument.unwrap_or_default().as_bytes())),
            expected: "a program's name after `env`, or after `env -S` a name and plain words",
        });
    }
    let name = words.remove(0);
    Ok((name, words))
}

/// The interpreter of this name on the policy's search path.
fn search(policy: &Policy, name: &OsStr) -> Result<(PathBuf, Option<String>), SetUpError> {
    let path = policy.environment.get(OsStr::new("PATH")).map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    find_program(name, path).ok_or_else(|| SetUpError::Policy {
        path: policy.program.clone(),
        found: format!("interpreter `{}`, which no folder of {} has as a program", name.display(), path.display()),
        expected: "an interpreter on the PATH of the policy's environment",
    })
}

/// The first program of this name in the folders of a search path that isn't a script itself, and, if a script came
/// before it, a note on that. Scripts that stand before a program, as version managers install them, start it as a
/// further process, which is refused to confined programs.
#[must_use]
pub fn find_program(name: &OsStr, path: &OsStr) -> Option<(PathBuf, Option<String>)> {
    let mut passed = None;
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let candidate = folder.join(name);
        match head(&candidate) {
            Ok(Head::Script { .. }) => {
                passed.get_or_insert(candidate);
            }
            Ok(_) => {
                let note = passed.map(|passed| {
                    format!(
                        "{} is a script that starts another program, which is refused; {} is used",
                        passed.display(),
                        candidate.display()
                    )
                });
                return Some((candidate, note));
            }
            Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
        path
    }

    #[test]
    fn a_dynamic_program_brings_its_loader_and_libraries() {
        let own = std::env::current_exe().expect("own path");
        let launch = resolve(&Policy::new(&own).arguments(["a"])).expect("resolves");
        assert_eq!(launch.program, own);
        assert_eq!(launch.arguments, [own.clone().into_os_string(), "a".into()]);
        assert_eq!(launch.needs.get(&own), Some(&true));
        let file = std::fs::read(&own).expect("read");
        if file.windows(8).any(|window| window == b"ld-linux") {
            assert!(launch.needs.iter().any(|(path, run)| *run && path.to_string_lossy().contains("/ld-linux")));
            assert!(launch.needs.contains_key(Path::new("/usr/lib")));
        }
    }

    #[test]
    fn env_is_searched_for_here() {
        let folder = tempfile::tempdir().expect("scratch");
        let path = script(folder.path(), "judge", "#!/usr/bin/env -S sh -e\necho\n");
        let launch = resolve(&Policy::new(&path).variable("PATH", "/nowhere:/bin").arguments(["x"])).expect("resolves");
        assert_eq!(launch.program, Path::new("/bin/sh"));
        assert_eq!(launch.arguments, ["/bin/sh".into(), OsString::from("-e"), path.clone().into(), "x".into()]);
        assert_eq!(launch.needs.get(&path), Some(&false));

        script(folder.path(), "sh", "#!/bin/sh\nexec /bin/sh\n");
        let both = std::env::join_paths([folder.path(), Path::new("/bin")]).expect("joined");
        let launch = resolve(&Policy::new(&path).variable("PATH", both)).expect("resolves");
        assert_eq!(launch.program, Path::new("/bin/sh"));
        assert!(launch.note.expect("told").contains("starts another program"));

        for line in ["#!/usr/bin/env -i sh", "#!/usr/bin/env", "#!/usr/bin/env A=1 sh", "#!/usr/bin/env no-such-thing"]
        {
            let path = script(folder.path(), "odd", line);
            assert!(matches!(resolve(&Policy::new(&path)), Err(SetUpError::Policy { .. })), "{line}");
        }
    }

    #[test]
    fn no_program() {
        let folder = tempfile::tempdir().expect("scratch");
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "x").expect("written");
        for path in [folder.path(), &plain, Path::new("/no/such/program")] {
            assert!(matches!(resolve(&Policy::new(path)), Err(SetUpError::Policy { .. })), "{}", path.display());
        }
    }
}
