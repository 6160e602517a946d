//! Bounds of the environment, each with its reason (SPEC §2).

/// Agent steps of one trajectory: twenty times the longest released trajectory, small enough to replay in a millisecond.
pub const MAX_STEPS: usize = 512;
/// Characters of one message or text value: a long paragraph, so that transcripts stay readable.
pub const MAX_MESSAGE_CHARACTERS: u32 = 4_000;
/// Entities of one type.
pub const MAX_ENTITIES: usize = 256;
/// Fields of one type.
pub const MAX_FIELDS: usize = 64;
/// Entity types of one task.
pub const MAX_TYPES: usize = 32;
/// Predicates of one goal version: P §3.1 has three to five; imported tasks may have others up to the width of a bit set.
pub const MAX_PREDICATES: usize = 32;
/// Script entries of one task: fired entries are one word of bits.
pub const MAX_SCRIPT: usize = 64;
/// Goal versions of one task: offered versions are one word of bits.
pub const MAX_GOAL_VERSION: u32 = 63;
