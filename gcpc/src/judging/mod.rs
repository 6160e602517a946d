//! Judging one log by a checklist: prompts out, answers in (G §3.3).
//!
//! [`plan`] makes the prompts; somebody gets them answered; [`read`] checks the form of one answer, so that one retry can follow; [`judge`] makes the
//! verdicts. The judge sees requirements and the log, never routes, tests, the official outcome or another trajectory. Verdicts on items do not depend on each
//! other; with [`Asking::Apart`] each item has a prompt of its own, with [`Asking::Together`], as in G, the judge gets the whole checklist.

pub mod evidence;
pub mod log;
pub mod merge;
pub mod passes;
pub mod windows;

use parthack_env::input::{Cursor, InputError};
use parthack_model::answer::{Answer, NoAnswer};
use parthack_model::prompt::Prompt;
use serde_json::{Value, json};

use self::evidence::{Citation, Evidence, Settled, settle};
use self::log::LogView;
use self::merge::{ItemVerdict, merge};
use self::windows::{Budget, windows};
use crate::block::{Line, block, line_tokens, plain};
use crate::checklist::Checklist;
use crate::label::{Label, Outcome};
use crate::outcome::{LabelledItem, Labels};
use crate::prompts;
use crate::reading;

/// The most citations of a verdict.
pub const MOST_CITATIONS: usize = 3;
/// Up to so many labels are listed in the answer's schema; more are told by a pattern.
const MOST_LISTED: usize = 60;

/// How items are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// All items in one prompt.
    Together,
    /// One item a prompt.
    Apart,
}

/// What is chosen and not read from a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// How items are asked about.
    pub asking: Asking,
    /// Tokens of a window of the log, and of the overlap.
    pub budget: Budget,
    /// Whether Abstain is not offered: the forced-verdict control.
    pub forced: bool,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { asking: Asking::Together, budget: Budget { window: 4_500, overlap: 300 }, forced: false }
    }
}

/// One prompt, and what it asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The prompt.
    pub prompt: Prompt,
    /// The window, from 0.
    pub window: usize,
    /// Places of the items in the checklist.
    pub items: Vec<usize>,
}

/// All prompts of one judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Window by window; empty where the log has nothing that could be evidence: then all items abstain (or, forced, are No) unasked.
    pub asked: Vec<Asked>,
    /// The number of windows.
    pub windows: usize,
}

/// Plans the judgement of a log.
#[must_use]
pub fn plan(checklist: &Checklist, log: &LogView, setting: Setting) -> Plan {
    if !log.has_evidence() || checklist.items.is_empty() {
        return Plan { asked: Vec::new(), windows: 0 };
    }
    let lines = log.lines(setting.budget.line());
    let costs: Vec<usize> = lines.iter().map(line_tokens).collect();
    let windows = windows(&costs, setting.budget);
    let groups: Vec<Vec<usize>> = match setting.asking {
        Asking::Together => vec![(0..checklist.items.len()).collect()],
        Asking::Apart => (0..checklist.items.len()).map(|item| vec![item]).collect(),
    };
    let mut asked = Vec::new();
    for (window, range) in windows.iter().enumerate() {
        for items in &groups {
            let prompt = prompt(checklist, items, &lines[range.clone()], windows.len() > 1, setting.forced);
            asked.push(Asked { prompt, window, items: items.clone() });
        }
    }
    Plan { asked, windows: windows.len() }
}

fn prompt(checklist: &Checklist, items: &[usize], lines: &[Line], is_part: bool, forced: bool) -> Prompt {
    let verdict = if forced { prompts::VERDICT_FORCED.text } else { prompts::VERDICT.text };
    let mut system = format!("{}{verdict}", prompts::JUDGE.text);
    if is_part {
        system.push_str(prompts::WINDOW.text);
    }
    let items: Vec<Line> = items
        .iter()
        .filter_map(|item| checklist.items.get(*item))
        .map(|item| Line { label: item.id.clone(), text: plain(&item.requirement).replace('\n', " ") })
        .collect();
    let user = block("log", lines) + &block("items", &items);
    let words: Vec<&str> =
        Label::WORDS.iter().map(|(word, _)| *word).filter(|word| !forced || *word != "abstain").collect();
    let citation = reading::object(vec![("span", span_schema(lines)), ("text", reading::text(200))]);
    let verdict = reading::object(vec![
        ("evidence", reading::list(citation, 0, MOST_CITATIONS)),
        ("verdict", reading::word(&words)),
    ]);
    let verdicts = reading::object(items.iter().map(|item| (item.label.as_str(), verdict.clone())).collect());
    reading::prompt("gcpc_verdicts", system, user, reading::object(vec![("verdicts", verdicts)]))
}

/// Labels of evidence in the window, or their form where they are many or none.
fn span_schema(lines: &[Line]) -> Value {
    let mut labels: Vec<&str> = Vec::new();
    for label in lines.iter().map(|line| line.label.as_str()).filter(|label| label.starts_with(['o', 'f'])) {
        if labels.last() != Some(&label) {
            labels.push(label);
        }
    }
    match labels.len() {
        1..=MOST_LISTED => reading::word(&labels),
        _ => json!({"type": "string", "pattern": "^[of][0-9]{1,7}$"}),
    }
}

/// What an answer says of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The item's place in the checklist.
    pub item: usize,
    /// The verdict.
    pub label: Label,
    /// What it cites.
    pub citations: Vec<Citation>,
}

