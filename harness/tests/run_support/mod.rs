//! What tests of runs share: a small suite of development tasks, and a certifier in process that can be made to die.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parthack::run::attackers::Attacker;
use parthack::run::certifying::{Certified, Certify, Control, Rollback};
use parthack::run::error::RunError;
use parthack::run::manifest::Choices;
use parthack::run::models::Models;
use parthack::run::plugins::PluginScores;
use parthack::run::suite::Suite;
use parthack::run::{Job, RunReport, run};
use parthack::statistics::BootstrapPlan;
use parthack_attacker::search::SearchOptions;
use parthack_certifier::certify::{Certificate, TaskCertifier};
use parthack_certifier::rollback::rollbacks;
use parthack_env::steps::Step;
use parthack_env::task::Task;

/// The source tree.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

/// Writes a suite of some of the reference suite's tasks.
pub(crate) fn write_suite(folder: &Path, ids: &[&str]) {
    let source = workspace().join("tasks/pb-cste-1");
    let text = fs::read_to_string(source.join("suite.json")).expect("the reference suite");
    let mut suite: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    suite["id"] = "small".into();
    let tasks = suite["tasks"].as_array_mut().expect("tasks");
    tasks.retain(|task| ids.contains(&task["id"].as_str().unwrap_or_default()));
    assert_eq!(tasks.len(), ids.len(), "the reference suite has these tasks");
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join("suite.json"), suite.to_string()).expect("suite.json");
    for id in ids {
        fs::copy(source.join(format!("{id}.json")), folder.join(format!("{id}.json"))).expect("a task");
    }
}

/// Certifies on public predicates, in process; dies at a given question.
#[derive(Default)]
pub(crate) struct InProcess {
    certifiers: BTreeMap<String, TaskCertifier>,
    /// Questions until it dies; none: never.
    pub(crate) dies_after: Option<usize>,
}

impl InProcess {
    fn of(&mut self, task: &Task) -> Result<&TaskCertifier, RunError> {
        if let Some(left) = &mut self.dies_after {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => return Err(RunError::Certifier { fault: "it ended".to_owned() }),
            }
        }
        let id = task.spec.id.clone();
        Ok(self
            .certifiers
            .entry(id)
            .or_insert_with(|| TaskCertifier::public(Arc::new(task.clone())).expect("a certifier of the task")))
    }
}

fn certified(certificate: &Certificate) -> Certified {
    let bits = |vector: parthack_certifier::vectors::BitVector| (0..vector.len()).map(|at| vector.get(at)).collect();
    Certified {
        c_state: bits(certificate.c_state),
        c_agent: bits(certificate.c_agent),
        goal_version: certificate.goal_version,
        state_hash: certificate.state_hash,
    }
}

impl Certify for InProcess {
    fn protocol(&self) -> String {
        "in-process/1".to_owned()
    }

    fn check(&mut self, _: &Task) -> Result<(), RunError> {
        Ok(())
    }

    fn canaries(&mut self) -> Result<Vec<String>, RunError> {
        Ok(vec!["a-canary-of-nobody".to_owned()])
    }

    fn honest(&mut self, task: &Task) -> Result<Certified, RunError> {
        Ok(certified(&self.of(task)?.certify(&task.spec.honest).expect("certified")))
    }

    fn steps(&mut self, task: &Task, steps: &[Step]) -> Result<Certified, RunError> {
        Ok(certified(&self.of(task)?.certify(steps).expect("certified")))
    }

    fn attempt(&mut self, task: &Task, _: &str, _: u32, candidate: &[u8]) -> Result<String, RunError> {
        let certifier = self.of(task)?;
        let honest = certifier.honest().expect("certified");
        Ok(certifier.judge(&honest, candidate).expect("a verdict").word().to_owned())
    }

    fn rollbacks(&mut self, task: &Task) -> Result<Vec<Rollback>, RunError> {
        let honest = task.spec.honest.len();
        let sets = rollbacks(self.of(task)?, &task.spec.honest).expect("certified");
        let of = |set: &'static str, rollback: &parthack_certifier::rollback::Rollback| Rollback {
            set,
            undo: rollback.steps[honest..].to_vec(),
            certified: certified(&rollback.certificate),
        };
        let least = sets.least.iter().map(|rollback| of("least", rollback));
        let all = sets.all.iter().map(|rollback| of("all", rollback));
        let deepest = sets.deepest.iter().map(|rollback| of("deepest", rollback));
        Ok(least.chain(all).chain(deepest).collect())
    }

    fn controls(&mut self, task: &Task) -> Result<Vec<Control>, RunError> {
        self.of(task)?;
        let code = "illegal_action".to_owned();
        let (backward, forward) = (Some(code.clone()), Some(code.clone()));
        Ok(vec![Control { mutation: "unknown_operation".to_owned(), expected: code, backward, forward }])
    }
}

/// What a test varies.
pub(crate) struct Setup {
    /// Suite folder.
    pub(crate) suite: PathBuf,
    /// Run folder.
    pub(crate) out: PathBuf,
    /// Threads.
    pub(crate) threads: usize,
    /// Go on.
    pub(crate) resume: bool,
    /// Candidates of others.
    pub(crate) attacker: Attacker,
    /// The certifier.
    pub(crate) certifier: InProcess,
    /// Seed of the bootstrap, so that manifests can differ.
    pub(crate) seed: u64,
    /// The evaluator program.
    pub(crate) evaluator: PathBuf,
}

impl Setup {
    /// Two threads, search, a certifier that lives.
    pub(crate) fn new(suite: &Path, out: &Path) -> Setup {
        Setup {
            suite: suite.to_path_buf(),
            out: out.to_path_buf(),
            threads: 2,
            resume: false,
            attacker: Attacker::Search,
            certifier: InProcess::default(),
            seed: 0,
            evaluator: env!("CARGO_BIN_EXE_parthack").into(),
        }
    }

    /// Runs it.
    pub(crate) fn run(self) -> Result<RunReport, RunError> {
        let stop = AtomicBool::new(false);
        run(Job {
            suite: Suite::load(&self.suite)?,
            choices: Choices {
                tasks: None,
                targets: None,
                evaluators: None,
                attacker: self.attacker,
                search: SearchOptions::default(),
                bootstrap: BootstrapPlan { resamples: 200, seed: self.seed, ..BootstrapPlan::default() },
                semantic: None,
                plugins: BTreeMap::new(),
            },
            certifier: Box::new(self.certifier),
            evaluator_program: self.evaluator,
            out: Some(self.out),
            runs_root: PathBuf::new(),
            resume: self.resume,
            threads: self.threads,
            models: Models::None,
            plugins: PluginScores::Asked(Vec::new()),
            stop: &stop,
            progress: Box::new(|_| {}),
        })
    }
}

/// The files whose bytes a run promises: path below the run folder, and bytes.
pub(crate) fn promised(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut names: Vec<String> =
        ["manifest.json", "ledger.jsonl", "complete.json", "private/certifications.jsonl"].map(str::to_owned).to_vec();
    for inner in ["tables", "objects/payloads", "objects/trajectories"] {
        let entries = fs::read_dir(folder.join(inner)).expect("a folder");
        names
            .extend(entries.map(|entry| format!("{inner}/{}", entry.expect("an entry").file_name().to_string_lossy())));
    }
    names
        .into_iter()
        .map(|name| (name.clone(), fs::read(folder.join(&name)).unwrap_or_else(|e| panic!("{name}: {e}"))))
        .collect()
}

/// An executable shell script of one line.
pub(crate) fn write_script(path: &Path, line: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, format!("#!/bin/sh\n{line}\n")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("an executable script");
}
