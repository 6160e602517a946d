//! Small ledgers made by hand, and cells found by what their rows say.

use std::collections::BTreeMap;

use parthack_env::canonical::Hash;
use parthack_gcpc::analysis::{Analysis, AnalysisError, Annotations, Estimate, Input, Table, Value, analyze};
use parthack_gcpc::checklist::{Checklist, Frozen, Item, Origin, Route};
use parthack_gcpc::label::{Label, Outcome};
use parthack_gcpc::records::{AttemptSummary, Audit, JUDGEMENT_FORMAT, JudgedItem, Judgement, LogIdentity, Variant};
use parthack_statistics::Ratio;

/// The judge of these ledgers.
pub(crate) const JUDGE: &str = "local/judge";

/// Everything that an analysis reads, owned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    pub(crate) judgements: Vec<Judgement>,
    pub(crate) checklists: BTreeMap<String, Frozen>,
    pub(crate) attempts: Vec<AttemptSummary>,
    pub(crate) audits: Vec<Audit>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) primary_judge: Option<String>,
}

impl Ledger {
    pub(crate) fn of(judgements: Vec<Judgement>) -> Ledger {
        Ledger { judgements, ..Ledger::default() }
    }

    pub(crate) fn analyze(&self) -> Result<Analysis, AnalysisError> {
        analyze(&Input {
            judgements: &self.judgements,
            checklists: &self.checklists,
            attempts: &self.attempts,
            audits: &self.audits,
            annotations: self.annotations.as_ref(),
            seed: 7,
            resamples: 2_000,
            primary_judge: self.primary_judge.as_deref(),
        })
    }

    pub(crate) fn table(&self, id: &str) -> Table {
        self.analyze().expect("a sound ledger").table(id).expect("a table").clone()
    }

    pub(crate) fn annotated(mut self, rows: &str) -> Ledger {
        let text = format!("annotator,kind,log,other,item,value\n{rows}");
        let logs = self.judgements.iter().map(|judgement| &judgement.identity);
        self.annotations = Some(Annotations::read(text.as_bytes(), logs, true).expect("sound annotations"));
        self
    }
}

/// A log whose hash begins with `name` (hexadecimal digits), of the task `suite/task`.
pub(crate) fn identity(name: &str, task: &str, outcome: Option<Outcome>) -> LogIdentity {
    LogIdentity {
        log: format!("{name:0<64}"),
        kind: "test".to_owned(),
        task: task.to_owned(),
        harness: Some("harness".to_owned()),
        harness_version: None,
        model: Some("model".to_owned()),
        condition: "none-known".to_owned(),
        run: None,
        outcome,
    }
}

pub(crate) fn passed(name: &str, task: &str) -> LogIdentity {
    identity(name, task, Some(Outcome::Pass))
}

pub(crate) fn failed(name: &str, task: &str) -> LogIdentity {
    identity(name, task, Some(Outcome::Fail))
}

fn judgement(identity: LogIdentity, method: &str) -> Judgement {
    Judgement {
        format: JUDGEMENT_FORMAT.to_owned(),
        identity,
        method: method.to_owned(),
        variant: Variant::Primary {},
        pass: 1,
        judge: JUDGE.to_owned(),
        judge_hash: "j".to_owned(),
        checklist: None,
        setting: "s".to_owned(),
        windows: 1,
        items: Vec::new(),
        score: None,
        no_verdict: None,
        exchanges: Vec::new(),
    }
}

pub(crate) fn route(letter: char) -> Route {
    match letter {
        'A' => Route::Assertion,
        'G' => Route::Generated,
        _ => Route::Judge,
    }
}

