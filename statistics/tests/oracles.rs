//! Every statistic against scipy, scikit-learn, krippendorff, statsmodels and mpmath, on cases that `data/oracles.py` generated.
//!
//! Tolerance is 1e-9, of the value where it is above 1 and absolute below; p-values are also compared relatively. An
//! oracle's "undefined" must be our `None`.

use std::sync::LazyLock;

use parthack_statistics::normal::{upper_point, upper_tail};
use parthack_statistics::{
    Method, Proportion, Ratio, Scored, Weights, alpha_interval, alpha_nominal, alpha_ordinal, auc, cohen_kappa,
    fleiss_kappa, histogram, kendall_tau_b, mcnemar, mean, pearson, quantile, raw_agreement, separation, sign_test,
    sign_test_of_counts, spearman, wilcoxon, wilcoxon_by,
};
use serde_json::Value;

static ORACLES: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(include_str!("data/oracles.json")).unwrap());

fn cases(name: &str) -> &'static [Value] {
    let cases = ORACLES[name].as_array().unwrap();
    assert!(cases.len() >= 10, "{name} has cases");
    cases
}

fn ratios(values: &Value) -> Vec<Ratio> {
    values.as_array().unwrap().iter().map(|text| text.as_str().unwrap().parse().unwrap()).collect()
}

fn integers(values: &Value) -> Vec<i64> {
    values.as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect()
}

fn bounds(values: &Value) -> [f64; 2] {
    [0, 1].map(|place| values[place].as_f64().unwrap())
}

/// Both undefined, or equal to 1e-9.
#[track_caller]
fn same(ours: Option<f64>, theirs: &Value, case: &str) {
    match (ours, theirs.as_f64()) {
        (None, None) => {}
        (Some(ours), Some(theirs)) => {
            assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0), "{case}: ours {ours}, theirs {theirs}");
        }
        (ours, theirs) => panic!("{case}: ours {ours:?}, theirs {theirs:?}"),
    }
}

/// Equal to 1e-9 of the value.
#[track_caller]
fn same_probability(ours: f64, theirs: &Value, case: &str) {
    let theirs = theirs.as_f64().unwrap();
    assert!((ours - theirs).abs() <= 1e-9 * theirs, "{case}: ours {ours:e}, theirs {theirs:e}");
}

#[test]
fn auc_and_separation() {
    for case in cases("auc") {
        let passed = case["passed"].as_array().unwrap().iter().map(|passed| passed.as_bool().unwrap());
        let logs: Vec<Scored> =
            ratios(&case["scores"]).into_iter().zip(passed).map(|(score, passed)| Scored { score, passed }).collect();
        same(auc(&logs).map(Ratio::to_f64), &case["auc"], &case["kind"].to_string());
        let difference = separation(&logs).map(|separation| separation.difference);
        // Theirs are rounded at the size of the scores, 1e9 for the widest kind.
        let scale = logs.iter().map(|log| log.score.to_f64().abs()).fold(1.0, f64::max);
        same(difference.map(|value| value / scale), &scaled(&case["separation"], scale), &case["kind"].to_string());
    }
}

fn scaled(value: &Value, scale: f64) -> Value {
    value.as_f64().map_or(Value::Null, |value| Value::from(value / scale))
}

#[test]
fn correlations() {
    for case in cases("correlation") {
        let pairs: Vec<(Ratio, Ratio)> = ratios(&case["first"]).into_iter().zip(ratios(&case["second"])).collect();
        let kind = case["kind"].to_string();
        same(pearson(&pairs), &case["pearson"], &kind);
        same(spearman(&pairs), &case["spearman"], &kind);
        same(kendall_tau_b(&pairs), &case["kendall"], &kind);
    }
}

#[test]
fn krippendorff() {
    for case in cases("alpha") {
        let rating = |text: &Value| text.as_str().map(|text| text.parse::<Ratio>().unwrap());
        let units: Vec<Vec<Option<Ratio>>> = case["units"]
            .as_array()
            .unwrap()
            .iter()
            .map(|unit| unit.as_array().unwrap().iter().map(rating).collect())
            .collect();
        let label = case["units"].to_string();
        same(alpha_nominal(&units).map(|alpha| alpha.alpha), &case["nominal"], &label);
        same(alpha_ordinal(&units).map(|alpha| alpha.alpha), &case["ordinal"], &label);
        same(alpha_interval(&units).map(|alpha| alpha.alpha), &case["interval"], &label);
    }
}

#[test]
fn kappas() {
    for case in cases("kappa") {
        let pairs: Vec<(i64, i64)> = integers(&case["first"]).into_iter().zip(integers(&case["second"])).collect();
        let label = format!("{pairs:?}");
        same(raw_agreement(&pairs).map(Ratio::to_f64), &case["agreement"], &label);
        for (weights, name) in
            [(Weights::Unweighted, "unweighted"), (Weights::Linear, "linear"), (Weights::Quadratic, "quadratic")]
        {
            same(cohen_kappa(&pairs, weights).map(Ratio::to_f64), &case[name], &label);
        }
    }
    for case in cases("fleiss") {
        let units: Vec<Vec<i64>> = case["units"].as_array().unwrap().iter().map(integers).collect();
        same(fleiss_kappa(&units).unwrap().map(Ratio::to_f64), &case["kappa"], &format!("{units:?}"));
    }
}

