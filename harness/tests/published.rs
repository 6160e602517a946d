//! The published tables: what is recomputed must be as printed, and what no trajectory gives must be found.

use std::collections::BTreeMap;
use std::path::Path;

use parthack::exact::{Ratio, decimal};
use parthack::published::attainable::attainable_inflations;
use parthack::published::data::Published;
use parthack::published::recompute::Recomputed;
use parthack::published::{PublishedReport, Status, published_report, render};
use parthack::statistics::Bootstrap;
use parthack::table::Format;
use serde_json::Value;

fn report() -> PublishedReport {
    published_report().unwrap()
}

fn json(report: &PublishedReport) -> BTreeMap<String, Value> {
    let set: Value = serde_json::from_str(&render(report, Format::Json)).unwrap();
    let tables = set["tables"].as_array().unwrap().iter();
    tables.map(|table| (table["id"].as_str().unwrap().to_owned(), table.clone())).collect()
}

fn row<'a>(table: &'a Value, key: &str, id: &str) -> &'a Value {
    table["rows"].as_array().unwrap().iter().find(|row| row[key] == id).unwrap()
}

#[test]
fn every_recomputed_aggregate_is_as_printed() {
    let report = report();
    for row in &report.comparisons {
        assert_ne!(row.status, Status::Differs, "{row:?}");
        assert_eq!(row.recomputed.is_none(), row.status == Status::PrintedOnly, "{row:?}");
    }
    let status = |table: &str, aggregate: &str| {
        let found = report.comparisons.iter().find(|row| row.table == table && row.aggregate == aggregate);
        found.unwrap_or_else(|| panic!("{table}: {aggregate}")).status
    };
    assert_eq!(status("B.2", "Terminal Outcome, honest MAE"), Status::Agrees);
    assert_eq!(status("B.2", "DeepSeek judge, honest MAE"), Status::PrintedOnly);
    assert_eq!(status("B.2", "IDJ, honest MAE"), Status::PrintedOnly);
    assert_eq!(status("B.2", "IDJ, mean inflation, upper bound"), Status::Agrees);
    assert_eq!(status("B.5", "idj, retained credit, all pairs"), Status::Agrees);
    assert_eq!(status("6.1", "Predicate-Max to CSPS, rollbacks"), Status::PrintedOnly);
    assert_eq!(status("A.5", "IDJ target, protocol-valid"), Status::PrintedOnly);
}

/// Canary: a changed per-task value must turn an aggregate into one that differs.
#[test]
fn a_changed_ledger_differs() {
    let mut published = Published::load().unwrap();
    let bootstrap = Bootstrap::with_seed(0);
    let mean = |published: &Published| {
        let recomputed = Recomputed::new(published, &bootstrap).unwrap();
        decimal(recomputed.shared("historical").unwrap().summary.mean_inflation.unwrap().mean)
    };
    assert_eq!(mean(&published), "0.252");
    published.ledger.shared[0].historical = ".700".parse().unwrap();
    assert_eq!(mean(&published), "0.259");
    published.ledger.shared.pop();
    let error = Recomputed::new(&published, &bootstrap).unwrap_err();
    let chain = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        chain, "coverage and end-to-end yield: found 17 cells, expected 18; missing: PH-H15",
        "a lost row must not pass for a smaller denominator"
    );
    published.manifest.tasks.pop();
    assert!(Recomputed::new(&published, &bootstrap).is_err(), "17 tasks are not P's 18");
}

#[test]
fn tables_keep_their_ids_and_keys() {
    let report = report();
    let ids: Vec<&str> = report.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "1",
            "2",
            "3",
            "6.1",
            "A.1",
            "A.2",
            "A.3",
            "A.4",
            "A.5",
            "B.1",
            "B.2",
            "B.3",
            "B.4",
            "B.5",
            "B.6",
            "C.1",
            "comparison",
            "attainability",
            "attainability-ranked",
            "rollback-bounds",
            "retained-credit",
        ]
    );
    let tables = json(&report);
    let historical = row(&tables["B.2"], "evaluator", "historical");
    assert_eq!(historical["evaluator_name"], "Historical / Predicate-Max");
    assert_eq!(historical["conditional_asr"], serde_json::json!({"k": 10, "n": 15}));
    assert_eq!(historical["end_to_end_yield"], serde_json::json!({"k": 10, "n": 18}));
    assert_eq!(historical["mean_inflation"], 0.2522);
    assert_eq!(historical["mean_inflation_label"], "recomputed");
    let bounds: Vec<f64> = (historical["ci95"].as_array().unwrap().iter()).map(|b| b.as_f64().unwrap()).collect();
    assert!((bounds[0] - 0.154).abs() <= 0.006 && (bounds[1] - 0.351).abs() <= 0.006, "{bounds:?}");
    let terminal = row(&tables["B.2"], "evaluator", "terminal-outcome");
    assert_eq!(terminal["honest_mae_exact"], "583/1080");
    assert_eq!(terminal["rollback"], Value::Null);
    assert_eq!(terminal["rollback_missing"], "auxiliary");
    let judge = row(&tables["B.2"], "evaluator", "deepseek");
    assert_eq!(judge["honest_mae_label"], "printed only");
    assert_eq!(row(&tables["A.2"], "task", "PH-H01")["p_state_honest_exact"], "1/4");
    let thresholds = tables["B.6"]["rows"].as_array().unwrap();
    assert_eq!(thresholds[2]["over_00"], 5);
    assert_eq!(thresholds[3]["over_20"], 8);
}

