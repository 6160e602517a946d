//! `evidence-judge`: a deterministic judge that is no language model.
//!
//! It stands in for a semantic judge where there is none, so that the path, its tables and its failure modes can be seen
//! offline. It reads the projection, never the goal schema, and knows no meaning: it compares words. The rule, whole:
//!
//! 1. The last instruction in force is cut into clauses at `.`, `;`, `:`, `,`, `?`, `!` and `and`. A clause with at least two
//!    content words ([`super::words`]) is a condition; the first 32 count.
//! 2. A deed is a net change from the initial to the terminal state: one a changed field, one for an entity that was
//!    created, deleted or restored, one for the goal version. Its words are those of the field, the new value, and the types and fields of
//!    entities that the new value names; of a created or deleted entity, those of its fields and some verbs for what happened to it.
//! 3. A condition that shares a word with a deed counts 1.
//! 4. Else, if a message of the agent shares at least two words with it, the claim counts 1/4.
//! 5. The score is the mean over conditions; an instruction without conditions is no verdict.
//!
//! Known failure modes, on purpose left in: a claim moves it without a deed (4); a wrong value in the right field, or the right value on
//! the wrong entity, counts (3); a condition that no net change shows never counts; whose deed it was is not looked at.

use std::collections::BTreeSet;

use parthack_env::json::Json;
use parthack_env::payload::PAYLOAD_FORMAT;

use super::words::{push_value_words, words};
use super::{aggregate, projection, show};
use crate::registry::Descriptor;
use crate::score::{ExactScore, NoVerdict, Verdict};

/// Its id.
pub const EVIDENCE_JUDGE: &str = "evidence-judge";

const MAX_CONDITIONS: usize = 32;
const MAX_DEEDS: usize = 512;
const MAX_MESSAGES: usize = 512;

/// What tables and manifests say of it.
#[must_use]
pub fn evidence_descriptor() -> Descriptor {
    Descriptor {
        id: EVIDENCE_JUDGE,
        version: 1,
        title: "Evidence Judge (words, no language model)",
        temporal_rule: "net change",
        attribution: "no",
        decomposition: "clauses of the instruction",
        deterministic: true,
        reads: "projection: instruction, state_diff, terminal_state, transcript",
    }
}

/// Its verdict on payload bytes.
#[must_use]
pub fn evidence_judge(payload: &[u8]) -> Verdict {
    match score(payload) {
        Ok(score) => Verdict::exact(score),
        Err(reason) => Verdict::NoVerdict(NoVerdict { reason }),
    }
}

fn score(payload: &[u8]) -> Result<ExactScore, String> {
    let json = Json::parse(payload).map_err(|error| format!("not a payload: {error}"))?;
    if json.get("format").and_then(Json::as_str) != Some(PAYLOAD_FORMAT) {
        return Err(format!("not a payload of format {PAYLOAD_FORMAT}"));
    }
    let document = projection::project(json);
    let conditions = conditions(&show::instructions(&document).pop().unwrap_or_default());
    let deeds = deeds(&document);
    let claims = claims(&document);
    let degree = |condition: &BTreeSet<String>| {
        if deeds.iter().any(|deed| !deed.is_disjoint(condition)) {
            return ExactScore::new(1, 1);
        }
        let is_claimed = claims.iter().any(|claim| claim.intersection(condition).count() >= 2);
        ExactScore::new(u32::from(is_claimed), 4)
    };
    let degrees: Vec<ExactScore> = conditions.iter().map(degree).collect();
    aggregate::mean(&degrees).ok_or_else(|| "the instruction has no clause with two content words".to_owned())
}

fn conditions(instruction: &str) -> Vec<BTreeSet<String>> {
    let apart = instruction.replace(" and ", ";");
    let clauses = apart.split(['.', ';', ':', ',', '?', '!']).map(words);
    clauses.filter(|clause| clause.len() >= 2).take(MAX_CONDITIONS).collect()
}