/// Labels such as `yna` of the items `c1`, `c2`, …, whose routes are such as `AGJ`; the last route is that of all that follow.
pub(crate) fn judged(identity: LogIdentity, labels: &str, routes: &str) -> Judgement {
    let routes: Vec<char> = routes.chars().collect();
    let item = |(place, letter): (usize, char)| JudgedItem {
        id: format!("c{}", place + 1),
        route: Some(route(routes[place.min(routes.len() - 1)])),
        label: match letter {
            'y' => Label::Yes,
            'n' => Label::No,
            _ => Label::Abstain,
        },
        evidence: Vec::new(),
        contrary: Vec::new(),
        unfounded: 0,
    };
    Judgement { items: labels.chars().enumerate().map(item).collect(), ..judgement(identity, "gcpc") }
}

/// GCPC of so many Yes over so many items, all of route `judge`, so that a PASS moves none.
pub(crate) fn credited(identity: LogIdentity, yes: usize, of: usize) -> Judgement {
    judged(identity, &("y".repeat(yes) + &"n".repeat(of - yes)), "J")
}

/// A baseline's score.
pub(crate) fn rated(identity: LogIdentity, method: &str, score: &str) -> Judgement {
    Judgement { score: Some(score.to_owned()), ..judgement(identity, method) }
}

pub(crate) fn unjudged(identity: LogIdentity, method: &str) -> Judgement {
    Judgement { no_verdict: Some("no answer".to_owned()), ..judgement(identity, method) }
}

/// A frozen checklist of items with such routes, made by an attempt.
pub(crate) fn frozen(task: &str, routes: &str) -> Frozen {
    let item = |(place, letter): (usize, char)| Item {
        id: format!("c{}", place + 1),
        requirement: String::new(),
        quote: String::new(),
        route: route(letter),
        verifier: None,
        category: None,
    };
    let hash = Hash::of("test", task.as_bytes());
    Frozen {
        task: task.to_owned(),
        instruction: hash,
        verifier: hash,
        generation: Some(Origin { attempt: 1, record: hash }),
        checklist: Checklist { items: routes.chars().enumerate().map(item).collect() },
    }
}

/// The one row whose cells say such words.
pub(crate) fn row(table: &Table, cells: &[(&str, &str)]) -> usize {
    let says = |row: usize| {
        cells.iter().all(|(key, word)| match table.cell(row, key).expect("a column") {
            Value::Text(text) => text == word,
            _ => false,
        })
    };
    let found: Vec<usize> = (0..table.rows.len()).filter(|row| says(*row)).collect();
    assert_eq!(found.len(), 1, "rows of {} that say {cells:?}", table.id);
    found[0]
}

/// Checks cells of a row against short forms: `3` a count, `1/2` a ratio (of an interval too), `~0.25` a decimal (of an interval
/// too), `-reason` a missing one, anything else a word.
pub(crate) fn check(table: &Table, row: usize, cells: &[(&str, &str)]) {
    for (key, expected) in cells {
        let found = table.cell(row, key).unwrap_or_else(|| panic!("{}: no cell {key} in row {row}", table.id));
        let holds = match (found, expected.strip_prefix('~'), expected.strip_prefix('-')) {
            (Value::Missing(reason), _, Some(wanted)) => *reason == wanted,
            (Value::Float(value) | Value::Interval { mean: Estimate::Float(value), .. }, Some(wanted), _) => {
                (value - wanted.parse::<f64>().expect("a decimal")).abs() < 1e-12
            }
            (Value::Exact(ratio) | Value::Interval { mean: Estimate::Exact(ratio), .. }, None, _) => {
                expected.parse::<Ratio>().is_ok_and(|wanted| wanted == *ratio)
            }
            (Value::Count(count), None, _) => count.to_string() == *expected,
            (Value::Text(text), ..) => text == expected,
            (Value::Flag(flag), ..) => flag.to_string() == *expected,
            _ => false,
        };
        assert!(holds, "{}, row {row}, {key}: found {found:?}, expected {expected}", table.id);
    }
}

/// The bounds of an interval.
pub(crate) fn bounds(table: &Table, row: usize, key: &str) -> (f64, f64) {
    match table.cell(row, key) {
        Some(Value::Interval { low, high, .. }) => (*low, *high),
        other => panic!("{}: found {other:?} at {key}, expected an interval", table.id),
    }
}
