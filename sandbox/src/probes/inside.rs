//! The probes' side: what the confined process does, and the processes that stand in for the parent's neighbours.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use super::verdict::{How, Verdict};
use super::{Failure, all};
use crate::error::Errno;
use crate::raw::attempts::{self, Forbidden};

/// Prefix of the variables by which a probe learns what was planted.
pub(super) const PREFIX: &str = "PARTHACK_PROBE_";
/// What separates the words of a host program's prefix in one variable.
pub(super) const WORDS: char = '\u{1f}';

/// What was planted, from the environment.
pub(super) struct Context {
    values: BTreeMap<String, String>,
}

impl Context {
    fn from_environment() -> Self {
        let values = std::env::vars_os()
            .filter_map(|(name, value)| {
                let name = name.into_string().ok()?.strip_prefix(PREFIX)?.to_owned();
                Some((name, value.into_string().ok()?))
            })
            .collect();
        Self { values }
    }

    pub(super) fn get(&self, name: &str) -> Result<&str, Failure> {
        self.values.get(name).map(String::as_str).ok_or_else(|| Failure::NotMade(format!("{name} was not planted")))
    }

    pub(super) fn number(&self, name: &str) -> Result<u64, Failure> {
        self.get(name)?.parse().map_err(|_| Failure::NotMade(format!("{name} is no number")))
    }

    fn base(&self) -> PathBuf {
        self.get("BASE").map_or_else(|_| PathBuf::from("/nowhere"), PathBuf::from)
    }

    pub(super) fn public(&self) -> PathBuf {
        self.base().join("public")
    }

    pub(super) fn private(&self) -> PathBuf {
        self.base().join("private")
    }

    pub(super) fn secret(&self) -> PathBuf {
        self.private().join("secret")
    }

    pub(super) fn expendable(&self) -> PathBuf {
        self.private().join("expendable")
    }

    pub(super) fn scratch(&self) -> Option<PathBuf> {
        self.get("SCRATCH").ok().map(PathBuf::from)
    }

    /// A file name that no other audit uses.
    pub(super) fn unique(&self) -> String {
        let base = self.base();
        base.file_name()
            .map_or_else(|| "parthack-probe".to_owned(), |name| name.to_string_lossy().into_owned() + "-probe")
    }

    /// The number of the process that started this one, as it knows itself.
    pub(super) fn parent(&self) -> Result<String, Failure> {
        self.get("PARENT").map(str::to_owned)
    }

    /// The arguments by which the host program says that a way is open.
    pub(super) fn say_open(&self) -> Vec<OsString> {
        let prefix = self.get("HOST_ARGUMENTS").unwrap_or_default();
        prefix.split(WORDS).filter(|word| !word.is_empty()).chain(["say-open"]).map(OsString::from).collect()
    }
}

/// Makes one attempt in this process, with what the environment says was planted.
#[must_use]
pub fn run_inside(id: &str) -> Verdict {
    let Some(probe) = all().find(|probe| probe.id == id) else {
        return Verdict::NotSetUp(format!("no probe is called {id}"));
    };
    let context = Context::from_environment();
    match (probe.run)(&context) {
        Ok(bytes) => {
            let secret = context.get("SECRET").unwrap_or_default().as_bytes();
            let read_secret = !secret.is_empty() && bytes.windows(secret.len()).any(|window| window == secret);
            Verdict::Open { read_secret }
        }
        Err(Failure::Refused(errno)) => Verdict::Blocked(How::Errno(errno)),
        Err(Failure::NotMade(reason)) => Verdict::NotSetUp(reason),
    }
}

/// The program behind the arguments `run ID`, `say-open`, `neighbour`, `certifier` and `certifier-deed NAME`; the code to
/// exit with. A program that lets its own file run probes calls this with the arguments after its own.
#[must_use]
pub fn probe_main(arguments: &[OsString]) -> u8 {
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    match words.as_slice() {
        ["run", id] => say(&run_inside(id)),
        ["say-open"] => say(&Verdict::Open { read_secret: false }),
        ["neighbour"] => neighbour(),
        ["certifier"] => certifier(None),
        ["certifier-deed", name] => certifier(Some(name)),
        _ => {
            eprintln!("expected `run ID`, `say-open`, `neighbour`, `certifier` or `certifier-deed NAME`");
            2
        }
    }
}

