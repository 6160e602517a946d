//! Several passes, several judges, and which judgements count.

use parthack_gcpc::analysis::{AnalysisError, Estimate, Value};
use parthack_gcpc::records::Judgement;
use parthack_statistics::{Ratio, alpha_interval, alpha_nominal};

use crate::ledger::{JUDGE, Ledger, check, credited, failed, identity, judged, passed, row, unjudged};

fn in_pass(pass: u32, judgement: Judgement) -> Judgement {
    Judgement { pass, ..judgement }
}

fn by(judge: &str, judgement: Judgement) -> Judgement {
    Judgement { judge: judge.to_owned(), judge_hash: format!("hash of {judge}"), ..judgement }
}

#[test]
fn three_passes() {
    let (a, b, c) = (passed("a1", "s/a"), failed("b1", "s/b"), failed("c1", "s/c"));
    let ledger = Ledger::of(vec![
        in_pass(1, judged(a.clone(), "yyn", "J")),
        in_pass(2, judged(a.clone(), "ynn", "J")),
        in_pass(3, judged(a, "yya", "J")),
        in_pass(1, judged(b.clone(), "nna", "J")),
        in_pass(2, judged(b.clone(), "nny", "J")),
        in_pass(3, judged(b, "nnn", "J")),
        // Two verdicts: in α, and not in unanimity.
        in_pass(1, judged(c.clone(), "yyy", "J")),
        in_pass(2, judged(c.clone(), "yyy", "J")),
        in_pass(3, unjudged(c, "gcpc")),
        // One pass alone says nothing of reliability.
        judged(failed("c2", "s/c"), "nnn", "J"),
    ]);
    let table = ledger.table("reliability");
    let find = |measure| row(&table, &[("measure", measure)]);
    // Of six items, c1 twice and c2 of b agree in all passes; c3 of b has no two passes that agree.
    check(&table, find("unanimity"), &[("n", "6"), ("tasks", "2"), ("value", "1/2"), ("no_verdict", "1")]);
    check(&table, find("majority"), &[("value", "5/6")]);
    // c3 of b: the majority rule abstains, and so does the first pass.
    check(&table, find("first pass as the majority"), &[("value", "1")]);
    let fraction = |yes, of| Some(Ratio::fraction(yes, of));
    let scores = [
        vec![fraction(2, 3), fraction(1, 3), fraction(1, 1)],
        vec![fraction(0, 2), fraction(1, 3), fraction(0, 3)],
        vec![fraction(1, 1), fraction(1, 1)],
    ];
    let expected = alpha_interval(&scores).expect("defined").alpha;
    let gcpc = find("GCPC alpha, interval");
    check(&table, gcpc, &[("n", "3"), ("tasks", "3"), ("value", &format!("~{expected}"))]);
    let labels: Vec<Vec<Option<char>>> = ["yyy", "yny", "nna", "nnn", "nnn", "ayn", "yy", "yy", "yy"]
        .iter()
        .map(|unit| unit.chars().map(Some).collect())
        .collect();
    let expected = alpha_nominal(&labels).expect("defined").alpha;
    check(&table, find("label alpha, nominal"), &[("n", "9"), ("value", &format!("~{expected}"))]);
    // a: (1/3 + 1/3 + 2/3)/3 = 4/9; b: (1/3 + 0 + 1/3)/3 = 2/9; c: 0.
    let distance = find("mean absolute difference of GCPC between passes");
    check(&table, distance, &[("n", "3"), ("value", &format!("~{}", 2.0 / 9.0))]);
    // Scores of later passes are nowhere else.
    check(&ledger.table("scores"), 0, &[("gcpc", "2/3")]);
    assert_eq!(table.notes[0], "n = 3 logs judged in more than one pass, 3 tasks, judge local/judge.");
}

#[test]
fn another_judge() {
    let other = "remote/other";
    let ledger = Ledger::of(vec![
        judged(passed("a1", "s/a"), "yyy", "J"),
        by(other, judged(passed("a1", "s/a"), "yya", "J")),
        judged(failed("a2", "s/a"), "yyn", "J"),
        by(other, judged(failed("a2", "s/a"), "ynn", "J")),
        judged(failed("b1", "s/b"), "nna", "J"),
        by(other, judged(failed("b1", "s/b"), "aan", "J")),
        judged(failed("b2", "s/b"), "ynn", "J"),
        by(other, unjudged(failed("b2", "s/b"), "gcpc")),
        judged(identity("b3", "s/b", None), "yyy", "J"),
    ]);
    let table = ledger.table("judges");
    check(&table, 0, &[("judge", other), ("n", "3"), ("tasks", "2"), ("no_verdict", "1"), ("items", "9")]);
    // 1, 2/3, 0 beside 1, 1/3, 0.
    check(&table, 0, &[("scored", "3"), ("rho", "~1"), ("scored_outcome", "3"), ("rho_outcome", "~1")]);
    check(&table, 0, &[("yes_yes", "3"), ("yes_no", "1"), ("yes_abstain", "1"), ("no_no", "1"), ("no_abstain", "2")]);
    check(&table, 0, &[("abstain_no", "1"), ("abstain_abstain", "0"), ("no_yes", "0"), ("abstain_yes", "0")]);
    check(&table, 0, &[("abstain_primary", "1/9"), ("abstain", "1/3"), ("same", "4/9"), ("zero_evidence", "0")]);
    assert_eq!(table.rows.len(), 1);
    assert!(matches!(table.cell(0, "same"), Some(Value::Interval { mean: Estimate::Exact(_), .. })));
}

