//! A pipeline's folder: where its files are, and the right to work in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use parthack_env::input::InputError;
use parthack_gcpc::checklist::{Document, Frozen};
use parthack_gcpc::records::{AttemptSummary, Audit, Judgement};
use serde_json::Value;

use crate::gcpc::chain;
use crate::gcpc::task::{GcpcTask, file_stem};
use crate::run::error::RunError;
use crate::run::files::{create_folder, read_regular, sync_folder, write_atomically};
use crate::run::folder::{FolderLock, RunFolder};

/// A pipeline's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcpcFolder {
    root: PathBuf,
}

impl GcpcFolder {
    /// The folder at a path, whether it exists or not.
    #[must_use]
    pub fn at(root: &Path) -> GcpcFolder {
        GcpcFolder { root: root.to_path_buf() }
    }

    /// Makes the folder and takes the right to write in it.
    ///
    /// # Errors
    /// [`RunError::Storage`], [`RunError::Busy`]; [`RunError::Foreign`] for a folder that holds something else.
    pub fn open(&self) -> Result<FolderLock, RunError> {
        create_folder(&self.root)?;
        let known = |name: &str| {
            matches!(name, "tasks" | "checklists" | "objects" | "tables" | ".lock" | "spending.jsonl")
                || [self.generations(), self.questions(), self.judgements(), self.audits()]
                    .iter()
                    .any(|path| path.file_name().is_some_and(|file| file == name))
        };
        let entries = fs::read_dir(&self.root).map_err(|error| RunError::storage("cannot read", &self.root, error))?;
        for entry in entries.flatten() {
            if !entry.file_name().to_str().is_some_and(known) {
                return Err(RunError::Foreign { folder: self.root.clone() });
            }
        }
        let lock = self.as_run().lock()?;
        for name in ["tasks", "checklists"] {
            create_folder(&self.root.join(name))?;
        }
        Ok(lock)
    }

    /// The folder as one of a run: where exchanges are archived and spending is noted.
    #[must_use]
    pub fn as_run(&self) -> RunFolder {
        RunFolder::at(&self.root)
    }

    /// `generations.jsonl`.
    #[must_use]
    pub fn generations(&self) -> PathBuf {
        self.root.join("generations.jsonl")
    }

    /// `questions.jsonl`.
    #[must_use]
    pub fn questions(&self) -> PathBuf {
        self.root.join("questions.jsonl")
    }

    /// `judgements.jsonl`.
    #[must_use]
    pub fn judgements(&self) -> PathBuf {
        self.root.join("judgements.jsonl")
    }

    /// `audits.jsonl`.
    #[must_use]
    pub fn audits(&self) -> PathBuf {
        self.root.join("audits.jsonl")
    }

    /// `tables/`.
    #[must_use]
    pub fn tables(&self) -> PathBuf {
        self.root.join("tables")
    }

    /// Keeps a task; nothing happens if it is there already.
    ///
    /// # Errors
    /// [`RunError::Storage`]; [`RunError::Usage`] if another task of the same name is there: a checklist must not change its ground.
    pub fn keep_task(&self, task: &GcpcTask) -> Result<(), RunError> {
        let path = self.root.join("tasks").join(format!("{}.json", file_stem(&task.task)));
        match read_regular(&path) {
            Ok(found) if found == task.bytes() => Ok(()),
            Ok(_) => Err(RunError::usage(
                format!("{}: the task {} is there with another instruction or verifier", path.display(), task.task),
                "give another folder with --out",
            )),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => write_atomically(&path, &task.bytes()),
            Err(error) => Err(RunError::storage("cannot read", &path, error)),
        }
    }

    /// The tasks, by name.
    ///
    /// # Errors
    /// [`RunError::Storage`], [`RunError::Input`].
    pub fn tasks(&self) -> Result<BTreeMap<String, GcpcTask>, RunError> {
        let mut tasks = BTreeMap::new();
        for path in json_files(&self.root.join("tasks"))? {
            let bytes = read_regular(&path).map_err(|error| RunError::storage("cannot read", &path, error))?;
            let task = GcpcTask::read(&bytes, &path)?;
            tasks.insert(task.task.clone(), task);
        }
        Ok(tasks)
    }

