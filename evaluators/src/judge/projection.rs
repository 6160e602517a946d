//! The schema-free projection from payload bytes (P §3.4; SPEC §5): what a judge may read that must not know the goal
//! schema. Written here once more than in the engine, from the format alone; a test compares the two.

use parthack_env::canonical;
use parthack_env::input::InputError;
use parthack_env::json::Json;
use parthack_env::payload::PROJECTION_FORMAT;

/// Canonical bytes of the projection of a payload: without the keys `goal_schema` and `environment_revision`, and without
/// every entry whose value is an equality token or a list with one in it.
///
/// # Errors
/// [`InputError`] for bytes that are not JSON.
pub fn projection_of_payload(payload: &[u8]) -> Result<Vec<u8>, InputError> {
    Ok(canonical::canonical_bytes(&project(Json::parse(payload)?)))
}

/// The projection of a payload that is read already.
#[must_use]
pub fn project(json: Json<'_>) -> Json<'_> {
    match json {
        Json::Object(entries) => {
            let mut kept = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                if key == "goal_schema" || key == "environment_revision" || holds_token(&value) {
                    continue;
                }
                let value = if key == "format" { Json::String(PROJECTION_FORMAT.into()) } else { project(value) };
                kept.push((key, value));
            }
            Json::Object(kept)
        }
        Json::Array(items) => Json::Array(items.into_iter().map(project).collect()),
        scalar => scalar,
    }
}

/// Whether a value is `{"token": …}`, or a list (a set; a pair of before and after) with one in it.
fn holds_token(json: &Json<'_>) -> bool {
    match json {
        Json::Object(entries) => {
            entries.len() == 1 && entries[0].0 == "token" && matches!(entries[0].1, Json::String(_))
        }
        Json::Array(items) => items.iter().any(holds_token),
        _ => false,
    }
}
