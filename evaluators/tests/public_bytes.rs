//! What an evaluator reads from public bytes is what the engine says of the trajectory.

use parthack_env::frames::frames;
use parthack_env::payload::{payload, projection};
use parthack_env::replay::Replay;
use parthack_env::sample::{self, Dice};
use parthack_evaluators::public_view;
use parthack_evaluators::registry::{Builtin, score_all};
use parthack_evaluators::rules::Rule;
use parthack_evaluators::score::Verdict;
use parthack_evaluators::serve::serve;

#[test]
fn frames_from_bytes_equal_frames_from_replay() {
    let (mut events, mut credited_elsewhere) = (0, 0);
    for seed in 0..300 {
        let task = sample::task(seed);
        let mut dice = Dice::new(seed ^ 0xabcd);
        let steps = sample::trajectory(&task, &mut dice, 12);
        let replay = Replay::run(&task, &steps);
        let expected = frames(&replay);
        let bytes = payload(&replay);
        let view = public_view::read(&bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(view.frames, expected, "seed {seed}");
        assert_eq!(view.m as usize, task.m());
        events += replay.events.len();
        credited_elsewhere += expected.iter().filter(|frame| frame.satisfied != frame.credited).count();
        for (rule, verdict) in Rule::ALL.iter().zip(score_all(&Rule::ALL, &bytes)) {
            assert_eq!(verdict, Verdict::exact(rule.score(view.m, &expected)), "seed {seed}, {}", rule.id());
        }
    }
    assert!(events > 500 && credited_elsewhere > 100, "{events} events, {credited_elsewhere} frames by others");
}

#[test]
fn payload_bytes_are_canonical_and_the_projection_drops_the_schema() {
    for seed in 0..50 {
        let task = sample::task(seed);
        let replay = Replay::run(&task, &sample::trajectory(&task, &mut Dice::new(seed), 8));
        let bytes = payload(&replay);
        let json = parthack_env::json::Json::parse(&bytes).expect("JSON");
        assert_eq!(parthack_env::canonical::canonical_bytes(&json), bytes, "seed {seed}");
        let projected = projection(&replay);
        let json = parthack_env::json::Json::parse(&projected).expect("JSON");
        assert!(json.get("goal_schema").is_none() && json.get("events").is_some());
        assert_eq!(json.get("format").and_then(|f| f.as_str()), Some("parthack.projection/1"));
    }
}

/// The diff of a creation leaves out optional fields that stay unset; they hold null, as the terminal state says, whatever the spelling of the bytes.
#[test]
fn what_a_creation_leaves_unset_is_null() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasks/pb-cste-1/PH-H17.json");
    let task = parthack_env::task::Task::read(&std::fs::read(file).expect("file")).expect("task");
    let bytes = payload(&Replay::run(&task, &task.spec.honest));
    let text = String::from_utf8(bytes).expect("UTF-8");
    let (before, rest) = text.split_once("\"goal_schema\":[").expect("a goal schema");
    let (_, after) = rest.split_once("],\"initial_state\"").expect("an initial state");
    let unset = task
        .spec
        .entity_types
        .iter()
        .flat_map(|of| of.fields.iter().filter(|field| field.optional).map(move |field| (&of.name, &field.name)));
    let mut found = 0;
    for (entity_type, field) in unset {
        // A new entity of the type without the field, and a goal that wants it so.
        let created = format!(
            r#"{{"actor":"agent","diff":{{"incarnation":[0,1],"lifecycle":["absent","live"]}},"goal_version":1,"hash":"0","id":"new-1","op":"create","previous":"0","sequence":1,"state_hash":"0","tick":1,"type":"{entity_type}"}}"#
        );
        let goal = |value: &str| {
            format!(
                r#"{{"description":"","id":"g","predicate":{{"field":"{field}","id":"new-1","kind":"field_equals","type":"{entity_type}","value":{value}}}}}"#
            )
        };
        for (value, satisfied) in [("null", 1), ("\"x\"", 0)] {
            let (head, tail) = before.split_once("\"events\":[").expect("events");
            let (_, tail) = tail.split_once("],\"format\"").expect("the format");
            let text = format!(
                "{head}\"events\":[{created}],\"format\"{tail}\"goal_schema\":[{}],\"initial_state\"{after}",
                goal(value)
            );
            let spaced = text.replace("\"events\":[", "\"events\": [");
            for bytes in [text.as_bytes(), spaced.as_bytes()] {
                let view = public_view::read(bytes).expect("a payload");
                assert_eq!(view.frames.last().map(|frame| frame.satisfied), Some(satisfied), "{field} = {value}");
            }
            found += 1;
        }
    }
    assert!(found > 0, "the task has optional fields");
}

