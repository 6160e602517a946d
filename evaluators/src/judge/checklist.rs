//! Checklists: what makes one from a task's instruction alone, and what makes an answer one.

use parthack_env::json::Json;
use parthack_model::answer::Answer;
use parthack_model::prompt::{AnswerForm, Prompt};
use serde_json::{Map, json};

use super::block::block;
use super::semantic::closed_object;
use super::{Checklist, ChecklistItem, reading, show};

/// The most characters of an item.
const MAX_ITEM: usize = 200;
/// The most tokens of a checklist (P, Table A.4): reasoning counts too. A role may have a lower cap.
const CHECKLIST_TOKENS: u32 = 4_096;

/// What makes a judge's checklists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Maker {
    /// The system message.
    pub prompt: &'static str,
    /// The fewest items.
    pub least: usize,
    /// The most items.
    pub most: usize,
}

impl Maker {
    /// The prompt of a task's checklist.
    pub(super) fn prompt(&self, judge: &str, instruction: &[String]) -> Prompt {
        let item = json!({"type": "string", "minLength": 1, "maxLength": MAX_ITEM});
        let items = json!({"type": "array", "items": item, "minItems": self.least, "maxItems": self.most});
        Prompt {
            system: self.prompt.to_owned(),
            user: block(&show::instruction_lines(instruction)),
            form: AnswerForm {
                name: format!("{}_checklist", judge.replace('-', "_")),
                schema: closed_object(Map::from_iter([("items".to_owned(), items)]), &["items"]),
                token_probabilities: false,
            },
            max_tokens: CHECKLIST_TOKENS,
        }
    }

    /// Reads a checklist. An item that repeats an earlier one (but for case, white space and punctuation) is left out.
    ///
    /// # Errors
    /// Not the form; an item that is empty, too long or not one line; too few or too many items.
    pub(super) fn read(&self, answer: &Answer) -> Result<Checklist, String> {
        let json = reading::object(answer, &["items"])?;
        let Some(Json::Array(texts)) = json.get("items") else { return Err("/items: expected an array".to_owned()) };
        if texts.len() > self.most {
            return Err(format!("/items: {} items, the most is {}", texts.len(), self.most));
        }
        let mut items: Vec<ChecklistItem> = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let Json::String(text) = text else { return Err(format!("/items/{index}: expected a string")) };
            let text = text.trim();
            if words(text).is_empty() || text.chars().count() > MAX_ITEM || text.chars().any(char::is_control) {
                return Err(format!("/items/{index}: expected one line of 1 to {MAX_ITEM} characters"));
            }
            if items.iter().all(|item| words(&item.text) != words(text)) {
                items.push(ChecklistItem {
                    id: format!("c{}", items.len() + 1),
                    text: text.to_owned(),
                    grounding: None,
                });
            }
        }
        if items.len() < self.least {
            return Err(format!("/items: {} items that differ, the fewest is {}", items.len(), self.least));
        }
        Ok(Checklist { items })
    }
}

/// The words of a text in lower case.
fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
