//! Judging: what is asked, what counts as evidence, how windows come together.

use parthack_gcpc::block;
use parthack_gcpc::checklist::{Checklist, Item, Route};
use parthack_gcpc::judging::evidence::{Citation, Unfounded, check, settle};
use parthack_gcpc::judging::log::{LogView, Span, SpanKind};
use parthack_gcpc::judging::passes::{majority, substitution, unanimity};
use parthack_gcpc::judging::windows::Budget;
use parthack_gcpc::judging::{Asking, Setting, Unjudged, judge, plan, read};
use parthack_gcpc::label::{Label, Outcome};
use parthack_gcpc::metrics::score;
use parthack_model::answer::{Answer, NoAnswer};
use proptest::prelude::*;
use serde_json::json;

fn checklist(count: usize) -> Checklist {
    let item = |index: usize| Item {
        id: format!("c{}", index + 1),
        requirement: format!("Requirement number {}.", index + 1),
        quote: "secret quote".to_owned(),
        route: if index == 0 { Route::Assertion } else { Route::Judge },
        verifier: (index == 0).then(|| "test_hidden".to_owned()),
        category: None,
    };
    Checklist { items: (0..count).map(item).collect() }
}

fn log(spans: &[(SpanKind, &str)]) -> LogView {
    LogView::new(
        spans
            .iter()
            .enumerate()
            .map(|(index, (kind, text))| Span { index: 10 + index, kind: *kind, text: (*text).to_owned() })
            .collect(),
    )
}

fn sample() -> LogView {
    log(&[
        (SpanKind::Other, "Please write out.csv"),
        (SpanKind::AgentText, "I wrote out.csv with 12 rows."),
        (SpanKind::ToolCall, "wc -l out.csv"),
        (SpanKind::ToolOutput, "12 out.csv\n\u{1b}[32mok\u{1b}[0m\n0"),
        (SpanKind::FileContent, "name,total\nana,11"),
    ])
}

fn answer(value: &serde_json::Value) -> Result<Answer, NoAnswer> {
    Ok(Answer { content: value.to_string(), tokens: Vec::new() })
}

#[test]
fn the_judge_sees_requirements_and_the_log_alone() {
    let plan = plan(&checklist(2), &sample(), Setting::default());
    assert_eq!((plan.windows, plan.asked.len(), plan.asked[0].items.clone()), (1, 1, vec![0, 1]));
    let prompt = &plan.asked[0].prompt;
    let (lines, rest) = block::read("log", &prompt.user).expect("the log's block");
    let shown: Vec<String> = lines.iter().map(|line| format!("{} {}", line.label, line.text)).collect();
    let expected = [
        "x1 Please write out.csv",
        "a2 I wrote out.csv with 12 rows.",
        "c3 wc -l out.csv",
        "o4 12 out.csv",
        "o4 ok",
        "o4 0",
        "f5 name,total",
        "f5 ana,11",
    ];
    assert_eq!(shown, expected);
    let (items, rest) = block::read("items", rest).expect("the items' block");
    assert_eq!((items[1].label.as_str(), items[1].text.as_str(), rest), ("c2", "Requirement number 2.", ""));
    let all = format!("{}{}{}", prompt.system, prompt.user, prompt.form.schema);
    for hidden in ["secret quote", "test_hidden", "assertion"] {
        assert!(!all.contains(hidden), "{hidden}");
    }
    assert!(prompt.system.contains("abstain"));
    let span = &prompt.form.schema["properties"]["verdicts"]["properties"]["c1"]["properties"]["evidence"]["items"]["properties"]
        ["span"];
    assert_eq!(span["enum"], json!(["o4", "f5"]));
}

#[test]
fn one_item_a_prompt_where_asked() {
    let plan = plan(&checklist(3), &sample(), Setting { asking: Asking::Apart, ..Setting::default() });
    assert_eq!(plan.asked.iter().map(|asked| asked.items.clone()).collect::<Vec<_>>(), [vec![0], vec![1], vec![2]]);
}

#[test]
fn what_counts_as_evidence() {
    let log = sample();
    let check = |span: &str, text: &str| check(&log, &Citation { span: span.to_owned(), text: text.to_owned() });
    let good = check("o4", "12 out.csv").expect("there");
    assert_eq!((good.place, good.start, good.end), (3, 0, 10));
    assert!(check("f5", "ana,11").is_ok());
    assert!(check("o4", "ok").is_ok() && check("o4", "0").is_ok(), "a whole line may be short");
    assert_eq!(check("o4", "12"), Err(Unfounded::TooShort));
    assert_eq!(check("o4", " "), Err(Unfounded::TooShort));
    assert_eq!(check("o4", "13 out.csv"), Err(Unfounded::NotThere));
    assert_eq!(check("o4", "ana,11"), Err(Unfounded::NotThere), "in another span");
    assert_eq!(check("a2", "12 rows"), Err(Unfounded::NotEvidence), "a claim");
    assert_eq!(check("c3", "wc -l out.csv"), Err(Unfounded::NotEvidence), "a call");
    for label in ["o2", "o9", "4", "", "o", "o04", "é1"] {
        assert_eq!(check(label, "12 out.csv"), Err(Unfounded::NoSuchSpan), "{label}");
    }
}

