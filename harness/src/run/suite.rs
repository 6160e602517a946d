//! A suite: its manifest and its public task files, checked against each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_env::names::skeleton;
use parthack_env::spec::Split;
use parthack_env::task::Task;

use crate::exact::Ratio;
use crate::locate::read_input;
use crate::run::error::RunError;

/// Format of `suite.json`.
pub const SUITE_FORMAT: &str = "parthack.suite/1";
/// Tasks of one suite: ten thousand generated ones and room.
const MAX_TASKS: usize = 20_000;

/// A task of a suite with what the suite says of it.
#[derive(Debug, Clone)]
pub struct SuiteTask {
    /// The task.
    pub task: Task,
    /// P_state(H) as the suite promises it.
    pub p_state_honest: Ratio,
}

/// A suite.
///
/// Invariant: every task's hash, split, family, tags, rollback claim and m are those of `suite.json`; ids differ and
/// are not confusable.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Where it was read.
    pub folder: PathBuf,
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its identity: hash, label `suite`, of the canonical `suite.json`.
    pub hash: Hash,
    /// Its tasks, in its order.
    pub tasks: Vec<SuiteTask>,
}

impl Suite {
    /// Reads a suite folder.
    ///
    /// # Errors
    /// [`RunError::Input`] with file and pointer of the first fault.
    pub fn load(folder: &Path) -> Result<Suite, RunError> {
        let path = folder.join("suite.json");
        let bytes = read_input(&path)?;
        let in_suite = |error: InputError| error.in_file(&path);
        let json = Json::parse(&bytes).map_err(in_suite)?;
        let root = Cursor::root(&json);
        root.format(SUITE_FORMAT).map_err(in_suite)?;
        root.object(&["format", "id", "version", "description", "tasks"]).map_err(in_suite)?;
        let text = |key: &str| root.key(key).and_then(|c| c.prose(2_000).map(str::to_owned)).map_err(in_suite);
        let id = root.key("id").and_then(|c| c.identifier().map(str::to_owned)).map_err(in_suite)?;
        let (version, _) = (text("version")?, text("description")?);
        let entries = root.key("tasks").and_then(|c| c.items()).map_err(in_suite)?;
        if entries.len() > MAX_TASKS {
            let found = format!("{} tasks", entries.len());
            return Err(InputError::at("/tasks", found, format!("at most {MAX_TASKS}")).in_file(&path).into());
        }
        let mut tasks = Vec::with_capacity(entries.len());
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for entry in &entries {
            let id = entry.key("id").and_then(|c| c.identifier()).map_err(in_suite)?;
            if let Some(other) = seen.insert(skeleton(id), id.to_owned()) {
                let fault = InputError::at(format!("{}/id", entry.pointer), format!("{id:?}"), "an id that differs");
                return Err(fault.hint(format!("it can't be told from {other:?}")).in_file(&path).into());
            }
            tasks.push(read_task(folder, id, entry, &path)?);
        }
        Ok(Suite { folder: folder.to_path_buf(), id, version, hash: Hash::of("suite", &canonical_bytes(&json)), tasks })
    }

    /// The task of an id.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&SuiteTask> {
        self.tasks.iter().find(|task| task.task.spec.id == id)
    }
}

fn read_task(folder: &Path, id: &str, entry: &Cursor<'_, '_>, suite: &Path) -> Result<SuiteTask, RunError> {
    let in_suite = |error: InputError| error.in_file(suite);
    let known = ["id", "split", "family", "m", "p_state_honest", "tags", "rollback_metric", "hash"];
    entry.object(&known).map_err(in_suite)?;
    let path = folder.join(format!("{id}.json"));
    let bytes = read_input(&path)?;
    let task = Task::read(&bytes).map_err(|error| error.in_file(&path))?;
    let hash = entry.key("hash").map_err(in_suite)?;
    if hash.json.as_str() != Some(&task.spec.file_hash.hex()) {
        let expected = format!("the hash of {}, {}", path.display(), task.spec.file_hash);
        let hint = "the task file or the suite was edited; take both from one version of the suite";
        return Err(in_suite(hash.fault(expected).hint(hint)).into());
    }
    if task.spec.id != id {
        let fault = InputError::at("/id", format!("{:?}", task.spec.id), format!("{id:?}, as the suite names it"));
        return Err(fault.in_file(&path).into());
    }
    let split = if task.spec.split == Split::HeldOut { "heldout" } else { "development" };
    let tags: Vec<String> = task.spec.tags.iter().map(|tag| format!("{tag:?}")).collect();
    let claims = [
        ("split", format!("\"{split}\"")),
        ("family", format!("\"{}\"", task.spec.family.word())),
        ("m", task.m().to_string()),
        ("tags", format!("[{}]", tags.join(","))),
        ("rollback_metric", task.spec.rollback_metric.to_string()),
    ];
    for (key, expected) in claims {
        let claim = entry.key(key).map_err(in_suite)?;
        let found = canonical_bytes(claim.json);
        if found != expected.as_bytes() {
            let found = String::from_utf8_lossy(&found).into_owned();
            return Err(in_suite(claim.fault_found(found, format!("{expected}, as the task file has it"))).into());
        }
    }
    let claim = entry.key("p_state_honest").map_err(in_suite)?;
    let p_state_honest = claim
        .json
        .as_str()
        .and_then(|text| text.parse::<Ratio>().ok())
        .filter(|ratio| *ratio >= Ratio::ZERO && *ratio <= Ratio::ONE)
        .ok_or_else(|| in_suite(claim.fault("a ratio in [0, 1] such as \"1/4\"")))?;
    Ok(SuiteTask { task, p_state_honest })
}
