//! Why a ledger can't be analyzed.

use parthack_statistics::BootstrapError;

/// A fault of the ledgers, not of the logs: nothing is left out silently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// A judgement that stands twice.
    #[error(
        "log {log}: found the judgement by {method} ({variant}, pass {pass}, judge {judge}) a second time, expected each once"
    )]
    DuplicateJudgement {
        /// The log.
        log: String,
        /// The method.
        method: String,
        /// How it was asked for.
        variant: String,
        /// The pass.
        pass: u32,
        /// The judge.
        judge: String,
    },
    /// One log with two identities.
    #[error("log {log}: found two {field}s, {one} and {other}, expected one")]
    Identity {
        /// The log.
        log: String,
        /// What differs.
        field: &'static str,
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// A method that nobody knows.
    #[error(
        "log {log}: found the method {method:?}, expected gcpc, holistic, generic-checklist, tick or tick-trajectory"
    )]
    UnknownMethod {
        /// The log.
        log: String,
        /// The method.
        method: String,
    },
    /// A baseline's score that is none.
    #[error("log {log}: found the score {found:?} of {method}, expected numerator/denominator from 0 to 1")]
    Score {
        /// The log.
        log: String,
        /// The method.
        method: String,
        /// What was found; empty where there is none.
        found: String,
    },
    /// An item of a checklist without its route.
    #[error("log {log}: found no route of the item {item:?}, expected one")]
    NoRoute {
        /// The log.
        log: String,
        /// The item.
        item: String,
    },
    /// Labels that are not those of the checklist that they name.
    #[error("log {log}: found labels of the items {found}, expected those of the checklist of {task}: {expected}")]
    Items {
        /// The log.
        log: String,
        /// Its task.
        task: String,
        /// The items of the judgement.
        found: String,
        /// The items of the checklist.
        expected: String,
    },
    /// A judge that was asked for and judged nothing.
    #[error("found no judgement by {found:?}, expected one of: {known}")]
    UnknownJudge {
        /// The judge that was asked for.
        found: String,
        /// Those that there are.
        known: String,
    },
    /// An attempt at a checklist that stands twice.
    #[error("task {task}: found attempt {attempt} at its checklist a second time, expected each once")]
    DuplicateAttempt {
        /// The task.
        task: String,
        /// The attempt.
        attempt: u32,
    },
    /// An attempt whose record contradicts itself.
    #[error(
        "task {task}, attempt {attempt}: found {found}, expected accepted, rejected, unreadable or no_answer, and no more sound items than items"
    )]
    Attempt {
        /// The task.
        task: String,
        /// The attempt.
        attempt: u32,
        /// What was found.
        found: String,
    },
    /// A second audit of a task that has an answered one.
    #[error("task {task}: found a second coverage audit, expected one")]
    DuplicateAudit {
        /// The task.
        task: String,
    },
    /// A sorting that is not of the task's requirements.
    #[error(
        "task {task}: found {found} requirements sorted by the scheme {scheme}, expected its {expected} stated ones"
    )]
    Sorting {
        /// The task.
        task: String,
        /// The scheme.
        scheme: String,
        /// Requirements sorted.
        found: usize,
        /// Requirements stated.
        expected: usize,
    },
    /// An annotation of a log that nobody judged.
    #[error("annotations, line {line}: found the log {log}, expected one that was judged")]
    AnnotatedLog {
        /// The line of the annotations.
        line: u64,
        /// The log.
        log: String,
    },
    /// An annotation of an item that the task's checklist does not have.
    #[error("annotations, line {line}: found the item {item:?}, expected one of the checklist of {task}: {expected}")]
    AnnotatedItem {
        /// The line of the annotations.
        line: u64,
        /// The item.
        item: String,
        /// The task.
        task: String,
        /// Its items.
        expected: String,
    },
    /// Resampling that can't be done.
    #[error("resamples: {0}")]
    Bootstrap(#[from] BootstrapError),
}
