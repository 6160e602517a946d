//! The scores of one trajectory (G §3.4; SPEC §15.20), exact.
//!
//! Plain GCPC and evidence coverage are those of the log, before the outcome step; GCPC with official outcome, Perfect and
//! decided coverage are those after it.

use serde_json::{Map, Value, json};

use crate::label::Label;
use crate::outcome::{LabelledItem, Labels, Step};
use crate::ratio::Ratio;

/// All scores of one trajectory; `None` where undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scores {
    /// Yes over decided items, from the log alone. Undefined where all items abstain.
    pub gcpc: Option<Ratio>,
    /// The same after the outcome step, the endpoint counted. Undefined without an outcome.
    pub gcpc_outcome: Option<Ratio>,
    /// Whether no item of the checklist is No after the outcome step; the endpoint does not count. Without an outcome the step
    /// changes nothing. Undefined for a checklist without items.
    pub perfect: Option<bool>,
    /// Decided items over all, from the log alone.
    pub evidence_coverage: Option<Ratio>,
    /// Decided items over all after the outcome step, the endpoint left out.
    pub decided_coverage: Option<Ratio>,
    /// Whether the log decides nothing: such a trajectory is reported apart.
    pub zero_evidence: bool,
}

/// Scores labels.
///
/// ```
/// # use parthack_gcpc::{metrics, outcome::Labels};
/// let labels = Labels::read(br#"{"format":"parthack.labels/1","items":[
///   {"id":"c1","route":"assertion","label":"yes"},{"id":"c2","route":"judge","label":"abstain"}],"outcome":"fail"}"#)?;
/// let scores = metrics::score(&labels);
/// assert_eq!(scores.gcpc.map(|ratio| ratio.to_string()), Some("1/1".to_owned()));
/// assert_eq!(scores.gcpc_outcome.map(|ratio| ratio.to_string()), Some("1/2".to_owned()));
/// assert_eq!(scores.perfect, Some(true));
/// # Ok::<(), parthack_env::input::InputError>(())
/// ```
#[must_use]
pub fn score(labels: &Labels) -> Scores {
    let after = Step::BOTH.apply(labels);
    let evidence_coverage = coverage(&labels.items);
    Scores {
        gcpc: credit(&labels.items, None),
        gcpc_outcome: labels.outcome.and_then(|_| credit(&after.items, after.endpoint)),
        perfect: perfect(&after.items),
        evidence_coverage,
        decided_coverage: coverage(&after.items),
        zero_evidence: evidence_coverage.is_some_and(|coverage| coverage.numerator() == 0),
    }
}

/// GCPC under each variant of the outcome step (G, Table 3 B), in [`Step::VARIANTS`]' order. Variants that need an outcome are `None`
/// without one.
#[must_use]
pub fn ablation(labels: &Labels) -> [(&'static str, Option<Ratio>); 4] {
    Step::VARIANTS.map(|(name, step)| {
        let after = step.apply(labels);
        let is_defined = labels.outcome.is_some() || !(step.endpoint || step.propagation);
        (name, credit(&after.items, after.endpoint).filter(|_| is_defined))
    })
}

/// Yes over decided (G, equation 1).
fn credit(items: &[LabelledItem], endpoint: Option<Label>) -> Option<Ratio> {
    let labels = || items.iter().map(|item| item.label).chain(endpoint);
    let yes = labels().filter(|label| *label == Label::Yes).count();
    Ratio::of(yes, labels().filter(|label| label.is_decided()).count())
}

/// No item is No (G, equation 2).
fn perfect(items: &[LabelledItem]) -> Option<bool> {
    (!items.is_empty()).then(|| items.iter().all(|item| item.label != Label::No))
}

fn coverage(items: &[LabelledItem]) -> Option<Ratio> {
    Ratio::of(items.iter().filter(|item| item.label.is_decided()).count(), items.len())
}

impl Scores {
    /// The report: scores as JSON numbers, the exact ratio beside each (SPEC §15.13).
    #[must_use]
    pub fn json(&self) -> Value {
        let mut report = Map::new();
        let ratios = [
            ("gcpc", self.gcpc),
            ("gcpc_outcome", self.gcpc_outcome),
            ("evidence_coverage", self.evidence_coverage),
            ("decided_coverage", self.decided_coverage),
        ];
        for (name, ratio) in ratios {
            report.insert(name.to_owned(), json!(ratio.map(Ratio::number)));
            report.insert(format!("{name}_exact"), json!(ratio.map(|ratio| ratio.to_string())));
        }
        report.insert("perfect".to_owned(), json!(self.perfect.map(u8::from)));
        report.insert("zero_evidence".to_owned(), json!(self.zero_evidence));
        Value::Object(report)
    }
}
