//! The engine on one small task: every refusal, the log, the bytes.

use std::sync::LazyLock;

use parthack_env::canonical::Hash;
use parthack_env::frames::frames;
use parthack_env::input::Cursor;
use parthack_env::json::Json;
use parthack_env::log::{LogFaultReason, verify};
use parthack_env::payload::payload;
use parthack_env::refusal::RefusalCode;
use parthack_env::replay::Replay;
use parthack_env::spec::read_steps;
use parthack_env::steps::Step;
use parthack_env::task::Task;

const FILE: &str = include_str!("fixture/task.json");

static TASK: LazyLock<Task> = LazyLock::new(|| Task::read(FILE.as_bytes()).expect("the fixture is a task"));

fn steps(text: &str) -> Vec<Step> {
    let json = Json::parse(text.as_bytes()).expect(text);
    read_steps(&Cursor::root(&json)).expect(text)
}

fn run(text: &str) -> Replay<'static> {
    Replay::run(&TASK, &steps(text))
}

/// The last step is refused with this code; everything before it is accepted.
fn check_refusal(text: &str, code: RefusalCode) {
    let replay = run(text);
    let last = replay.steps.len() - 1;
    match replay.first_refusal() {
        Some((entry, refusal)) => {
            assert_eq!(entry.origin, parthack_env::replay::Origin::Agent(last), "{text}: {}", refusal.message);
            assert_eq!(refusal.code, code, "{text}: {}", refusal.message);
        }
        None => panic!("{text} is not refused"),
    }
}

const RESOLVE: &str = r#"{"op":"update","type":"ticket","id":"t-1","fields":{"status":"resolved"}}"#;
const NEW: &str = r#"{"op":"create","type":"ticket","id":"t-2","fields":{"status":"open","labels":[]}}"#;

