//! Runs with a skill and without, and passed against failed logs.

use parthack_gcpc::label::Outcome::{self, Fail, Pass};
use parthack_gcpc::records::Judgement;

use crate::ledger::{Ledger, check, credited, failed, identity, judged, passed, rated, row, unjudged};

fn run(name: &str, task: &str, condition: &str, run: &str, outcome: Outcome, yes: usize) -> Judgement {
    let mut identity = identity(name, task, Some(outcome));
    identity.condition = condition.to_owned();
    identity.run = Some(run.to_owned());
    credited(identity, yes, 20)
}

fn ledger() -> Ledger {
    let (with, without) = ("with-skill", "without-skill");
    let mut judgements = vec![
        // Run ids decide who is paired with whom, not hashes or scores: r1 with r1 (Δ .15), r2 with r2 (Δ −.05).
        run("a9", "s/a", without, "r1", Fail, 10),
        run("a8", "s/a", without, "r2", Fail, 8),
        run("a7", "s/a", without, "r3", Fail, 0),
        run("a2", "s/a", with, "r1", Fail, 13),
        run("a1", "s/a", with, "r2", Fail, 7),
        // Δ exactly .10 is not above it; Δ .05 is beyond the noise; Δ 0 is a tie.
        run("b1", "s/b", without, "r1", Fail, 4),
        run("b2", "s/b", with, "r1", Fail, 6),
        run("c1", "s/c", without, "r1", Fail, 4),
        run("c2", "s/c", with, "r1", Pass, 9),
        run("d1", "s/d", without, "r1", Pass, 12),
        run("d2", "s/d", with, "r1", Pass, 12),
        run("e1", "s/e", "self-generated", "r1", Pass, 1),
        run("e2", "s/e", "none-known", "r1", Pass, 1),
        run("e3", "s/e", with, "r1", Pass, 1),
    ];
    // The same task with another model matches nobody.
    let mut stranger = run("f1", "s/e", without, "r1", Fail, 1);
    stranger.identity.model = Some("another".to_owned());
    judgements.push(stranger);
    let mut pending = run("f2", "s/e", without, "r1", Fail, 1);
    pending.identity.outcome = None;
    judgements.push(pending);
    // A log without a verdict takes its place, undecided.
    let silent = run("g1", "s/g", without, "r1", Fail, 1);
    judgements.push(unjudged(silent.identity, "gcpc"));
    judgements.push(run("g2", "s/g", with, "r1", Fail, 20));
    Ledger::of(judgements)
}

#[test]
fn transitions_worked_by_hand() {
    let table = ledger().table("transitions");
    let find = |transition| row(&table, &[("transition", transition)]);
    let same = find("fail-to-fail");
    // Δ: .15, −.05, .10 and one undecided.
    check(&table, same, &[("pairs", "4"), ("n", "3"), ("tasks", "2"), ("median", "~0.1"), ("no_verdict", "1")]);
    check(&table, same, &[("mean", &format!("~{}", 0.2 / 3.0)), ("above_10", "1/3"), ("below_10", "0")]);
    check(&table, same, &[("above_037", "2/3"), ("below_037", "1/3"), ("beyond_037", "1")]);
    check(&table, same, &[("positive", "2"), ("negative", "1"), ("ties", "0"), ("sign_p", "~1")]);
    // Ranks 3, 1, 2 with the signs +, −, +: 2·P(W⁻ ≤ 1) = 2·2/8.
    check(&table, same, &[("wilcoxon_p", "~0.5")]);
    check(&table, find("fail-to-pass"), &[("pairs", "1"), ("median", "~0.25"), ("above_10", "1")]);
    check(
        &table,
        find("pass-to-fail"),
        &[("pairs", "0"), ("median", "-nothing to count"), ("sign_p", "-nothing to count")],
    );
    check(&table, find("pass-to-pass"), &[("n", "1"), ("ties", "1"), ("beyond_037", "0")]);
    check(&table, find("unchanged"), &[("pairs", "5"), ("n", "4")]);
    check(&table, find("all"), &[("pairs", "6"), ("n", "5"), ("tasks", "4"), ("positive", "3")]);
    assert_eq!(table.notes[0], "n = 6 matched pairs, 5 tasks, judge local/judge.");
    let counted = "Unmatched: 1 with the skill, 2 without. Left out: 2 logs of another or unknown condition, 1 without an official outcome.";
    assert!(table.notes.iter().any(|note| note.starts_with(counted)), "{:?}", table.notes);
}

