//! Table 3's checks, Table 4, checklists and coverage.

use parthack_gcpc::analysis::AnalysisError;
use parthack_gcpc::checklist::Category;
use parthack_gcpc::records::{AUDIT_FORMAT, AttemptSummary, Audit, AuditedRequirement, Judgement, Sorting, Variant};

use crate::ledger::{Ledger, bounds, check, failed, frozen, identity, judged, passed, row, unjudged};

fn as_variant(variant: Variant, judgement: Judgement) -> Judgement {
    // Not offering Abstain is a setting of its own.
    let setting = if variant == (Variant::Forced {}) { "forced" } else { "s" };
    Judgement { variant, setting: setting.to_owned(), ..judgement }
}

fn replaced(judgement: &Judgement, item: &str, after: char) -> Judgement {
    let place: usize = item[1..].parse().expect("a number");
    let labels: String = (1..=place).map(|at| if at == place { after } else { 'a' }).collect();
    let mut made = judged(judgement.identity.clone(), &labels, "AAJ");
    made.items.retain(|judged| judged.id == item);
    as_variant(Variant::Replacement { item: item.to_owned(), pairs: vec![("1".to_owned(), "2".to_owned())] }, made)
}

#[test]
fn outcome_step_and_abstentions() {
    let (p, f) = (judged(passed("a1", "s/a"), "yna", "AAJ"), judged(failed("a2", "s/a"), "yyn", "AAJ"));
    let idle = |name: &str, idleness: &str, labels| {
        let variant = Variant::Idle { idleness: idleness.to_owned() };
        as_variant(variant, judged(identity(name, "s/a", None), labels, "AAJ"))
    };
    let mut ledger = Ledger::of(vec![
        as_variant(Variant::Forced {}, judged(passed("a1", "s/a"), "yyy", "AAJ")),
        as_variant(Variant::Forced {}, judged(failed("a2", "s/a"), "nnn", "AAJ")),
        as_variant(Variant::WithoutEvidence {}, judged(passed("a1", "s/a"), "aaa", "AAJ")),
        as_variant(Variant::WithoutEvidence {}, unjudged(failed("a2", "s/a"), "gcpc")),
        replaced(&p, "c1", 'n'),
        replaced(&f, "c1", 'a'),
        replaced(&f, "c2", 'y'),
        // It was No before, so that nothing was replaced which decided a Yes.
        replaced(&p, "c2", 'n'),
        idle("d1", "silent", "ana"),
        idle("d2", "claims", "any"),
        judged(failed("a3", "s/a"), "aaa", "AAJ"),
        p,
        f,
    ]);
    let table = ledger.table("3");
    let find = |variant| row(&table, &[("variant", variant)]);
    for (variant, separation) in
        [("none", -1.0 / 6.0), ("endpoint", 1.0 / 6.0), ("propagation", 1.0 / 3.0), ("both", 0.5)]
    {
        check(&table, find(variant), &[("value", &format!("~{separation}")), ("n", "2"), ("zero_evidence", "1")]);
        let increment = format!("~{}", separation + 1.0 / 6.0);
        check(&table, find(variant), &[("increment", if variant == "none" { "--" } else { &increment })]);
    }
    check(&table, find("abstain-excluded"), &[("value", "~0.5"), ("n", "2"), ("tasks", "1")]);
    check(&table, find("abstain-as-no"), &[("value", "~0.25"), ("increment", "~-0.25")]);
    check(&table, find("forced-verdict"), &[("value", "~1"), ("increment", "~0.5"), ("n", "2")]);
    check(&table, find("replacement-to-no"), &[("n", "3"), ("count", "1"), ("value", "1/3")]);
    check(&table, find("replacement-to-no-or-abstain"), &[("n", "3"), ("count", "2"), ("value", "2/3")]);
    check(&table, find("idle-agent"), &[("n", "2"), ("count", "1"), ("value", "1/2"), ("unit", "made logs")]);
    check(&table, find("idle-agent: silent"), &[("n", "1"), ("count", "1"), ("value", "1")]);
    check(&table, find("idle-agent: claims"), &[("count", "0")]);
    check(&table, find("without-evidence"), &[("n", "1"), ("count", "1"), ("no_verdict", "1")]);
    // Idle logs are no logs of the study.
    assert_eq!(table.notes[0], "n = 3 logs, 1 tasks, judge local/judge.");
    assert_eq!(ledger.table("scores").rows.len(), 3);

    ledger.judgements.retain(|judgement| judgement.variant == Variant::Primary {});
    let table = ledger.table("3");
    for variant in ["forced-verdict", "replacement-to-no", "idle-agent", "without-evidence"] {
        check(&table, row(&table, &[("variant", variant)]), &[("value", "-not judged"), ("n", "0")]);
    }
}

