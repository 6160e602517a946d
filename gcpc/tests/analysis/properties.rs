//! What holds of every ledger: the order of its lines does not matter, and every table is well made.

use std::collections::BTreeSet;

use parthack_gcpc::analysis::{Analysis, AnalysisError, Annotations, Kind, Value};
use parthack_gcpc::records::{Judgement, Variant};
use proptest::prelude::*;

use crate::ledger::{Ledger, identity, judged, rated, unjudged};
use parthack_gcpc::label::Outcome;

const IDS: [&str; 17] = [
    "scores",
    "2",
    "annotators",
    "3",
    "4",
    "paired",
    "figure-4",
    "conditions",
    "perfect",
    "transitions",
    "figure-5",
    "same-task",
    "routes",
    "items",
    "reliability",
    "judges",
    "coverage",
];

fn well_made(analysis: &Analysis) {
    let ids: Vec<&str> = analysis.tables.iter().map(|table| table.id).collect();
    assert_eq!(ids, IDS);
    for table in &analysis.tables {
        let keys: BTreeSet<&str> = table.columns.iter().map(|column| column.key).collect();
        assert_eq!(keys.len(), table.columns.len(), "{}: keys", table.id);
        assert!(table.notes[0].starts_with("n = ") && table.notes[0].contains("tasks"), "{}", table.notes[0]);
        assert!(table.notes[0].contains("judge"), "{}", table.notes[0]);
        for row in &table.rows {
            assert_eq!(row.len(), table.columns.len(), "{}: a row", table.id);
            for (column, value) in table.columns.iter().zip(row) {
                let is_words = matches!(value, Value::Text(_) | Value::Flag(_));
                let is_missing = matches!(value, Value::Missing(_));
                assert!(is_missing || is_words == (column.kind == Kind::Words), "{}, {}", table.id, column.key);
                match value {
                    Value::Float(float) => assert!(float.is_finite(), "{}, {}", table.id, column.key),
                    Value::Interval { low, high, .. } => assert!(low <= high, "{}, {}", table.id, column.key),
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn of_nothing_there_are_no_rows() {
    for annotated in [false, true] {
        let ledger = Ledger {
            annotations: annotated.then(Annotations::default),
            // Nobody judged, so that no judge can be missed.
            primary_judge: annotated.then(|| "a/b".to_owned()),
            ..Ledger::default()
        };
        let analysis = ledger.analyze().expect("nothing is sound");
        well_made(&analysis);
        for table in &analysis.tables {
            assert_eq!(table.rows.len(), 0, "{}", table.id);
        }
    }
}

#[test]
fn too_few_resamples() {
    let mut input_resamples = Vec::new();
    for resamples in [0, 1, 1_000_001] {
        let ledger = Ledger::default();
        let input = parthack_gcpc::analysis::Input {
            judgements: &ledger.judgements,
            checklists: &ledger.checklists,
            attempts: &ledger.attempts,
            audits: &ledger.audits,
            annotations: None,
            seed: 0,
            resamples,
            primary_judge: None,
        };
        input_resamples.push(parthack_gcpc::analysis::analyze(&input).map(|_| ()));
    }
    assert!(input_resamples.iter().all(|result| matches!(result, Err(AnalysisError::Bootstrap(_)))));
}

/// A judgement of one of 12 logs of 4 tasks, by one of two judges.
fn any_judgement() -> impl Strategy<Value = Judgement> {
    let methods = prop::sample::select(vec!["gcpc", "gcpc", "gcpc", "holistic", "tick", "generic-checklist"]);
    let variants = prop::sample::select(vec![
        Variant::Primary {},
        Variant::Primary {},
        Variant::Primary {},
        Variant::Forced {},
        Variant::WithoutEvidence {},
        Variant::Replacement { item: "c1".to_owned(), pairs: Vec::new() },
        Variant::Idle { idleness: "silent".to_owned() },
    ]);
    let choices = (0_u8..12, methods, variants, 1_u32..4, 0_u8..5);
    (choices, prop::collection::vec(0_u8..3, 3), 0_u8..5, 0_u8..11).prop_map(
        |((log, method, variant, pass, judge), labels, verdict, score)| {
            let outcome = [Some(Outcome::Pass), Some(Outcome::Fail), Some(Outcome::Fail), None][usize::from(log) % 4];
            let mut identity = identity(&format!("{log:x}{log:x}"), &format!("s/{}", log / 3), outcome);
            identity.condition = ["with-skill", "without-skill"][usize::from(log) % 2].to_owned();
            let letters: String = labels.iter().map(|label| ['y', 'n', 'a'][usize::from(*label)]).collect();
            let mut made = match (verdict, method) {
                (0, _) => unjudged(identity, method),
                (_, "gcpc") => judged(identity, &letters, "AGJ"),
                _ => rated(identity, method, &format!("{score}/10")),
            };
            if method == "gcpc" {
                made.variant = variant;
            }
            made.pass = pass;
            if judge == 0 {
                made.judge = "remote/other".to_owned();
            }
            made
        },
    )
}

/// A ledger without duplicates, in two orders.
fn any_ledger() -> impl Strategy<Value = (Vec<Judgement>, Vec<Judgement>)> {
    let distinct = prop::collection::vec(any_judgement(), 0..120).prop_map(|judgements| {
        let mut seen = BTreeSet::new();
        let key = |of: &Judgement| {
            (of.identity.log.clone(), of.method.clone(), of.variant.clone(), of.pass, of.judge.clone())
        };
        judgements.into_iter().filter(|judgement| seen.insert(key(judgement))).collect::<Vec<_>>()
    });
    distinct.prop_flat_map(|judgements| (Just(judgements.clone()), Just(judgements).prop_shuffle()))
}

/// Annotations of whatever logs there are.
fn annotations(judgements: &[Judgement], backwards: bool) -> Annotations {
    let logs: BTreeSet<(&str, &str)> =
        judgements.iter().map(|of| (of.identity.task.as_str(), of.identity.log.as_str())).collect();
    let logs: Vec<(&str, &str)> = logs.into_iter().collect();
    let mut rows = Vec::new();
    for (place, (task, log)) in logs.iter().enumerate() {
        for (number, annotator) in ["ann", "ben"].iter().enumerate() {
            rows.push(format!("{annotator},rating,{log},,,{}", (place * 3 + number) % 11));
            rows.push(format!("{annotator},criterion,{log},,c{},yes", 1 + (place + number) % 3));
            if let Some((_, next)) = logs.get(place + 1).filter(|(other, _)| other == task) {
                rows.push(format!("{annotator},preference,{log},{next},,first"));
            }
        }
    }
    if backwards {
        rows.reverse();
    }
    let text = format!("annotator,kind,log,other,item,value\n{}\n", rows.join("\n"));
    Annotations::read(text.as_bytes(), judgements.iter().map(|of| &of.identity), false).expect("sound")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn order_does_not_matter((one, other) in any_ledger()) {
        let ledger = |judgements: Vec<Judgement>, backwards| {
            let annotations = Some(annotations(&judgements, backwards));
            Ledger { judgements, annotations, ..Ledger::default() }
        };
        let (first, second) = (ledger(one, false), ledger(other, true));
        let analysis = first.analyze().expect("sound");
        well_made(&analysis);
        prop_assert_eq!(&analysis, &second.analyze().expect("sound"));
    }

    #[test]
    fn a_line_twice_is_refused((judgements, _) in any_ledger(), which in any::<prop::sample::Index>()) {
        prop_assume!(!judgements.is_empty());
        let mut twice = judgements.clone();
        twice.push(judgements[which.index(judgements.len())].clone());
        let is_refused = matches!(Ledger::of(twice).analyze(), Err(AnalysisError::DuplicateJudgement { .. }));
        prop_assert!(is_refused);
    }
}
