//! Refused steps: an answer, not an error. Each code is stable and stands in transcripts.

use std::fmt;

/// Why a step was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalCode {
    /// The actor's class may not use the operation.
    OperationNotAllowed,
    /// No such entity type.
    UnknownType,
    /// No entity of that id can exist.
    UnknownEntity,
    /// The type has no such field.
    UnknownField,
    /// The value is of another type than the field.
    WrongType,
    /// The value is of the field's type, but none of its values.
    ValueOutOfRange,
    /// The entity exists, live or deleted.
    EntityExists,
    /// The entity is not live.
    EntityNotLive,
    /// The entity is not deleted.
    EntityNotDeleted,
    /// A creation without a required field.
    MissingField,
    /// An update without a field.
    EmptyUpdate,
    /// An update of more fields than the task's rules let one update name.
    TooManyFields,
    /// The change is not in the field's transition graph.
    IllegalTransition,
    /// A precondition does not hold.
    Precondition,
    /// The task declares no such goal version.
    GoalNotDeclared,
    /// The goal version is not higher than the one in force.
    GoalNotHigher,
    /// Nobody has offered this goal version.
    GoalNotOffered,
    /// An agent may not write a sealed field.
    SealedField,
    /// Messages go to other actors.
    Recipient,
}

impl RefusalCode {
    /// The code as it is stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RefusalCode::OperationNotAllowed => "operation_not_allowed",
            RefusalCode::UnknownType => "unknown_type",
            RefusalCode::UnknownEntity => "unknown_entity",
            RefusalCode::UnknownField => "unknown_field",
            RefusalCode::WrongType => "wrong_type",
            RefusalCode::ValueOutOfRange => "value_out_of_range",
            RefusalCode::EntityExists => "entity_exists",
            RefusalCode::EntityNotLive => "entity_not_live",
            RefusalCode::EntityNotDeleted => "entity_not_deleted",
            RefusalCode::MissingField => "missing_field",
            RefusalCode::EmptyUpdate => "empty_update",
            RefusalCode::TooManyFields => "too_many_fields",
            RefusalCode::IllegalTransition => "illegal_transition",
            RefusalCode::Precondition => "precondition",
            RefusalCode::GoalNotDeclared => "goal_not_declared",
            RefusalCode::GoalNotHigher => "goal_not_higher",
            RefusalCode::GoalNotOffered => "goal_not_offered",
            RefusalCode::SealedField => "sealed_field",
            RefusalCode::Recipient => "recipient",
        }
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A refusal with the sentence that the actor is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The stable code.
    pub code: RefusalCode,
    /// One sentence, no private word in it.
    pub message: String,
}

impl Refusal {
    /// A refusal.
    #[must_use]
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Refusal { code, message: message.into() }
    }
}