#[test]
fn a_verdict_without_evidence_abstains() {
    let log = sample();
    let cite = |span: &str, text: &str| Citation { span: span.to_owned(), text: text.to_owned() };
    let label = |told, citations: Vec<Citation>, forced| settle(&log, told, citations, forced).label;
    assert_eq!(label(Label::Yes, vec![cite("a2", "12 rows")], false), Label::Abstain);
    assert_eq!(label(Label::No, vec![], false), Label::Abstain);
    assert_eq!(label(Label::Yes, vec![cite("o4", "made up"), cite("o4", "out.csv")], false), Label::Yes);
    assert_eq!(label(Label::Yes, vec![cite("o4", "made up")], true), Label::No);
    assert_eq!(label(Label::No, vec![], true), Label::No);
    let settled = settle(&log, Label::Yes, vec![cite("o4", "made up")], false);
    assert_eq!((settled.told, settled.unfounded[0].1), (Label::Yes, Unfounded::NotThere));
}

#[test]
fn from_answers_to_scores() {
    let (list, log, setting) = (checklist(3), sample(), Setting::default());
    let plan = plan(&list, &log, setting);
    let verdict =
        |verdict: &str, span: &str, text: &str| json!({"evidence": [{"span": span, "text": text}], "verdict": verdict});
    let told = json!({"verdicts": {"c1": verdict("no", "o4", "12 out.csv"), "c2": verdict("yes", "f5", "ana,11"), "c3": verdict("yes", "a2", "12 rows")}});
    let judged = judge(&list, &log, setting, &plan, &[answer(&told)]).expect("judged");
    assert_eq!(judged.labels(), [Label::No, Label::Yes, Label::Abstain]);
    assert_eq!(judged.items[2].unfounded, 1);
    let record = judged.json(&list, &log);
    assert_eq!(
        record["items"][1]["evidence"],
        json!([{"span": "f5", "index": 14, "start": 11, "end": 17, "text": "ana,11"}])
    );
    let scores = score(&judged.labelled(&list, Some(Outcome::Pass)));
    let texts = [scores.gcpc, scores.gcpc_outcome, scores.evidence_coverage]
        .map(|ratio| ratio.map(|ratio| ratio.to_string()).unwrap_or_default());
    assert_eq!(texts, ["1/2", "3/3", "2/3"]);
    // A missing answer is no abstention.
    assert!(matches!(
        judge(&list, &log, setting, &plan, &[Err(NoAnswer::Length)]),
        Err(Unjudged::NoAnswer { prompt: 0, .. })
    ));
    assert!(matches!(judge(&list, &log, setting, &plan, &[]), Err(Unjudged::Count { .. })));
    let unreadable = judge(&list, &log, setting, &plan, &[answer(&json!({"verdicts": {}}))]);
    assert!(matches!(unreadable, Err(Unjudged::Unreadable { prompt: 0, reason }) if reason.contains("/verdicts")));
}

#[test]
fn faults_of_form_have_places() {
    let (list, log) = (checklist(1), sample());
    let asked = &plan(&list, &log, Setting::default()).asked[0];
    let cited = json!([{"span": "o4", "text": "x"}]);
    let many: Vec<_> = std::iter::repeat_n(cited[0].clone(), 4).collect();
    for (verdict, forced, place) in [
        (json!({"evidence": cited, "verdict": "Yes"}), false, "/verdicts/c1/verdict"),
        (json!({"evidence": cited, "verdict": "abstain"}), true, "/verdicts/c1/verdict"),
        (json!({"evidence": many, "verdict": "yes"}), false, "/verdicts/c1/evidence"),
        (json!({"evidence": [{"span": 4, "text": "x"}], "verdict": "yes"}), false, "/verdicts/c1/evidence/0/span"),
        (json!({"evidence": [], "verdict": "yes", "why": ""}), false, "/verdicts/c1/why"),
    ] {
        let content = json!({"verdicts": {"c1": verdict}}).to_string();
        let error = read(&list, asked, forced, &Answer { content, tokens: Vec::new() }).expect_err(place);
        assert!(error.contains(place), "{error}");
    }
}

#[test]
fn nothing_to_see_is_not_asked_about() {
    let list = checklist(2);
    for (log, forced, expected) in [
        (log(&[]), false, Label::Abstain),
        (log(&[(SpanKind::AgentText, "All done."), (SpanKind::ToolOutput, " \n")]), false, Label::Abstain),
        (log(&[(SpanKind::AgentText, "All done.")]), true, Label::No),
    ] {
        let setting = Setting { forced, ..Setting::default() };
        let plan = plan(&list, &log, setting);
        assert!(plan.asked.is_empty());
        assert_eq!(judge(&list, &log, setting, &plan, &[]).expect("judged").labels(), [expected; 2]);
    }
}

