//! The idle-agent floor: logs of an agent that does nothing of substance must earn nothing (G, Table 3 C).

use crate::judging::log::{LogView, Span, SpanKind};
use crate::label::Label;
use crate::outcome::Labels;

/// What an idle agent does instead of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idleness {
    /// Nothing at all: the log holds the instruction.
    Silent,
    /// It claims that every requirement is met.
    Claims,
    /// It looks around: harmless calls, whose outputs are evidence of nothing.
    Looks,
}

impl Idleness {
    /// All kinds with their names.
    pub const ALL: [(&'static str, Idleness); 3] =
        [("silent", Idleness::Silent), ("claims", Idleness::Claims), ("looks", Idleness::Looks)];
}

/// The log of an idle agent on a task; `requirements` are what one that claims says is done.
#[must_use]
pub fn log(instruction: &str, requirements: &[&str], idleness: Idleness) -> LogView {
    let span = |index, kind, text: String| Span { index, kind, text };
    let mut spans = vec![span(0, SpanKind::Other, instruction.to_owned())];
    match idleness {
        Idleness::Silent => {}
        Idleness::Claims => {
            let claims = requirements.iter().map(|requirement| format!("Done and checked: {requirement}\n")).collect();
            spans.push(span(1, SpanKind::AgentText, claims));
        }
        Idleness::Looks => {
            for (index, (call, output)) in
                [("whoami", "agent"), ("date -u +%Z", "UTC"), ("true; echo $?", "0")].into_iter().enumerate()
            {
                spans.push(span(index + 1, SpanKind::ToolCall, call.to_owned()));
                spans.push(span(index + 1, SpanKind::ToolOutput, output.to_owned()));
            }
        }
    }
    LogView::new(spans)
}

/// A log without its evidence: tool outputs and file contents taken out, calls and words kept.
#[must_use]
pub fn without_evidence(log: &LogView) -> LogView {
    LogView::new(log.spans().iter().filter(|span| !span.kind.is_evidence()).cloned().collect())
}

/// Whether the floor holds: no item is Yes. (Then GCPC is 0, or undefined where all items abstain.)
#[must_use]
pub fn holds(labels: &Labels) -> bool {
    labels.items.iter().all(|item| item.label != Label::Yes)
}