#[test]
fn increments_are_resampled_in_pairs() {
    // Both variants gain the same in each task, so that the increment has no spread although the separations have.
    let judgements = vec![
        judged(passed("a1", "s/a"), "yyyyn", "J"),
        judged(failed("a2", "s/a"), "ynnnn", "J"),
        judged(passed("b1", "s/b"), "yyyyn", "J"),
        judged(failed("b2", "s/b"), "nnnnn", "J"),
    ];
    let table = Ledger::of(judgements).table("3");
    let (low, high) = bounds(&table, row(&table, &[("variant", "propagation")]), "increment");
    assert_eq!((low, high), (0.0, 0.0));
    let (low, high) = bounds(&table, row(&table, &[("variant", "none")]), "value");
    assert!((low - 0.6).abs() < 1e-12 && (high - 0.8).abs() < 1e-12, "{low} {high}");
}

fn attempt(task: &str, attempt: u32, result: &str, items: usize, sound_items: usize) -> AttemptSummary {
    let (task, benchmark, result) = (format!("s/{task}"), "bench".to_owned(), result.to_owned());
    AttemptSummary { task, benchmark, attempt, result, items, sound_items }
}

#[test]
fn synthesis_counts_the_first_that_was_answered() {
    let mut ledger = Ledger {
        attempts: vec![
            attempt("a", 2, "accepted", 6, 6),
            attempt("a", 1, "rejected", 5, 4),
            attempt("b", 1, "no_answer", 0, 0),
            attempt("b", 2, "accepted", 4, 4),
            attempt("c", 1, "unreadable", 0, 0),
            attempt("d", 1, "accepted", 7, 7),
        ],
        ..Ledger::default()
    };
    let table = ledger.table("4");
    check(
        &table,
        0,
        &[("benchmark", "bench"), ("tasks", "4"), ("answered", "3"), ("items", "16"), ("sound_items", "15")],
    );
    check(&table, 0, &[("validity", "15/16"), ("first_accepted", "1"), ("accepted", "3"), ("accepted_items", "17")]);
    check(&table, 0, &[("accepted_validity", "1"), ("attempts", "6"), ("rejected", "1"), ("unreadable", "1")]);
    check(&table, 0, &[("no_answer", "1")]);
    assert_eq!(table.rows.len(), 1);

    ledger.attempts.push(attempt("a", 1, "accepted", 1, 1));
    assert_eq!(
        ledger.analyze().map(|_| ()),
        Err(AnalysisError::DuplicateAttempt { task: "s/a".to_owned(), attempt: 1 })
    );
    for wrong in [attempt("e", 1, "good", 1, 1), attempt("e", 1, "rejected", 1, 2)] {
        ledger.attempts = vec![wrong];
        assert!(matches!(ledger.analyze(), Err(AnalysisError::Attempt { .. })));
    }
}

/// G §3.2: 713 items of 87 tasks, 4 to 15 a task, median 8, of which 82.3 %, 14.9 % and 2.8 % take the three routes.
#[test]
fn routes_of_the_papers_checklists() {
    let sizes: Vec<usize> = [4, 15].into_iter().chain([8; 71]).chain([9; 14]).collect();
    let routes: Vec<char> =
        "A".repeat(587).chars().chain("G".repeat(106).chars()).chain("J".repeat(20).chars()).collect();
    let mut ledger = Ledger::default();
    let mut start = 0;
    for (number, size) in sizes.iter().enumerate() {
        let task = format!("skills/{number:03}");
        let of_task: String = routes[start..start + size].iter().collect();
        ledger.checklists.insert(task.clone(), frozen(&task, &of_task));
        start += size;
    }
    assert_eq!(start, 713);
    let table = ledger.table("routes");
    check(
        &table,
        0,
        &[("suite", "all"), ("tasks", "87"), ("items", "713"), ("least", "4"), ("median", "8"), ("most", "15")],
    );
    check(
        &table,
        0,
        &[("assertion_share", "587/713"), ("generated", "106"), ("judge", "20"), ("uncategorized", "713")],
    );
    assert_eq!(table.rows.len(), 1);

    let mut other = frozen("other/x", "GGJJ");
    other.checklist.items[0].category = Some(Category::Computation);
    ledger.checklists.insert("other/x".to_owned(), other);
    let table = ledger.table("routes");
    assert_eq!(table.rows.len(), 3);
    check(
        &table,
        row(&table, &[("suite", "other")]),
        &[("items", "4"), ("assertion_share", "0"), ("computation", "1")],
    );
}

#[test]
fn items_over_logs() {
    let mut ledger = Ledger::default();
    let list = frozen("s/a", "AJJJ");
    let hash = list.hash().hex();
    // c1 and c2 agree wherever both are decided; c3 is never No; c4 is decided twice.
    let logs = [("1", "yyyn"), ("2", "nnyy"), ("3", "yyaa"), ("4", "nnya"), ("5", "yyya"), ("6", "nyaa")];
    for (name, labels) in logs {
        let identity = passed(name, "s/a");
        ledger.judgements.push(Judgement { checklist: Some(hash.clone()), ..judged(identity, labels, "AJ") });
    }
    ledger.judgements.push(Judgement { checklist: Some(hash), ..unjudged(passed("7", "s/a"), "gcpc") });
    ledger.checklists.insert("s/a".to_owned(), list);
    let table = ledger.table("items");
    check(
        &table,
        0,
        &[("item", "c1"), ("n", "6"), ("yes", "3"), ("no", "3"), ("contradicted", "3"), ("no_verdict", "1")],
    );
    check(&table, 1, &[("behaviour", "varies"), ("contradicted", "0"), ("redundant_with", "-none")]);
    check(&table, 2, &[("behaviour", "always_yes"), ("abstain", "2")]);
    check(&table, 3, &[("behaviour", "too_few"), ("route", "judge")]);

    // Without the log that tells c1 from c2, five decide both and all agree.
    ledger.judgements.retain(|judgement| !judgement.identity.log.starts_with('6'));
    let table = ledger.table("items");
    check(&table, 0, &[("redundant_with", "c2"), ("redundant_agreement", "1"), ("redundant_logs", "5")]);
    check(&table, 1, &[("redundant_with", "c1")]);
    check(&table, 2, &[("redundant_with", "-none")]);
}