/// What was changed, each in its words.
fn deeds(document: &Json<'_>) -> Vec<BTreeSet<String>> {
    let state = show::items(document.get("terminal_state").and_then(|state| state.get("entities")));
    let diff = document.get("state_diff").unwrap_or(&Json::Null);
    let mut deeds = Vec::new();
    for changed in show::items(diff.get("entities")) {
        let change = changed.get("diff").unwrap_or(&Json::Null);
        if let Some(after) = after(change.get("lifecycle")).and_then(Json::as_str) {
            let mut told = match after {
                "live" => words("create add open new place book enter restore register"),
                _ => words("delete remove cancel withdraw drop gone close strike"),
            };
            let own =
                state.iter().find(|of| of.get("type") == changed.get("type") && of.get("id") == changed.get("id"));
            push_value_words(&mut told, own.and_then(|own| own.get("fields")).unwrap_or(&Json::Null));
            deeds.push(told);
        }
        if let Some(Json::Object(fields)) = change.get("fields") {
            for (field, pair) in fields {
                let mut told = words(field);
                let value = after(Some(pair)).unwrap_or(&Json::Null);
                push_value_words(&mut told, value);
                named(value, state, &mut told);
                deeds.push(told);
            }
        }
    }
    if diff.get("goal").is_some() {
        deeds.push(words("goal version revise accept"));
    }
    deeds.truncate(MAX_DEEDS);
    deeds
}

/// The words of the entities that a value names: type, and fields one level deep.
fn named(value: &Json<'_>, state: &[Json<'_>], told: &mut BTreeSet<String>) {
    match value {
        Json::String(id) => {
            for entity in state.iter().filter(|entity| entity.get("id").and_then(Json::as_str) == Some(id)) {
                push_value_words(told, entity.get("type").unwrap_or(&Json::Null));
                push_value_words(told, entity.get("fields").unwrap_or(&Json::Null));
            }
        }
        Json::Array(items) => items.iter().for_each(|item| named(item, state, told)),
        _ => {}
    }
}

/// The second of a pair of before and after.
fn after<'j, 'a>(pair: Option<&'j Json<'a>>) -> Option<&'j Json<'a>> {
    match pair {
        Some(Json::Array(pair)) => pair.get(1),
        _ => None,
    }
}

fn claims(document: &Json<'_>) -> Vec<BTreeSet<String>> {
    let text = |entry: &Json<'_>| {
        let step = entry.get("step")?;
        let is_said = entry.get("actor")?.as_str() == Some("agent")
            && step.get("op")?.as_str() == Some("say")
            && entry.get("result")?.as_str() == Some("noted");
        if is_said { step.get("text").and_then(Json::as_str).map(words) } else { None }
    };
    show::items(document.get("transcript")).iter().filter_map(text).take(MAX_MESSAGES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(before: &str, after: &str, message: &str, schema: &str) -> Vec<u8> {
        format!(
            r#"{{"format":"parthack.payload/1","goal_schema":{schema},"instruction":[{{"text":"Set ticket tk-1 to resolved. Raise its severity to 2."}}],
            "state_diff":{{"entities":[{{"type":"ticket","id":"tk-1","diff":{{"fields":{{"state":["{before}","{after}"]}}}}}}]}},
            "terminal_state":{{"entities":[]}},
            "transcript":[{{"actor":"agent","result":"noted","step":{{"op":"say","to":"user","text":"{message}"}}}}]}}"#
        )
        .into_bytes()
    }

    fn check(payload: &[u8], expected: (u32, u32)) {
        assert_eq!(evidence_judge(payload), Verdict::exact(ExactScore::new(expected.0, expected.1)));
    }

    #[test]
    fn deeds_count_and_claims_count_a_little() {
        check(&payload("new", "resolved", "", "[]"), (1, 2));
        check(&payload("new", "active", "", "[]"), (0, 1));
        // Its failure mode: a claim without a deed.
        check(&payload("new", "active", "Severity is at 2, ticket tk-1 is resolved.", "[]"), (1, 4));
        check(&payload("new", "resolved", "Severity is at 2 now.", "[]"), (5, 8));
    }

    #[test]
    fn the_goal_schema_is_not_read() {
        let other = r#"[{"id":"x","description":"severity 2","predicate":{"kind":"exists"}}]"#;
        assert_eq!(
            evidence_judge(&payload("new", "resolved", "", "[]")),
            evidence_judge(&payload("new", "resolved", "", other))
        );
    }

    #[test]
    fn no_conditions_and_no_payload_are_no_verdict() {
        for bytes in [&b"{"[..], b"{}", b"{\"format\":\"parthack.payload/1\"}"] {
            assert!(matches!(evidence_judge(bytes), Verdict::NoVerdict(_)));
        }
    }
}