#[test]
fn pairs_one_by_one() {
    let table = ledger().table("figure-5");
    let at = |log: &str| row(&table, &[("log_with", &format!("{log:0<64}"))]);
    check(
        &table,
        at("a2"),
        &[("run_without", "r1"), ("delta", "3/20"), ("gcpc_without", "1/2"), ("transition", "fail-to-fail")],
    );
    check(&table, at("a1"), &[("run_without", "r2"), ("log_without", &format!("{:0<64}", "a8"))]);
    assert_eq!(
        table.cell(at("a1"), "delta"),
        Some(&parthack_gcpc::analysis::Value::Exact(parthack_statistics::Ratio::fraction(1, 20).negated()))
    );
    check(&table, at("g2"), &[("gcpc_without", "-no verdict"), ("delta", "-undecided")]);
    assert_eq!(table.rows.len(), 6);
}

#[test]
fn first_logs_by_hash() {
    let ledger = Ledger::of(vec![
        // The second passed log would lose; the first by hash wins.
        credited(passed("a2", "s/a"), 0, 4),
        credited(passed("a1", "s/a"), 4, 4),
        credited(failed("a3", "s/a"), 1, 4),
        rated(passed("a1", "s/a"), "tick", "1/2"),
        rated(failed("a3", "s/a"), "tick", "3/4"),
        credited(passed("b1", "s/b"), 2, 4),
        credited(failed("b2", "s/b"), 2, 4),
        judged(passed("c1", "s/c"), "aa", "J"),
        credited(failed("c2", "s/c"), 2, 4),
        // No failed log.
        credited(passed("d1", "s/d"), 2, 4),
    ]);
    let table = ledger.table("same-task");
    let gcpc = row(&table, &[("method", "gcpc")]);
    check(&table, gcpc, &[("pairs", "3"), ("n", "2"), ("wins", "1"), ("ties", "1"), ("losses", "0"), ("sign_p", "~1")]);
    // Δ: 3/4 and 0.
    check(&table, gcpc, &[("median", "~0.375")]);
    check(&table, row(&table, &[("method", "tick")]), &[("n", "1"), ("losses", "1"), ("median", "~-0.25")]);
    // With the outcome: 1 − 1/5, 3/5 − 2/5, 1 − 2/5.
    check(&table, row(&table, &[("method", "gcpc-outcome")]), &[("n", "3"), ("wins", "3"), ("median", "~0.6")]);
}

/// G §4.6: of 69 decidable pairs on Terminal-Bench 40 are won, 27 tied and 2 lost, with a median of +.25 and p < 10^−9.
#[test]
fn the_papers_terminal_bench_pairs() {
    let mut judgements = Vec::new();
    for task in 0..86 {
        let name = format!("terminal/{task:03}");
        let (pass, fail) = match task {
            0..40 => (if task < 20 { 3 } else { 2 }, 1),
            40..67 => (2, 2),
            67..69 => (1, 2),
            _ => (0, 0),
        };
        for (side, yes) in [("e", pass), ("f", fail)] {
            let identity = if side == "e" {
                passed(&format!("{side}{task:03}"), &name)
            } else {
                failed(&format!("{side}{task:03}"), &name)
            };
            judgements.push(if task < 69 { credited(identity, yes, 4) } else { judged(identity, "aaaa", "J") });
        }
    }
    let table = Ledger::of(judgements).table("same-task");
    let gcpc = row(&table, &[("method", "gcpc")]);
    check(&table, gcpc, &[("pairs", "86"), ("n", "69"), ("wins", "40"), ("ties", "27"), ("losses", "2")]);
    check(&table, gcpc, &[("median", "~0.25")]);
    let Some(parthack_gcpc::analysis::Value::Float(p)) = table.cell(gcpc, "sign_p") else { panic!("no p-value") };
    // 2·(1 + 42 + 861)/2^42.
    assert!((p - 1808.0 / 2f64.powi(42)).abs() < 1e-20 && *p < 1e-9, "{p}");
}
