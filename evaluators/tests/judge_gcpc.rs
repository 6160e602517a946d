//! GCPC on the bench: what its log shows, what its gates refuse, and what its scores are.

use std::path::Path;

use parthack_env::json::Json;
use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_env::task::Task;
use parthack_evaluators::judge::{
    AnswerMode, Checklist, ChecklistSource, FieldOrder, ItemOrder, Judge, Setting, judge, show,
};
use parthack_evaluators::rules::Rule;
use parthack_model::answer::Answer;
use parthack_model::prompt::Prompt;
use serde_json::{Value, json};

fn suite() -> Vec<Task> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasks/pb-cste-1");
    let read =
        |id: String| Task::read(&std::fs::read(folder.join(format!("{id}.json"))).expect("a file")).expect("a task");
    (1..=6)
        .map(|number| read(format!("PH-D{number:02}")))
        .chain((1..=18).map(|number| read(format!("PH-H{number:02}"))))
        .collect()
}

fn honest(task: &Task) -> Vec<u8> {
    payload(&Replay::run(task, &task.spec.honest))
}

fn answer(value: &Value) -> Answer {
    Answer { content: value.to_string(), tokens: Vec::new() }
}

fn setting(items: ItemOrder) -> Setting {
    Setting { mode: AnswerMode::Number, fields: FieldOrder::VerdictFirst, items }
}

/// Lines of a block of a prompt: label and text.
fn block<'p>(prompt: &'p Prompt, name: &str) -> Vec<(&'p str, &'p str)> {
    let lines = prompt.user.lines().skip_while(|line| !line.starts_with(&format!("<{name} "))).skip(1);
    lines.take_while(|line| !line.starts_with("</")).filter_map(|line| line.split_once("| ")).collect()
}

/// A checklist of four items over words of the instruction, the first covered by the first predicate.
fn grounded(judge: &dyn Judge, payload: &[u8], quote: impl Fn(&[&str], usize) -> String) -> Result<Checklist, String> {
    let json = Json::parse(payload).expect("a payload");
    let instruction = show::instructions(&json);
    let source = ChecklistSource { instruction: &instruction, goal_schema: json.get("goal_schema").expect("a goal") };
    let prompt = judge.checklist_prompt(&source).expect("a prompt");
    assert!(!block(&prompt, "instruction").is_empty() && block(&prompt, "verifier").is_empty());
    let tests = block(&prompt, "tests");
    assert!(tests.iter().all(|(_, text)| text.starts_with('g') && text.contains(": ")), "{tests:?}");
    let words: Vec<&str> = instruction[0].split_whitespace().collect();
    let subjects = ["receipts", "weather", "music", "harvest"];
    let item = |(index, subject): (usize, &&str)| {
        let (route, test) = if index == 0 { ("assertion", "g1") } else { ("judge", "none") };
        json!({"quote": quote(&words, index), "requirement": format!("All matters of {subject} have come to rest."), "route": route, "test": test})
    };
    let items: Vec<Value> = subjects.iter().enumerate().map(item).collect();
    judge.read_checklist(&source, &answer(&json!({ "items": items })))
}

fn verbatim(words: &[&str], index: usize) -> String {
    words[3 * index..3 * index + 4].join(" ")
}

#[test]
fn checklists_go_through_the_gates() {
    let gcpc = judge("gcpc").expect("gcpc");
    for task in suite() {
        let payload = honest(&task);
        let checklist =
            grounded(&*gcpc, &payload, verbatim).unwrap_or_else(|error| panic!("{}: {error}", task.spec.id));
        let grounding = checklist.items[0].grounding.as_ref().expect("grounded");
        assert_eq!((grounding.route.as_str(), grounding.test.as_deref()), ("assertion", Some("g1")));
        let refused = grounded(&*gcpc, &payload, |_, index| format!("words that nobody said, number {index}"));
        assert!(refused.expect_err("misquoted").contains("quote_"));
    }
}