#[test]
fn proportions() {
    for case in cases("proportion") {
        let number = |name: &str| case[name].as_u64().unwrap() as usize;
        let (count, of, tail) = (number("count"), number("of"), case["tail"].as_f64().unwrap());
        let (proportion, label) = (Proportion::new(count, of).unwrap(), format!("{count}/{of} at {tail}"));
        let intervals = [
            (proportion.wilson_at(tail).unwrap(), bounds(&case["wilson"])),
            (proportion.clopper_pearson(tail).unwrap(), bounds(&case["exact"])),
        ];
        for (ours, theirs) in intervals {
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                assert!((ours - theirs).abs() <= 1e-9, "{label}: ours {ours}, theirs {theirs}");
            }
        }
        if (tail - 0.025).abs() < 1e-12 {
            let [ours, theirs] = [proportion.wilson().unwrap(), bounds(&case["wilson"])];
            assert!(ours.iter().zip(theirs).all(|(ours, theirs)| (ours - theirs).abs() <= 1e-12), "{label}");
        }
        // Theirs is subnormal or 0 where ours is; both are then far below any use.
        if case["fair_p"].as_f64().unwrap() > 1e-290 {
            same_probability(sign_test_of_counts(count, of - count, 0).p_value, &case["fair_p"], &label);
        }
    }
}

#[test]
fn paired_tests() {
    let (mut exact, mut tied_exact) = (0, 0);
    for case in cases("wilcoxon") {
        let differences = ratios(&case["differences"]);
        let label = format!("{} of {}", case["kind"], differences.len());
        let ours = wilcoxon(&differences);
        assert_eq!(ours.n as u64, case["n"].as_u64().unwrap(), "{label}");
        if ours.n == 0 {
            assert_eq!((ours.p_value, sign_test(&differences).p_value), (1.0, 1.0), "{label}");
            continue;
        }
        same(Some(ours.positive_rank_sum.min(ours.negative_rank_sum)), &case["statistic"], &label);
        same_probability(sign_test(&differences).p_value, &case["sign_p"], &label);
        same_probability(wilcoxon_by(&differences, Method::Normal).p_value, &case["normal"], &label);
        same_probability(wilcoxon_by(&differences, Method::NormalCorrected).p_value, &case["corrected"], &label);
        if ours.n > 120 {
            assert_eq!(ours.method, Method::NormalCorrected, "{label}");
            same_probability(ours.p_value, &case["corrected"], &label);
        } else if case["exact"].is_f64() {
            assert_eq!(ours.method, Method::Exact, "{label}");
            same_probability(ours.p_value, &case["exact"], &label);
            exact += 1;
            let mut magnitudes: Vec<Ratio> = differences.iter().map(|difference| difference.magnitude()).collect();
            magnitudes.sort_unstable();
            tied_exact += usize::from(magnitudes.windows(2).any(|two| two[0] == two[1]));
        }
    }
    assert!(exact >= 20 && tied_exact >= 5, "exact cases were met: {exact}, of them tied: {tied_exact}");
    for case in cases("mcnemar") {
        let pairs: Vec<(bool, bool)> = serde_json::from_value(case["pairs"].clone()).unwrap();
        same_probability(mcnemar(&pairs).p_value, &case["p"], &format!("{pairs:?}"));
    }
}

#[test]
fn quantiles_and_means() {
    for case in cases("quantiles") {
        let values = ratios(&case["values"]);
        let label = case["values"].to_string();
        same(mean(&values), &case["mean"], &label);
        for (p, theirs) in ratios(&case["at"]).into_iter().zip(case["quantiles"].as_array().unwrap()) {
            same(quantile(&values, p), theirs, &label);
        }
    }
}

#[test]
fn histograms() {
    for case in cases("histograms") {
        let values = ratios(&case["values"]);
        let bins = case["bins"].as_u64().unwrap() as u32;
        let ours = histogram(&values, Ratio::integer(-1), Ratio::ONE, bins).unwrap();
        assert_eq!(ours.counts.iter().map(|count| *count as i64).collect::<Vec<_>>(), integers(&case["counts"]));
        assert_eq!(serde_json::json!(ours.edges), case["edges"]);
        assert_eq!(ours.counts.iter().sum::<usize>() + ours.below + ours.above, values.len());
    }
}

#[test]
fn normal_tails() {
    for case in cases("normal") {
        let z = case[0].as_f64().unwrap();
        let theirs = case[1].as_f64().unwrap();
        let ours = upper_tail(z);
        assert!((ours - theirs).abs() <= 1e-13 * theirs, "{z}: ours {ours:e}, theirs {theirs:e}");
        if z.abs() < 5.0 {
            assert!((upper_point(theirs).unwrap() - z).abs() < 1e-9, "{z}");
        }
    }
}
