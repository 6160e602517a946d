//! What an import read and what it did not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fault::{Refusal, RefusalCode};
use crate::kind::Kind;
use crate::log::{Condition, Log, Verdict, WarningCode};
use crate::task::TaskSource;

/// A refusal as the summary lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The file.
    pub file: String,
    /// The class.
    pub code: RefusalCode,
    /// Where in it: line and column, a JSON pointer, a byte, or the file.
    pub place: String,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl From<&Refusal> for Refused {
    fn from(refusal: &Refusal) -> Self {
        Refused {
            file: refusal.file.to_string(),
            code: refusal.code,
            place: refusal.place.to_string(),
            found: refusal.found.clone(),
            expected: refusal.expected.clone(),
        }
    }
}

/// Verdicts by count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Passed.
    pub pass: usize,
    /// Failed.
    pub fail: usize,
    /// None recorded, or none that is binary.
    pub none: usize,
}

/// Counts of one import. Everything below `logs` counts logs that are no duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The kind.
    pub kind: Kind,
    /// Files that were reached.
    pub files: usize,
    /// Files that gave at least one log or task.
    pub files_read: usize,
    /// Files that were read as a part of another: rewards, configurations, continuations, tests.
    pub files_companions: usize,
    /// Files that the walk did not open, because their names do not end as this kind's do.
    pub files_passed_over: usize,
    /// Files that were opened and gave nothing.
    pub files_refused: usize,
    /// Logs.
    pub logs: usize,
    /// Tasks.
    pub tasks: usize,
    /// Logs and tasks that were dropped as duplicates of earlier ones.
    pub duplicates: usize,
    /// Different tasks that the logs belong to.
    pub tasks_of_logs: usize,
    /// Steps.
    pub steps: usize,
    /// Steps that are calls of a tool.
    pub tool_calls: usize,
    /// Steps that are outputs of a tool.
    pub tool_outputs: usize,
    /// Verdicts.
    pub outcomes: Verdicts,
    /// Logs by condition.
    pub conditions: BTreeMap<Condition, usize>,
    /// Logs by model; the empty name counts those without one.
    pub models: BTreeMap<String, usize>,
    /// Tests that the tasks name.
    pub named_tests: usize,
    /// Files and fields of verifiers that the tasks have.
    pub verifier_files: usize,
    /// Warnings by code.
    pub warnings: BTreeMap<WarningCode, usize>,
    /// Refusals by code, of files and of parts of files.
    pub refusals: BTreeMap<RefusalCode, usize>,
    /// Each refusal, in the order of the walk.
    pub refused: Vec<Refused>,
    /// Each file that was passed over, in the order of the walk.
    pub passed_over: Vec<String>,
}

impl Summary {
    pub(crate) fn new(kind: Kind) -> Self {
        Summary {
            kind,
            files: 0,
            files_read: 0,
            files_companions: 0,
            files_passed_over: 0,
            files_refused: 0,
            logs: 0,
            tasks: 0,
            duplicates: 0,
            tasks_of_logs: 0,
            steps: 0,
            tool_calls: 0,
            tool_outputs: 0,
            outcomes: Verdicts::default(),
            conditions: BTreeMap::new(),
            models: BTreeMap::new(),
            named_tests: 0,
            verifier_files: 0,
            warnings: BTreeMap::new(),
            refusals: BTreeMap::new(),
            refused: Vec::new(),
            passed_over: Vec::new(),
        }
    }

    pub(crate) fn add_log(&mut self, log: &Log) {
        self.logs += 1;
        self.steps += log.steps.len();
        self.tool_calls += log.tool_calls();
        self.tool_outputs += log.tool_outputs();
        match log.outcome.verdict {
            Verdict::Pass => self.outcomes.pass += 1,
            Verdict::Fail => self.outcomes.fail += 1,
            Verdict::None => self.outcomes.none += 1,
        }
        *self.conditions.entry(log.identity.condition).or_default() += 1;
        let model = log.identity.model.as_ref().map(|fact| fact.value.clone()).unwrap_or_default();
        *self.models.entry(model).or_default() += 1;
        for warning in &log.warnings {
            *self.warnings.entry(warning.code).or_default() += 1;
        }
    }

    pub(crate) fn add_task(&mut self, task: &TaskSource) {
        self.tasks += 1;
        self.named_tests += task.tests.len();
        self.verifier_files += task.verifier.len();
        for warning in &task.warnings {
            *self.warnings.entry(warning.code).or_default() += 1;
        }
    }

    pub(crate) fn add_refusal(&mut self, refusal: &Refusal) {
        *self.refusals.entry(refusal.code).or_default() += 1;
        self.refused.push(Refused::from(refusal));
    }
}