fn say(verdict: &Verdict) -> u8 {
    let mut output = std::io::stdout().lock();
    u8::from(writeln!(output, "{}", verdict.line()).and_then(|()| output.flush()).is_err())
}

/// Holds the secret in its environment, in memory and by an open descriptor, tells where, and waits for its input to end.
fn neighbour() -> u8 {
    let secret = std::env::var(format!("{PREFIX}SECRET")).unwrap_or_default().into_bytes();
    let path = std::env::var_os(format!("{PREFIX}BASE")).map(|base| PathBuf::from(base).join("private/secret"));
    let Some(Ok(file)) = path.map(std::fs::File::open) else { return 1 };
    tell_and_wait(&format!("{} {}", secret.as_ptr().addr(), file.as_raw_fd()))
}

/// The same, and confined as the certifier is; then tries one thing that must kill it, if it is told to.
fn certifier(deed: Option<&str>) -> u8 {
    let secret = std::env::var(format!("{PREFIX}SECRET")).unwrap_or_default().into_bytes();
    let Ok(executable) = std::env::current_exe() else { return 1 };
    let Ok(kept) = std::fs::File::open(&executable) else { return 1 };
    let Ok(closed) = std::fs::File::open(&executable) else { return 1 };
    let closed_number = closed.as_raw_fd();
    // The descriptor goes with the others; its owner must not close it a second time.
    std::mem::forget(closed);
    if let Err(error) = crate::confine_self(&[std::os::fd::AsFd::as_fd(&kept)]) {
        eprintln!("{error}");
        return 3;
    }
    let outcome = match deed {
        None => return tell_and_wait(&format!("{} 0", secret.as_ptr().addr())),
        Some("work") => work(&kept, closed_number),
        Some("open") => std::fs::File::open(&executable).map(drop).map_err(|error| Errno::of(&error)),
        Some("thread") => std::thread::Builder::new().spawn(|| {}).map(drop).map_err(|error| Errno::of(&error)),
        Some("exec") => {
            use std::os::unix::process::CommandExt as _;
            Err(Errno::of(&std::process::Command::new(&executable).arg("say-open").exec()))
        }
        Some("socket") => attempts::forbidden(Forbidden::Socket),
        Some("fork") => attempts::forbidden(Forbidden::Fork),
        Some("trace") => attempts::forbidden(Forbidden::Trace),
        Some("code") => attempts::forbidden(Forbidden::Code),
        Some("kill") => attempts::forbidden(Forbidden::Kill),
        Some(_) => return 2,
    };
    match outcome {
        Ok(()) => say(&Verdict::Open { read_secret: false }),
        Err(errno) => say(&Verdict::Blocked(How::Errno(errno))),
    }
}

/// What a certifier does all day must go on: reading a kept file, memory, hash maps, output. A closed descriptor is gone.
fn work(mut kept: &std::fs::File, closed: i32) -> Result<(), Errno> {
    let mut bytes = Vec::new();
    kept.read_to_end(&mut bytes).map_err(|error| Errno::of(&error))?;
    let counts: std::collections::HashMap<u8, usize> = bytes.iter().fold(Default::default(), |mut counts, byte| {
        *counts.entry(*byte).or_default() += 1;
        counts
    });
    let counted: usize = counts.values().sum();
    match attempts::read_descriptor(closed) {
        Err(Errno(libc::EBADF)) if counted == bytes.len() => Ok(()),
        Err(other) => Err(other),
        Ok(_) => Err(Errno(libc::EEXIST)),
    }
}

fn tell_and_wait(line: &str) -> u8 {
    let mut output = std::io::stdout().lock();
    if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
        return 1;
    }
    let mut rest = [0; 64];
    let mut input = std::io::stdin().lock();
    while matches!(input.read(&mut rest), Ok(count) if count > 0) {}
    0
}
