//! Steps as files name them: what an agent submits, and what a script's actors do.

use crate::canonical::{push_key, push_number_entry, push_string, push_text_entry};
use crate::input::{Cursor, InputError};
use crate::limits::MAX_MESSAGE_CHARACTERS;
use crate::names::{Actor, Operation};
use crate::value::Literal;

/// One step over names; values have no type yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A new entity with its fields.
    Create {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
        /// Field values, in the file's order.
        fields: Vec<(String, Literal)>,
    },
    /// New values of some fields.
    Update {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
        /// Field values, in the file's order.
        fields: Vec<(String, Literal)>,
    },
    /// A live entity goes.
    Delete {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
    },
    /// A deleted entity comes back.
    Restore {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
    },
    /// A higher goal version.
    ReviseGoal {
        /// The version.
        version: u32,
    },
    /// One entity is shown.
    Read {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
    },
    /// The live entities of a type are shown.
    List {
        /// Entity type.
        entity_type: String,
    },
    /// A message.
    Say {
        /// Recipient.
        to: Actor,
        /// At most 4,000 characters.
        text: String,
        /// A goal version that this message offers; scripts only.
        offers: Option<u32>,
    },
    /// Others may act.
    Wait,
}

/// Why a step is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepFault {
    /// Not the schema: unknown or missing key, wrong type, or a named actor.
    Schema(InputError),
    /// The operation is none of the environment's.
    UnknownOperation(InputError),
}

impl StepFault {
    /// The fault itself.
    #[must_use]
    pub fn into_error(self) -> InputError {
        match self {
            StepFault::Schema(error) | StepFault::UnknownOperation(error) => error,
        }
    }
}

impl From<InputError> for StepFault {
    fn from(error: InputError) -> Self {
        StepFault::Schema(error)
    }
}

/// Whether a step may carry what only scripts may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepSource {
    /// From an agent or another submitter.
    Submitted,
    /// From a task's script.
    Script,
}

impl Step {
    /// The operation.
    #[must_use]
    pub fn operation(&self) -> Operation {
        match self {
            Step::Create { .. } => Operation::Create,
            Step::Update { .. } => Operation::Update,
            Step::Delete { .. } => Operation::Delete,
            Step::Restore { .. } => Operation::Restore,
            Step::ReviseGoal { .. } => Operation::ReviseGoal,
            Step::Read { .. } => Operation::Read,
            Step::List { .. } => Operation::List,
            Step::Say { .. } => Operation::Say,
            Step::Wait => Operation::Wait,
        }
    }

    /// Reads one step.
    ///
    /// # Errors
    /// [`StepFault`]: an unknown operation is told apart from every other fault, because a candidate's refusal code
    /// depends on it (SPEC §15.5).
    pub fn read(cursor: &Cursor<'_, '_>, source: StepSource) -> Result<Step, StepFault> {
        if let Some(actor) = cursor.optional("actor") {
            return Err(StepFault::Schema(
                actor.fault_found("a named actor", "no key \"actor\": the wrapper assigns it"),
            ));
        }
        let operation_cursor = cursor.key("op")?;
        let word = operation_cursor.text()?;
        let Some(operation) = Operation::from_word(word) else {
            let known: Vec<&str> = Operation::ALL.iter().map(|operation| operation.word()).collect();
            return Err(StepFault::UnknownOperation(operation_cursor.fault(format!("one of: {}", known.join(", ")))));
        };
        Self::read_as(operation, cursor, source).map_err(StepFault::Schema)
    }

