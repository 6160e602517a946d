//! What judges make of answers: every form of a good one, and each way to be wrong.

use std::sync::Arc;

use parthack_env::json::Json;
use parthack_env::sample::Dice;
use parthack_evaluators::judge::remote::{Carrier, JUDGE_PROTOCOL, Remote, serve};
use parthack_evaluators::judge::{
    AnswerMode, Checklist, ChecklistItem, ChecklistSource, FieldOrder, ItemOrder, Judge, Judgement, Setting, judge,
    judges,
};
use parthack_evaluators::score::{ExactScore, NoVerdict};
use parthack_model::answer::{Answer, NoAnswer, Token};

/// Judges with a decomposition of their own look at no goal.
const NOTHING: ChecklistSource<'static> = ChecklistSource { instruction: &[], goal_schema: &Json::Null };

const PAYLOAD: &[u8] = br#"{"format":"parthack.payload/1","instruction":[{"text":"Close tk-1."}],
"goal_schema":[{"id":"a","description":"d","predicate":{"kind":"exists"}},{"id":"b","description":"d","predicate":{"kind":"exists"}}],
"environment_revision":"00","events":[],"transcript":[],"state_diff":{"entities":[]},
"terminal_state":{"goal_version":1,"entities":[{"type":"ticket","id":"tk-1","lifecycle":"live","fields":{"state":"open"}}]}}"#;

/// The protocol of judges without a process.
struct Direct;

impl Carrier for Direct {
    fn carry(&self, line: &[u8]) -> Option<Vec<u8>> {
        let (mut input, mut output) = (std::io::Cursor::new([line, b"\n"].concat()), Vec::new());
        serve(&mut input, &mut output).ok()?;
        let mut lines = output.split(|byte| *byte == b'\n');
        assert_eq!(lines.next(), Some(format!("{{\"protocol\":\"{JUDGE_PROTOCOL}\"}}").as_bytes()));
        lines.next().map(<[u8]>::to_vec)
    }
}

fn elsewhere(id: &str) -> Remote {
    Remote::of(id, Arc::new(Direct)).expect("a judge")
}

fn setting(mode: AnswerMode) -> Setting {
    Setting { mode, fields: FieldOrder::VerdictFirst, items: ItemOrder::Forward }
}

fn answer(content: &str) -> Answer {
    Answer { content: content.to_owned(), tokens: Vec::new() }
}

fn checklist() -> Checklist {
    let item = |id: &str| ChecklistItem { id: id.to_owned(), text: format!("Condition {id}."), grounding: None };
    Checklist { items: vec![item("c1"), item("c2"), item("c3")] }
}

fn judged(id: &str, setting: Setting, answer: &Answer) -> Result<Judgement, String> {
    let judge = judge(id).expect("judge");
    let list = checklist();
    let read = judge.read(PAYLOAD, Some(&list), setting, 0, answer);
    let judged = judge.judge(PAYLOAD, Some(&list), setting, &[Ok(answer.clone())]).map_err(|error| error.reason);
    assert_eq!(read, judged.clone().map(drop), "read and judge agree");
    let elsewhere = elsewhere(id);
    assert_eq!(elsewhere.plan(PAYLOAD, Some(&list), setting), judge.plan(PAYLOAD, Some(&list), setting));
    assert_eq!(elsewhere.read(PAYLOAD, Some(&list), setting, 0, answer), read, "{id}");
    let there = elsewhere.judge(PAYLOAD, Some(&list), setting, &[Ok(answer.clone())]).map_err(|error| error.reason);
    assert_eq!(there, judged, "{id} says the same behind the protocol");
    judged
}

fn check(id: &str, mode: AnswerMode, content: &str, expected: Result<(u32, u32), &str>) {
    let found = judged(id, setting(mode), &answer(content));
    match (&found, expected) {
        (Ok(judgement), Ok((n, d))) => assert_eq!(judgement.score, ExactScore::new(n, d), "{content}"),
        (Err(error), Err(part)) => assert!(error.contains(part), "{content}: {error}"),
        _ => panic!("{content}: {found:?}, expected {expected:?}"),
    }
}

