//! Table 2 and the annotators, worked by hand.

use parthack_gcpc::analysis::AnalysisError;
use parthack_statistics::{Ratio, alpha_interval, alpha_ordinal};

use crate::ledger::{Ledger, bounds, check, credited, failed, frozen, judged, passed, rated, row, unjudged};

fn ledger() -> Ledger {
    Ledger::of(vec![
        credited(passed("aaaa0001", "s/a"), 3, 4),
        credited(failed("aaaa0002", "s/a"), 1, 4),
        credited(failed("aaaa0003", "s/a"), 1, 4),
        judged(failed("aaaa0004", "s/a"), "aaaa", "J"),
        credited(passed("bbbb0001", "s/b"), 2, 4),
        credited(failed("bbbb0002", "s/b"), 4, 4),
        unjudged(failed("bbbb0003", "s/b"), "gcpc"),
        rated(passed("aaaa0001", "s/a"), "holistic", "2/10"),
        rated(failed("aaaa0002", "s/a"), "holistic", "9/10"),
    ])
}

const ROWS: &str = "\
ann,preference,aaaa0001,aaaa0002,,first
ben,preference,aaaa0002,aaaa0001,,first
ann,preference,aaaa0002,aaaa0003,,second
ann,preference,aaaa0001,aaaa0003,,neither
ann,preference,aaaa0001,aaaa0004,,first
ann,preference,bbbb0001,bbbb0002,,second
ben,preference,bbbb0001,bbbb0002,,second
ann,rating,aaaa0001,,,9
ben,rating,aaaa0001,,,8
ann,rating,aaaa0002,,,4
ben,rating,aaaa0002,,,5.5
ann,rating,aaaa0004,,,1
ann,rating,bbbb0002,,,10
ben,rating,bbbb0003,,,2
ann,criterion,aaaa0001,,c1,yes
ben,criterion,aaaa0001,,c1,yes
ann,criterion,aaaa0002,,c2,yes
ben,criterion,aaaa0002,,c2,no
ann,criterion,bbbb0003,,c1,no
ann,criterion,aaaa0001,,c4,abstain
";

#[test]
fn preferences_and_ratings() {
    let table = ledger().annotated(ROWS).table("2");
    let gcpc = row(&table, &[("method", "gcpc")]);
    // Agree: ann on a1 over a2, both on b2 over b1; disagree: ben on a2 over a1. A tie of scores, a tie of ann's, a log without GCPC.
    check(&table, gcpc, &[("comparable", "4"), ("agreement", "3/4"), ("score_ties", "1"), ("human_ties", "1")]);
    check(&table, gcpc, &[("missing", "1"), ("no_verdict", "1")]);
    // Task a agrees in 1 of 2, task b in 2 of 2.
    assert_eq!(bounds(&table, gcpc, "agreement"), (0.5, 1.0));
    // Ratings 8.5, 4.75, 10 beside 3/4, 1/4, 1; the logs without a score are left out.
    check(&table, gcpc, &[("rho", "~1"), ("logs", "3"), ("tasks", "2")]);
    let holistic = row(&table, &[("method", "holistic")]);
    check(
        &table,
        holistic,
        &[("comparable", "2"), ("agreement", "1/2"), ("missing", "5"), ("rho", "~-1"), ("logs", "2")],
    );
    // 4/5, 1/5, 0 and 4/5 with the outcome, of which zero evidence is the lowest: ranks as of the ratings but for the tie.
    let outcome = row(&table, &[("method", "gcpc-outcome")]);
    check(&table, outcome, &[("logs", "4"), ("missing", "0")]);
    assert_eq!(table.notes[0], "n = 7 annotated logs, 2 tasks, judge local/judge.");
    assert!(table.notes[1].starts_with("Of them, 1 are without any evidence"), "{:?}", table.notes);
}

#[test]
fn without_annotations_and_of_one_annotator() {
    let table = ledger().table("2");
    check(&table, 0, &[("method", "gcpc"), ("agreement", "-no annotations"), ("rho", "-no annotations")]);
    assert_eq!(ledger().table("annotators").rows.len(), 0);
    let notes = ledger().annotated("ann,rating,bbbb0001,,,1\n").table("2").notes;
    assert!(notes.iter().any(|note| note.ends_with("nobody else can confirm: s/b.")), "{notes:?}");
}

#[test]
fn annotators_among_themselves() {
    let table = ledger().annotated(ROWS).table("annotators");
    let find = |measure| row(&table, &[("measure", measure)]);
    check(&table, find("annotators"), &[("value", "2"), ("ratings", "20"), ("tasks", "2")]);
    check(&table, find("assignments"), &[("value", "4")]);
    check(&table, find("ratings"), &[("value", "7")]);
    let rating = |value: &str| Some(value.parse::<Ratio>().expect("a decimal"));
    let twice = [[rating("9"), rating("8")], [rating("4"), rating("5.5")]];
    let interval = alpha_interval(&twice).expect("defined").alpha;
    let ordinal = alpha_ordinal(&twice).expect("defined").alpha;
    // By hand: observed ((1 + 1)/1 + (2.25 + 2.25)/1)·3 over twice 1 + 25 + 12.25 + 16 + 6.25 + 2.25 = 62.75.
    assert!((interval - (1.0 - 3.0 * 6.5 / 125.5)).abs() < 1e-12);
    check(&table, find("rating alpha, interval"), &[("n", "2"), ("ratings", "4"), ("value", &format!("~{interval}"))]);
    check(&table, find("rating alpha, ordinal"), &[("value", &format!("~{ordinal}")), ("tasks", "1")]);
    // Units {yes, yes} and {yes, no}: 1 − 3·2/(2·3·1) = 0.
    check(&table, find("criterion alpha, nominal"), &[("n", "2"), ("ratings", "4"), ("value", "~0")]);
    // Units {first, second} (one told the other way round) and {second, second}: 0 too.
    check(&table, find("preference alpha, nominal"), &[("n", "2"), ("value", "~0")]);
    // GCPC: c1 of a1 Yes (twice), c2 of a2 No, c4 of a1 No; b3 has no labels.
    check(&table, find("criterion agreement with GCPC"), &[("n", "5"), ("value", "3/5")]);
    check(&table, find("criterion agreement with GCPC, both decided"), &[("n", "4"), ("value", "3/4")]);
    check(&table, find("mean rating, passed"), &[("n", "1"), ("ratings", "2"), ("value", "~8.5")]);
    // 4.75, 1, 10 and 2.
    check(&table, find("mean rating, failed"), &[("n", "4"), ("ratings", "5"), ("value", "~4.4375"), ("tasks", "2")]);
    check(&table, find("mean rating, passed minus failed"), &[("n", "5"), ("value", "~4.0625")]);
}

#[test]
fn items_must_be_of_the_checklist() {
    let mut ledger = ledger().annotated("ann,criterion,bbbb0001,,c5,yes\n");
    let expected = |among: &str| AnalysisError::AnnotatedItem {
        line: 2,
        item: "c5".to_owned(),
        task: "s/b".to_owned(),
        expected: among.to_owned(),
    };
    assert_eq!(ledger.analyze().map(|_| ()), Err(expected("c1, c2, c3, c4")));
    ledger.checklists.insert("s/b".to_owned(), frozen("s/b", "JJ"));
    assert_eq!(ledger.analyze().map(|_| ()), Err(expected("c1, c2")));
    // Annotations of logs that are not in the ledger any more.
    ledger.judgements.retain(|judgement| !judgement.identity.log.starts_with("bbbb"));
    assert!(matches!(ledger.analyze(), Err(AnalysisError::AnnotatedLog { line: 2, .. })));
}
