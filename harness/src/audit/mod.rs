//! Audits of a finished run (P §4.3, B.4, C.2): each looks at one promise by a way of its own, and each has a planted
//! failure in the tests that it must catch. `docs/audits.md` says what each shows, and what it can't.

pub mod access;
mod certifier;
mod context;
mod controls;
mod counts;
mod leakage;
mod no_verdict;
mod outcome;
mod payloads;
pub mod report;
mod reproduction;
mod requests;
mod schema;
mod third_look;

use std::path::PathBuf;

use parthack_certifier::sealing::SuiteKey;

use crate::run::certifying::Certify;
use crate::run::error::RunError;
use crate::run::suite::Suite;

pub use access::COMMAND as PROBE_COMMAND;
pub use outcome::{Finding, Outcome};
pub use report::{AuditReport, AuditResult, AuditVerdict};

use context::Context;

/// One audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audit {
    /// Everything written meets its published schema.
    SerializerSchema,
    /// No secret stands in public.
    Leakage,
    /// No verdict is never a score.
    NoVerdict,
    /// All evaluators got the same bytes.
    SamePayload,
    /// Nothing private can be reached from the sandbox.
    PrivateAccess,
    /// Every request to a model can be reconstructed.
    Requests,
    /// The run done again gives the same bytes.
    Reproduction,
    /// Every certification holds up to a third look.
    Certifier,
    /// Every mutation is refused.
    MutationControls,
    /// Every denominator is what it must be.
    Counts,
}

impl Audit {
    /// All audits, in the order of reports.
    pub const ALL: [Audit; 10] = [
        Audit::SerializerSchema,
        Audit::Leakage,
        Audit::NoVerdict,
        Audit::SamePayload,
        Audit::PrivateAccess,
        Audit::Requests,
        Audit::Reproduction,
        Audit::Certifier,
        Audit::MutationControls,
        Audit::Counts,
    ];

    /// Its stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Audit::SerializerSchema => "serializer-schema",
            Audit::Leakage => "leakage",
            Audit::NoVerdict => "no-verdict",
            Audit::SamePayload => "same-payload",
            Audit::PrivateAccess => "private-access",
            Audit::Requests => "requests",
            Audit::Reproduction => "reproduction",
            Audit::Certifier => "certifier",
            Audit::MutationControls => "mutation-controls",
            Audit::Counts => "counts",
        }
    }

    /// The audit of an id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Audit> {
        Audit::ALL.into_iter().find(|audit| audit.id() == id)
    }

    /// What it shows when it passes.
    #[must_use]
    pub fn shows(self) -> &'static str {
        match self {
            Audit::SerializerSchema => {
                "every file that the run wrote meets its published schema, as an independent validator reads both"
            }
            Audit::Leakage => {
                "no canary, private id, sealed text or key stands in a public byte, in any of the encodings looked for"
            }
            Audit::NoVerdict => "an answer that is no verdict has no score anywhere, and tables count it as one",
            Audit::SamePayload => "all evaluators of a trajectory scored the same bytes, those that the run keeps",
            Audit::PrivateAccess => {
                "what is claimed to be blocked is blocked inside the sandbox that evaluators get on this host"
            }
            Audit::Requests => "every request to a model is made again from manifest and public objects, byte for byte",
            Audit::Reproduction => {
                "the run done again from its manifest gives the same ledger and tables, byte for byte"
            }
            Audit::Certifier => {
                "both certifiers give the recorded vectors again, and a third evaluation from public bytes agrees"
            }
            Audit::MutationControls => "both certifiers refuse every mutation with its own code",
            Audit::Counts => "the ledger has the cells of its plan, and every denominator is the suite's",
        }
    }
}

/// What audits need.
pub struct AuditJob<'j> {
    /// The run folder.
    pub folder: PathBuf,
    /// The suite that the run was over.
    pub suite: Suite,
    /// Starts a certifier.
    pub certifier: &'j dyn Fn() -> Result<Box<dyn Certify>, RunError>,
    /// The suite's key, if it is at hand: looked for in public bytes.
    pub suite_key: Option<SuiteKey>,
    /// This binary, which serves the built-in evaluators.
    pub evaluator_program: PathBuf,
    /// Folders of recordings, which are public too.
    pub recordings: Vec<PathBuf>,
    /// How the sandbox is probed.
    pub probing: access::Probing,
    /// Worker threads, at least 1.
    pub threads: usize,
}

/// Runs the chosen audits, in the order of reports; `begins` hears of each before it starts, and of its talk after it.
///
/// # Errors
/// [`RunError`] if the folder holds no run of this suite, or an audit can't be done for a reason that lies in the
/// environment. What is wrong with the run is in the report.
pub fn audit_run(
    job: &AuditJob<'_>,
    chosen: &[Audit],
    tells: &mut dyn FnMut(Audit, Option<&AuditResult>),
) -> Result<AuditReport, RunError> {
    let context = Context::load(job)?;
    let mut results = Vec::new();
    for audit in Audit::ALL.into_iter().filter(|audit| chosen.contains(audit)) {
        tells(audit, None);
        let mut outcome = Outcome::default();
        let done = match audit {
            Audit::SerializerSchema => schema::audit(&context, &mut outcome),
            Audit::Leakage => leakage::audit(&context, &mut outcome),
            Audit::NoVerdict => no_verdict::audit(&context, &mut outcome),
            Audit::SamePayload => payloads::audit(&context, &mut outcome),
            Audit::PrivateAccess => access::audit(&context, &mut outcome),
            Audit::Requests => requests::audit(&context, &mut outcome),
            Audit::Reproduction => reproduction::audit(&context, &mut outcome),
            Audit::Certifier => certifier::audit(&context, &mut outcome),
            Audit::MutationControls => controls::audit(&context, &mut outcome),
            Audit::Counts => counts::audit(&context, &mut outcome),
        };
        match done {
            Ok(()) => {}
            // What contradicts the run is a finding; what keeps the audit from being done is not.
            Err(RunError::Certification { task, fault }) => outcome.finds(task, fault, "a certificate"),
            Err(RunError::Ledger { path, source }) => {
                outcome.finds(path.display().to_string(), source.to_string(), "a ledger that chains");
            }
            Err(RunError::Storage { action, path, source, .. }) if path.starts_with(&context.folder.root) => {
                let found = format!("{action}: {source}");
                outcome.finds(path.display().to_string(), found, "a file or folder of the run");
            }
            Err(error) => return Err(error),
        }
        let result = AuditResult::new(audit, outcome);
        tells(audit, Some(&result));
        results.push(result);
    }
    Ok(AuditReport { manifest: context.manifest.hash().hex(), results })
}
