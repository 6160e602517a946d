//! Grounded Checklist Partial Credit as an evaluator of the bench (G §3; SPEC §10, §14.10): the checklist is made from the instruction and the public
//! goal schema rendered as named checks, goes through the gates, and is judged against the payload's transcript alone.
//!
//! A transcript entry is a call of a tool and what the tool displayed: for a step that took effect its change as the log has it, for `read` and `list`
//! what they showed, for a refused one the refusal. Messages of the agent are claims; messages and deeds of others are context. States are not shown:
//! what no tool displayed is no evidence. `gcpc-outcome` asks the same and then applies the official-outcome step, with `terminal-outcome` as the
//! official outcome.

use parthack_env::json::Json;
use parthack_gcpc::checklist::{Checklist as GcpcChecklist, Item, Route};
use parthack_gcpc::gates::Options;
use parthack_gcpc::judging::log::{LogView, Span, SpanKind};
use parthack_gcpc::judging::{self, Judged, Plan, Setting as GcpcSetting};
use parthack_gcpc::label::{Label, Outcome};
use parthack_gcpc::metrics;
use parthack_gcpc::prompts;
use parthack_gcpc::synthesis::{self, Task};
use parthack_gcpc::verifier::Verifier;
use parthack_model::answer::{Answer, NoAnswer};
use parthack_model::prompt::Prompt;

use super::{
    Checklist, ChecklistItem, ChecklistSource, Combined, Grounding, ItemOrder, Judge, Judgement, Setting, aggregate,
    document_of, no_verdict, notation, show,
};
use crate::public_view;
use crate::registry::Descriptor;
use crate::rules::Rule;
use crate::score::{ExactScore, NoVerdict};

/// The evaluator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gcpc {
    /// From the log alone.
    Plain,
    /// With the official-outcome step.
    WithOutcome,
}

impl Gcpc {
    /// Both, in the order of the tables.
    pub(super) const ALL: [Gcpc; 2] = [Gcpc::Plain, Gcpc::WithOutcome];

    /// What tables and manifests say of it.
    pub(super) fn descriptor(self) -> Descriptor {
        Descriptor {
            id: self.id(),
            version: 1,
            title: match self {
                Gcpc::Plain => "GCPC",
                Gcpc::WithOutcome => "GCPC with official outcome",
            },
            temporal_rule: "semantic",
            attribution: "no",
            decomposition: "grounded checklist",
            deterministic: false,
            reads: match self {
                Gcpc::Plain => "transcript; for its checklist instruction, goal_schema",
                Gcpc::WithOutcome => "transcript, terminal-outcome; for its checklist instruction, goal_schema",
            },
        }
    }
}

/// The instruction as one text, and the goal's predicates as named checks.
fn ground(source: &ChecklistSource<'_>) -> (String, Verifier) {
    let check = |(index, goal): (usize, &Json<'_>)| {
        let description = goal.get("description").and_then(Json::as_str).unwrap_or_default();
        (show::goal_key(index), description.to_owned())
    };
    let checks = show::items(Some(source.goal_schema)).iter().enumerate().map(check).collect();
    (source.instruction.join("\n\n"), Verifier::of_checks("goal_schema", checks))
}

fn to_items(checklist: &GcpcChecklist) -> Checklist {
    let item = |item: &Item| ChecklistItem {
        id: item.id.clone(),
        text: item.requirement.clone(),
        grounding: Some(Grounding {
            quote: item.quote.clone(),
            route: item.route.word().to_owned(),
            test: item.verifier.clone(),
        }),
    };
    Checklist { items: checklist.items.iter().map(item).collect() }
}