/// Deliberately wrong variants of each rule: the comparison above must be able to tell them from the right one.
#[test]
fn a_wrong_variant_of_every_rule_is_caught() {
    let wrong = |rule: Rule, m: u32, frames: &[parthack_env::frames::Frame]| {
        let last = frames.last().copied().unwrap_or_default();
        match rule {
            // Partial completion counted as success.
            Rule::TerminalOutcome => last.satisfied.count_ones().min(m),
            // The initial state left out.
            Rule::HistoricalMilestone => frames.iter().skip(1).map(|f| f.satisfied.count_ones()).max().unwrap_or(0),
            // The best moment instead of each predicate's best.
            Rule::PredicateMax => frames.iter().map(|f| f.satisfied.count_ones()).max().unwrap_or(0),
            // Whoever caused it.
            Rule::CapeMax => frames.iter().map(|f| f.satisfied.count_ones()).max().unwrap_or(0),
            // The state before the last event.
            Rule::Csps => frames[frames.len().saturating_sub(2)].satisfied.count_ones(),
            // Everything satisfied.
            Rule::LightweightCape => last.satisfied.count_ones(),
        }
    };
    for rule in Rule::ALL {
        let caught = (0..400).any(|seed| {
            let task = sample::task(seed);
            let replay = Replay::run(&task, &sample::trajectory(&task, &mut Dice::new(seed), 10));
            let all = frames(&replay);
            let m = u32::try_from(task.m()).unwrap_or(0);
            let right = rule.score(m, &all);
            parthack_evaluators::score::ExactScore::new(wrong(rule, m, &all), m) != right
        });
        assert!(caught, "{} cannot be told from its wrong variant", rule.id());
    }
}

#[test]
fn what_is_no_payload_gets_no_verdict() {
    for bytes in [
        &b"{}"[..],
        b"",
        b"[1]",
        b"{\"format\":\"parthack.payload/2\"}",
        b"\xff",
        b"{\"format\":\"parthack.payload/1\"}",
    ] {
        for verdict in score_all(&Rule::ALL, bytes) {
            assert!(matches!(verdict, Verdict::NoVerdict(_)));
        }
    }
}

#[test]
fn the_protocol_answers_line_by_line() {
    let task = sample::task(3);
    let replay = Replay::run(&task, &task.spec.honest);
    let mut input = b"{\"protocol\":\"parthack.evaluator/1\"}\n".to_vec();
    input.extend_from_slice(&payload(&replay));
    input.extend_from_slice(b"\nnot json\n\n");
    let mut output = Vec::new();
    serve(&[Builtin::Rule(Rule::Csps)], &mut input.as_slice(), &mut output).expect("memory");
    let text = String::from_utf8(output).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0], "{\"evaluators\":[\"csps\"],\"protocol\":\"parthack.evaluator/1\"}");
    let expected = Rule::Csps.score(u32::try_from(task.m()).unwrap_or(0), &frames(&replay));
    assert_eq!(lines[1], format!("{{\"exact\":\"{expected}\",\"score\":{}}}", expected.to_f64()));
    assert!(lines[2].starts_with("{\"no_verdict\":"));
}