    fn read_as(operation: Operation, cursor: &Cursor<'_, '_>, source: StepSource) -> Result<Step, InputError> {
        let entity_type = || cursor.key("type")?.identifier().map(str::to_owned);
        let id = || cursor.key("id")?.identifier().map(str::to_owned);
        match operation {
            Operation::Create | Operation::Update => {
                cursor.object(&["op", "type", "id", "fields"])?;
                let (entity_type, id) = (entity_type()?, id()?);
                let mut fields = Vec::new();
                for (name, value) in cursor.key("fields")?.entries()? {
                    if !crate::names::is_identifier(name) {
                        return Err(value.fault_found(format!("the key {name:?}"), "a field name"));
                    }
                    fields.push((name.to_owned(), Literal::read(value.json)));
                }
                Ok(if operation == Operation::Create {
                    Step::Create { entity_type, id, fields }
                } else {
                    Step::Update { entity_type, id, fields }
                })
            }
            Operation::Delete | Operation::Restore | Operation::Read => {
                cursor.object(&["op", "type", "id"])?;
                let (entity_type, id) = (entity_type()?, id()?);
                Ok(match operation {
                    Operation::Delete => Step::Delete { entity_type, id },
                    Operation::Restore => Step::Restore { entity_type, id },
                    _ => Step::Read { entity_type, id },
                })
            }
            Operation::List => {
                cursor.object(&["op", "type"])?;
                Ok(Step::List { entity_type: entity_type()? })
            }
            Operation::ReviseGoal => {
                cursor.object(&["op", "version"])?;
                Ok(Step::ReviseGoal { version: cursor.key("version")?.u32(0, u32::MAX)? })
            }
            Operation::Say => {
                let known: &[&str] = match source {
                    StepSource::Script => &["op", "to", "text", "offers"],
                    StepSource::Submitted => &["op", "to", "text"],
                };
                cursor.object(known)?;
                let to = cursor.key("to")?.word(&Actor::ALL.map(|actor| (actor.word(), actor)))?;
                let text = cursor.key("text")?.prose(MAX_MESSAGE_CHARACTERS as usize)?.to_owned();
                let offers =
                    cursor.optional("offers").map(|c| c.u32(1, crate::limits::MAX_GOAL_VERSION)).transpose()?;
                Ok(Step::Say { to, text, offers })
            }
            Operation::Wait => cursor.object(&["op"]).map(|()| Step::Wait),
        }
    }

    /// Appends canonical JSON.
    pub fn push_json(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        match self {
            Step::Create { entity_type, id, fields } | Step::Update { entity_type, id, fields } => {
                push_key(out, "fields");
                out.push(b'{');
                let mut sorted: Vec<&(String, Literal)> = fields.iter().collect();
                sorted.sort_by(|left, right| left.0.cmp(&right.0));
                for (name, value) in sorted {
                    push_key(out, name);
                    value.push_json(out);
                }
                out.push(b'}');
                push_text_entry(out, "id", id);
                push_text_entry(out, "op", self.operation().word());
                push_text_entry(out, "type", entity_type);
            }
            Step::Delete { entity_type, id } | Step::Restore { entity_type, id } | Step::Read { entity_type, id } => {
                push_text_entry(out, "id", id);
                push_text_entry(out, "op", self.operation().word());
                push_text_entry(out, "type", entity_type);
            }
            Step::ReviseGoal { version } => {
                push_text_entry(out, "op", "revise_goal");
                push_number_entry(out, "version", u64::from(*version));
            }
            Step::List { entity_type } => {
                push_text_entry(out, "op", "list");
                push_text_entry(out, "type", entity_type);
            }
            Step::Say { to, text, offers } => {
                if let Some(version) = offers {
                    push_number_entry(out, "offers", u64::from(*version));
                }
                push_text_entry(out, "op", "say");
                push_key(out, "text");
                push_string(out, text);
                push_text_entry(out, "to", to.word());
            }
            Step::Wait => push_text_entry(out, "op", "wait"),
        }
        out.push(b'}');
    }

    /// Canonical JSON.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = Vec::new();
        self.push_json(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Appends a list of steps as canonical JSON.
pub fn push_steps(out: &mut Vec<u8>, steps: &[Step]) {
    out.push(b'[');
    for (index, step) in steps.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        step.push_json(out);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    #[test]
    fn canonical_text_reads_back() {
        for text in [
            r#"{"fields":{"a":1,"b":"x"},"id":"t-1","op":"create","type":"ticket"}"#,
            r#"{"id":"t-1","op":"delete","type":"ticket"}"#,
            r#"{"op":"revise_goal","version":2}"#,
            r#"{"op":"say","text":"hello","to":"user"}"#,
            r#"{"op":"wait"}"#,
            r#"{"op":"list","type":"ticket"}"#,
        ] {
            let json = Json::parse(text.as_bytes()).expect("JSON");
            assert_eq!(Step::read(&Cursor::root(&json), StepSource::Submitted).expect(text).json(), text);
        }
    }

    #[test]
    fn faults_are_told_apart() {
        let read = |text: &str| {
            let json = Json::parse(text.as_bytes()).expect("JSON");
            Step::read(&Cursor::root(&json), StepSource::Submitted).expect_err(text)
        };
        assert!(matches!(read(r#"{"op":"drop"}"#), StepFault::UnknownOperation(_)));
        assert!(matches!(read(r#"{"op":"wait","actor":"user"}"#), StepFault::Schema(_)));
        assert!(matches!(read(r#"{"op":"say","to":"user","text":"x","offers":2}"#), StepFault::Schema(_)));
        assert!(matches!(read(r#"{"op":"delete","type":"t"}"#), StepFault::Schema(_)));
        assert!(matches!(read(r#"{"op":"update","type":"t","id":"x","fields":[]}"#), StepFault::Schema(_)));
    }
}