/// Reads the answer to one prompt: form alone, citations are not looked up.
///
/// # Errors
/// What is wrong and where (JSON pointer), in one sentence: a schema failure, after which one retry may follow.
pub fn read(checklist: &Checklist, asked: &Asked, forced: bool, answer: &Answer) -> Result<Vec<Told>, String> {
    reading::read(answer, |root| {
        root.object(&["verdicts"])?;
        let verdicts = root.key("verdicts")?;
        let ids: Vec<&str> =
            asked.items.iter().filter_map(|item| checklist.items.get(*item)).map(|item| item.id.as_str()).collect();
        verdicts.object(&ids)?;
        asked.items.iter().zip(ids).map(|(item, id)| read_verdict(*item, &verdicts.key(id)?, forced)).collect()
    })
}

fn read_verdict(item: usize, cursor: &Cursor<'_, '_>, forced: bool) -> Result<Told, InputError> {
    cursor.object(&["evidence", "verdict"])?;
    let verdict = cursor.key("verdict")?;
    let label = verdict.word(&Label::WORDS)?;
    if forced && label == Label::Abstain {
        return Err(verdict.fault("yes or no: abstaining was not offered"));
    }
    let list = cursor.key("evidence")?;
    let citations = list.items()?;
    if citations.len() > MOST_CITATIONS {
        return Err(list.fault(format!("at most {MOST_CITATIONS} citations")));
    }
    let citation = |cursor: &Cursor<'_, '_>| {
        cursor.object(&["span", "text"])?;
        Ok(Citation { span: cursor.key("span")?.text()?.to_owned(), text: cursor.key("text")?.text()?.to_owned() })
    };
    Ok(Told { item, label, citations: citations.iter().map(citation).collect::<Result<_, _>>()? })
}

/// The verdicts on one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// One for each item of the checklist.
    pub items: Vec<ItemVerdict>,
    /// The number of windows; 0 where nobody was asked.
    pub windows: usize,
}

/// Why there is no judgement. It is not an abstention, and never a score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unjudged {
    /// Answers and prompts do not match in number.
    #[error("{answers} answers to {prompts} prompts")]
    Count {
        /// Answers given.
        answers: usize,
        /// Prompts of the plan.
        prompts: usize,
    },
    /// A prompt has no answer.
    #[error("prompt {prompt} has no answer: {reason}")]
    NoAnswer {
        /// Its place in the plan.
        prompt: usize,
        /// Why.
        reason: NoAnswer,
    },
    /// An answer is not of the form that was asked for.
    #[error("the answer to prompt {prompt} can't be read: {reason}")]
    Unreadable {
        /// Its place in the plan.
        prompt: usize,
        /// Where and why.
        reason: String,
    },
}

/// Makes the verdicts of the plan's answers, in the plan's order.
///
/// # Errors
/// One answer that is missing or unreadable leaves the log unjudged: a window that nobody read may hold what decides.
pub fn judge(
    checklist: &Checklist,
    log: &LogView,
    setting: Setting,
    plan: &Plan,
    answers: &[Result<Answer, NoAnswer>],
) -> Result<Judged, Unjudged> {
    if answers.len() != plan.asked.len() {
        return Err(Unjudged::Count { answers: answers.len(), prompts: plan.asked.len() });
    }
    let mut settled: Vec<Vec<Settled>> = vec![Vec::new(); checklist.items.len()];
    for (prompt, (asked, answer)) in plan.asked.iter().zip(answers).enumerate() {
        let answer = answer.as_ref().map_err(|reason| Unjudged::NoAnswer { prompt, reason: reason.clone() })?;
        let told =
            read(checklist, asked, setting.forced, answer).map_err(|reason| Unjudged::Unreadable { prompt, reason })?;
        for told in told {
            settled[told.item].push(settle(log, told.label, told.citations, setting.forced));
        }
    }
    let verdict = |windows: &Vec<Settled>| {
        let mut verdict = merge(windows);
        if setting.forced && verdict.label == Label::Abstain {
            verdict.label = Label::No;
        }
        verdict
    };
    Ok(Judged { items: settled.iter().map(verdict).collect(), windows: plan.windows })
}

impl Judged {
    /// The labels alone, in the checklist's order.
    #[must_use]
    pub fn labels(&self) -> Vec<Label> {
        self.items.iter().map(|item| item.label).collect()
    }

    /// The labels for scoring. The outcome joins only here, after all judging.
    #[must_use]
    pub fn labelled(&self, checklist: &Checklist, outcome: Option<Outcome>) -> Labels {
        let items = checklist.items.iter().zip(&self.items);
        let items =
            items.map(|(item, verdict)| LabelledItem { id: item.id.clone(), route: item.route, label: verdict.label });
        Labels { items: items.collect(), outcome }
    }

    /// The record of the verdicts, for a ledger.
    #[must_use]
    pub fn json(&self, checklist: &Checklist, log: &LogView) -> Value {
        let evidence = |all: &[Evidence]| -> Vec<Value> {
            let one = |of: &Evidence| {
                let index = log.spans().get(of.place).map(|span| span.index);
                json!({"span": log.label(of.place), "index": index, "start": of.start, "end": of.end, "text": of.text})
            };
            all.iter().map(one).collect()
        };
        let item = |(item, verdict): (&crate::checklist::Item, &ItemVerdict)| {
            json!({
                "id": item.id, "label": verdict.label.word(), "evidence": evidence(&verdict.evidence),
                "contrary": evidence(&verdict.contrary), "unfounded": verdict.unfounded,
            })
        };
        let items: Vec<Value> = checklist.items.iter().zip(&self.items).map(item).collect();
        json!({"windows": self.windows, "items": items})
    }
}

/// Whether ids can stand as labels and keys: the gates make sure of it, this is for checklists that passed none.
#[must_use]
pub fn ids_are_usable(checklist: &Checklist) -> bool {
    let ids: std::collections::BTreeSet<&str> = checklist.items.iter().map(|item| item.id.as_str()).collect();
    ids.len() == checklist.items.len() && ids.iter().all(|id| parthack_env::names::is_identifier(id))
}
