//! Scores, AUCs on identical logs and on own samples, Perfect.

use parthack_gcpc::analysis::Value;

use crate::ledger::{Ledger, bounds, check, credited, failed, identity, judged, passed, rated, row, unjudged};

/// Two tasks with a passed and a failed log each, and logs that only one method scores.
fn ledger() -> Ledger {
    let logs = [
        (passed("a1", "s/a"), 3, "5/10"),
        (failed("a2", "s/a"), 1, "5/10"),
        (passed("b1", "s/b"), 2, "3/10"),
        (failed("b2", "s/b"), 2, "8/10"),
    ];
    let mut judgements = Vec::new();
    for (identity, yes, rating) in logs {
        judgements.push(credited(identity.clone(), yes, 4));
        judgements.push(rated(identity, "holistic", rating));
    }
    // No evidence, no verdict, no outcome, and no rating.
    judgements.push(judged(passed("c1", "s/c"), "aa", "J"));
    judgements.push(rated(passed("c1", "s/c"), "holistic", "10/10"));
    judgements.push(unjudged(failed("c2", "s/c"), "gcpc"));
    judgements.push(unjudged(failed("c2", "s/c"), "holistic"));
    judgements.push(credited(identity("c3", "s/c", None), 4, 4));
    judgements.push(rated(identity("c3", "s/c", None), "holistic", "1/10"));
    judgements.push(credited(failed("c4", "s/c"), 0, 4));
    Ledger::of(judgements)
}

#[test]
fn worked_scores_of_the_paper() {
    let judgements = vec![
        judged(failed("a1", "s/a"), "yyynnnnnn", "A"),
        judged(failed("a2", "s/a"), "yyyyynnnn", "A"),
        judged(failed("a3", "s/a"), "yyyyyyyyy", "A"),
        judged(passed("a4", "s/a"), "nnyaaaaaa", "AAAAJ"),
        judged(identity("a5", "s/a", None), "yna", "J"),
        judged(failed("a6", "s/a"), "aaa", "A"),
        unjudged(failed("a7", "s/a"), "gcpc"),
    ];
    let table = Ledger::of(judgements).table("scores");
    for (place, gcpc, with_outcome, perfect) in
        [(0, "3/9", "3/10", "false"), (1, "5/9", "1/2", "false"), (2, "1", "9/10", "true")]
    {
        check(&table, place, &[("gcpc", gcpc), ("gcpc_outcome", with_outcome), ("perfect", perfect)]);
    }
    // A PASS reaches the items of route assertion alone: four Yes and the endpoint, of five decided and nine items.
    let cells = [("gcpc", "1/3"), ("gcpc_outcome", "1"), ("perfect", "true")];
    check(&table, 3, &cells);
    check(&table, 3, &[("evidence_coverage", "1/3"), ("decided_coverage", "4/9"), ("outcome", "pass")]);
    check(&table, 4, &[("gcpc", "1/2"), ("gcpc_outcome", "-no outcome"), ("evidence_coverage", "2/3")]);
    check(&table, 5, &[("gcpc", "-zero evidence"), ("gcpc_outcome", "0"), ("zero_evidence", "true")]);
    check(&table, 6, &[("gcpc", "-no verdict"), ("perfect", "-no verdict"), ("no_verdict", "1")]);
    check(&table, 0, &[("holistic", "-not judged"), ("no_verdict", "0"), ("run", "-unknown")]);
    assert_eq!(table.rows.len(), 7);
    assert_eq!(table.notes[0], "n = 7 logs, 1 tasks, judge local/judge.");
    assert!(table.notes[1].starts_with("1 logs without any evidence"));
}

#[test]
fn paired_on_identical_logs() {
    let table = ledger().table("paired");
    let holistic = row(&table, &[("method", "holistic")]);
    check(&table, holistic, &[("n", "4"), ("passes", "2"), ("fails", "2"), ("tasks", "2")]);
    // GCPC: 1 + 1 + 1 + ½ of 4; holistic: ½ + 0 + 0 + 0 of 4.
    check(&table, holistic, &[("auc_gcpc", "~0.875"), ("auc_other", "~0.125"), ("delta_auc", "3/4")]);
    check(&table, holistic, &[("share_positive", "~1"), ("resamples", "2000"), ("no_verdict", "1")]);
    // c1 has no GCPC, c4 no rating; c2 and c3 have neither both nor one.
    check(&table, holistic, &[("one_only", "2")]);
    // Resamples draw task a twice (½), b twice (½), or both (¾).
    assert_eq!(bounds(&table, holistic, "delta_auc"), (0.5, 0.75));
    assert_eq!(table.rows.len(), 1);
    assert!(table.notes.iter().any(|note| note.starts_with("1 logs without any evidence")), "{:?}", table.notes);
}