/// A checklist as GCPC has it, in the order of a setting. An item that nobody grounded is a matter of judgment.
fn of_items(checklist: &Checklist, order: ItemOrder) -> GcpcChecklist {
    let item = |item: &ChecklistItem| {
        let grounding = item.grounding.as_ref();
        let word = grounding.map_or("judge", |grounding| grounding.route.as_str());
        Item {
            id: item.id.clone(),
            requirement: item.text.clone(),
            quote: grounding.map_or_else(String::new, |grounding| grounding.quote.clone()),
            route: Route::WORDS.iter().find(|(known, _)| *known == word).map_or(Route::Judge, |(_, route)| *route),
            verifier: grounding.and_then(|grounding| grounding.test.clone()),
            category: None,
        }
    };
    let mut items: Vec<Item> = checklist.items.iter().map(item).collect();
    if order == ItemOrder::Reversed {
        items.reverse();
    }
    GcpcChecklist { items }
}

/// The log that a payload's transcript is, and for each span the entry that it comes from.
fn log_of(payload: &[u8]) -> Result<LogView, NoVerdict> {
    let json = document_of(payload)?;
    let events = show::items(json.get("events"));
    let mut spans = Vec::new();
    for (index, text) in show::instructions(&json).into_iter().enumerate() {
        spans.push(Span { index, kind: SpanKind::Other, text });
    }
    for (index, entry) in show::items(json.get("transcript")).iter().enumerate() {
        entry_spans(index, entry, events, &mut spans);
    }
    Ok(LogView::new(spans))
}

fn entry_spans(index: usize, entry: &Json<'_>, events: &[Json<'_>], spans: &mut Vec<Span>) {
    let word = |json: &Json<'_>, key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let step = entry.get("step").unwrap_or(&Json::Null);
    let (actor, result, op) = (word(entry, "actor"), word(entry, "result"), word(step, "op"));
    let mut push = |kind, text: String| spans.push(Span { index, kind, text });
    if op == "say" {
        let text = format!("{actor} to {}: {}", word(step, "to"), word(step, "text"));
        push(if actor == "agent" { SpanKind::AgentText } else { SpanKind::Other }, text);
        return;
    }
    let mut call = format!("{actor}: ");
    notation::push_value(&mut call, step);
    let shown = match result.as_str() {
        "refused" => {
            let refusal = entry.get("refusal").unwrap_or(&Json::Null);
            format!("refused: {} {}", word(refusal, "code"), word(refusal, "message"))
        }
        "applied" => {
            let number = match entry.get("event") {
                Some(Json::Number(number)) => number.parse::<usize>().ok(),
                _ => None,
            };
            let event = number.and_then(|number| events.get(number.checked_sub(1)?));
            event.map_or_else(|| "applied".to_owned(), |event| format!("applied: {}", show::event_text(event)))
        }
        _ => {
            let mut text = String::new();
            entry.get("output").into_iter().for_each(|output| notation::push_value(&mut text, output));
            if text.is_empty() { result } else { text }
        }
    };
    if actor == "agent" {
        push(SpanKind::ToolCall, call);
        push(SpanKind::ToolOutput, shown);
    } else {
        // What others do is displayed to no tool of the agent's.
        push(SpanKind::Other, format!("{call}: {shown}"));
    }
}

fn missing() -> NoVerdict {
    no_verdict("the task has no checklist".to_owned())
}

struct Prepared {
    checklist: GcpcChecklist,
    log: LogView,
    plan: Plan,
}

fn prepare(payload: &[u8], checklist: Option<&Checklist>, setting: Setting) -> Result<Prepared, NoVerdict> {
    let checklist = of_items(checklist.ok_or_else(missing)?, setting.items);
    let log = log_of(payload)?;
    let plan = judging::plan(&checklist, &log, GcpcSetting::default());
    Ok(Prepared { checklist, log, plan })
}

