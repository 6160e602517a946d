//! Bounds against absurd inputs, each with its reason.

/// Bytes that one file may have: a results file of some thousand long conversations stays below it.
pub const MAX_FILE_BYTES: u64 = 512 << 20;
/// Bytes that one line of a file in lines may have, of which there may be any number: a conversation of some thousand long turns stays below it.
pub const MAX_LINE_BYTES: u64 = 64 << 20;
/// Bytes that one member of an archive may expand to: the same as a file on disk.
pub const MAX_MEMBER_BYTES: u64 = MAX_FILE_BYTES;
/// Bytes that all members of one archive may expand to together.
pub const MAX_ARCHIVE_BYTES: u64 = 8 << 30;
/// Expanded bytes per stored byte beyond which a member is taken for a bomb. Deflate cannot exceed 1032; logs that
/// repeat one prompt in every event were seen to reach some hundred.
pub const MAX_EXPANSION: u64 = 2_000;
/// Expanded bytes below which the ratio is not looked at: a small member cannot hurt.
pub const EXPANSION_FREE_BYTES: u64 = 16 << 20;
/// Members of one archive.
pub const MAX_MEMBERS: usize = 200_000;
/// Levels of JSON nesting: real logs stay below thirty, and the reader uses the stack.
pub const MAX_DEPTH: usize = 200;
/// Levels of folders below the one that is walked.
pub const MAX_FOLDER_DEPTH: usize = 64;
/// Steps of one log: ten times the longest seen, rounded up.
pub const MAX_STEPS: usize = 500_000;
/// Continuation files of one trajectory.
pub const MAX_CONTINUATIONS: usize = 1_000;
/// Bytes of one verifier file that are kept; longer ones are named and not read.
pub const MAX_VERIFIER_BYTES: u64 = 1 << 20;
/// Verifier files of one task.
pub const MAX_VERIFIER_FILES: usize = 1_000;
/// Warnings kept on one log or task; further ones are counted in the last.
pub const MAX_WARNINGS: usize = 100;
