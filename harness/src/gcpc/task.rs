//! A task of the pipeline: its instruction and its verifier, kept as they were read (`parthack.gcpc-task/1`).

use std::collections::BTreeMap;
use std::path::Path;

use parthack_env::canonical::Hash;
use parthack_env::input::{InputError, Place};
use parthack_gcpc::verifier::{Source, Verifier};
use parthack_logs::{NamedTest, TaskSource, TestList};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ledger::canonical_of;

/// The name of the format.
pub const TASK_FORMAT: &str = "parthack.gcpc-task/1";

/// A task as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GcpcTask {
    /// [`TASK_FORMAT`].
    pub format: String,
    /// The task with its suite, `suite/task`: what checklists and logs are matched by.
    pub task: String,
    /// The suite that it belongs to, or the kind of its source.
    pub benchmark: String,
    /// The instruction, verbatim.
    pub instruction: String,
    /// Files of the verifier, path → text.
    pub verifier: BTreeMap<String, String>,
}

impl GcpcTask {
    /// The task of an imported source. A verifier's field that is JSON gets the ending that says so, and tests that a list names become a
    /// file of names.
    #[must_use]
    pub fn of(source: &TaskSource) -> GcpcTask {
        let mut verifier = BTreeMap::new();
        for file in &source.verifier {
            let Some(text) = &file.text else { continue };
            let has_ending = file.path.rsplit('/').next().is_some_and(|name| name.contains('.'));
            let is_json = !has_ending && serde_json::from_str::<serde_json::Value>(text).is_ok();
            let path = if is_json { format!("{}.json", file.path) } else { file.path.clone() };
            verifier.insert(path, text.clone());
        }
        verifier.extend(lists(source));
        let task = match &source.suite {
            Some(suite) => format!("{suite}/{}", source.id),
            None => source.id.clone(),
        };
        GcpcTask {
            format: TASK_FORMAT.to_owned(),
            task,
            benchmark: source.suite.clone().unwrap_or_else(|| source.kind.word().to_owned()),
            instruction: source.instruction_text(),
            verifier,
        }
    }

    /// The tests that are really in the verifier's files.
    ///
    /// # Errors
    /// A file that is not what its shape needs.
    pub fn read_verifier(&self) -> Result<Verifier, InputError> {
        let sources = self.verifier.iter().map(|(path, text)| Source { path: path.clone(), text: text.clone() });
        Verifier::read(sources.collect())
    }

    /// The bytes of its file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = canonical_of(self);
        bytes.push(b'\n');
        bytes
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// Another form.
    pub fn read(bytes: &[u8], path: &Path) -> Result<GcpcTask, InputError> {
        let fault = |found: String| InputError::new(Place::File, found, "a task (parthack.gcpc-task/1)").in_file(path);
        let task: GcpcTask = serde_json::from_slice(bytes).map_err(|error| fault(error.to_string()))?;
        if task.format != TASK_FORMAT {
            return Err(fault(format!("the format {:?}", task.format)));
        }
        Ok(task)
    }
}

/// Files of names, path → text, for the tests that lists name. A list that is a file of the verifier itself is there already.
fn lists(source: &TaskSource) -> Vec<(String, String)> {
    let is_there = |test: &&NamedTest| source.verifier.iter().any(|file| file.at.file == test.at.file);
    let of = |list: TestList| source.tests.iter().filter(move |test| test.list == list);
    let names = |list: TestList| -> Vec<&str> { of(list).map(|test| test.name.as_str()).collect() };
    let mut files = Vec::new();
    let failing = names(TestList::FailToPass);
    if !failing.is_empty() {
        let instance = json!({"FAIL_TO_PASS": failing, "PASS_TO_PASS": names(TestList::PassToPass)});
        files.push(("instance.json".to_owned(), instance.to_string()));
    }
    for (list, path) in [(TestList::TestNames, "test_names.json"), (TestList::Ctrf, "ctrf.json")] {
        let listed: Vec<&NamedTest> = of(list).filter(|test| !is_there(test)).collect();
        let Some(first) = listed.first() else { continue };
        let mut names = json!({"tests": listed.iter().map(|test| &test.name).collect::<Vec<_>>()});
        if let Some(file) = &first.file {
            names["verifier_file"] = json!(file);
        }
        files.push((path.to_owned(), names.to_string()));
    }
    files
}

/// The name of a task's files: what can stand in a file name, and digits that tell tasks apart whose names agree in that.
#[must_use]
pub fn file_stem(task: &str) -> String {
    let fits = |of: char| of.is_ascii_alphanumeric() || "._-".contains(of);
    let name: String = task.chars().take(80).map(|of| if fits(of) { of } else { '_' }).collect();
    format!("{}-{}", name.trim_start_matches('.'), &Hash::of("gcpc-task", task.as_bytes()).hex()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        assert!(file_stem("retail/12").starts_with("retail_12-"));
        assert_ne!(file_stem("a/b"), file_stem("a_b"));
        assert!(!file_stem("../../etc/passwd").contains('/'));
        assert!(!file_stem("../x").starts_with('.'));
    }
}
