//! A suite: its manifest and its public task files, checked against each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parthack_certifier::sealing::folder::{COMMITMENTS_FILE, read_commitments};
use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::{Cursor, InputError, Place};
use parthack_env::json::Json;
use parthack_env::names::skeleton;
use parthack_env::spec::Split;
use parthack_env::task::Task;

use crate::exact::Ratio;
use crate::locate::{read_at_most, read_input};
use crate::run::error::RunError;

/// Format of `suite.json`.
pub const SUITE_FORMAT: &str = "parthack.suite/1";
/// Tasks of one suite: ten thousand generated ones and room.
const MAX_TASKS: usize = 20_000;
/// Bytes of a `suite.json`: a task's line has about 200, and 350 with the longest id and tags, so that ten thousand tasks take at
/// most 3.5 MB and [`MAX_TASKS`] fit too. Other inputs keep the limit of one file.
const MAX_SUITE_BYTES: u64 = 8 << 20;

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
    /// Hash of the commitments to its packages, if there are some.
    pub commitments: Option<String>,
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
        let bytes = read_at_most(&path, MAX_SUITE_BYTES)?;
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
        let hash = Hash::of("suite", &canonical_bytes(&json));
        Ok(Suite { folder: folder.to_path_buf(), id, version, hash, commitments: commitments_of(folder)?, tasks })
    }

    /// The task of an id.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&SuiteTask> {
        self.tasks.iter().find(|task| task.task.spec.id == id)
    }
}

/// Hash of the commitments beside a suite's `suite.json`, if there are any.
///
/// # Errors
/// They can't be read, or are none.
pub(crate) fn commitments_of(folder: &Path) -> Result<Option<String>, RunError> {
    let commitments = read_commitments(folder).map_err(|error| {
        InputError::new(Place::File, error.to_string(), "the commitments of the suite, as they were published")
            .in_file(&folder.join(COMMITMENTS_FILE))
    })?;
    Ok(commitments.map(|commitments| commitments.hash().to_string()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(tasks: usize, filler: &str) -> String {
        let line = |number: usize| {
            format!(
                "{{\"id\":\"GEN-{number:05}\",\"split\":\"heldout\",\"family\":\"interaction\",\"m\":4,\"p_state_honest\":\"1/4\",\
                 \"tags\":[\"attribution\",\"rollback\"],\"rollback_metric\":true,\"hash\":\"{:064}\"}}",
                0
            )
        };
        let lines: Vec<String> = (1..=tasks).map(line).collect();
        format!(
            "{{\"format\":\"{SUITE_FORMAT}\",\"id\":\"large\",\"version\":\"1\",\"description\":\"{filler}\",\"tasks\":[\n{}\n]}}\n",
            lines.join(",\n")
        )
    }

    /// The file is read whole: what is missing is the first task, not room.
    #[test]
    fn ten_thousand_tasks_are_a_suite_and_a_suite_ends_somewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let fault = |text: String| {
            assert!(text.len() as u64 > parthack_env::input::MAX_FILE_BYTES, "{} bytes", text.len());
            std::fs::write(folder.path().join("suite.json"), text).expect("written");
            Suite::load(folder.path()).expect_err("no task files").to_string()
        };
        let most = fault(manifest(MAX_TASKS, "as many as may be"));
        assert!(most.contains("GEN-00001.json"), "{most}");
        let ten_thousand = fault(manifest(10_000, "many"));
        assert!(ten_thousand.contains("GEN-00001.json"), "{ten_thousand}");
        let too_many = fault(manifest(MAX_TASKS + 1, "one more"));
        assert!(too_many.contains("20001 tasks"), "{too_many}");
        let filler = "x".repeat(usize::try_from(MAX_SUITE_BYTES).expect("a size"));
        let too_long = fault(manifest(1, &filler));
        assert!(too_long.contains("suite.json") && too_long.contains("8388608"), "{too_long}");
    }
}
