//! G's worked numbers, and what the outcome step and the metrics may not do.

use parthack_gcpc::checklist::Route;
use parthack_gcpc::label::{Label, Outcome};
use parthack_gcpc::metrics::{ablation, score};
use parthack_gcpc::outcome::{LabelledItem, Labels, Step};
use parthack_gcpc::ratio::Ratio;
use proptest::prelude::*;

fn labels(text: &str, outcome: Option<Outcome>) -> Labels {
    let routes = [Route::Assertion, Route::Generated, Route::Judge];
    let item = |(index, letter): (usize, char)| LabelledItem {
        id: format!("c{}", index + 1),
        route: match letter {
            'Y' | 'N' | 'A' => Route::Assertion,
            _ => routes[1 + index % 2],
        },
        label: match letter.to_ascii_lowercase() {
            'y' => Label::Yes,
            'n' => Label::No,
            _ => Label::Abstain,
        },
    };
    Labels { items: text.chars().enumerate().map(item).collect(), outcome }
}

fn decimal(ratio: Option<Ratio>) -> String {
    ratio.map_or("null".to_owned(), |ratio| ratio.decimal(3))
}

/// Capital letters are items of route `assertion`. Expected: gcpc, gcpc_outcome, perfect, evidence and decided coverage.
fn check(text: &str, outcome: Option<Outcome>, expected: [&str; 5]) {
    let scores = score(&labels(text, outcome));
    let perfect = scores.perfect.map_or("null".to_owned(), |perfect| u8::from(perfect).to_string());
    let found = [
        decimal(scores.gcpc),
        decimal(scores.gcpc_outcome),
        perfect,
        decimal(scores.evidence_coverage),
        decimal(scores.decided_coverage),
    ];
    assert_eq!(found, expected, "{text} {outcome:?}");
}

#[test]
fn the_papers_examples() {
    let fail = Some(Outcome::Fail);
    check("YYYYYYYYY", fail, ["1.000", "0.900", "1", "1.000", "1.000"]);
    check("YYYNNNNNN", fail, ["0.333", "0.300", "0", "1.000", "1.000"]);
    check("YYYYYNNNN", fail, ["0.556", "0.500", "0", "1.000", "1.000"]);
    // SWE-bench, sphinx-10435: three of three, then the endpoint.
    check("YYY", Some(Outcome::Pass), ["1.000", "1.000", "1", "1.000", "1.000"]);
    check("YYY", fail, ["1.000", "0.750", "1", "1.000", "1.000"]);
    // Terminal-Bench, pypi-server: four of six.
    check("YYYYNN", None, ["0.667", "null", "0", "1.000", "1.000"]);
}

#[test]
fn abstain_leaves_the_denominator() {
    check("YyNaaa", Some(Outcome::Fail), ["0.667", "0.500", "0", "0.500", "0.500"]);
    check("aaaa", Some(Outcome::Fail), ["null", "0.000", "1", "0.000", "0.000"]);
    check("aaaa", Some(Outcome::Pass), ["null", "1.000", "1", "0.000", "0.000"]);
    check("aaaa", None, ["null", "null", "1", "0.000", "0.000"]);
    check("", None, ["null", "null", "null", "null", "null"]);
    assert!(score(&labels("aaaa", None)).zero_evidence);
    assert!(!score(&labels("aaan", None)).zero_evidence);
}

#[test]
fn a_pass_reaches_assertion_routes_alone() {
    // Items: assertion No, assertion Abstain, judge No, generated Abstain.
    check("NAna", Some(Outcome::Pass), ["0.000", "0.750", "0", "0.500", "0.750"]);
    check("NAya", Some(Outcome::Pass), ["0.500", "1.000", "1", "0.500", "0.750"]);
    // On a FAIL nothing is overwritten.
    check("NAya", Some(Outcome::Fail), ["0.500", "0.333", "0", "0.500", "0.500"]);
}