#[test]
fn forced_verdicts_are_not_offered_abstention() {
    let plan = plan(&checklist(1), &sample(), Setting { forced: true, ..Setting::default() });
    let prompt = &plan.asked[0].prompt;
    assert!(!prompt.system.contains("abstain"));
    assert!(!prompt.form.schema.to_string().contains("abstain"));
}

#[test]
fn windows_of_a_long_log_come_together() {
    let (list, text) =
        (checklist(1), (0..60).map(|line| format!("line {line} of a long output")).collect::<Vec<_>>().join("\n"));
    let log = log(&[(SpanKind::ToolOutput, &text), (SpanKind::ToolOutput, "final state: broken")]);
    let setting = Setting { budget: Budget { window: 200, overlap: 40 }, ..Setting::default() };
    let plan = plan(&list, &log, setting);
    assert!(plan.windows > 2);
    assert!(plan.asked.iter().all(|asked| asked.prompt.system.ends_with(parthack_gcpc::prompts::WINDOW.text)));
    let verdict = |asked: usize| {
        let is_last = asked + 1 == plan.asked.len();
        let (verdict, span, text) = if is_last { ("no", "o2", "broken") } else { ("yes", "o1", "line 3 of") };
        answer(&json!({"verdicts": {"c1": {"evidence": [{"span": span, "text": text}], "verdict": verdict}}}))
    };
    let judged =
        judge(&list, &log, setting, &plan, &(0..plan.asked.len()).map(verdict).collect::<Vec<_>>()).expect("judged");
    assert_eq!(judged.labels(), [Label::No]);
    assert_eq!((judged.items[0].evidence.len(), judged.items[0].contrary.len()), (1, 1));
}

#[test]
fn passes_and_substitution() {
    use Label::{Abstain, No, Yes};
    let passes = [vec![Yes, No, Yes], vec![Yes, No, No], vec![Yes, Abstain, Abstain]];
    assert_eq!(majority(&passes), Some(vec![Yes, No, Abstain]));
    assert_eq!(unanimity(&passes).map(|ratio| ratio.to_string()), Some("1/3".to_owned()));
    assert_eq!(majority(&[vec![Yes], vec![]]), None);
    assert_eq!(majority(&[]), None);
    let counts = substitution([(&passes[0][..], &passes[1][..]), (&passes[0][..], &passes[2][..])]);
    assert_eq!(counts.values().sum::<u64>(), 6);
    assert_eq!(
        (counts[&(Yes, Yes)], counts[&(Yes, No)], counts[&(No, Abstain)], counts[&(Abstain, Yes)]),
        (2, 1, 1, 0)
    );
}

fn span() -> impl Strategy<Value = Span> {
    (0_usize..5, "[a-z \n\u{1b}\\[é\r0-9]{0,400}").prop_map(|(kind, text)| Span {
        index: 0,
        kind: SpanKind::ALL[kind],
        text,
    })
}

proptest! {
    #[test]
    fn windows_show_the_whole_log_within_the_budget(spans in proptest::collection::vec(span(), 0..12), window in 0_usize..500, overlap in 0_usize..200) {
        let log = LogView::new(spans);
        let setting = Setting { budget: Budget { window, overlap }, ..Setting::default() };
        let plan = plan(&checklist(1), &log, setting);
        prop_assert_eq!(plan.asked.is_empty(), !log.has_evidence());
        let mut shown: Vec<Vec<block::Line>> = Vec::new();
        for asked in &plan.asked {
            let (lines, _) = block::read("log", &asked.prompt.user).expect("a block");
            prop_assert!(lines.iter().map(block::line_tokens).sum::<usize>() <= setting.budget.bounded().window);
            shown.push(lines);
        }
        if plan.asked.is_empty() {
            return Ok(());
        }
        // Each span's text, blank lines and line ends aside, can be put together from the lines that the windows show for it.
        let all = log.lines(setting.budget.line());
        let mut reached = 0;
        for lines in &shown {
            let start = (0..=reached).rev().find(|start| all[*start..].starts_with(lines));
            prop_assert!(start.is_some(), "a window is a run of lines that begins where earlier ones ended, or before");
            reached = reached.max(start.unwrap_or_default() + lines.len());
        }
        prop_assert_eq!(reached, all.len());
        for (place, span) in log.spans().iter().enumerate() {
            let label = log.label(place);
            let told: String = all.iter().filter(|line| line.label == label).map(|line| line.text.as_str()).collect();
            let whole: String = span.text.lines().filter(|line| !line.trim().is_empty()).collect();
            prop_assert_eq!(told, whole);
        }
    }

    #[test]
    fn evidence_is_where_it_is_said_to_be(spans in proptest::collection::vec(span(), 1..6), place in 0_usize..6, text in "[a-z0-9é]{1,3}") {
        let log = LogView::new(spans);
        if let Ok(found) = check(&log, &Citation { span: log.label(place), text: text.clone() }) {
            prop_assert_eq!(&log.spans()[found.place].text[found.start..found.end], text.as_str());
            prop_assert!(log.spans()[found.place].kind.is_evidence());
        }
    }
}