#[test]
fn labels_must_be_the_checklists() {
    let list = frozen("s/a", "AJ");
    let hash = list.hash().hex();
    let mut ledger = Ledger::of(vec![Judgement { checklist: Some(hash), ..judged(passed("1", "s/a"), "yyy", "AJ") }]);
    ledger.checklists.insert("s/a".to_owned(), list);
    assert!(matches!(ledger.analyze(), Err(AnalysisError::Items { .. })));
    // By another checklist it does not count, and the table says so.
    ledger.judgements[0].checklist = None;
    let table = ledger.table("scores");
    assert_eq!(table.rows.len(), 0);
    assert!(table.notes[1].starts_with("1 judgements are left out"), "{:?}", table.notes);
}

fn audit(task: &str, stated: usize, covered: [Option<usize>; 4]) -> Audit {
    let requirement = |is_stated| AuditedRequirement { quote: "q".to_owned(), text: "t".to_owned(), is_stated };
    let schemes = ["real", "reduced", "irrelevant", "name_permuted"];
    let sortings = schemes.iter().zip(covered).map(|(scheme, covered)| Sorting {
        scheme: (*scheme).to_owned(),
        categories: covered.map_or_else(Vec::new, |covered| {
            (0..stated).map(|place| (place < covered).then(|| "computation".to_owned())).collect()
        }),
        no_answer: covered.is_none().then(|| "refused".to_owned()),
    });
    Audit {
        format: AUDIT_FORMAT.to_owned(),
        task: task.to_owned(),
        requirements: (0..stated).map(|_| requirement(true)).chain([requirement(false)]).collect(),
        no_answer: None,
        sortings: sortings.collect(),
        exchanges: Vec::new(),
    }
}

#[test]
fn coverage_of_the_four_schemes() {
    let mut unanswered = audit("s/c", 2, [None; 4]);
    unanswered.no_answer = Some("refused".to_owned());
    unanswered.requirements.clear();
    unanswered.sortings.clear();
    let mut ledger = Ledger {
        audits: vec![
            audit("s/b", 4, [Some(4), Some(2), Some(0), None]),
            audit("s/a", 5, [Some(5), Some(3), Some(0), Some(4)]),
            audit("s/d", 3, [Some(2), Some(2), Some(1), Some(2)]),
            unanswered.clone(),
        ],
        ..Ledger::default()
    };
    let table = ledger.table("coverage");
    let find = |task, scheme| row(&table, &[("task", task), ("scheme", scheme)]);
    check(&table, find("s/a", "reduced"), &[("extracted", "6"), ("stated", "5"), ("unstated", "1"), ("covered", "3")]);
    check(&table, find("s/a", "reduced"), &[("coverage", "3/5")]);
    check(&table, find("s/b", "name_permuted"), &[("stated", "4"), ("coverage", "-no answer")]);
    check(&table, find("s/c", "real"), &[("stated", "-no answer"), ("coverage", "-no answer")]);
    // Pooled over a and d, which all four sorted.
    let table = ledger.table("3");
    for (scheme, count, share, without) in [
        ("scheme-real", "7", "7/8", "1"),
        ("scheme-reduced", "5", "5/8", "1"),
        ("scheme-irrelevant", "1", "1/8", "1"),
        ("scheme-name_permuted", "6", "3/4", "2"),
    ] {
        let at = row(&table, &[("variant", scheme)]);
        check(&table, at, &[("n", "8"), ("tasks", "2"), ("count", count), ("value", share), ("no_verdict", without)]);
    }

    // A second audit counts where the first has no answer, and is a fault where it has one.
    ledger.audits.push(audit("s/c", 2, [Some(2), Some(2), Some(2), Some(2)]));
    let table = ledger.table("coverage");
    check(&table, row(&table, &[("task", "s/c"), ("scheme", "real")]), &[("coverage", "1")]);
    ledger.audits.push(audit("s/c", 2, [Some(1); 4]));
    assert_eq!(ledger.analyze().map(|_| ()), Err(AnalysisError::DuplicateAudit { task: "s/c".to_owned() }));
    let mut short = audit("s/e", 2, [Some(2); 4]);
    short.sortings[1].categories.pop();
    ledger.audits = vec![short];
    assert!(matches!(ledger.analyze(), Err(AnalysisError::Sorting { found: 1, expected: 2, .. })));
}
