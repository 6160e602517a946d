//! The report of audits: for people, and as `parthack.audit/1`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::audit::{Audit, Finding, Outcome};

/// Format of the report.
pub const AUDIT_FORMAT: &str = "parthack.audit/1";
/// Most findings of one audit that a report spells out.
const MOST_FINDINGS: usize = 20;

/// How an audit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditVerdict {
    /// Nothing at fault.
    Pass,
    /// Something at fault.
    Fail,
    /// Not done, and why.
    NotRun(String),
}

impl AuditVerdict {
    /// `pass`, `fail` or `not-run`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            AuditVerdict::Pass => "pass",
            AuditVerdict::Fail => "fail",
            AuditVerdict::NotRun(_) => "not-run",
        }
    }
}

/// One audit, done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditResult {
    /// Which.
    pub audit: Audit,
    /// How it ended.
    pub verdict: AuditVerdict,
    /// What it saw.
    pub outcome: Outcome,
}

impl AuditResult {
    /// The verdict that an outcome comes to: whatever was found counts, done to the end or not.
    #[must_use]
    pub fn new(audit: Audit, outcome: Outcome) -> AuditResult {
        let verdict = match (&outcome.findings[..], &outcome.not_run) {
            ([], None) => AuditVerdict::Pass,
            ([], Some(reason)) => AuditVerdict::NotRun(reason.clone()),
            _ => AuditVerdict::Fail,
        };
        AuditResult { audit, verdict, outcome }
    }
}

/// All audits that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    /// Hash of the run's manifest.
    pub manifest: String,
    /// In the order of [`Audit::ALL`].
    pub results: Vec<AuditResult>,
}

impl AuditReport {
    /// Whether no audit failed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.results.iter().all(|result| result.verdict != AuditVerdict::Fail)
    }

    /// The report as JSON (`parthack schema audit`).
    #[must_use]
    pub fn json(&self) -> Value {
        let audits: Vec<Value> = self.results.iter().map(result_json).collect();
        json!({ "format": AUDIT_FORMAT, "manifest": self.manifest, "passed": self.passed(), "audits": audits })
    }

    /// The report as a table, then counts, notes and findings; with `details`, what is worth a line too.
    #[must_use]
    pub fn text(&self, details: bool) -> String {
        let mut out = format!("{:<18} {:<8} {:>9} {:>9}  shows that\n", "audit", "verdict", "checked", "findings");
        for AuditResult { audit, verdict, outcome } in &self.results {
            let (id, word, shows) = (audit.id(), verdict.word(), audit.shows());
            let (checked, findings) = (outcome.checked, outcome.findings.len());
            let _ = writeln!(out, "{id:<18} {word:<8} {checked:>9} {findings:>9}  {shows}");
        }
        for AuditResult { audit, verdict, outcome } in &self.results {
            let has_detail = !outcome.counts.is_empty() || !outcome.notes.is_empty();
            if !has_detail && *verdict == AuditVerdict::Pass {
                continue;
            }
            let _ = writeln!(out, "\n{}: {}", audit.id(), verdict.word());
            if let AuditVerdict::NotRun(reason) = verdict {
                let _ = writeln!(out, "  {reason}");
            }
            for (kind, number) in &outcome.counts {
                let _ = writeln!(out, "  {number:>9} {kind}");
            }
            outcome.notes.iter().for_each(|note| {
                let _ = writeln!(out, "  note: {note}");
            });
            outcome.details.iter().filter(|_| details).for_each(|line| {
                let _ = writeln!(out, "  {line}");
            });
            for Finding { place, found, expected } in outcome.findings.iter().take(MOST_FINDINGS) {
                let _ = writeln!(out, "  FAULT {place}: found {found}, expected {expected}");
            }
            if outcome.findings.len() > MOST_FINDINGS {
                let _ = writeln!(out, "  and {} more", outcome.findings.len() - MOST_FINDINGS);
            }
        }
        let failed = self.results.iter().filter(|result| result.verdict == AuditVerdict::Fail).count();
        let not_run = self.results.iter().filter(|result| matches!(result.verdict, AuditVerdict::NotRun(_))).count();
        let passed = self.results.len() - failed - not_run;
        let _ = writeln!(out, "\n{passed} passed, {failed} failed, {not_run} not run");
        out
    }
}

fn result_json(result: &AuditResult) -> Value {
    let AuditResult { audit, verdict, outcome } = result;
    let findings: Vec<Value> = (outcome.findings.iter().take(MOST_FINDINGS))
        .map(|finding| json!({"place": finding.place, "found": finding.found, "expected": finding.expected}))
        .collect();
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    put("id", json!(audit.id()));
    put("shows", json!(audit.shows()));
    put("verdict", json!(verdict.word()));
    if let AuditVerdict::NotRun(reason) = verdict {
        put("reason", json!(reason));
    }
    put("checked", json!(outcome.checked));
    put("counts", json!(outcome.counts));
    put("notes", json!(outcome.notes));
    put("details", json!(outcome.details));
    put("findings", json!(findings));
    put("more_findings", json!(outcome.findings.len().saturating_sub(MOST_FINDINGS)));
    Value::Object(entry)
}
