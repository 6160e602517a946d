//! Evaluators of users' own (`exec:CMD`, `http:URL`; SPEC §6): found, confined, and opened for scoring.

mod launch;
mod level;
mod reach;
mod runs_below;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use parthack_env::canonical::Hash;
use parthack_evaluators::plugin::{
    EvaluatorSpec, ExecHost, FaultCode, HttpHost, PluginHost, PluginOptions, Program, Reply, SpecError, Surroundings,
};

use crate::failure::Failure;
use crate::ledger::RecordedScore;
use crate::locate::python_package;
use crate::run::manifest::FrozenPlugin;

pub use launch::{Bounds, SandboxLaunch};
pub use level::{Confinement, Level};

/// Hash label of a file that belongs to an evaluator.
const FILE_LABEL: &str = "evaluator-file";

/// How programs are started.
#[derive(Debug, Clone)]
pub struct Conditions {
    /// The lowest tier to run at, and whether that is below what sealed tasks need.
    pub level: Level,
    /// What a process may use.
    pub bounds: Bounds,
    /// Whether programs may reach the network.
    pub network: bool,
    /// Variables of this process that programs get too.
    pub keep: BTreeSet<OsString>,
    /// Further files and folders that programs may read.
    pub readable: Vec<PathBuf>,
    /// What programs must not read: sealed packages.
    pub private: Vec<PathBuf>,
    /// The same for what changes meanwhile or isn't there yet: keys, and the folder that results are written to.
    pub hidden: Vec<PathBuf>,
    /// A program that serves as a probe: this one.
    pub probe: PathBuf,
    /// Time, bytes and workers.
    pub options: PluginOptions,
    /// What this host gave when a program was first opened; empty before.
    pub established: OnceCell<Confinement>,
}

/// An evaluator that can be asked.
pub struct Plugin {
    /// Its name in reports.
    pub id: String,
    /// What a run freezes of it.
    pub frozen: FrozenPlugin,
    /// Processes, or requests, at once.
    pub workers: usize,
    host: Box<dyn PluginHost>,
    confinement: Option<Confinement>,
}

impl Conditions {
    /// What programs run at, tried and probed for the first of them.
    fn confinement(&self) -> Result<Confinement, Failure> {
        if let Some(established) = self.established.get() {
            return Ok(established.clone());
        }
        let confinement = Confinement::establish(self.level, self.network, &self.probe)?;
        Ok(self.established.get_or_init(|| confinement).clone())
    }

    /// Keeps a file or folder from programs, whether it is there yet or not.
    pub fn hide(&mut self, path: &Path) {
        self.hidden.push(std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()));
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Plugin").field("id", &self.id).field("frozen", &self.frozen).finish_non_exhaustive()
    }
}

/// What a user writes: `exec:CMD`, `http:URL`, or one of them behind `NAME=`; none for any other text.
///
/// # Errors
/// A command that can't be split, an address that is none, or a name that isn't one.
#[must_use]
pub fn parse(text: &str) -> Option<Result<(String, EvaluatorSpec), Failure>> {
    let (name, rest) = match text.split_once('=') {
        Some((name, rest)) if !name.contains(':') => (Some(name), rest),
        _ => (None, text),
    };
    let spec = match EvaluatorSpec::parse(rest)? {
        Ok(spec) => spec,
        Err(error) => return Some(Err(usage(&error))),
    };
    let id = name.map_or_else(|| named(&spec), str::to_owned);
    if !parthack_env::names::is_identifier(&id) {
        let hint = "NAME=exec:CMD takes letters, digits, '.', '_', ':' and '-', at most 64";
        return Some(Err(Failure::usage(format!("{id:?} is no name for an evaluator"), hint)));
    }
    Some(Ok((id, spec)))
}

/// A name from the first file of a command, else its program, else the host of an address.
fn named(spec: &EvaluatorSpec) -> String {
    let text = match spec {
        EvaluatorSpec::Exec { words, .. } => {
            let file = words.iter().skip(1).find(|word| !word.starts_with('-') && Path::new(word).is_file());
            let path = Path::new(file.or(words.first()).map_or("", String::as_str));
            path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
        }
        EvaluatorSpec::Http { url } => {
            let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
        }
    };
    let fit = |character: char| character.is_ascii_alphanumeric() || "._:-".contains(character);
    let text: String = text.chars().map(|character| if fit(character) { character } else { '-' }).take(64).collect();
    let text = text.trim_start_matches(|character: char| !character.is_ascii_alphanumeric());
    if text.is_empty() { "evaluator".to_owned() } else { text.to_owned() }
}

fn usage(error: &SpecError) -> Failure {
    let text = error.to_string();
    match text.split_once("\nhint: ") {
        Some((message, hint)) => Failure::usage(message, hint),
        None => Failure::usage(text, "for example exec:'python3 my_eval.py', or http://127.0.0.1:8000/score"),
    }
}

