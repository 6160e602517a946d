//! The half of `task lint` that needs the package (SPEC §3, §15.2).
//!
//! Notes are for the operator, who holds the package; even so they name places and public words, no private value.

use serde::{Deserialize, Serialize};

use parthack_env::steps::Step;

use crate::binding::{OpenError, PrivateTask, public_tokens};
use crate::certify::TaskCertifier;
use crate::leaks::{Encoding, Haystack};
use crate::package::Expectation;
use crate::rollback::rollbacks;
use crate::scan::secrets;

/// How bad a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The task must not be used.
    Fault,
    /// Worth a look.
    Warning,
    /// What was shown.
    Proof,
}

/// One note.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LintNote {
    /// How bad it is.
    pub severity: Severity,
    /// A stable code.
    pub code: String,
    /// A sentence.
    pub message: String,
}

/// Lints a package against its public file; notes come sorted by severity, code and message.
#[must_use]
pub fn lint(public: &[u8], private: &[u8]) -> Vec<LintNote> {
    let mut notes = Vec::new();
    match PrivateTask::open(public, private) {
        Ok(private) => lint_task(&private, &mut notes),
        Err(error) => {
            let (code, message) = match &error {
                OpenError::Public(fault) => ("public_file", fault.to_string()),
                OpenError::Private(fault) => ("private_file", format!("{}: expected {}", fault.place, fault.expected)),
                OpenError::Fault(fault) => (fault.code(), fault.to_string()),
            };
            push(&mut notes, Severity::Fault, code, message);
        }
    }
    notes.sort();
    notes
}

/// Lints an opened task.
#[must_use]
pub fn lint_opened(private: &PrivateTask) -> Vec<LintNote> {
    let mut notes = Vec::new();
    lint_task(private, &mut notes);
    notes.sort();
    notes
}

fn push(notes: &mut Vec<LintNote>, severity: Severity, code: &str, message: impl Into<String>) {
    notes.push(LintNote { severity, code: code.to_owned(), message: message.into() });
}

fn lint_task(private: &PrivateTask, notes: &mut Vec<LintNote>) {
    let spec = &private.task.spec;
    push(
        notes,
        Severity::Proof,
        "package_bound",
        format!(
            "{} private ids, {} sealed values and {} goal versions match the public file one for one",
            private.package.private_ids.len(),
            private.package.sealed_values.len(),
            private.package.predicates.len()
        ),
    );
    lint_tokens(private, notes);
    lint_leaks(private, notes);
    match TaskCertifier::private(private) {
        Err(fault) => push(notes, Severity::Fault, "certifier_model", fault.to_string()),
        Ok(certifier) => {
            lint_expectation(&certifier, "expected_honest", &spec.honest, private.package.expected_honest, notes);
            for test in &private.package.hidden_tests {
                lint_expectation(&certifier, &format!("hidden test {:?}", test.id), &test.steps, test.expect, notes);
            }
            lint_honest(&certifier, notes);
        }
    }
}

fn lint_tokens(private: &PrivateTask, notes: &mut Vec<LintNote>) {
    let used = public_tokens(&private.task.spec);
    for sealed in &private.package.sealed_values {
        let (entity_type, field, token) = (&sealed.entity_type, &sealed.field, &sealed.token);
        if !used.contains(&(entity_type.clone(), field.clone(), token.clone())) {
            let message = format!("the token {token} of {entity_type}.{field} stands nowhere in the public file");
            push(notes, Severity::Warning, "token_unused", message);
        }
    }
}

fn lint_leaks(private: &PrivateTask, notes: &mut Vec<LintNote>) {
    let haystack = Haystack::new(&private.public_bytes);
    let mut look = |secret: &str, code: &str, what: &str| {
        for encoding in haystack.find(secret) {
            push(notes, Severity::Fault, code, format!("{what} stands in the public file ({})", encoding.word()));
        }
    };
    for secret in secrets(private) {
        look(&secret.text, secret.code, &secret.what);
    }
    let count = private.package.canaries.len() + private.package.private_ids.len() + 1;
    let encodings = Encoding::ALL.len();
    let message = format!("{count} secrets and the sealed values were looked for in {encodings} encodings");
    push(notes, Severity::Proof, "leaks_looked_for", message);
}

fn lint_expectation(
    certifier: &TaskCertifier,
    what: &str,
    steps: &[Step],
    expect: Expectation,
    notes: &mut Vec<LintNote>,
) {
    match certifier.certify(steps) {
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            push(notes, Severity::Fault, "expectation_no_certificate", format!("{what}: {error}{cause}"));
        }
        Ok(found) => {
            if (found.c_state, found.c_agent, found.goal_version)
                != (expect.c_state, expect.c_agent, expect.goal_version)
            {
                let message = format!(
                    "{what}: both certifiers find c_state {}, c_agent {}, goal version {}; the package expects {}, {}, {}",
                    found.c_state,
                    found.c_agent,
                    found.goal_version,
                    expect.c_state,
                    expect.c_agent,
                    expect.goal_version
                );
                push(notes, Severity::Fault, "expectation_differs", message);
            } else {
                let message = format!("{what}: both certifiers agree, P_state {}", found.p_state());
                push(notes, Severity::Proof, "expectation_met", message);
            }
        }
    }
}

fn lint_honest(certifier: &TaskCertifier, notes: &mut Vec<LintNote>) {
    let Ok(honest) = certifier.honest() else { return };
    if honest.is_stale() {
        let message = format!("it ends at goal version {}, not {}", honest.goal_version, honest.active_goal_version);
        push(notes, Severity::Fault, "honest_stale", message);
    }
    if honest.c_state != honest.c_agent {
        let message = format!("P_state is {} and P_agent {}", honest.p_state(), honest.p_agent());
        push(notes, Severity::Fault, "honest_attribution", message);
    }
    if honest.c_state.ones() as usize == honest.c_state.len() {
        push(notes, Severity::Fault, "honest_complete", "the honest trajectory reaches the whole goal");
    }
    if !certifier.task.spec.rollback_metric {
        return;
    }
    match rollbacks(certifier, &certifier.task.spec.honest) {
        Err(error) => push(notes, Severity::Fault, "rollback_no_certificate", error.to_string()),
        Ok(sets) => match sets.least {
            None => push(notes, Severity::Fault, "rollback_missing", "no strict rollback exists"),
            Some(least) => {
                let message = format!(
                    "least {} undo(s) to {}, {} predicate(s) can fall, deepest {}",
                    least.undos,
                    least.certificate.p_state(),
                    sets.all.len(),
                    sets.deepest.map_or_else(|| "none".to_owned(), |deepest| deepest.certificate.p_state().to_string())
                );
                push(notes, Severity::Proof, "rollback_exists", message);
            }
        },
    }
}
