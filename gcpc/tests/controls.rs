//! The checks of the instrument.

use std::collections::BTreeSet;

use parthack_gcpc::checklist::{Category, Checklist, Item, Route};
use parthack_gcpc::controls::replacement::{falsified, replace, sensitivity};
use parthack_gcpc::controls::schema::{Variant, real};
use parthack_gcpc::controls::variation::{Behaviour, Row, enforceability, redundant};
use parthack_gcpc::controls::{audit, idle, replacement, routes};
use parthack_gcpc::judging::log::{LogView, Span, SpanKind};
use parthack_gcpc::judging::{Setting, judge, plan};
use parthack_gcpc::label::{Label, Outcome};
use parthack_model::answer::Answer;
use proptest::prelude::*;

fn item(id: &str, route: Route) -> Item {
    Item {
        id: id.to_owned(),
        requirement: format!("Requirement {id}."),
        quote: "q".to_owned(),
        route,
        verifier: None,
        category: None,
    }
}

fn answer(content: &str) -> Answer {
    Answer { content: content.to_owned(), tokens: Vec::new() }
}

#[test]
fn idle_agents_earn_nothing() {
    let list = Checklist { items: vec![item("c1", Route::Assertion), item("c2", Route::Judge)] };
    let requirements: Vec<&str> = list.items.iter().map(|item| item.requirement.as_str()).collect();
    for (name, idleness) in idle::Idleness::ALL {
        let log = idle::log("Do it.", &requirements, idleness);
        let plan = plan(&list, &log, Setting::default());
        if name == "looks" {
            assert_eq!(plan.asked.len(), 1);
            let yes = r#"{"verdicts":{"c1":{"evidence":[{"span":"a2","text":"whoami"}],"verdict":"yes"},"c2":{"evidence":[],"verdict":"yes"}}}"#;
            let judged = judge(&list, &log, Setting::default(), &plan, &[Ok(answer(yes))]).expect("judged");
            assert!(idle::holds(&judged.labelled(&list, None)), "verdicts without evidence do not count");
        } else {
            assert!(plan.asked.is_empty(), "{name}");
            assert!(idle::holds(
                &judge(&list, &log, Setting::default(), &plan, &[]).expect("judged").labelled(&list, None)
            ));
        }
        assert!(!idle::without_evidence(&log).has_evidence());
    }
}

#[test]
fn falsified_evidence() {
    let changed = falsified("12 rows PASSED, ok: True, v1.50", 7).expect("numbers and words");
    assert!(changed.contains("FAILED") && changed.contains("error: False"), "{changed}");
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<Vec<_>>();
    assert!(digits("12 rows PASSED, ok: True, v1.50").iter().zip(digits(&changed)).all(|(old, new)| *old != new));
    assert_eq!(falsified("12 rows", 7), falsified("12 rows", 7));
    assert_eq!(falsified("the file", 7), None);
}