#[test]
fn every_format_renders_and_is_the_same_twice() {
    let (first, second) = (report(), report());
    for format in [Format::Text, Format::Markdown, Format::Csv, Format::Json, Format::Latex] {
        let text = render(&first, format);
        assert_eq!(text, render(&second, format));
        assert!(text.contains("comparison") && text.contains("B.2"), "{format:?}");
    }
    let text = render(&first, Format::Text);
    assert!(text.contains("CAPE-Max                       16/18        .239 ["), "{text}");
}

#[test]
fn eight_of_ten_historical_values_are_unattainable() {
    let report = report();
    for evaluator in ["historical", "cape-max"] {
        let nonzero: Vec<_> = (report.attainability.iter())
            .filter(|row| row.evaluator == evaluator && !row.published.is_zero())
            .collect();
        assert_eq!(nonzero.len(), 10);
        assert_eq!(nonzero.iter().filter(|row| !row.is_attainable).count(), 8);
    }
    let deltas = attainable_inflations(3, "1/3".parse().unwrap()).unwrap();
    assert_eq!(deltas.iter().map(Ratio::to_string).collect::<Vec<_>>(), ["0", "1/3", "2/3"]);
}

#[test]
fn retained_credit_has_the_bounds_of_table_a2() {
    let retained = report().retained;
    assert_eq!((decimal(retained.least()).as_str(), decimal(retained.largest()).as_str()), ("0.240", "0.588"));
    assert_eq!(retained.tasks.len(), 14);
    let historical = retained.printing_as(".504".parse().unwrap());
    let cape_max = retained.printing_as(".448".parse().unwrap());
    assert_eq!(historical.iter().map(Ratio::to_string).collect::<Vec<_>>(), ["141/280"]);
    assert_eq!(cape_max.iter().map(Ratio::to_string).collect::<Vec<_>>(), ["47/105"]);
}

/// The attainable inflations against an independent exhaustive search over the released tasks, where it is at hand.
#[test]
fn attainability_matches_exhaustive_search() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/release/attainable.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        assert!(std::env::var_os("CI").is_none(), "{} is absent", path.display());
        println!("skipped: {} is absent", path.display());
        return;
    };
    let oracle: Value = serde_json::from_str(&text).unwrap();
    let report = report();
    let rows = oracle["per_task"].as_array().unwrap();
    assert_eq!(rows.len(), report.attainability.len());
    for row in rows {
        let ours = (report.attainability.iter())
            .find(|ours| ours.evaluator == row["evaluator"] && ours.task == row["task"].as_str().unwrap())
            .unwrap();
        let deltas: Vec<String> =
            (row["attainable_deltas"].as_array().unwrap().iter()).map(|d| decimal(d.as_f64().unwrap())).collect();
        assert_eq!(ours.attainable.iter().map(|d| decimal(*d)).collect::<Vec<_>>(), deltas, "{}", ours.task);
        assert_eq!(row["published_is_attainable"], ours.is_attainable, "{}", ours.task);
        assert_eq!(row["published"].as_f64().unwrap(), ours.published.to_f64());
        assert_eq!(row["m"], ours.m);
    }
    for (key, target) in [("historical_predicate_max", "historical"), ("cape_max", "cape-max")] {
        let ranked = oracle["target_specific_ranked"][key].as_array().unwrap();
        let ours: Vec<_> = report.rank_attainability.iter().filter(|row| row.target == target).collect();
        assert_eq!(ranked.len(), ours.len());
        for (theirs, ours) in ranked.iter().zip(ours) {
            assert_eq!(theirs["value"].as_f64().unwrap(), ours.published.to_f64());
            let tasks: Vec<&str> = theirs["tasks"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            assert_eq!(ours.tasks, tasks, "{target} {}", ours.rank);
        }
    }
}
