//! How a user names an evaluator of their own: `exec:CMD`, `http:URL`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::hello::{HELLO_VARIABLE, PROTOCOL_VARIABLE, host_hello};
use super::words::{WordsError, words};
use crate::serve::EVALUATOR_PROTOCOL;

/// Folders of the system's programs: a program in one is not the user's own, and its folder says nothing of it.
const SYSTEM_FOLDERS: [&str; 6] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
/// Variables that a program keeps of the host's environment.
pub const KEPT_VARIABLES: [&str; 9] =
    ["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "NODE_PATH"];
const PYTHON_PATH: &str = "PYTHONPATH";

/// An evaluator of a user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluatorSpec {
    /// A program: its words, and the text they were written as.
    Exec {
        /// Program and arguments; at least one.
        words: Vec<String>,
        /// What stands behind `exec:`.
        text: String,
    },
    /// An address that payloads are posted to.
    Http {
        /// The URL.
        url: String,
    },
}

/// Why a text names no evaluator, or one that can't be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The command can't be split into words.
    #[error("exec:{text}: {error}")]
    Words {
        /// What stands behind `exec:`.
        text: String,
        /// Why.
        error: WordsError,
    },
    /// The URL is none.
    #[error("an evaluator's address {found}; expected http(s)://HOST[:PORT]/PATH")]
    Url {
        /// What was found.
        found: String,
    },
    /// There is no such program.
    #[error("{program}: {found}; expected a program that can be run\nhint: {hint}")]
    NoProgram {
        /// As it was written.
        program: String,
        /// What was found.
        found: String,
        /// What the user may do.
        hint: &'static str,
    },
}

impl EvaluatorSpec {
    /// Reads `exec:CMD`, `http:URL`, `https:URL`, or a plain URL; none for any other text, such as a built-in id.
    ///
    /// ```
    /// # use parthack_evaluators::plugin::EvaluatorSpec;
    /// let spec = EvaluatorSpec::parse("exec:python3 my_eval.py --flag").transpose()?;
    /// assert!(matches!(spec, Some(EvaluatorSpec::Exec { words, .. }) if words.len() == 3));
    /// let spec = EvaluatorSpec::parse("http:http://127.0.0.1:8000/score").transpose()?;
    /// assert_eq!(spec, EvaluatorSpec::parse("http://127.0.0.1:8000/score").transpose()?);
    /// assert_eq!(EvaluatorSpec::parse("csps"), None);
    /// # Ok::<(), parthack_evaluators::plugin::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`SpecError::Words`], [`SpecError::Url`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Result<EvaluatorSpec, SpecError>> {
        if let Some(text) = text.strip_prefix("exec:") {
            let spec = |words| EvaluatorSpec::Exec { words, text: text.trim().to_owned() };
            return Some(words(text).map(spec).map_err(|error| SpecError::Words { text: text.to_owned(), error }));
        }
        let rest = text.strip_prefix("http:").or_else(|| text.strip_prefix("https:"))?;
        let is_whole = rest.starts_with("http://") || rest.starts_with("https://");
        Some(url(if is_whole { rest } else { text }).map(|url| EvaluatorSpec::Http { url }))
    }

    /// Its name in reports: `exec:CMD`, or the URL without its query, which may hold a key.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            EvaluatorSpec::Exec { text, .. } => format!("exec:{text}"),
            EvaluatorSpec::Http { url } => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        }
    }
}

fn url(text: &str) -> Result<String, SpecError> {
    let wrong = |found: String| Err(SpecError::Url { found });
    let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
        return wrong(format!("{text:?}"));
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        // What stands before an @ may be a password, so that the text is not repeated.
        return wrong("with a user name".to_owned());
    }
    if !is_host(host) || text.contains(|character: char| character.is_whitespace() || character.is_control()) {
        return wrong(format!("{text:?}"));
    }
    Ok(text.to_owned())
}

/// A name or an address, one of IPv6 in brackets, with a port or without.
fn is_host(text: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((address, rest))) => {
            address.parse::<std::net::Ipv6Addr>().is_ok()
                && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
        }
        Some(None) => false,
        None => {
            let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
            !name.is_empty() && !name.contains(['[', ']']) && port.is_none_or(is_port)
        }
    }
}

/// What of the host's surroundings a program is found in and gets to see.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The folder that relative paths begin at; absolute.
    pub base: PathBuf,
    /// The host's environment. Of it a program gets [`KEPT_VARIABLES`] and those named in `keep`.
    pub variables: BTreeMap<OsString, OsString>,
    /// Names of further variables that the user wants the program to have.
    pub keep: BTreeSet<OsString>,
    /// Folders that come first on Python's path: the bundled package.
    pub python_packages: Vec<PathBuf>,
}

/// A program that can be started: nothing in it depends on the host's working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Absolute.
    pub program: PathBuf,
    /// Its arguments. Those that name existing files or folders have become absolute.
    pub arguments: Vec<OsString>,
    /// Arguments that are existing files, also the `FILE` of `--name=FILE`; absolute, in order.
    pub files: Vec<PathBuf>,
    /// Where it runs.
    pub working_folder: PathBuf,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
}

