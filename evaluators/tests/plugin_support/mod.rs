//! Programs in a folder of their own, and hosts for them.
#![allow(dead_code, reason = "every test binary uses another part")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_env::sample::{self, Dice};
use parthack_evaluators::plugin::{
    EvaluatorSpec, ExecHost, Outcome, PlainLaunch, PluginHost, PluginOptions, Program, Reply, Surroundings,
};

/// Real payloads, all different.
pub(crate) fn payloads(count: usize) -> Vec<Vec<u8>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for seed in 0.. {
        if found.len() == count {
            break;
        }
        let task = sample::task(seed);
        let bytes = payload(&Replay::run(&task, &sample::trajectory(&task, &mut Dice::new(seed), 6)));
        if seen.insert(bytes.clone()) {
            found.push(bytes);
        }
    }
    found
}

pub(crate) fn slices(payloads: &[Vec<u8>]) -> Vec<&[u8]> {
    payloads.iter().map(Vec::as_slice).collect()
}

/// Bounds under which nothing good is late and everything bad is soon over.
pub(crate) fn options(workers: usize) -> PluginOptions {
    PluginOptions {
        workers,
        timeout: Duration::from_secs(60),
        end_grace: Duration::from_secs(60),
        ..PluginOptions::default()
    }
}

/// Bounds for programs that are late on purpose.
pub(crate) fn impatient(workers: usize) -> PluginOptions {
    PluginOptions { timeout: Duration::from_millis(600), end_grace: Duration::from_millis(600), ..options(workers) }
}

/// Bounds for programs that are late on purpose and then do well.
pub(crate) fn patient(workers: usize) -> PluginOptions {
    PluginOptions { timeout: Duration::from_secs(4), end_grace: Duration::from_secs(1), ..options(workers) }
}

/// A folder with programs in it.
pub(crate) struct Folder {
    path: PathBuf,
    _kept: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        let kept = tempfile::tempdir().expect("a folder");
        Folder { path: std::fs::canonicalize(kept.path()).expect("its real path"), _kept: kept }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings {
            base: self.path().to_path_buf(),
            variables: std::env::vars_os().collect(),
            ..Surroundings::default()
        }
    }

    pub(crate) fn program(&self, spec: &str) -> Program {
        let Some(Ok(EvaluatorSpec::Exec { words, .. })) = EvaluatorSpec::parse(spec) else {
            panic!("{spec}: no command")
        };
        Program::find(&words, &self.surroundings()).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn host(&self, spec: &str, options: PluginOptions) -> ExecHost {
        ExecHost::new(self.program(spec), Box::new(PlainLaunch), options)
    }
}

/// A host of a shell script.
pub(crate) fn shell(script: &str, options: PluginOptions) -> (Folder, ExecHost) {
    let folder = Folder::new();
    folder.file("evaluator.sh", script);
    let host = folder.host("exec:sh evaluator.sh", options);
    (folder, host)
}

/// Replies in a form that equal runs share: scores by their text, faults by their code.
pub(crate) fn told(replies: &[Reply]) -> Vec<String> {
    let one = |reply: &Reply| match &reply.outcome {
        Outcome::Score(score) => score.text.clone(),
        Outcome::NoVerdict { reason, .. } => format!("no verdict: {reason}"),
        Outcome::Fault(fault) => fault.code.code().to_owned(),
    };
    replies.iter().map(one).collect()
}

/// What a shell script says of so many payloads, the same with one worker and with four.
pub(crate) fn check_shell(script: &str, count: usize, options: &dyn Fn(usize) -> PluginOptions, expected: &[&str]) {
    let payloads = payloads(count);
    for workers in [1, 4] {
        let (_folder, mut host) = shell(script, options(workers));
        let replies = host.score(&slices(&payloads));
        let shown: Vec<String> = replies.iter().filter_map(|reply| reply.fault().map(ToString::to_string)).collect();
        assert_eq!(told(&replies), expected, "{workers} workers: {script}\n{}", shown.join("\n"));
    }
}

/// Every payload ends in this fault.
pub(crate) fn check_fault(script: &str, code: &str) {
    check_shell(script, 3, &options, &[code; 3]);
}