#[test]
fn four_variants() {
    let found = ablation(&labels("YNny", Some(Outcome::Pass))).map(|(name, ratio)| (name, decimal(ratio)));
    let expected = [("none", "0.500"), ("endpoint", "0.600"), ("propagation", "0.750"), ("both", "0.800")];
    assert_eq!(found, expected.map(|(name, ratio)| (name, ratio.to_owned())));
    let without = ablation(&labels("YN", None)).map(|(_, ratio)| ratio.is_some());
    assert_eq!(without, [true, false, false, false]);
}

#[test]
fn forced_verdicts_are_no() {
    let forced = labels("YAa", Some(Outcome::Fail)).abstain_as_no();
    assert_eq!(decimal(score(&forced).gcpc), "0.333");
}

#[test]
fn the_file_is_strict() {
    let good =
        br#"{"format":"parthack.labels/1","items":[{"id":"c1","route":"assertion","label":"yes"}],"outcome":"fail"}"#;
    let read = Labels::read(good).expect("good");
    let read_again = Labels::read(&read.write()).expect("what is written is read");
    assert_eq!(read, read_again);
    assert_eq!(score(&read).json()["gcpc_outcome"], 0.5);
    assert_eq!(score(&read).json()["gcpc_outcome_exact"], "1/2");
    assert_eq!(score(&read).json()["perfect"], 1);
    let bad = [
        (r#"{"format":"parthack.labels/2","items":[],"outcome":null}"#, "/format"),
        (r#"{"format":"parthack.labels/1","items":[]}"#, "the key \"outcome\""),
        (r#"{"format":"parthack.labels/1","items":[],"outcome":"PASS"}"#, "/outcome"),
        (r#"{"format":"parthack.labels/1","items":[],"outcome":null,"score":1}"#, "/score"),
        (
            r#"{"format":"parthack.labels/1","items":[{"id":"c1","route":"assertion","label":"maybe"}],"outcome":null}"#,
            "/items/0/label",
        ),
        (
            r#"{"format":"parthack.labels/1","items":[{"id":"c1","route":"judge","label":"no"},{"id":"c1","route":"judge","label":"no"}],"outcome":null}"#,
            "/items/1/id",
        ),
        (r#"{"format":"parthack.labels/1","items":[],"items":[],"outcome":null}"#, "a second time"),
    ];
    for (text, place) in bad {
        let error = Labels::read(text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(place), "{error}");
    }
}

proptest! {
    #[test]
    fn what_holds_for_all_labels(text in "[yYnNaA]{0,15}", outcome in prop_oneof![Just(None), Just(Some(Outcome::Pass)), Just(Some(Outcome::Fail))]) {
        let labels = labels(&text, outcome);
        let scores = score(&labels);
        let count = |letters: &str| text.chars().filter(|letter| letters.contains(*letter)).count() as u64;
        prop_assert_eq!(scores.gcpc, Ratio::new(count("yY"), count("yYnN")));
        prop_assert_eq!(scores.evidence_coverage, Ratio::new(count("yYnN"), text.len() as u64));
        let expected = match outcome {
            None => None,
            Some(Outcome::Fail) => Ratio::new(count("yY"), count("yYnN") + 1),
            Some(Outcome::Pass) => Ratio::new(count("yYNA") + 1, count("yYnNA") + 1),
        };
        prop_assert_eq!(scores.gcpc_outcome, expected);
        let after = Step::BOTH.apply(&labels);
        for (before, after) in labels.items.iter().zip(&after.items) {
            let is_overwritten = outcome == Some(Outcome::Pass) && before.route == Route::Assertion;
            prop_assert_eq!(after.label, if is_overwritten { Label::Yes } else { before.label });
        }
        prop_assert!(scores.gcpc_outcome.is_none_or(|ratio| outcome != Some(Outcome::Fail) || ratio < Ratio::new(1, 1).unwrap()));
        prop_assert_eq!(Labels::read(&labels.write()).expect("read"), labels);
    }
}