impl Plugin {
    /// Finds an evaluator and, for a program, makes sure that it will be confined as asked for. Nothing of it is started.
    ///
    /// # Errors
    /// There is no such program, or this host gives no sandbox of the wanted level.
    pub fn open(id: String, spec: &EvaluatorSpec, conditions: &Conditions) -> Result<Plugin, Failure> {
        let options = &conditions.options;
        let mut frozen = FrozenPlugin {
            command: spec.id(),
            files: BTreeMap::new(),
            timeout_seconds: options.timeout.as_secs(),
            memory_bytes: None,
            network: true,
        };
        let workers = options.workers;
        match spec {
            EvaluatorSpec::Exec { words, .. } => {
                let program = find(words, conditions).map_err(|error| usage(&error))?;
                let confinement = conditions.confinement()?;
                reach::check(&program, &confinement)?;
                frozen.files = hashes(&program)?;
                (frozen.memory_bytes, frozen.network) = (Some(conditions.bounds.memory_bytes), conditions.network);
                let launch = SandboxLaunch::new(&confinement, conditions);
                let host = Box::new(ExecHost::new(program, Box::new(launch), options.clone()));
                Ok(Plugin { id, frozen, workers, host, confinement: Some(confinement) })
            }
            EvaluatorSpec::Http { url } => {
                let host = HttpHost::new(url, options.clone()).map_err(|error| {
                    Failure::absent(error.to_string(), "check the address and the system's certificates")
                })?;
                Ok(Plugin { id, frozen, workers, host: Box::new(host), confinement: None })
            }
        }
    }

    /// One reply a payload, in order; a fault costs its payload alone.
    pub fn score(&mut self, payloads: &[&[u8]]) -> Vec<Reply> {
        self.host.score(payloads)
    }

    /// Takes over what came of payloads in an earlier start of a run ([`PluginHost::resume`]).
    pub fn resume(&mut self, earlier: &mut dyn Iterator<Item = Option<FaultCode>>) {
        self.host.resume(earlier);
    }

    /// How it is kept apart, and what probes of that saw.
    #[must_use]
    pub fn isolation(&self) -> String {
        let probed =
            self.confinement.as_ref().map_or_else(String::new, |confinement| format!("; {}", confinement.probed));
        format!("{}{probed}", self.host.isolation())
    }

    /// Processes that failed with several payloads, which were asked again: how often, by what happened.
    #[must_use]
    pub fn restarts(&self) -> BTreeMap<FaultCode, u64> {
        self.host.restarts()
    }

    /// What the user should know, sorted.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.host.notes()
    }
}

/// What the ledger keeps of a reply.
#[must_use]
pub fn recorded(reply: &Reply) -> RecordedScore {
    RecordedScore::of(&reply.verdict())
}

fn find(words: &[String], conditions: &Conditions) -> Result<Program, SpecError> {
    let surroundings = Surroundings {
        base: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        variables: std::env::vars_os().collect(),
        keep: conditions.keep.clone(),
        python_packages: python_package().into_iter().collect(),
    };
    let mut program = Program::find(words, &surroundings)?;
    if let Some(name) = words.first().filter(|name| !name.contains('/')) {
        program.program = past_shims(name, &program);
    }
    Ok(program)
}

/// The program behind scripts of the same name: version managers put such scripts first on PATH, and a confined program
/// can't start another.
#[cfg(target_os = "linux")]
fn past_shims(name: &str, program: &Program) -> PathBuf {
    let path = program.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    parthack_sandbox::find_program(OsStr::new(name), &path).map_or_else(|| program.program.clone(), |(found, _)| found)
}

#[cfg(not(target_os = "linux"))]
fn past_shims(_: &str, program: &Program) -> PathBuf {
    program.program.clone()
}

/// The files that a command names, and the program itself where it is none of the system's.
fn own_files(program: &Program) -> impl Iterator<Item = &PathBuf> {
    let own = program.program.parent().filter(|folder| *folder == program.working_folder).map(|_| &program.program);
    program.files.iter().chain(own)
}

/// Hashes of [`own_files`], by file name.
fn hashes(program: &Program) -> Result<BTreeMap<String, String>, Failure> {
    let mut hashes = BTreeMap::new();
    for path in own_files(program) {
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::environment(format!("cannot read {}", path.display()), error, "an evaluator's files are hashed")
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        hashes.insert(name, Hash::of(FILE_LABEL, &bytes).hex());
    }
    Ok(hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_files_programs_and_hosts() {
        let id = |text: &str| parse(text).map(|parsed| parsed.map(|(id, _)| id).map_err(|_| ()));
        assert_eq!(id("csps"), None);
        assert_eq!(id("exec:./judge.sh --x=1"), Some(Ok("judge".to_owned())));
        assert_eq!(id("mine=exec:python3 -c 'print(1)'"), Some(Ok("mine".to_owned())));
        assert_eq!(id("exec:'my judge'"), Some(Ok("my-judge".to_owned())));
        assert_eq!(id("http://127.0.0.1:8000/score?key=a=b"), Some(Ok("127.0.0.1:8000".to_owned())));
        assert_eq!(id("my judge=exec:sh"), Some(Err(())));
        assert_eq!(id("exec:'open"), Some(Err(())));
    }
}