#[test]
fn unequal_settings_are_told() {
    let mut ledger = ledger();
    assert!(!ledger.table("paired").notes.iter().any(|note| note.contains("information may not be equal")));
    for judgement in ledger.judgements.iter_mut().filter(|judgement| judgement.method == "holistic") {
        judgement.setting = "another".to_owned();
    }
    assert!(ledger.table("paired").notes.iter().any(|note| note.ends_with("may not be equal: holistic.")));
}

#[test]
fn own_samples() {
    let table = ledger().table("figure-4");
    let own = |method| row(&table, &[("panel", "B"), ("method", method)]);
    // The passed logs at 3/4 and 2/4 against failed ones at 1/4, 2/4 and 0: 3 + 2½ of 6.
    check(&table, own("gcpc"), &[("value", "11/12"), ("n", "5"), ("tasks", "3")]);
    // 5, 3 and 10 tenths against 5 and 8: ½ + 0 + 0 + 0 + 1 + 1 of 6.
    check(&table, own("holistic"), &[("value", "5/12"), ("n", "5"), ("share_positive", "--")]);
    let delta = row(&table, &[("panel", "A"), ("measure", "delta_auc")]);
    check(&table, delta, &[("value", "3/4"), ("low", "~0.5"), ("high", "~0.75"), ("share_positive", "~1")]);
    let one = row(&table, &[("panel", "A"), ("method", "holistic"), ("measure", "auc")]);
    check(&table, one, &[("value", "~0.125"), ("against", "gcpc"), ("n", "4")]);

    let table = ledger().table("3");
    check(
        &table,
        row(&table, &[("panel", "A"), ("variant", "gcpc")]),
        &[("value", "11/12"), ("n", "5"), ("zero_evidence", "1"), ("no_verdict", "1")],
    );
}

#[test]
fn conditions_apart() {
    let mut ledger = ledger();
    for judgement in ledger.judgements.iter_mut().filter(|judgement| judgement.identity.task == "s/a") {
        judgement.identity.condition = "with-skill".to_owned();
    }
    let table = ledger.table("conditions");
    let with = row(&table, &[("condition", "with-skill"), ("method", "gcpc")]);
    check(&table, with, &[("n", "2"), ("passes", "1"), ("fails", "1"), ("tasks", "1"), ("auc", "1")]);
    check(&table, with, &[("separation", "~0.5"), ("zero_evidence", "0")]);
    let other = row(&table, &[("condition", "none-known"), ("method", "gcpc")]);
    // 2/4 against 2/4 and 0.
    check(&table, other, &[("n", "3"), ("auc", "3/4"), ("zero_evidence", "1"), ("no_verdict", "1")]);
    assert!(matches!(table.cell(with, "auc"), Some(Value::Exact(_))), "one task gives no interval");
}

#[test]
fn perfect_with_and_without_the_endpoint() {
    let judgements = vec![
        judged(passed("a1", "s/a"), "yn", "A"),
        judged(passed("a2", "s/a"), "yn", "J"),
        judged(failed("b1", "s/b"), "ya", "J"),
        judged(failed("b2", "s/b"), "yn", "J"),
        judged(failed("b3", "s/b"), "aa", "J"),
        judged(identity("b4", "s/b", None), "yy", "J"),
    ];
    let table = Ledger::of(judgements).table("perfect");
    // a1 is perfect by propagation, b1 although it failed; b3 is apart, b4 has no outcome.
    let find = |endpoint, sample| row(&table, &[("endpoint", endpoint), ("sample", sample)]);
    let without = find("excluded", "some evidence");
    check(&table, without, &[("n", "4"), ("tasks", "2"), ("agree", "2"), ("agreement", "1/2"), ("zero_evidence", "1")]);
    check(&table, without, &[("perfect_passed", "1"), ("perfect_failed", "1"), ("imperfect_passed", "1")]);
    check(&table, find("included", "some evidence"), &[("agree", "3"), ("agreement", "3/4"), ("perfect_failed", "0")]);
    check(&table, find("excluded", "all"), &[("n", "5"), ("agree", "2"), ("agreement", "2/5")]);
    check(&table, find("included", "all"), &[("agree", "4"), ("imperfect_failed", "3")]);
    // Wilson's interval of 2 in 4: centre ½, half-width z·√(n/4 + z²/4)/(n + z²) = .35 with z² = 3.8415.
    let (low, high) = bounds(&table, without, "agreement");
    assert!((low - 0.1500).abs() < 1e-4 && (high - 0.8500).abs() < 1e-4, "{low} {high}");
}
