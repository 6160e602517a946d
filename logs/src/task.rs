//! `TaskSource`: what a checklist is made from, the instruction and the official verifier, and never a solution.

use std::collections::BTreeMap;
use std::sync::Arc;

use parthack_env::canonical::{Hash, push_string};
use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::log::{Provenance, Warning};

/// A piece of an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Its text, verbatim.
    pub text: String,
    /// Where it stands.
    pub at: Provenance,
}

/// A file, or a field that serves as one, of the official verifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifierFile {
    /// Its path within the task folder, or the name of the field.
    pub path: String,
    /// Its text; nothing where it is no text or too long.
    pub text: Option<String>,
    /// Where it stands.
    pub at: Provenance,
}

/// From where a test's name is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestList {
    /// `test_names.json`.
    TestNames,
    /// A CTRF report.
    Ctrf,
    /// SWE-bench `FAIL_TO_PASS`.
    FailToPass,
    /// SWE-bench `PASS_TO_PASS`.
    PassToPass,
    /// tau2: a gold action.
    Action,
    /// tau2: an assertion over the environment.
    EnvironmentAssertion,
    /// tau2: something that the agent has to communicate.
    Communicate,
    /// tau2: an assertion in words.
    NaturalLanguageAssertion,
}

/// A test of the official verifier that a list names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTest {
    /// Its name as the list has it; for tau2 checks, the name that this importer gives it.
    pub name: String,
    /// The list.
    pub list: TestList,
    /// The source file that the list says it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What it checks, where the list says so.
    pub detail: Option<String>,
    /// Where it stands.
    pub at: Provenance,
}

/// A task: instruction and official verifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSource {
    /// The format.
    pub kind: Kind,
    /// The set of tasks that it belongs to.
    pub suite: Option<String>,
    /// Its id.
    pub id: String,
    /// The instruction, in pieces where the format has it in several fields.
    pub instruction: Vec<Piece>,
    /// Facts such as `metadata.difficulty`, `repo`, `base_commit`: key by dots → value as text.
    pub facts: BTreeMap<String, String>,
    /// The verifier's files, by path.
    pub verifier: Vec<VerifierFile>,
    /// Tests that a list names, in the list's order.
    pub tests: Vec<NamedTest>,
    /// The files that it was read from.
    pub files: Vec<Arc<str>>,
    /// What to know before relying on it.
    pub warnings: Vec<Warning>,
}

impl TaskSource {
    /// The instruction as one text, its pieces parted by a blank line.
    #[must_use]
    pub fn instruction_text(&self) -> String {
        let pieces: Vec<&str> = self.instruction.iter().map(|piece| piece.text.as_str()).collect();
        pieces.join("\n\n")
    }

    /// Hash of what makes two tasks duplicates: id, instruction, verifier texts and named tests, not where they lie.
    #[must_use]
    pub fn content_hash(&self) -> Hash {
        let mut out = Vec::new();
        push_string(&mut out, &self.id);
        for piece in &self.instruction {
            push_string(&mut out, &piece.text);
        }
        for file in &self.verifier {
            out.push(b'\n');
            push_string(&mut out, &file.path);
            push_string(&mut out, file.text.as_deref().unwrap_or(""));
        }
        for test in &self.tests {
            out.push(b'\n');
            push_string(&mut out, &test.name);
            push_string(&mut out, test.detail.as_deref().unwrap_or(""));
        }
        Hash::of("task-source", &out)
    }
}
