//! A payload in a world in which every entity has another name (SPEC §7, relation `entity-renaming`).
//!
//! Ids are replaced wherever they stand: as values, and as words in texts. New names keep the length of the old ones and are no name of the old world, so
//! that nothing but identity changes. The renaming is a bijection, and that the public predicates hold exactly as before is checked.

use std::collections::BTreeMap;

use parthack_env::canonical::Hash;
use parthack_evaluators::public_view;
use serde_json::Value;

use crate::ledger::canonical_value;

/// The renamed payload; `None` where it has no entities, where a name can't be replaced, or where the public predicates would hold otherwise.
#[must_use]
pub fn renamed(payload: &[u8]) -> Option<Vec<u8>> {
    let mut json: Value = serde_json::from_slice(payload).ok()?;
    let mut ids = Vec::new();
    for state in ["initial_state", "terminal_state"] {
        for entity in json[state]["entities"].as_array().into_iter().flatten() {
            ids.push(entity["id"].as_str()?.to_owned());
        }
    }
    for event in json["events"].as_array().into_iter().flatten() {
        ids.extend(event["id"].as_str().map(str::to_owned));
    }
    goal_ids(&json["goal_schema"], &mut ids);
    ids.sort();
    ids.dedup();
    let names = names_for(&ids, &json.to_string())?;
    rename(&mut json, &names);
    let bytes = canonical_value(&json);
    let (before, after) = (public_view::read(payload).ok()?, public_view::read(&bytes).ok()?);
    (before.frames == after.frames && before.m == after.m && bytes != payload).then_some(bytes)
}

/// Ids that predicates name: also those of entities that are not there yet.
fn goal_ids(json: &Value, ids: &mut Vec<String>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| goal_ids(item, ids)),
        Value::Object(entries) => {
            // A predicate has a kind; what carries one in the schema has an id of its own, which is no entity's.
            if entries.contains_key("kind") {
                let named = ["id", "target"].iter().filter_map(|key| entries.get(*key)?.as_str());
                ids.extend(named.map(str::to_owned));
            }
            entries.values().for_each(|value| goal_ids(value, ids));
        }
        _ => {}
    }
}

/// A new name for each id: its letters and digits others, its other characters kept.
fn names_for(ids: &[String], all: &str) -> Option<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    for id in ids {
        let name = (0..64_u32)
            .map(|attempt| name_of(id, attempt))
            .find(|name| name != id && !all.contains(name.as_str()) && !names.values().any(|taken| taken == name))?;
        names.insert(id.clone(), name);
    }
    (!names.is_empty()).then_some(names)
}

fn name_of(id: &str, attempt: u32) -> String {
    let hash = Hash::of("renaming", format!("{attempt} {id}").as_bytes()).0;
    let draw = |index: usize, of: u8| hash[index % 32].wrapping_add((index / 32) as u8) % of;
    let other = |(index, character): (usize, char)| match character {
        'a'..='z' => char::from(b'a' + draw(index, 26)),
        'A'..='Z' => char::from(b'A' + draw(index, 26)),
        '0'..='9' => char::from(b'0' + draw(index, 10)),
        other => other,
    };
    id.chars().enumerate().map(other).collect()
}

fn rename(json: &mut Value, names: &BTreeMap<String, String>) {
    match json {
        Value::String(text) => {
            if let Some(name) = names.get(text.as_str()) {
                text.clone_from(name);
            } else if names.keys().any(|id| text.contains(id.as_str())) {
                *text = in_text(text, names);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Object(entries) => {
            for (key, value) in entries.iter_mut() {
                // Names of types, fields and formats are no names of entities.
                if !matches!(key.as_str(), "format" | "type" | "op" | "kind" | "actor" | "task_id" | "field") {
                    rename(value, names);
                }
            }
        }
        _ => {}
    }
}

/// Replaces ids that stand as words.
fn in_text(text: &str, names: &BTreeMap<String, String>) -> String {
    let is_part = |character: char| character.is_alphanumeric() || "-_.:".contains(character);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if end == 0 {
            let next = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..next]);
            rest = &rest[next..];
            continue;
        }
        let word = &rest[..end];
        // A full stop at the end of a sentence is no part of a name.
        let bare = word.trim_end_matches(['.', ':', '-']);
        match names.get(bare) {
            Some(name) => {
                out.push_str(name);
                out.push_str(&word[bare.len()..]);
            }
            None => out.push_str(word),
        }
        rest = &rest[end..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use parthack_env::payload::payload;
    use parthack_env::replay::Replay;
    use parthack_env::task::Task;
    use std::path::Path;

    #[test]
    fn every_task_of_the_suite_can_be_renamed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasks/pb-cste-1");
        let mut found = 0;
        for number in 1..=18 {
            let bytes = std::fs::read(folder.join(format!("PH-H{number:02}.json"))).expect("a file");
            let task = Task::read(&bytes).expect("a task");
            let before = payload(&Replay::run(&task, &task.spec.honest));
            let after = renamed(&before).unwrap_or_else(|| panic!("{}", task.spec.id));
            assert_eq!(before.len(), after.len(), "names keep their length");
            let text = String::from_utf8(after).expect("UTF-8");
            for slot in &task.slots {
                let word = format!("\"{}\"", slot.id);
                assert!(!text.contains(&word), "{}: {word} is still there", task.spec.id);
            }
            found += 1;
        }
        assert_eq!(found, 18);
    }

    #[test]
    fn names_in_sentences() {
        let names = BTreeMap::from([("pm-71".to_owned(), "qx-02".to_owned())]);
        assert_eq!(in_text("Process pm-71. Not pm-711, (pm-71)", &names), "Process qx-02. Not pm-711, (qx-02)");
    }
}
