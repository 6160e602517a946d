//! Labels of one trajectory (`parthack.labels/1`), and the scripted step that applies the official outcome after all
//! judging (G §3.3).

use std::collections::BTreeSet;

use parthack_env::canonical::canonical_bytes;
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;

use crate::checklist::Route;
use crate::label::{Label, Outcome};

/// The name of the format.
pub const LABELS_FORMAT: &str = "parthack.labels/1";

/// An item's route and what the judge said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledItem {
    /// The item's id.
    pub id: String,
    /// Its route, which decides whether a PASS reaches it.
    pub route: Route,
    /// The label.
    pub label: Label,
}

/// The labels of one trajectory, from its log alone, and its official outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// One for each item of the checklist.
    pub items: Vec<LabelledItem>,
    /// `None` where nobody ran the verifier.
    pub outcome: Option<Outcome>,
}

impl Labels {
    /// Reads a file's bytes.
    ///
    /// # Errors
    /// The first fault, with its JSON pointer: a wrong type, an unknown, missing or repeated key, an id that stands twice.
    pub fn read(bytes: &[u8]) -> Result<Labels, InputError> {
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        root.object(&["format", "items", "outcome"])?;
        root.format(LABELS_FORMAT)?;
        let mut ids = BTreeSet::new();
        let mut items = Vec::new();
        for cursor in root.key("items")?.items()? {
            cursor.object(&["id", "route", "label"])?;
            let id = cursor.key("id")?;
            if !ids.insert(id.text()?.to_owned()) {
                return Err(id.fault_found(format!("the id {:?} a second time", id.text()?), "each id once"));
            }
            items.push(LabelledItem {
                id: id.text()?.to_owned(),
                route: cursor.key("route")?.word(&Route::WORDS)?,
                label: cursor.key("label")?.word(&Label::WORDS)?,
            });
        }
        let outcome =
            root.key("outcome").map_err(|error| error.hint("\"pass\", \"fail\", or null where there is none"))?;
        let outcome = match outcome.json {
            Json::Null => None,
            _ => Some(outcome.word(&Outcome::WORDS)?),
        };
        Ok(Labels { items, outcome })
    }

    /// The canonical bytes of its file.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let text = |text: &'static str| Json::String(text.into());
        let items = self.items.iter().map(|item| {
            Json::Object(vec![
                ("id".into(), Json::String(item.id.as_str().into())),
                ("route".into(), text(item.route.word())),
                ("label".into(), text(item.label.word())),
            ])
        });
        canonical_bytes(&Json::Object(vec![
            ("format".into(), text(LABELS_FORMAT)),
            ("items".into(), Json::Array(items.collect())),
            ("outcome".into(), self.outcome.map_or(Json::Null, |outcome| text(outcome.word()))),
        ]))
    }

    /// The same labels with every Abstain recoded as No: G's forced-verdict sensitivity check.
    #[must_use]
    pub fn abstain_as_no(&self) -> Labels {
        let mut labels = self.clone();
        for item in labels.items.iter_mut().filter(|item| item.label == Label::Abstain) {
            item.label = Label::No;
        }
        labels
    }
}

/// Which of the step's two operations are on (G, Table 3 B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Whether a PASS overwrites items of route `assertion` with Yes.
    pub propagation: bool,
    /// Whether the endpoint item is appended.
    pub endpoint: bool,
}

impl Step {
    /// The step as G has it.
    pub const BOTH: Step = Step { propagation: true, endpoint: true };

    /// The four variants of the ablation, in the order of G's table, with their names.
    pub const VARIANTS: [(&'static str, Step); 4] = [
        ("none", Step { propagation: false, endpoint: false }),
        ("endpoint", Step { propagation: false, endpoint: true }),
        ("propagation", Step { propagation: true, endpoint: false }),
        ("both", Step::BOTH),
    ];

    /// Applies the official outcome to labels that a judge gave from the log alone.
    ///
    /// On a FAIL the labels stay as they are: it does not say which requirements failed. Without an outcome nothing
    /// changes and no endpoint is appended.
    #[must_use]
    pub fn apply(self, labels: &Labels) -> AfterOutcome {
        let mut items = labels.items.clone();
        if self.propagation && labels.outcome == Some(Outcome::Pass) {
            for item in items.iter_mut().filter(|item| item.route == Route::Assertion) {
                item.label = Label::Yes;
            }
        }
        let endpoint = labels.outcome.filter(|_| self.endpoint).map(|outcome| match outcome {
            Outcome::Pass => Label::Yes,
            Outcome::Fail => Label::No,
        });
        AfterOutcome { items, endpoint }
    }
}

/// Labels after the step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterOutcome {
    /// The checklist's items.
    pub items: Vec<LabelledItem>,
    /// The virtual official-outcome item, which is none of the checklist's.
    pub endpoint: Option<Label>,
}
