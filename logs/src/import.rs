//! The import: one file after the other, one thing after the other, duplicates dropped, everything counted.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parthack_env::canonical::Hash;

use crate::fault::{Fault, Refusal, RefusalCode};
use crate::input::{self, Found, Items};
use crate::kind::Kind;
use crate::log::{Condition, Log, Warning, WarningCode};
use crate::summary::Summary;
use crate::task::TaskSource;
use crate::walk::Walk;
use crate::{
    atif, bench, condition, harbor_tasks, inspect, mini_swe_agent, openai, swe_agent, swe_bench, tau, tau2, trial,
};

/// What an import gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Imported {
    /// A run.
    Log(Box<Log>),
    /// A task.
    Task(Box<TaskSource>),
}

/// Starts an import of a file, or of the files of a kind below a folder.
///
/// Nothing is read before the iterator is asked. It gives runs and tasks in a fixed order (files by path, then their order
/// in the file) and refusals between them, and goes on after each; [`Import::summary`] tells what came.
///
/// ```
/// use parthack_logs::{Imported, Kind, import};
/// # let folder = std::env::temp_dir().join("parthack-logs-example");
/// # std::fs::create_dir_all(&folder).unwrap();
/// let file = folder.join("chat.jsonl");
/// std::fs::write(&file, r#"{"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"4"}]}"#).unwrap();
/// let mut run = import(Kind::Openai, &file);
/// let Some(Ok(Imported::Log(log))) = run.next() else { panic!("a log") };
/// assert_eq!(log.steps[1].content.text(), "4");
/// assert_eq!(log.steps[1].at.pointer, "/messages/1/content");
/// assert!(run.next().is_none());
/// assert_eq!(run.summary().logs, 1);
/// ```
#[must_use]
pub fn import(kind: Kind, path: &Path) -> Import {
    // A folder that is given as `.` has its name in its full path alone.
    let name = path.canonicalize().ok().and_then(|full| full.file_name().map(PathBuf::from));
    Import {
        kind,
        root: path.to_path_buf(),
        name: name.unwrap_or_default(),
        is_folder: path.is_dir(),
        walk: Walk::new(path),
        current: None,
        headers: tau2::Headers::default(),
        seen: HashSet::new(),
        tasks: BTreeSet::new(),
        names: HashSet::new(),
        summary: Summary::new(kind),
    }
}

/// A file that is being read.
struct Current {
    file: Arc<str>,
    items: Items,
    /// What the path tells.
    condition: Option<Condition>,
    gave: bool,
}

/// A running import.
pub struct Import {
    kind: Kind,
    root: PathBuf,
    /// The root's own name.
    name: PathBuf,
    is_folder: bool,
    walk: Walk,
    current: Option<Current>,
    headers: tau2::Headers,
    seen: HashSet<Hash>,
    /// Tasks that logs belong to.
    tasks: BTreeSet<String>,
    /// Tasks that were read, by suite and id.
    names: HashSet<String>,
    summary: Summary,
}

/// What a walk does with a file.
enum Plan {
    Read,
    Companion,
    PassOver,
}