impl Judge for Gcpc {
    fn id(&self) -> &'static str {
        match self {
            Gcpc::Plain => "gcpc",
            Gcpc::WithOutcome => "gcpc-outcome",
        }
    }

    fn repeats(&self) -> u32 {
        1
    }

    fn has_checklist(&self) -> bool {
        true
    }

    fn has_items(&self) -> bool {
        true
    }

    fn has_fields(&self) -> bool {
        false
    }

    fn prompt_hash(&self) -> String {
        prompts::hash().hex()
    }

    fn checklist_prompt(&self, source: &ChecklistSource<'_>) -> Option<Prompt> {
        let (instruction, verifier) = ground(source);
        let task = Task { id: "", instruction: &instruction, verifier: &verifier };
        Some(synthesis::prompt(task, 1, synthesis::Setting::default()))
    }

    fn read_checklist(&self, source: &ChecklistSource<'_>, answer: &Answer) -> Result<Checklist, String> {
        let (instruction, verifier) = ground(source);
        let checklist = synthesis::read(answer, &instruction)?;
        let report = parthack_gcpc::gates::check(&instruction, &verifier, &checklist, &Options::default());
        match report.faults.first() {
            None => Ok(to_items(&checklist)),
            Some(fault) => Err(format!("the gates refuse it ({} faults): {fault}", report.faults.len())),
        }
    }

    fn plan(&self, payload: &[u8], checklist: Option<&Checklist>, setting: Setting) -> Result<Vec<Prompt>, NoVerdict> {
        let prepared = prepare(payload, checklist, setting)?;
        Ok(prepared.plan.asked.into_iter().map(|asked| asked.prompt).collect())
    }

    fn read(
        &self,
        payload: &[u8],
        checklist: Option<&Checklist>,
        setting: Setting,
        prompt: usize,
        answer: &Answer,
    ) -> Result<(), String> {
        let prepared = prepare(payload, checklist, setting).map_err(|error| error.reason)?;
        let asked = prepared.plan.asked.get(prompt);
        let asked = asked.ok_or_else(|| format!("no prompt {prompt} in a plan of {}", prepared.plan.asked.len()))?;
        judging::read(&prepared.checklist, asked, false, answer).map(drop)
    }

    fn judge(
        &self,
        payload: &[u8],
        checklist: Option<&Checklist>,
        setting: Setting,
        answers: &[Result<Answer, NoAnswer>],
    ) -> Result<Judgement, NoVerdict> {
        let Prepared { checklist, log, plan } = prepare(payload, checklist, setting)?;
        let judged = judging::judge(&checklist, &log, GcpcSetting::default(), &plan, answers);
        let judged = judged.map_err(|error| no_verdict(error.to_string()))?;
        let outcome = match self {
            Gcpc::Plain => None,
            Gcpc::WithOutcome => Some(outcome_of(payload)?),
        };
        let scores = metrics::score(&judged.labelled(&checklist, outcome));
        let score = match self {
            Gcpc::Plain => scores.gcpc,
            Gcpc::WithOutcome => scores.gcpc_outcome,
        };
        let score = score.ok_or_else(|| no_verdict("zero evidence: the log decides no item".to_owned()))?;
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let mut labels: Vec<&'static str> = judged.labels().into_iter().map(Label::word).collect();
        if setting.items == ItemOrder::Reversed {
            labels.reverse();
        }
        Ok(Judgement {
            score: ExactScore::new(count(score.numerator()), count(score.denominator())),
            items: Vec::new(),
            labels,
            cites: cites(&judged, &log),
        })
    }

    fn combine(&self, judgements: &[Result<Judgement, NoVerdict>]) -> Result<Combined, NoVerdict> {
        aggregate::combine(self.repeats(), judgements)
    }
}

/// The official outcome of SPEC §14.10.
fn outcome_of(payload: &[u8]) -> Result<Outcome, NoVerdict> {
    let view = public_view::read(payload).map_err(|error| no_verdict(format!("not a payload: {error}")))?;
    let score = Rule::TerminalOutcome.score(view.m, &view.frames);
    Ok(if score.numerator == score.denominator { Outcome::Pass } else { Outcome::Fail })
}

/// Entries of the transcript that the verdicts rest on, each once.
fn cites(judged: &Judged, log: &LogView) -> Vec<String> {
    let places = judged.items.iter().flat_map(|item| &item.evidence).filter_map(|of| log.spans().get(of.place));
    let mut cites: Vec<usize> = places.map(|span| span.index).collect();
    cites.sort_unstable();
    cites.dedup();
    cites.into_iter().map(|index| format!("/transcript/{index}")).collect()
}