fn with_score(score: &str) -> String {
    format!(
        r#"{{"verdicts":{{"g1":"yes","g2":"no"}},"score":{score},"cites":["/terminal_state/entities/0"],"rationale":"r"}}"#
    )
}

#[test]
fn scores_of_numbers_and_integers() {
    for (score, expected) in [
        ("0.5", Ok((1, 2))),
        ("0", Ok((0, 1))),
        ("1.0", Ok((1, 1))),
        ("0.3333333", Ok((333_333, 1_000_000))),
        ("1.2", Err("more than 1")),
        ("1.00000000000000000001", Err("more than 1")),
        ("-0.1", Err("less than 0")),
        ("1e999", Err("more than 1")),
        ("NaN", Err("not strict JSON")),
        ("Infinity", Err("not strict JSON")),
        ("\"0.5\"", Err("/score: expected a number")),
        ("null", Err("/score: expected a number")),
    ] {
        check("llm-judge", AnswerMode::Number, &with_score(score), expected);
    }
    for (score, expected) in [
        ("50", Ok((1, 2))),
        ("100", Ok((1, 1))),
        ("101", Err("no integer from 0 to 100")),
        ("-1", Err("no integer from 0 to 100")),
        ("0.5", Err("no integer from 0 to 100")),
    ] {
        check("llm-judge", AnswerMode::Integer, &with_score(score), expected);
    }
}

#[test]
fn forms_that_are_refused() {
    let good = with_score("0.5");
    let cases = [
        ("", "not strict JSON"),
        ("[]", "expected an object"),
        ("{}", "/verdicts is missing"),
        (&good[..good.len() - 1], "not strict JSON"),
        (&good.replace("\"rationale\":\"r\"", "\"rationale\":\"r\",\"rationale\":\"s\""), "a second time"),
        (&good.replace("\"rationale\":\"r\"", "\"rationale\":5"), "/rationale: expected a string"),
        (&good.replace("\"rationale\":\"r\"", "\"extra\":\"r\""), "/extra: no such key"),
        (&good.replace("\"g2\":\"no\"", "\"g2\":\"maybe\""), "/verdicts/g2: expected yes or no"),
        (&good.replace("\"g2\":\"no\"", "\"g2\":true"), "/verdicts/g2: expected yes or no"),
        (&good.replace("\"g2\":\"no\"", "\"g1\":\"no\""), "a second time"),
        (&good.replace("\"g2\":", "\"g3\":"), "/verdicts/g3: no such item"),
        (&good.replace(",\"g2\":\"no\"", ""), "/verdicts/g2: expected yes or no, found nothing"),
        (&good.replace("[\"/terminal_state/entities/0\"]", "[]"), "expected 1 to 4 pointers"),
        (&good.replace("/entities/0", "/entities/7"), "leads to nothing"),
        (&good.replace("/entities/0", "/entities/00"), "leads to nothing"),
        (&good.replace("\"/terminal_state/entities/0\"", "\"\""), "leads to nothing"),
        (&good.replace("\"/terminal_state/entities/0\"", "0"), "/cites/0: expected a string"),
        (
            &good.replace(
                "[\"/terminal_state/entities/0\"]",
                "[\"/events\",\"/events\",\"/events\",\"/events\",\"/events\"]",
            ),
            "1 to 4 pointers",
        ),
        (&format!("{good} and so on"), "not strict JSON"),
    ];
    for (content, part) in cases {
        check("llm-judge", AnswerMode::Number, content, Err(part));
    }
}

