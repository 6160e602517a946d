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