impl Import {
    /// What was read and what was not, up to here.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary { tasks_of_logs: self.tasks.len(), ..self.summary.clone() }
    }

    fn plan(&self, path: &Path) -> Plan {
        if !self.is_folder {
            return Plan::Read;
        }
        let name = input::file_name(path).to_lowercase();
        let ends = self.kind.endings().iter().any(|ending| name.ends_with(ending));
        match self.kind {
            Kind::HarborTasks if harbor_tasks::is_mark(path, &self.root) => Plan::Read,
            Kind::HarborTasks if harbor_tasks::is_part(path, &self.root) => Plan::Companion,
            Kind::HarborTasks => Plan::PassOver,
            Kind::Atif if trial::lacks_trajectory(path) => Plan::Read,
            Kind::Atif if trial::is_companion(path) => Plan::Companion,
            Kind::Atif if ends && atif::belongs_to_another(path) => Plan::Companion,
            Kind::SweAgent | Kind::MiniSweAgent if name == "report.json" => Plan::Companion,
            _ if ends => Plan::Read,
            _ => Plan::PassOver,
        }
    }

    fn open(&mut self, path: &Path, file: &Arc<str>) -> Result<Items, Fault> {
        let text = || input::read_text(path);
        match self.kind {
            Kind::HarborTasks => harbor_tasks::open(path),
            Kind::SweBench => swe_bench::open(path, file),
            Kind::Atif if trial::lacks_trajectory(path) => {
                let found = "the result of a trial that left no agent/trajectory.json";
                Err(Fault::file(RefusalCode::NothingInIt, found, "a trajectory"))
            }
            Kind::Atif => atif::open(path, &text()?, file),
            Kind::Inspect if is_archive(path) => inspect::open_eval(path, file),
            Kind::Inspect => inspect::open_json(text()?, file),
            Kind::SweAgent => swe_agent::open(path, &text()?, file),
            Kind::MiniSweAgent => mini_swe_agent::open(path, &text()?, file),
            Kind::Tau2 => tau2::open(path, text()?, file, &mut self.headers),
            Kind::Tau => tau::open(path, text()?, file),
            Kind::Openai => openai::open(path, file),
            Kind::Parthackbench => bench::open(path, &text()?, file),
        }
    }

    /// Goes to the next file; a refusal where it cannot be read.
    fn next_file(&mut self) -> Option<Option<Refusal>> {
        let path = match self.walk.next()? {
            Ok(path) => path,
            Err((path, fault)) => return Some(Some(self.refuse(&input::shown(&path), fault))),
        };
        self.summary.files += 1;
        match self.plan(&path) {
            Plan::PassOver => {
                self.summary.files_passed_over += 1;
                self.summary.passed_over.push(path.to_string_lossy().into_owned());
            }
            Plan::Companion => self.summary.files_companions += 1,
            Plan::Read => {
                let file = input::shown(&path);
                match self.open(&path, &file) {
                    Ok(items) => {
                        let condition = self.condition_of(&path);
                        self.current = Some(Current { file, items, condition, gave: false });
                    }
                    Err(fault) => {
                        self.summary.files_refused += 1;
                        return Some(Some(self.refuse(&file, fault)));
                    }
                }
            }
        }
        Some(None)
    }

    /// The condition that the names of the root and of what lies below it tell. What lies above the root depends on where somebody stands.
    fn condition_of(&self, path: &Path) -> Option<Condition> {
        if self.kind == Kind::Parthackbench {
            return None;
        }
        condition::of_path(&self.name.join(path.strip_prefix(&self.root).unwrap_or(Path::new(""))))
    }

    fn refuse(&mut self, file: &Arc<str>, fault: Fault) -> Refusal {
        let refusal = fault.into_refusal(file);
        self.summary.add_refusal(&refusal);
        refusal
    }

    /// Counts what was found; nothing for a duplicate.
    fn keep(&mut self, found: Found) -> Option<Imported> {
        let hash = match &found {
            Found::Log(log) => log.content_hash(),
            Found::Task(task) => task.content_hash(),
        };
        if !self.seen.insert(hash) {
            self.summary.duplicates += 1;
            return None;
        }
        Some(match found {
            Found::Log(log) => {
                self.summary.add_log(&log);
                self.tasks.extend(log.identity.task_key());
                Imported::Log(log)
            }
            Found::Task(mut task) => {
                let name = format!("{}/{}", task.suite.as_deref().unwrap_or(""), task.id);
                if !self.names.insert(name) {
                    let found = format!("another task {:?} with other contents", task.id);
                    task.warnings.push(Warning { code: WarningCode::TaskDiffers, at: None, found });
                }
                self.summary.add_task(&task);
                Imported::Task(task)
            }
        })
    }
}

impl Iterator for Import {
    type Item = Result<Imported, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(current) = &mut self.current else {
                match self.next_file()? {
                    Some(refusal) => return Some(Err(refusal)),
                    None => continue,
                }
            };
            match current.items.next() {
                Some(Ok(mut found)) => {
                    current.gave = true;
                    if let (Found::Log(log), Some(told)) = (&mut found, current.condition) {
                        condition::note_path(log, told);
                    }
                    if let Some(kept) = self.keep(found) {
                        return Some(Ok(kept));
                    }
                }
                Some(Err(fault)) => {
                    let file = current.file.clone();
                    return Some(Err(self.refuse(&file, fault)));
                }
                None => {
                    if current.gave {
                        self.summary.files_read += 1;
                    } else {
                        self.summary.files_refused += 1;
                    }
                    self.current = None;
                }
            }
        }
    }
}

/// Whether a file is a ZIP archive, by its name or its first bytes.
fn is_archive(path: &Path) -> bool {
    let by_name = input::file_name(path).to_lowercase().ends_with(".eval");
    by_name || input::first_bytes(path, 4).is_ok_and(|bytes| bytes.starts_with(b"PK\x03\x04"))
}