#[test]
fn every_occurrence_is_replaced() {
    let span = |kind, text: &str| Span { index: 0, kind, text: text.to_owned() };
    let log = LogView::new(vec![
        span(SpanKind::AgentText, "I see total 12"),
        span(SpanKind::ToolOutput, "total 12\ntotal 12 again, total"),
    ]);
    let replaced = replace(&log, &[("total 12", "total 34")]).expect("there");
    assert_eq!(replaced.occurrences, 3);
    assert!(replaced.log.spans().iter().all(|span| !span.text.contains("total 12")));
    assert_eq!(replace(&log, &[("total 13", "x")]), None);
    assert_eq!(replace(&log, &[("total 12", "total 123")]), None, "the old text would still stand there");
    let result = sensitivity(&[Label::No, Label::No, Label::Yes, Label::Abstain]).expect("labels");
    assert_eq!((result.to_no.to_string(), result.to_no_or_abstain.to_string()), ("2/4".to_owned(), "3/4".to_owned()));
    assert_eq!(sensitivity(&[]), None);
    assert_eq!(replacement::read(&["a b"], &answer(r#"{"replacements":["c d"]}"#)), Ok(vec!["c d".to_owned()]));
    for bad in [r#"{"replacements":["see a b"]}"#, r#"{"replacements":[" "]}"#, r#"{"replacements":[]}"#] {
        assert!(replacement::read(&["a b"], &answer(bad)).is_err_and(|error| error.contains("/replacements")));
    }
}

#[test]
fn schemes() {
    let real = real();
    let words: Vec<&str> = Category::WORDS.iter().map(|(word, _)| *word).collect();
    assert_eq!(real.categories.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(), words);
    let irrelevant = real.variant(Variant::Irrelevant, 0);
    assert_eq!(irrelevant.categories.len(), real.categories.len());
    assert!(
        irrelevant
            .categories
            .iter()
            .all(|of| real.categories.iter().all(|other| of.name != other.name && of.text != other.text))
    );
}

proptest! {
    #[test]
    fn variants_of_the_scheme(seed in any::<u64>(), kept in 0_usize..6) {
        let real = real();
        prop_assert_eq!(&real.variant(Variant::Real, seed), &real);
        let reduced = real.variant(Variant::Reduced(kept), seed);
        prop_assert_eq!(reduced.categories.len(), kept.min(5));
        prop_assert!(reduced.categories.iter().all(|of| real.categories.contains(of)));
        let permuted = real.variant(Variant::NamePermuted, seed);
        prop_assert!(permuted.categories.iter().zip(&real.categories).all(|(new, old)| new.text == old.text && new.name != old.name));
        let names: BTreeSet<&str> = permuted.categories.iter().map(|of| of.name.as_str()).collect();
        prop_assert_eq!(names.len(), 5);
        prop_assert_eq!(permuted, real.variant(Variant::NamePermuted, seed));
    }
}

#[test]
fn the_coverage_audit() {
    let instruction = "Read the file.\nSort the rows.";
    let prompt = audit::extraction_prompt(instruction);
    assert!(prompt.user.contains("i2| Sort the rows."));
    let extracted = r#"{"requirements":[{"quote":"Sort the rows","requirement":"Rows are sorted."},{"quote":"sort rows","requirement":"Rows are sorted."}]}"#;
    let found = audit::read_extraction(instruction, &answer(extracted)).expect("read");
    assert_eq!(found.iter().map(|one| one.is_stated).collect::<Vec<_>>(), [true, false]);
    assert!(audit::read_extraction(instruction, &answer(r#"{"requirements":[]}"#)).is_err());
    let scheme = real();
    let prompt = audit::sorting_prompt(&scheme, &["Rows are sorted.", "The file is read."]);
    assert!(prompt.user.contains("r2| The file is read.") && prompt.user.contains("k1| comprehension: "));
    let sorted =
        audit::read_sorting(&scheme, 2, &answer(r#"{"categories":{"r1":"computation","r2":"none"}}"#)).expect("read");
    assert_eq!(sorted, [Some(2), None]);
    assert_eq!(audit::coverage(&sorted).map(|ratio| ratio.to_string()), Some("1/2".to_owned()));
    let bad = audit::read_sorting(&scheme, 2, &answer(r#"{"categories":{"r1":"orchard","r2":"none"}}"#));
    assert!(bad.is_err_and(|error| error.contains("/categories/r1")));
}

#[test]
fn items_that_never_vary_and_items_that_agree() {
    use Label::{Abstain, No, Yes};
    let list = Checklist {
        items: ["a", "b", "c", "d"]
            .map(|id| item(id, if id == "a" { Route::Assertion } else { Route::Judge }))
            .to_vec(),
    };
    let row = |labels: [Label; 4], outcome| Row { labels: labels.to_vec(), outcome };
    let rows = [
        row([Yes, Yes, Yes, No], Some(Outcome::Pass)),
        row([No, Yes, No, Abstain], Some(Outcome::Pass)),
        row([Yes, Yes, Yes, Abstain], Some(Outcome::Fail)),
        row([No, Yes, Abstain, No], Some(Outcome::Fail)),
        Row { labels: vec![Yes], outcome: None },
    ];
    let counts = enforceability(&list, &rows, 3);
    let behaviours: Vec<Behaviour> = counts.iter().map(|of| of.behaviour).collect();
    assert_eq!(behaviours, [Behaviour::Varies, Behaviour::AlwaysYes, Behaviour::Varies, Behaviour::TooFew]);
    assert_eq!((counts[0].yes, counts[0].no, counts[0].contradicted), (2, 2, 1));
    assert_eq!((counts[3].no, counts[3].abstain), (2, 2));
    assert_eq!(enforceability(&list, &rows, 2)[3].behaviour, Behaviour::AlwaysNo);
    let pairs = redundant(&list, &rows, 3, 100);
    assert_eq!(
        pairs
            .iter()
            .map(|pair| (pair.first.as_str(), pair.second.as_str(), pair.agreement.to_string()))
            .collect::<Vec<_>>(),
        [("a", "c", "3/3".to_owned())]
    );
    assert_eq!(redundant(&list, &rows, 4, 100), []);
}

#[test]
fn counts_over_checklists() {
    let list = |routes: &[Route]| Checklist { items: routes.iter().map(|route| item("c", *route)).collect() };
    let lists = [
        list(&[Route::Assertion; 4]),
        list(&[Route::Assertion, Route::Judge, Route::Generated]),
        list(&[Route::Assertion; 5]),
    ];
    let counts = routes::statistics(&lists);
    assert_eq!((counts.tasks, counts.items, counts.range, counts.twice_median), (3, 12, Some((3, 5)), Some(8)));
    assert_eq!(counts.share(Route::Assertion).map(|ratio| ratio.to_string()), Some("10/12".to_owned()));
    assert_eq!(routes::statistics(&lists[..2]).twice_median, Some(7));
    assert_eq!(routes::statistics([]).share(Route::Judge), None);
}