impl Program {
    /// Finds the program of a command and makes its paths absolute.
    ///
    /// A name without `/` is looked for on `PATH`. The working folder is the program's: the folder of a program that is
    /// given by its path and is not one of the system's, or of the first argument that is a file, or else `/`.
    ///
    /// # Errors
    /// [`SpecError::NoProgram`].
    pub fn find(words: &[String], surroundings: &Surroundings) -> Result<Program, SpecError> {
        let base = &surroundings.base;
        let Some((name, rest)) = words.split_first() else {
            let found = "no word".to_owned();
            return Err(SpecError::NoProgram {
                program: String::new(),
                found,
                hint: "name one: exec:python3 my_eval.py",
            });
        };
        let program = find(name, surroundings)?;
        let mut files = Vec::new();
        let arguments: Vec<OsString> = rest.iter().map(|argument| absolute(argument, base, &mut files)).collect();
        let own = name.contains('/').then(|| program.parent()).flatten().filter(|folder| !is_system(folder));
        let folder = own.or_else(|| files.first().and_then(|file| file.parent()));
        let working_folder = folder.unwrap_or(Path::new("/")).to_path_buf();
        Ok(Program { program, arguments, files, working_folder, environment: environment(surroundings) })
    }

    /// The folders of [`Program::files`], each once: what a confined program may read beside itself.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in self.files.iter().filter_map(|file| file.parent()) {
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_path_buf());
            }
        }
        folders
    }
}

fn find(name: &str, surroundings: &Surroundings) -> Result<PathBuf, SpecError> {
    let missing = |found: String, hint| Err(SpecError::NoProgram { program: name.to_owned(), found, hint });
    if name.contains('/') {
        let path = plain(&surroundings.base.join(name));
        return match obstacle(&path) {
            None => Ok(path),
            Some(found) => missing(
                found,
                "check the path; a script needs a #! line and the right to be run, or its interpreter first",
            ),
        };
    }
    let path = surroundings.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let places = std::env::split_paths(&path).map(|folder| surroundings.base.join(folder).join(name));
    if let Some(found) = places.into_iter().find(|path| obstacle(path).is_none()) {
        return Ok(found);
    }
    if name.contains('=') {
        return missing("no program on PATH".to_owned(), "to set a variable, write exec:env NAME=VALUE PROGRAM");
    }
    if surroundings.base.join(name).is_file() {
        return missing(
            "no program on PATH".to_owned(),
            "a program in this folder is written ./NAME, a script behind its interpreter",
        );
    }
    missing("no program on PATH".to_owned(), "install it, or give its path")
}

/// Why a path is no program.
fn obstacle(path: &Path) -> Option<String> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some("no such file".to_owned()),
        Err(error) => Some(error.to_string()),
        Ok(metadata) if !metadata.is_file() => Some("not a file".to_owned()),
        Ok(metadata) => (!may_run(&metadata)).then(|| "a file without the right to be run".to_owned()),
    }
}

#[cfg(unix)]
fn may_run(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn may_run(_: &std::fs::Metadata) -> bool {
    true
}

fn is_system(folder: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|system| folder == Path::new(system))
}

/// The argument as the program gets it.
fn absolute(argument: &str, base: &Path, files: &mut Vec<PathBuf>) -> OsString {
    if let Some(path) = existing(argument, base, files) {
        return path.into_os_string();
    }
    if argument.starts_with('-')
        && let Some((name, value)) = argument.split_once('=')
        && let Some(path) = existing(value, base, files)
    {
        let mut whole = OsString::from(format!("{name}="));
        whole.push(path);
        return whole;
    }
    argument.into()
}

fn existing(text: &str, base: &Path, files: &mut Vec<PathBuf>) -> Option<PathBuf> {
    if text.is_empty() {
        return None;
    }
    let path = plain(&base.join(text));
    if path.is_file() {
        files.push(path.clone());
    } else if !path.is_dir() {
        return None;
    }
    Some(path)
}

/// A path without `.` and `..`. The way up to the last `..` is followed where it leads, for a program that is confined sees no
/// folder on a detour; links behind that stay, since a program may go by its name.
fn plain(path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else {
        return parts.into_iter().collect();
    };
    let (way, rest) = parts.split_at(last + 1);
    let way: PathBuf = way.iter().collect();
    let mut path = std::fs::canonicalize(&way).unwrap_or(way);
    path.extend(rest);
    path
}

fn environment(surroundings: &Surroundings) -> BTreeMap<OsString, OsString> {
    let is_kept = |name: &OsStr| KEPT_VARIABLES.iter().any(|kept| name == *kept) || surroundings.keep.contains(name);
    let kept = surroundings.variables.iter().filter(|(name, _)| is_kept(name));
    let mut environment: BTreeMap<OsString, OsString> =
        kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    let given = environment.get(OsStr::new(PYTHON_PATH)).cloned().unwrap_or_default();
    let given = std::env::split_paths(&given).filter(|folder| !folder.as_os_str().is_empty());
    let folders = surroundings.python_packages.iter().cloned().chain(given);
    let folders: Vec<PathBuf> = folders.map(|folder| surroundings.base.join(folder)).collect();
    // A folder with a colon in its name can't be on a path; Python would not find it there either.
    match std::env::join_paths(folders) {
        Ok(path) if !path.is_empty() => environment.insert(PYTHON_PATH.into(), path),
        _ => environment.remove(OsStr::new(PYTHON_PATH)),
    };
    let own = [
        (PROTOCOL_VARIABLE, EVALUATOR_PROTOCOL.to_owned()),
        (HELLO_VARIABLE, host_hello()),
        // A program that prints a score means it to be read now.
        ("PYTHONUNBUFFERED", "1".to_owned()),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
    ];
    environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    environment
}
