//! One oracle line: a trajectory and everything that the release's certifier and evaluators say of it.

use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_env::refusal::Refusal;
use parthack_env::release::read_actions;
use parthack_env::steps::Step;

use super::values::FlatState;

/// Scores in the order of [`SCORES`]; none for a trajectory without a score.
pub(super) type Scores = [Option<f64>; 6];

/// The release's names of the scores.
pub(super) const SCORES: [&str; 6] =
    ["historical", "predicate-max", "cape-max", "csps", "lightweight-cape", "terminal"];

/// What one line says.
pub(super) struct OracleLine {
    pub(super) task: String,
    pub(super) steps: Result<Vec<Step>, (usize, Refusal)>,
    pub(super) legal: bool,
    pub(super) replay_valid: bool,
    pub(super) c_state: Vec<u8>,
    pub(super) c_agent: Vec<u8>,
    pub(super) goal_version: u32,
    pub(super) scores: Scores,
    pub(super) eligible: bool,
    pub(super) rollback: Option<bool>,
    pub(super) events: Option<u32>,
    pub(super) noop_events: Option<u32>,
    pub(super) actors: Option<String>,
    pub(super) state: Option<FlatState>,
}

impl OracleLine {
    /// Reads a line; keys that nothing is compared with are passed over.
    pub(super) fn read(bytes: &[u8]) -> Result<OracleLine, InputError> {
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        let scores = root.key("scores")?;
        let mut values: Scores = [None; 6];
        for (value, name) in values.iter_mut().zip(SCORES) {
            *value = score(&scores.key(name)?)?;
        }
        Ok(OracleLine {
            task: root.key("task")?.text()?.to_owned(),
            steps: read_actions(&root.key("actions")?),
            legal: root.key("legal")?.bool()?,
            replay_valid: root.key("replay_valid")?.bool()?,
            c_state: read_vector(&root.key("c_state")?)?,
            c_agent: read_vector(&root.key("c_agent")?)?,
            goal_version: root.key("goal_version")?.u32(0, u32::MAX)?,
            scores: values,
            eligible: root.key("eligible_vs_honest")?.bool()?,
            rollback: not_null(&root.key("rollback_ok")?).map(|c| c.bool()).transpose()?,
            events: count(&root, "events")?,
            noop_events: count(&root, "noop_events")?,
            actors: root
                .optional("actors")
                .and_then(|c| not_null(&c))
                .map(|c| c.text().map(str::to_owned))
                .transpose()?,
            state: root.optional("state").and_then(|c| not_null(&c)).map(|c| FlatState::read(&c)).transpose()?,
        })
    }
}

fn not_null<'j, 'a>(cursor: &Cursor<'j, 'a>) -> Option<Cursor<'j, 'a>> {
    (!matches!(cursor.json, Json::Null)).then(|| cursor.clone())
}

fn count(root: &Cursor<'_, '_>, key: &str) -> Result<Option<u32>, InputError> {
    root.optional(key).and_then(|c| not_null(&c)).map(|c| c.u32(0, u32::MAX)).transpose()
}

/// A list of 0 and 1.
pub(super) fn read_vector(list: &Cursor<'_, '_>) -> Result<Vec<u8>, InputError> {
    list.items()?.iter().map(|item| item.u32(0, 1).map(|bit| u8::from(bit == 1))).collect()
}

/// A score, or null.
pub(super) fn score(cursor: &Cursor<'_, '_>) -> Result<Option<f64>, InputError> {
    match cursor.json {
        Json::Null => Ok(None),
        Json::Number(text) => match text.parse::<f64>() {
            Ok(score) if (0.0..=1.0).contains(&score) => Ok(Some(score)),
            _ => Err(cursor.fault("a score from 0 to 1, or null")),
        },
        _ => Err(cursor.fault("a score from 0 to 1, or null")),
    }
}