#[test]
fn every_refusal_has_its_code() {
    use RefusalCode as Code;
    for (text, code) in [
        (r#"[{"op":"wait"}]"#.to_owned(), Code::OperationNotAllowed),
        (r#"[{"op":"delete","type":"tickets","id":"t-1"}]"#.to_owned(), Code::UnknownType),
        (r#"[{"op":"delete","type":"ticket","id":"t-9"}]"#.to_owned(), Code::UnknownEntity),
        (r#"[{"op":"update","type":"ticket","id":"t-1","fields":{"state":"open"}}]"#.to_owned(), Code::UnknownField),
        (r#"[{"op":"update","type":"ticket","id":"t-1","fields":{"status":1}}]"#.to_owned(), Code::WrongType),
        (r#"[{"op":"update","type":"ticket","id":"t-1","fields":{"status":null}}]"#.to_owned(), Code::WrongType),
        (
            r#"[{"op":"update","type":"ticket","id":"t-1","fields":{"labels":["b","a"]}}]"#.to_owned(),
            Code::ValueOutOfRange,
        ),
        (r#"[{"op":"update","type":"ticket","id":"t-1","fields":{"owner":"bob"}}]"#.to_owned(), Code::ValueOutOfRange),
        (r#"[{"op":"update","type":"staff","id":"ana","fields":{"hours":41}}]"#.to_owned(), Code::ValueOutOfRange),
        (format!("[{NEW},{NEW}]"), Code::EntityExists),
        (r#"[{"op":"update","type":"ticket","id":"t-2","fields":{"status":"open"}}]"#.to_owned(), Code::EntityNotLive),
        (r#"[{"op":"read","type":"ticket","id":"t-3"}]"#.to_owned(), Code::EntityNotLive),
        (r#"[{"op":"restore","type":"ticket","id":"t-1"}]"#.to_owned(), Code::EntityNotDeleted),
        (r#"[{"op":"create","type":"ticket","id":"t-2","fields":{"status":"open"}}]"#.to_owned(), Code::MissingField),
        (r#"[{"op":"update","type":"ticket","id":"t-1","fields":{}}]"#.to_owned(), Code::EmptyUpdate),
        (
            r#"[{"op":"update","type":"ticket","id":"t-1","fields":{"status":"open","owner":null,"labels":[]}}]"#
                .to_owned(),
            Code::TooManyFields,
        ),
        (
            format!(r#"[{{"op":"update","type":"staff","id":"ana","fields":{{"hours":2}}}},{RESOLVE}]"#),
            Code::Precondition,
        ),
        (r#"[{"op":"revise_goal","version":3}]"#.to_owned(), Code::GoalNotDeclared),
        (r#"[{"op":"revise_goal","version":1}]"#.to_owned(), Code::GoalNotHigher),
        (r#"[{"op":"revise_goal","version":2}]"#.to_owned(), Code::GoalNotOffered),
        (r#"[{"op":"update","type":"ticket","id":"t-1","fields":{"cost":null}}]"#.to_owned(), Code::SealedField),
        (r#"[{"op":"say","to":"agent","text":"hm"}]"#.to_owned(), Code::Recipient),
    ] {
        check_refusal(&text, code);
    }
}

#[test]
fn a_refusal_changes_nothing() {
    let replay = run(r#"[{"op":"restore","type":"ticket","id":"t-1"}]"#);
    assert!(replay.events.is_empty());
    assert_eq!(*replay.world(), TASK.initial);
    assert_eq!((replay.transcript.len(), replay.accepted()), (1, 0));
}

#[test]
fn writing_the_same_value_is_an_event_with_an_empty_diff() {
    let replay = run(r#"[{"op":"update","type":"ticket","id":"t-1","fields":{"status":"open"}}]"#);
    assert_eq!(replay.events.len(), 1);
    assert!(replay.events[0].diff.is_empty());
    assert_eq!(replay.world().state_hash(), TASK.initial.state_hash());
}

#[test]
fn the_script_acts_after_the_agent_and_once() {
    let assign = r#"{"op":"update","type":"ticket","id":"t-1","fields":{"owner":"ana"}}"#;
    let replay = run(&format!("[{RESOLVE},{assign},{RESOLVE}]"));
    let actors: Vec<&str> = replay.events.iter().map(|event| event.actor.word()).collect();
    assert_eq!(actors, ["agent", "agent", "user", "agent"]);
    let all = frames(&replay);
    assert_eq!(
        all.iter().map(|f| (f.satisfied, f.credited)).collect::<Vec<_>>(),
        [(0, 0), (1, 1), (3, 3), (2, 2), (3, 3)]
    );
}

#[test]
fn a_new_incarnation_is_not_the_first() {
    let replay = run(&format!(r#"[{NEW},{{"op":"delete","type":"ticket","id":"t-2"}},{NEW}]"#));
    assert_eq!(replay.first_refusal(), None);
    let second: Vec<u32> = frames(&replay).iter().map(|frame| frame.satisfied >> 2 & 1).collect();
    assert_eq!(second, [0, 1, 0, 0], "the predicate pins the first incarnation");
}

#[test]
fn golden_bytes() {
    let replay = Replay::run(&TASK, &TASK.spec.honest);
    assert_eq!(replay.first_refusal(), None);
    let mut event = Vec::new();
    replay.events[1].push_public_json(&TASK, &mut event);
    assert_eq!(
        String::from_utf8_lossy(&event),
        r#"{"actor":"agent","diff":{"fields":{"status":["open","resolved"]}},"goal_version":2,"id":"t-1","op":"update","seq":2,"tick":4,"type":"ticket"}"#
    );
    let mut state = Vec::new();
    replay.world().push_json(&TASK, &mut state);
    assert_eq!(
        String::from_utf8_lossy(&state),
        concat!(
            r#"{"entities":[{"fields":{"hours":3},"id":"ana","incarnation":1,"lifecycle":"live","type":"staff"},"#,
            r#"{"fields":{"cost":{"token":"tok_00112233445566778899aabbccddeeff"},"labels":["é","ü"],"owner":null,"status":"resolved"},"#,
            r#""id":"t-1","incarnation":1,"lifecycle":"live","type":"ticket"},"#,
            r#"{"fields":{"cost":null,"labels":[],"owner":"ana","status":"open"},"id":"t-3","incarnation":1,"lifecycle":"deleted","type":"ticket"}],"#,
            r#""goal_version":2}"#
        )
    );
    assert_eq!(replay.world().state_hash().hex(), "6fc07a4f6b68f5b3b45e7b7ac7cb195960724aad5a185fef8618b778dd52af61");
    assert_eq!(replay.head().hex(), "598fb9aab5dd8b6ad64055c1d2d9800b368131be21a1ee90d41139b629d20465");
    assert_eq!(
        Hash::of("payload", &payload(&replay)).hex(),
        "fbf72d71f5ec38c8a02022af4867c62571a5e8f5b3e3708f4d35cfbead75ee00"
    );
    assert_eq!(TASK.spec.file_hash.hex(), "96eda5f39780c1daeb26920c747a1eac7df0c426fe0216515add451bbf0e5855");
}

#[test]
fn snapshots_equal_what_replay_rebuilds() {
    for seed in 0..100 {
        let task = parthack_env::sample::task(seed);
        let mut dice = parthack_env::sample::Dice::new(seed);
        let replay = Replay::run(&task, &parthack_env::sample::trajectory(&task, &mut dice, 20));
        for (index, snapshot) in replay.snapshots.iter().enumerate() {
            let rebuilt = verify(&task, &replay.events[..=index], None).expect("a true log");
            assert_eq!(rebuilt, *snapshot, "seed {seed}, event {index}");
            assert_eq!(snapshot.rehashed(&task), replay.events[index].state_hash, "seed {seed}, event {index}");
        }
        assert!(verify(&task, &replay.events, Some(replay.head())).is_ok());
    }
}

#[test]
fn tampering_is_found_at_the_right_event() {
    let replay = run(&format!(
        r#"[{RESOLVE},{NEW},{{"op":"delete","type":"ticket","id":"t-2"}},{{"op":"restore","type":"ticket","id":"t-2"}}]"#
    ));
    let (events, head) = (&replay.events, Some(replay.head()));
    let fault = |events: &[parthack_env::log::Event]| {
        let fault = verify(&TASK, events, head).expect_err("tampered");
        (fault.sequence, fault.reason)
    };
    let mut buffer = Vec::new();
    for at in 0..events.len() {
        let sequence = u32::try_from(at).unwrap_or(0) + 1;
        let mut edited = events.clone();
        edited[at].actor = parthack_env::names::Actor::User;
        assert_eq!(fault(&edited), (sequence, LogFaultReason::Hash));
        // An editor who also repairs the hash of the event breaks the chain at the next one, or the head.
        edited[at].hash = edited[at].computed_hash(&TASK, &mut buffer);
        let (found, _) = fault(&edited);
        assert_eq!(found, sequence + 1);
        let mut cut = events.clone();
        cut.truncate(at);
        assert_eq!(fault(&cut), (sequence, LogFaultReason::Cut));
        let mut removed = events.clone();
        removed.remove(at);
        assert_eq!(fault(&removed).0, sequence);
        let mut doubled = events.clone();
        doubled.insert(at, events[at].clone());
        assert_eq!(fault(&doubled).0, sequence + 1);
    }
    let mut swapped = events.clone();
    swapped.swap(1, 2);
    assert_eq!(fault(&swapped), (2, LogFaultReason::Sequence));
    let mut renumbered = swapped.clone();
    for (number, event) in (1..).zip(&mut renumbered) {
        event.sequence = number;
    }
    assert_eq!(fault(&renumbered).0, 2);
}

#[test]
fn gates_answer_in_their_order() {
    use parthack_env::candidate::{Candidate, RefusalOfCandidate as Code};
    let check = |steps: &str, expected: Code| {
        let text = format!(r#"{{"format":"parthack.candidate/1","task_id":"FX-01","steps":[{steps}]}}"#);
        assert_eq!(Candidate::admit(&TASK, text.as_bytes()).expect_err(steps).code, expected, "{steps}");
    };
    let (drop, wrong) = (r#"{"op":"drop"}"#, r#"{"op":"update","type":"staff","id":"ana","fields":{"hours":"3"}}"#);
    check(drop, Code::IllegalAction);
    check(wrong, Code::MalformedSchema);
    check(&format!("{drop},{wrong}"), Code::MalformedSchema);
    check(&format!("{drop},{{\"op\":\"wait\",\"x\":1}}"), Code::MalformedSchema);
    check(r#"{"op":"delete","type":"staff","id":"bob"}"#, Code::IllegalAction);
    let other = br#"{"format":"parthack.candidate/1","task_id":"FX-02","steps":[{"op":"drop"}]}"#;
    assert_eq!(Candidate::admit(&TASK, other).expect_err("another task").code, Code::MalformedSchema);
}