#[test]
fn the_judge_with_the_most_or_the_named_one() {
    let mut ledger = Ledger::of(vec![
        by("b/x", credited(passed("a1", "s/a"), 1, 4)),
        by("a/x", credited(passed("a1", "s/a"), 2, 4)),
    ]);
    // A tie goes to the first name.
    check(&ledger.table("scores"), 0, &[("gcpc", "1/2")]);
    ledger.judgements.push(by("b/x", credited(failed("a2", "s/a"), 1, 4)));
    check(&ledger.table("scores"), 0, &[("gcpc", "1/4")]);
    ledger.primary_judge = Some("a/x".to_owned());
    let table = ledger.table("scores");
    check(&table, 0, &[("gcpc", "1/2")]);
    assert_eq!((table.rows.len(), table.notes[0].as_str()), (1, "n = 1 logs, 1 tasks, judge a/x."));
    ledger.primary_judge = Some("c/x".to_owned());
    let known = "a/x, b/x".to_owned();
    assert_eq!(ledger.analyze(), Err(AnalysisError::UnknownJudge { found: "c/x".to_owned(), known }));
}

#[test]
fn one_setting_counts() {
    let other = |judgement: Judgement| Judgement { setting: "t".to_owned(), ..judgement };
    let mut ledger = Ledger::of(vec![
        credited(passed("a1", "s/a"), 1, 4),
        other(credited(passed("a1", "s/a"), 4, 4)),
        other(credited(failed("a2", "s/a"), 0, 4)),
    ]);
    let table = ledger.table("scores");
    check(&table, 0, &[("gcpc", "1")]);
    assert_eq!(table.rows.len(), 2);
    assert!(table.notes[1].starts_with("1 judgements are left out"), "{:?}", table.notes);
    // Equally many: the setting that comes first.
    ledger.judgements.pop();
    check(&ledger.table("scores"), 0, &[("gcpc", "1/4")]);
    // Later passes have no say, however many there are; their own setting tells nothing of the first pass.
    ledger.judgements.extend((2..5).map(|pass| other(in_pass(pass, credited(passed("a1", "s/a"), 4, 4)))));
    check(&ledger.table("scores"), 0, &[("gcpc", "1/4")]);
    assert_eq!(ledger.table("reliability").rows.len(), 0);
}

#[test]
fn ledgers_that_contradict_themselves() {
    let one = credited(passed("a1", "s/a"), 1, 4);
    let refused = |judgements: Vec<Judgement>| Ledger::of(judgements).analyze().expect_err("a fault");
    // What was answered does not make another judgement.
    assert_eq!(
        refused(vec![one.clone(), credited(passed("a1", "s/a"), 2, 4)]),
        AnalysisError::DuplicateJudgement {
            log: one.identity.log.clone(),
            method: "gcpc".to_owned(),
            variant: "primary".to_owned(),
            pass: 1,
            judge: JUDGE.to_owned(),
        }
    );
    let two = in_pass(2, credited(failed("a1", "s/a"), 2, 4));
    let expected = AnalysisError::Identity {
        log: one.identity.log.clone(),
        field: "outcome",
        one: "fail".to_owned(),
        other: "pass".to_owned(),
    };
    assert_eq!(refused(vec![one.clone(), two.clone()]), expected);
    assert_eq!(refused(vec![two, one.clone()]), expected);
    let method = Judgement { method: "tock".to_owned(), ..one.clone() };
    assert!(matches!(refused(vec![method]), AnalysisError::UnknownMethod { .. }));
    let mut bare = one.clone();
    bare.items[0].route = None;
    assert!(matches!(refused(vec![bare]), AnalysisError::NoRoute { .. }));
    for wrong in ["11/10", "-1/10", "0.5", "", "1/0", "NaN"] {
        let score = crate::ledger::rated(passed("a1", "s/a"), "holistic", wrong);
        assert!(matches!(refused(vec![score]), AnalysisError::Score { .. }), "{wrong}");
    }
}