    /// The frozen checklists, by task.
    ///
    /// # Errors
    /// [`RunError::Storage`], [`RunError::Input`]: one that is not frozen, or whose hash is not its content's.
    pub fn checklists(&self) -> Result<BTreeMap<String, Frozen>, RunError> {
        let mut checklists = BTreeMap::new();
        for path in json_files(&self.root.join("checklists"))? {
            let bytes = read_regular(&path).map_err(|error| RunError::storage("cannot read", &path, error))?;
            match Document::read(&bytes).map_err(|error| error.in_file(&path))? {
                Document::Frozen(frozen) => checklists.insert(frozen.task.clone(), frozen),
                Document::Candidate(..) => {
                    let expected = "a frozen checklist";
                    return Err(InputError::at("", "a checklist that is not frozen", expected).in_file(&path).into());
                }
            };
        }
        Ok(checklists)
    }

    /// Writes a frozen checklist; nothing happens if it is there already.
    ///
    /// # Errors
    /// [`RunError::Usage`] if another one of the task is frozen; [`RunError::Storage`].
    pub fn freeze(&self, frozen: &Frozen) -> Result<(), RunError> {
        let path = self.root.join("checklists").join(format!("{}.json", file_stem(&frozen.task)));
        match read_regular(&path) {
            Ok(found) if found == frozen.write() => Ok(()),
            Ok(_) => Err(RunError::usage(
                format!("{}: another checklist of {} is frozen", path.display(), frozen.task),
                "what is frozen stays; begin a new folder for another checklist",
            )),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                write_atomically(&path, &frozen.write())?;
                sync_folder(&self.root.join("checklists"))
            }
            Err(error) => Err(RunError::storage("cannot read", &path, error)),
        }
    }

    /// All judgements.
    ///
    /// # Errors
    /// As [`chain::read`].
    pub fn read_judgements(&self) -> Result<Vec<Judgement>, RunError> {
        chain::read(&self.judgements())
    }

    /// All audits.
    ///
    /// # Errors
    /// As [`chain::read`].
    pub fn read_audits(&self) -> Result<Vec<Audit>, RunError> {
        chain::read(&self.audits())
    }

    /// All generations, as records.
    ///
    /// # Errors
    /// As [`chain::read`].
    pub fn read_generations(&self) -> Result<Vec<Value>, RunError> {
        chain::read(&self.generations())
    }

    /// What became of each attempt.
    ///
    /// # Errors
    /// As [`chain::read`].
    pub fn attempts(&self) -> Result<Vec<AttemptSummary>, RunError> {
        let tasks = self.tasks()?;
        let summary = |record: &Value| {
            let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
            let count = |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
            let (task, result) = (text("task"), text("result"));
            let accepted = record["answer"].as_str().filter(|_| result == "accepted").map_or(0, count_items);
            let (items, sound_items) = match result.as_str() {
                "accepted" => (accepted, accepted),
                _ => (count(&record["detail"]["items"]), count(&record["detail"]["sound_items"])),
            };
            AttemptSummary {
                benchmark: tasks.get(&task).map_or_else(String::new, |task| task.benchmark.clone()),
                task,
                attempt: u32::try_from(count(&record["attempt"])).unwrap_or(u32::MAX),
                result,
                items,
                sound_items,
            }
        };
        Ok(self.read_generations()?.iter().map(summary).collect())
    }
}

fn count_items(answer: &str) -> usize {
    let answer: Value = serde_json::from_str(answer).unwrap_or(Value::Null);
    answer["items"].as_array().map_or(0, Vec::len)
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RunError::storage("cannot read", folder, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| RunError::storage("cannot read", folder, error))?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
