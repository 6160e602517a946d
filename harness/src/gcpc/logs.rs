//! A log as judges see it, and what pairing needs to know of it.

use parthack_gcpc::judging::log::{LogView, Span, SpanKind};
use parthack_gcpc::label::Outcome;
use parthack_gcpc::records::LogIdentity;
use parthack_logs::{Content, Fact, Log, Origin, Verdict};

/// The spans of a log. Steps that were only shown as examples prove nothing of this run, and steps that stand earlier already are not
/// shown twice.
#[must_use]
pub fn view(log: &Log) -> LogView {
    let mut spans = Vec::with_capacity(log.steps.len());
    for (index, step) in log.steps.iter().enumerate().filter(|(_, step)| step.origin != Origin::Copied) {
        let (kind, text) = match &step.content {
            Content::Message { text, .. } => (SpanKind::Other, text.clone()),
            Content::AgentText { text } | Content::Reasoning { text } => (SpanKind::AgentText, text.clone()),
            Content::ToolCall { name, arguments, .. } => (SpanKind::ToolCall, format!("{name}({arguments})")),
            Content::ToolOutput { text, .. } => (SpanKind::ToolOutput, text.clone()),
        };
        let kind = if step.origin == Origin::Demonstration { SpanKind::Other } else { kind };
        spans.push(Span { index, kind, text });
    }
    LogView::new(spans)
}

/// The identity of a log; `None` where nothing says which task it is of.
#[must_use]
pub fn identity(log: &Log) -> Option<LogIdentity> {
    let of = &log.identity;
    let value = |fact: &Option<Fact>| fact.as_ref().map(|fact| fact.value.clone());
    Some(LogIdentity {
        log: log.content_hash().hex(),
        kind: of.kind.word().to_owned(),
        task: of.task_key()?,
        harness: value(&of.harness),
        harness_version: value(&of.harness_version),
        model: value(&of.model),
        condition: of.condition.word().to_owned(),
        run: value(&of.run),
        outcome: match log.outcome.verdict {
            Verdict::Pass => Some(Outcome::Pass),
            Verdict::Fail => Some(Outcome::Fail),
            Verdict::None => None,
        },
    })
}