#[test]
fn idj_may_not_cite_what_it_may_not_see() {
    let content = |cite: &str| {
        format!(r#"{{"verdicts":{{"c1":"yes","c2":"no","c3":"no"}},"score":0.25,"cites":["{cite}"],"rationale":"r"}}"#)
    };
    check("idj", AnswerMode::Number, &content("/terminal_state/entities/0/fields/state"), Ok((1, 4)));
    check("idj", AnswerMode::Number, &content("/goal_schema/0"), Err("leads to nothing"));
    check("idj", AnswerMode::Number, &content("/environment_revision"), Err("leads to nothing"));
}

#[test]
fn items_come_back_in_their_own_order() {
    let content =
        r#"{"verdicts":{"c3":"yes","c2":"no","c1":"no"},"score":10,"cites":["/events","/events"],"rationale":""}"#;
    for items in [ItemOrder::Forward, ItemOrder::Reversed] {
        let setting = Setting { mode: AnswerMode::Integer, fields: FieldOrder::RationaleFirst, items };
        let judgement = judged("idj", setting, &answer(content)).expect("good");
        let expected = [0, 0, 1].map(|met| ExactScore::new(met, 1));
        assert_eq!((judgement.items.as_slice(), judgement.score), (&expected[..], ExactScore::new(1, 10)));
        assert_eq!(judgement.cites, ["/events"]);
    }
}

/// An answer cut into the given texts; every token whose text is in `top` has that list.
fn tokens(parts: &[&str], top: &[(usize, &[(&str, f64)])]) -> Answer {
    let token = |(index, text): (usize, &&str)| {
        let list = top.iter().find(|(at, _)| *at == index).map_or(&[][..], |(_, list)| list);
        Token {
            text: (*text).to_owned(),
            logprob: -0.1,
            top: list.iter().map(|(text, logprob)| ((*text).to_owned(), *logprob)).collect(),
        }
    };
    Answer { content: parts.concat(), tokens: parts.iter().enumerate().map(token).collect() }
}

const END: &str = r#""},"cites":["/events"],"rationale":"yes"}"#;

#[test]
fn probabilities_are_read_where_the_verdict_is_decided() {
    // ln 0.6 and ln 0.2: P(yes) = 0.75.
    let (sixty, twenty) = (-0.510_825_6, -1.609_437_9);
    type Case<'a> = (&'a [&'a str], usize, &'a [(&'a str, f64)]);
    let cases: [Case<'_>; 5] = [
        (&[r#"{"verdicts":{"g1":""#, "yes", r#"","g2":""#, "no", END], 1, &[("yes", sixty), ("no", twenty)]),
        (&[r#"{"verdicts":{"g1":"#, "\"yes", r#"","g2":""#, "no", END], 1, &[("\"yes", sixty), ("\"no", twenty)]),
        (&[r#"{"verdicts":{"g1":"#, " \"", "y", "es", r#"","g2":""#, "no", END], 2, &[("y", sixty), ("n", twenty)]),
        (
            &[r#"{"verdicts":{"g1""#, ":\"yes\",\"", r#"g2":""#, "no", END],
            1,
            &[(":\"yes\",\"", sixty), (":\"NO\",", twenty)],
        ),
        // Two spellings of one word count together; another word doesn't count.
        (
            &[
                r#"{"rationale":"\"verdicts\":{\"g1\":\"no\"}","verdicts":{"g1":""#,
                "yes",
                r#"","g2":""#,
                "no",
                r#""},"cites":["/events"]}"#,
            ],
            1,
            &[("yes", -1.203_972_8), (" YES", -1.203_972_8), ("no", twenty), ("not", -0.1), ("yesterday", -0.1)],
        ),
    ];
    for (parts, at, list) in cases {
        let judgement =
            judged("llm-judge", setting(AnswerMode::Logprobs), &tokens(parts, &[(at, list)])).expect(parts[1]);
        assert_eq!(judgement.items[0], ExactScore::new(750_000, 1_000_000), "{parts:?}");
        // Where the list is empty, the token written counts alone.
        assert_eq!(judgement.items[1], ExactScore::new(0, 1));
        assert_eq!(judgement.score, ExactScore::new(375_000, 1_000_000));
    }
}

#[test]
fn odd_tokens_are_gone_around_or_refused() {
    // A token before the verdicts that does not spell the text: counted from the end.
    let parts =
        [r#"{"rationale":"é"#, r#"","verdicts":{"g1":""#, "no", r#"","g2":""#, "yes", r#""},"cites":["/events"]}"#];
    let mut odd = tokens(&parts, &[(2, &[("yes", -1.0), ("no", -1.0)])]);
    odd.tokens[0].text = "{\"rationale\":\"\u{fffd}".to_owned();
    odd.tokens.push(Token { text: "<|im_end|>".to_owned(), logprob: 0.0, top: Vec::new() });
    let judgement = judged("llm-judge", setting(AnswerMode::Logprobs), &odd).expect("from the end");
    assert_eq!(judgement.items, [ExactScore::new(1, 2), ExactScore::new(1, 1)]);

    // A server that drops the fence around an answer keeps its tokens.
    let parts = [r#"{"verdicts":{"g1":""#, "yes", r#"","g2":""#, "no", END];
    let mut fenced = tokens(&parts, &[(1, &[("yes", -1.0), ("no", -1.0)])]);
    let token = |text: &str| Token { text: text.to_owned(), logprob: -1.0, top: vec![("no".to_owned(), -0.1)] };
    fenced.tokens.splice(0..0, ["```", "json", "\n"].map(token));
    fenced.tokens.push(token("\n```"));
    let judgement = judged("llm-judge", setting(AnswerMode::Logprobs), &fenced).expect("inside the fence");
    assert_eq!(judgement.items[0], ExactScore::new(1, 2));

    let refused = |change: fn(&mut Answer), part: &str| {
        let parts = [r#"{"verdicts":{"g1":""#, "yes", r#"","g2":""#, "no", END];
        let mut answer = tokens(&parts, &[(1, &[("yes", -0.1), ("no", -3.0)])]);
        assert!(judged("llm-judge", setting(AnswerMode::Logprobs), &answer).is_ok());
        change(&mut answer);
        let error = judged("llm-judge", setting(AnswerMode::Logprobs), &answer).expect_err(part);
        assert!(error.contains(part), "{error}");
    };
    refused(|answer| answer.tokens.clear(), "without token probabilities");
    refused(|answer| answer.tokens[1].text = "perhaps".to_owned(), "do not spell");
    refused(|answer| answer.tokens[1].top[0].1 = f64::NAN, "/verdicts/g1: no probability");
    refused(|answer| answer.tokens[1].top[0].1 = 0.5, "/verdicts/g1: no probability");
    refused(
        |answer| {
            answer.tokens[1].top = vec![("yes".to_owned(), f64::NEG_INFINITY)];
        },
        "/verdicts/g1: no probability",
    );
}

#[test]
fn no_answer_is_no_verdict_and_never_zero() {
    let judge = judge("llm-judge").expect("judge");
    let mode = setting(AnswerMode::Number);
    let judged = |answers: &[_]| judge.judge(PAYLOAD, None, mode, answers).expect_err("none").reason;
    assert_eq!(judged(&[Err(NoAnswer::Length)]), "length");
    assert_eq!(judged(&[Err(NoAnswer::Refusal("no".to_owned()))]), "refusal: no");
    assert_eq!(judged(&[]), "0 answers to a plan of one prompt");
    assert!(judge.read(PAYLOAD, None, mode, 1, &answer(&with_score("1"))).is_err());
    let missing: Result<Judgement, NoVerdict> = Err(NoVerdict { reason: "length".to_owned() });
    assert_eq!(judge.combine(&[missing]).expect_err("none").reason, "length");
}

#[test]
fn checklists_are_read_strictly() {
    let idj = judge("idj").expect("idj");
    let read = |content: &str| idj.read_checklist(&NOTHING, &answer(content));
    let list = read(r#"{"items":[" One. ","Two.","one","Three."]}"#).expect("three that differ");
    let texts: Vec<_> = list.items.iter().map(|item| (item.id.as_str(), item.text.as_str())).collect();
    assert_eq!(texts, [("c1", "One."), ("c2", "Two."), ("c3", "Three.")]);
    let long = format!(r#"{{"items":["a","b","{}"]}}"#, "c".repeat(201));
    for (content, part) in [
        (r#"{"items":["One.","Two.","one!"]}"#, "2 items that differ"),
        (r#"{"items":["1","2","3","4","5","6","7","8","9"]}"#, "the most is 8"),
        (r#"{"items":["a","b"," . "]}"#, "/items/2: expected one line"),
        (r#"{"items":["a","b","c\nd"]}"#, "/items/2: expected one line"),
        (r#"{"items":["a","b",3]}"#, "/items/2: expected a string"),
        (r#"{"items":"a"}"#, "expected an array"),
        (r#"{"items":["a","b","c"],"more":1}"#, "/more: no such key"),
        (&long, "/items/2: expected one line"),
    ] {
        let error = read(content).expect_err(content);
        assert!(error.contains(part), "{content}: {error}");
    }
    assert!(judge("llm-judge").expect("judge").read_checklist(&NOTHING, &answer("{}")).is_err());
}

/// Whatever a model writes, reading it ends in a judgement or a reason, and both ways of reading agree.
#[test]
fn mangled_answers_never_panic() {
    let lists = [with_score("0.5"), with_score("50"), with_score("0.5").replace("g1", "c1").replace("g2", "c\u{e9}2")];
    let pieces = ["\"", "{", "}", "\\", "yes", "no", ":", "é", "\u{0}", "[", "1e999", "verdicts", "", ","];
    let mut dice = Dice::new(7);
    let (mut good, mut bad) = (0, 0);
    for round in 0..4_000 {
        let mut content = lists[dice.below(lists.len())].clone();
        for _ in 0..dice.below(3) {
            let mut at = dice.below(content.len() + 1);
            while !content.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + dice.below(4)).min(content.len());
            while !content.is_char_boundary(end) {
                end += 1;
            }
            content.replace_range(at..end, pieces[dice.below(pieces.len())]);
        }
        // Tokens of random length that spell it, and sometimes one that does not.
        let mut tokens = Vec::new();
        let characters: Vec<char> = content.chars().collect();
        let mut rest = characters.as_slice();
        while !rest.is_empty() {
            let (text, after) = rest.split_at((1 + dice.below(5)).min(rest.len()));
            let odd = dice.once_in(60);
            let text = if odd { "\u{fffd}".to_owned() } else { text.iter().collect() };
            tokens.push(Token { text, logprob: -0.5, top: vec![("yes".to_owned(), -1.0), ("no".to_owned(), -2.0)] });
            rest = after;
        }
        let answer = Answer { content, tokens };
        for id in ["llm-judge", "idj", "holistic"] {
            let mode = AnswerMode::ALL[round % 3];
            match judged(id, setting(mode), &answer) {
                Ok(judgement) => {
                    good += 1;
                    assert!(judgement.score <= ExactScore::new(1, 1) && !judgement.cites.is_empty());
                }
                Err(reason) => {
                    bad += 1;
                    assert!(!reason.is_empty());
                }
            }
        }
        let _ = judge("idj").expect("idj").read_checklist(&NOTHING, &answer);
    }
    assert!(good > 200 && bad > 2_000, "{good} good, {bad} bad");
}

#[test]
fn other_judges_in_every_mode() {
    let list = checklist();
    for (id, keys) in [
        ("generic-checklist", &["q1", "q2", "q3", "q4", "q5"][..]),
        ("tick", &["c1", "c2", "c3"]),
        ("tick-trajectory", &["c1", "c2", "c3"]),
        ("checkeval", &["q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"]),
        ("rocketeval", &["c1", "c2", "c3"]),
    ] {
        let rest: String = keys[1..].iter().map(|key| format!(r#","{key}":"no""#)).collect();
        let start = format!(r#"{{"verdicts":{{"{}":""#, keys[0]);
        let end = format!(r#""{rest}}},"cites":["/events"],"rationale":"r"}}"#);
        let count = u32::try_from(keys.len()).expect("few");
        for mode in [AnswerMode::Number, AnswerMode::Integer] {
            check(id, mode, &format!("{start}yes{end}"), Ok((1, count)));
            check(id, mode, &format!("{start}maybe{end}"), Err("expected yes or no"));
        }
        check(id, AnswerMode::Logprobs, &format!("{start}yes{end}"), Err("without token probabilities"));
        // One token a place of a verdict; half for the first, nothing for the others.
        let mut parts: Vec<&str> = vec![&start, "yes"];
        let gaps: Vec<String> = keys[1..].iter().map(|key| format!(r#"","{key}":""#)).collect();
        gaps.iter().for_each(|gap| parts.extend([gap.as_str(), "no"]));
        parts.push(r#""},"cites":["/events"],"rationale":"r"}"#);
        let answer = tokens(&parts, &[(1, &[("yes", -1.0), ("no", -1.0)])]);
        let judgement = judged(id, setting(AnswerMode::Logprobs), &answer).expect(id);
        assert_eq!(judgement.score, ExactScore::new(1, 2 * count), "{id}");
        let plan = judge(id).expect("judge").plan(PAYLOAD, Some(&list), setting(AnswerMode::Logprobs)).expect("plan");
        assert!(plan[0].form.token_probabilities && plan[0].user.contains(keys[keys.len() - 1]), "{id}");
    }
}

#[test]
fn holistic_is_rescaled_from_ten() {
    let content = |score: &str| format!(r#"{{"score":{score},"cites":["/events"],"rationale":"r"}}"#);
    for (score, expected) in
        [("7.5", Ok((3, 4))), ("10", Ok((1, 1))), ("10.1", Err("more than 10")), ("-1", Err("less than 0"))]
    {
        check("holistic", AnswerMode::Number, &content(score), expected);
    }
    for (score, expected) in [("7", Ok((7, 10))), ("11", Err("0 to 10")), ("7.5", Err("0 to 10"))] {
        check("holistic", AnswerMode::Integer, &content(score), expected);
    }
    let parts = [r#"{"verdicts":{"q1":""#, "yes", r#""},"cites":["/events"],"rationale":"r"}"#];
    let answer = tokens(&parts, &[(1, &[("yes", -1.0), ("no", -1.0)])]);
    let judgement = judged("holistic", setting(AnswerMode::Logprobs), &answer).expect("holistic");
    assert_eq!(judgement.score, ExactScore::new(1, 2));
}

/// A carrier without a process behind it.
struct Nobody;

impl Carrier for Nobody {
    fn carry(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[test]
fn without_a_reply_there_is_no_verdict() {
    let alone = Remote::of("llm-judge", Arc::new(Nobody)).expect("a judge");
    let setting = setting(AnswerMode::Number);
    assert!(alone.plan(PAYLOAD, None, setting).is_err());
    assert!(alone.read(PAYLOAD, None, setting, 0, &answer(&with_score("0.5"))).is_err());
    assert!(alone.judge(PAYLOAD, None, setting, &[Ok(answer(&with_score("0.5")))]).is_err());
    let missing = elsewhere("llm-judge").judge(PAYLOAD, None, setting, &[Err(NoAnswer::Length)]);
    assert_eq!(missing, judge("llm-judge").expect("a judge").judge(PAYLOAD, None, setting, &[Err(NoAnswer::Length)]));
    assert!(missing.is_err());
    assert!(elsewhere("llm-judge").plan(b"\xff", None, setting).is_err());
}

#[test]
fn checklists_are_made_and_read_the_same_elsewhere() {
    let schema = Json::parse(br#"[{"id":"a","number":1.50}]"#).expect("JSON");
    let instruction = ["Close tk-1.\nThen say so.".to_owned()];
    let source = ChecklistSource { instruction: &instruction, goal_schema: &schema };
    for here in judges() {
        let there = elsewhere(here.id());
        assert_eq!(there.checklist_prompt(&source), here.checklist_prompt(&source), "{}", here.id());
        for content in [r#"{"items":["Tk-1 is closed."]}"#, r#"{"items":[{"text":"Tk-1 is closed."}]}"#, "{}", "x"] {
            let answer = answer(content);
            assert_eq!(there.read_checklist(&source, &answer), here.read_checklist(&source, &answer), "{}", here.id());
        }
    }
}