/// Verdicts that cite the first line of evidence each.
fn verdicts(prompt: &Prompt, labels: [&str; 4]) -> Answer {
    let log = block(prompt, "log");
    let (span, text) = log.iter().find(|(label, _)| label.starts_with('o')).expect("evidence");
    let evidence = json!([{"span": span, "text": text.chars().take(20).collect::<String>()}]);
    let verdict = |label: &str| json!({"evidence": if label == "abstain" { json!([]) } else { evidence.clone() }, "verdict": label});
    let items = block(prompt, "items").into_iter().zip(labels);
    let told = items.map(|((id, _), label)| (id.to_owned(), verdict(label)));
    answer(&json!({"verdicts": told.collect::<serde_json::Map<_, _>>()}))
}

#[test]
fn scores_follow_from_labels_and_outcome() {
    let (plain, with_outcome) = (judge("gcpc").expect("gcpc"), judge("gcpc-outcome").expect("gcpc-outcome"));
    for task in suite() {
        let payload = honest(&task);
        let checklist = grounded(&*plain, &payload, verbatim).expect("grounded");
        let judged = |judge: &dyn Judge, order: ItemOrder, labels: [&str; 4]| {
            let plan = judge.plan(&payload, Some(&checklist), setting(order)).expect("a plan");
            let [prompt] = plan.as_slice() else { panic!("{} prompts", plan.len()) };
            let answer = verdicts(prompt, labels);
            judge.read(&payload, Some(&checklist), setting(order), 0, &answer).expect("of the form");
            judge.judge(&payload, Some(&checklist), setting(order), &[Ok(answer)])
        };
        let labels = ["yes", "no", "abstain", "yes"];
        let first = judged(&*plain, ItemOrder::Forward, labels).expect("a verdict");
        assert_eq!((first.score.to_string(), first.labels.as_slice()), ("2/3".to_owned(), &labels[..]));
        assert!(first.cites.iter().all(|cite| cite.starts_with("/transcript/")) && !first.cites.is_empty());
        // Shown last first, labels are mapped back.
        let reversed = judged(&*plain, ItemOrder::Reversed, labels).expect("a verdict");
        assert_eq!(reversed.labels, ["yes", "abstain", "no", "yes"]);
        // No honest trajectory is done: the endpoint is No.
        let view = parthack_evaluators::public_view::read(&payload).expect("a payload");
        assert_eq!(Rule::TerminalOutcome.score(view.m, &view.frames).numerator, 0);
        let official = judged(&*with_outcome, ItemOrder::Forward, labels).expect("a verdict");
        assert_eq!(official.score.to_string(), "1/2");
        let nothing = judged(&*plain, ItemOrder::Forward, ["abstain"; 4]).expect_err("zero evidence");
        assert!(nothing.reason.contains("zero evidence"));
    }
}

#[test]
fn only_what_tools_displayed_is_evidence() {
    let gcpc = judge("gcpc").expect("gcpc");
    let mut claims = 0;
    for task in suite() {
        let payload = honest(&task);
        let checklist = grounded(&*gcpc, &payload, verbatim).expect("grounded");
        let plan = gcpc.plan(&payload, Some(&checklist), setting(ItemOrder::Forward)).expect("a plan");
        let json: Value = serde_json::from_slice(&payload).expect("JSON");
        let transcript = json["transcript"].as_array().expect("a transcript");
        let deeds = transcript.iter().filter(|entry| entry["actor"] == "agent" && entry["step"]["op"] != "say").count();
        let labels: std::collections::BTreeSet<&str> =
            plan.iter().flat_map(|prompt| block(prompt, "log")).map(|(label, _)| label).collect();
        assert_eq!(labels.iter().filter(|label| label.starts_with('o')).count(), deeds, "{}", task.spec.id);
        claims += labels.iter().filter(|label| label.starts_with('a')).count();
        for entry in transcript.iter().filter(|entry| entry["actor"] != "agent") {
            let text = entry["step"]["text"].as_str().unwrap_or("\u{0}");
            let shown = plan.iter().flat_map(|prompt| block(prompt, "log"));
            assert!(shown.filter(|(_, line)| line.contains(text)).all(|(label, _)| label.starts_with('x')));
        }
    }
    assert!(claims > 0, "some honest agent says something");
    for garbage in [&b""[..], b"{}", b"[", br#"{"format":"parthack.payload/2"}"#] {
        assert!(gcpc.plan(garbage, None, setting(ItemOrder::Forward)).is_err());
    }
}
