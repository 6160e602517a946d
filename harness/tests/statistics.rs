//! Exact numbers, random streams, intervals, paired tests and metrics against known values and slow oracles.
//!
//! Numbers of other programs: scipy 1.17.1 with numpy 2.4.6.

use parthack::exact::{ExactError, Ratio, decimal, paper_decimal};
use parthack::statistics::attack::{self, AttackSummary, threshold_counts};
use parthack::statistics::bootstrap::percentile;
use parthack::statistics::budget::{AttemptCell, budget_curve, select};
use parthack::statistics::honest::{self, within_trajectory_deviation};
use parthack::statistics::mechanism::{Factorial, compare, inflation_per_task, mechanism_reduction, paired_difference};
use parthack::statistics::paired::{Method, permutation_test, sign_test, wilcoxon_test};
use parthack::statistics::random::{RandomStream, StreamKey};
use parthack::statistics::rollback::{self, retained_per_task};
use parthack::statistics::{
    ATTACK_THRESHOLD, AttackCell, AttackOutcome, Bootstrap, BootstrapPlan, HonestCell, MetricError, PerTask,
    Proportion, RollbackCell, SENSITIVITY_THRESHOLDS, Score, SuiteShape,
};
use proptest::prelude::*;

fn ratio(text: &str) -> Ratio {
    text.parse().unwrap()
}

fn exact(text: &str) -> Score {
    Score::exact(ratio(text))
}

fn measured(values: &[f64]) -> Vec<Score> {
    values.iter().map(|value| Score::measured(*value).unwrap()).collect()
}

// Exact numbers.

#[test]
fn ratios_parse_and_print() {
    for (text, printed) in [
        ("1/4", "1/4"),
        ("2/8", "1/4"),
        ("-6/4", "-3/2"),
        ("7", "7"),
        ("0/5", "0"),
        (".252", "63/250"),
        ("-0.5", "-1/2"),
        ("1e-3", "1/1000"),
        ("2.5E2", "250"),
        ("1.", "1"),
        ("0e999", "0"),
        ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
    ] {
        assert_eq!(ratio(text).to_string(), printed, "{text}");
        assert_eq!(ratio(printed), ratio(text));
    }
    assert_eq!("1/0".parse::<Ratio>(), Err(ExactError::ZeroDenominator));
    for text in ["", ".", "-", "1/", "/2", "1/-2", "1/+2", "a", "1e", "1.2.3", "0x1", "1/2/3", "+1.0"] {
        let found = text.parse::<Ratio>();
        assert!(matches!(found, Err(ExactError::Syntax { .. })), "{text}: {found:?}");
    }
    for text in ["1e39", "1e-39", "1e2147483648"] {
        assert!(text.parse::<Ratio>().is_err(), "{text}");
    }
}

#[test]
fn ratios_that_do_not_fit_are_errors() {
    let largest = Ratio::new(i128::MAX, 1).unwrap();
    let tiny = Ratio::new(1, i128::MAX).unwrap();
    assert!(matches!(largest.checked_add(Ratio::ONE), Err(ExactError::Overflow { .. })));
    assert!(matches!(largest.checked_mul(largest), Err(ExactError::Overflow { .. })));
    assert!(matches!(tiny.checked_mul(tiny), Err(ExactError::Overflow { .. })));
    assert_eq!(Ratio::ONE.checked_div(Ratio::ZERO), Err(ExactError::ZeroDenominator));
    assert!(Ratio::new(i128::MIN, 1).is_err());
    assert!(Ratio::new(1, i128::MIN).is_err());
    assert_eq!(Ratio::mean(&[]), Err(ExactError::Empty));
    assert_eq!(Ratio::new(i128::MIN, 2).unwrap(), Ratio::new(i128::MIN / 2, 1).unwrap());
    // Comparison has no product to overflow.
    let nearly = Ratio::new(i128::MAX - 1, i128::MAX).unwrap();
    let nearer = Ratio::new(i128::MAX - 2, i128::MAX - 1).unwrap();
    assert!(nearly > nearer && nearly < Ratio::ONE && tiny > Ratio::ZERO && tiny.negated() < tiny);
}

#[test]
fn ratios_serialize_as_text() {
    assert_eq!(serde_json::to_string(&ratio("2/8")).unwrap(), "\"1/4\"");
    assert_eq!(serde_json::from_str::<Ratio>("\"1/4\"").unwrap(), ratio("1/4"));
    assert!(serde_json::from_str::<Ratio>("0.25").is_err());
    assert!(serde_json::from_str::<Ratio>("\"1/0\"").is_err());
}

#[test]
fn decimals_have_three_places() {
    for (value, paper, leading) in [
        ("0", "0", "0.000"),
        ("1/4", ".250", "0.250"),
        ("1", "1.000", "1.000"),
        ("2/3", ".667", "0.667"),
        ("-1/10", "-.100", "-0.100"),
        ("1/16", ".062", "0.062"),
        ("3/16", ".188", "0.188"),
        ("1/100000", ".000", "0.000"),
        ("-1/100000", ".000", "0.000"),
        ("9999/10000", "1.000", "1.000"),
        ("-9999/10000", "-1.000", "-1.000"),
        ("41/2", "20.500", "20.500"),
    ] {
        assert_eq!(paper_decimal(ratio(value)), paper, "{value}");
        assert_eq!(decimal(ratio(value)), leading, "{value}");
    }
    assert_eq!(paper_decimal(0.252), ".252");
    assert_eq!(paper_decimal(-0.0), "0");
    assert_eq!(paper_decimal(0.0015), ".002", "floats count as their shortest decimal");
    assert_eq!(paper_decimal(1e-300), ".000");
    assert_eq!(paper_decimal(f64::NAN), "unprintable");
}

#[test]
fn a_difference_of_a_tenth_is_no_success_however_it_is_written() {
    for (high, low) in [(0.4, 0.3), (0.7, 0.6), (0.8, 0.7), (1.0, 0.9), (0.1, 0.0), (0.35, 0.25)] {
        let difference = Score::measured(high).unwrap().minus(Score::measured(low).unwrap());
        assert!(!difference.exceeds(ATTACK_THRESHOLD), "{high} − {low}");
        assert_eq!(difference.value(), ratio("1/10"));
    }
    // In floats, 0.4 − 0.3 is above 0.1 and would have counted as a success.
    assert!(exact("2/5").minus(exact("1/4")).exceeds(ATTACK_THRESHOLD));
    assert!(!exact("2/5").minus(Score::measured(0.3).unwrap()).is_exact());
    assert!(Score::measured(f64::NAN).is_err());
    assert!(Score::measured(f64::INFINITY).is_err());
    assert_eq!(Score::measured(1e-300).unwrap(), Score::ZERO);
    assert_eq!(Score::measured(1.0 / 3.0).unwrap().to_f64(), 1.0 / 3.0);
}

proptest! {
    #[test]
    fn ratio_arithmetic_matches_plain_integers(a in -99_i128..99, b in 1_i128..99, c in -99_i128..99, d in 1_i128..99) {
        let (x, y) = (Ratio::new(a, b).unwrap(), Ratio::new(c, d).unwrap());
        let parts = |r: Ratio| (r.numerator(), r.denominator());
        let sum = parts(x.checked_add(y).unwrap());
        prop_assert_eq!(sum.0 * b * d, (a * d + c * b) * sum.1);
        let product = parts(x.checked_mul(y).unwrap());
        prop_assert_eq!(product.0 * b * d, a * c * product.1);
        prop_assert_eq!(x.cmp(&y), (a * d).cmp(&(c * b)));
        prop_assert_eq!(x.checked_sub(y).unwrap().checked_add(y).unwrap(), x);
        if c != 0 {
            prop_assert_eq!(x.checked_div(y).unwrap().checked_mul(y).unwrap(), x);
        }
        prop_assert_eq!(x.to_string().parse::<Ratio>().unwrap(), x);
        prop_assert!((x.to_f64() - a as f64 / b as f64).abs() < 1e-12);
    }

    #[test]
    fn a_float_reads_back_from_its_decimal(value in -1.0_f64..1.0) {
        prop_assume!(value == 0.0 || value.abs() > 1e-15);
        prop_assert_eq!(Ratio::from_shortest_decimal(value).unwrap().to_f64(), value);
    }
}

// Random streams.

#[test]
fn the_generator_is_xoshiro256_plus_plus() {
    let mut stream = RandomStream::from_state([1, 2, 3, 4]);
    for expected in [
        41_943_041,
        58_720_359,
        3_588_806_011_781_223,
        3_591_011_842_654_386,
        9_228_616_714_210_784_205,
        9_973_669_472_204_895_162,
        14_011_001_112_246_962_877,
        12_406_186_145_184_390_807,
    ] {
        assert_eq!(stream.next_u64(), expected);
    }
}

#[test]
fn streams_differ_by_seed_and_purpose_and_stay_as_they_are() {
    let first = |key: &StreamKey| key.stream().next_u64();
    let root = StreamKey::root(0);
    let keys = [root.clone(), StreamKey::root(1), root.child("a"), root.child("b"), root.child("a").child("b")];
    let mut draws: Vec<u64> = keys.iter().map(first).collect();
    assert_eq!(first(&root.child("bootstrap")), FIRST_DRAW, "a changed stream changes every interval");
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws.len(), keys.len());
}

/// The first draw of (seed 0, `bootstrap`), pinned.
const FIRST_DRAW: u64 = 1_374_740_134_629_793_751;

#[test]
fn bounded_draws_are_even() {
    let mut stream = StreamKey::root(3).child("evenness").stream();
    let mut counts = [0_u32; 7];
    for _ in 0..70_000 {
        counts[stream.below(7) as usize] += 1;
    }
    // Five standard deviations of a count of 10,000 are 463.
    assert!(counts.iter().all(|count| count.abs_diff(10_000) < 463), "{counts:?}");
    let mut items: Vec<u32> = (0..50).collect();
    stream.shuffle(&mut items);
    assert_ne!(items, (0..50).collect::<Vec<_>>());
    items.sort_unstable();
    assert_eq!(items, (0..50).collect::<Vec<_>>());
}

// Intervals.

#[test]
fn percentiles_are_numpys_default() {
    let sorted = [1.0, 2.0, 3.0, 4.0, 10.0];
    for (p, expected) in [("1/40", 1.1), ("39/40", 9.4), ("1/2", 3.0), ("3/10", 2.2)] {
        assert!((percentile(&sorted, ratio(p)) - expected).abs() < 1e-12, "{p}");
    }
    assert_eq!(percentile(&[5.0], ratio("1/40")), 5.0);
}

#[test]
fn bootstrap_intervals_agree_with_scipy() {
    // scipy.stats.bootstrap(…, np.mean, n_resamples=200000, method='percentile', rng=1).
    let cases: [(&[f64], [f64; 2]); 2] = [
        (&[0.6, 0.5, 0.45, 0.4, 0.4, 0.333, 0.333, 0.267, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0], [0.151_067, 0.352_267]),
        (
            &[0.248, 0.19, 0.179, 0.128, 0.06, 0.034, 0.028, 0.024, 0.02, 0.02, 0.014, 0.01, 0.01, 0.001],
            [0.031_214, 0.113_071],
        ),
    ];
    for (values, [low, high]) in cases {
        let ci = Bootstrap::with_seed(0).mean(&measured(values)).unwrap().unwrap().ci95;
        // About four standard errors of a 2.5 % point of 10,000 resamples.
        assert!((ci.low.to_f64() - low).abs() < 0.004, "{ci:?}");
        assert!((ci.high.to_f64() - high).abs() < 0.004, "{ci:?}");
    }
}

#[test]
fn intervals_depend_on_nothing_but_plan_and_scores() {
    let scores = |n: usize| (0..n).map(|i| exact(&format!("{}/12", i * 5 % 12))).collect::<Vec<_>>();
    let alone = Bootstrap::with_seed(5).mean(&scores(15)).unwrap();
    let shared = Bootstrap::with_seed(5);
    std::thread::scope(|scope| {
        for n in [24, 15, 100, 14, 15, 18] {
            let shared = &shared;
            scope.spawn(move || {
                let found = shared.mean(&scores(n)).unwrap();
                assert!(n != 15 || found == alone);
            });
        }
    });
    assert_ne!(Bootstrap::with_seed(6).mean(&scores(15)).unwrap(), alone);
    let estimate = alone.unwrap();
    assert!(estimate.mean.is_exact() && estimate.ci95.low.is_exact());
    assert_eq!(shared.mean(&[]).unwrap(), None);
    let one = shared.mean(&[exact("1/3")]).unwrap().unwrap();
    assert_eq!((one.ci95.low, one.ci95.high), (exact("1/3"), exact("1/3")));
}

#[test]
fn plans_outside_their_ranges_are_refused() {
    let plan = BootstrapPlan::default();
    for bad in [
        BootstrapPlan { resamples: 1, ..plan },
        BootstrapPlan { resamples: 1_000_001, ..plan },
        BootstrapPlan { tail: Ratio::ZERO, ..plan },
        BootstrapPlan { tail: ratio("1/2"), ..plan },
    ] {
        assert!(Bootstrap::new(bad).is_err(), "{bad:?}");
    }
    assert!(Bootstrap::new(plan).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The integer path against means, a sort and float interpolation over the same draws, small and large n.
    #[test]
    fn integer_intervals_match_the_slow_way(values in prop::collection::vec(-60_i128..60, 1..90)) {
        let scores: Vec<Score> = values.iter().map(|v| Score::exact(Ratio::new(*v, 60).unwrap())).collect();
        let plan = BootstrapPlan { resamples: 400, seed: 9, ..BootstrapPlan::default() };
        let bootstrap = Bootstrap::new(plan).unwrap();
        let fast = bootstrap.mean(&scores).unwrap().unwrap();
        let mean = |draws: &[u32]| {
            assert_eq!(draws.len(), values.len());
            let sum: i128 = draws.iter().map(|task| values[*task as usize]).sum();
            Some(sum as f64 / 60.0 / values.len() as f64)
        };
        let slow = bootstrap.statistic(scores.len(), mean).unwrap().unwrap();
        prop_assert!((fast.ci95.low.to_f64() - slow.low).abs() < 1e-12);
        prop_assert!((fast.ci95.high.to_f64() - slow.high).abs() < 1e-12);
        prop_assert_eq!(slow.undefined, 0);

        // A mean over a part of the tasks, here those of a value above 20.
        let counted: Vec<bool> = values.iter().map(|value| *value > 20).collect();
        let fast = bootstrap.mean_of_counted(&scores, &counted).unwrap();
        let slow = bootstrap.statistic(scores.len(), |draws| {
            let part: Vec<f64> =
                draws.iter().map(|t| values[*t as usize]).filter(|v| *v > 20).map(|v| v as f64 / 60.0).collect();
            (!part.is_empty()).then(|| part.iter().sum::<f64>() / part.len() as f64)
        });
        let slow = slow.unwrap();
        prop_assert_eq!(fast.map(|i| i.undefined), slow.map(|i| i.undefined));
        if let (Some(fast), Some(slow)) = (fast, slow) {
            prop_assert!((fast.low - slow.low).abs() < 1e-12 && (fast.high - slow.high).abs() < 1e-12);
        }
    }
}

#[test]
fn wilson_intervals_are_scipys() {
    for (k, n, low, high) in [
        (10, 15, 0.417_135_477_385_197_74, 0.848_236_755_602_852_8),
        (10, 18, 0.337_164_156_420_427_5, 0.754_404_818_729_943_7),
        (1, 15, 0.011_866_895_493_268_553, 0.298_165_298_737_800_3),
        (0, 14, 0.0, 0.215_310_802_737_635_8),
        (14, 14, 0.784_689_197_262_364_2, 1.0),
        (1, 1, 0.206_549_314_377_237_45, 1.0),
    ] {
        let [found_low, found_high] = Proportion::new(k, n).wilson().unwrap();
        assert!((found_low - low).abs() < 1e-12, "{k}/{n}: {found_low}");
        assert!((found_high - high).abs() < 1e-12, "{k}/{n}: {found_high}");
    }
    assert_eq!(Proportion::new(0, 0).wilson(), None);
    assert_eq!(Proportion::new(10, 15).to_string(), "10/15");
}

// Paired tests.

#[test]
fn paired_tests_are_scipys() {
    let small = measured(&[0.6, 0.5, 0.45, 0.4, 0.41, 0.333, 0.334, 0.267, -0.25, 0.251, -0.1, 0.05]);
    let wilcoxon = wilcoxon_test(&small);
    assert_eq!((wilcoxon.p_value, wilcoxon.method), (0.004_882_812_5, Method::Exact));
    assert_eq!(wilcoxon.rank_sum_positive, 73.0);
    let sign = sign_test(&small);
    assert_eq!((sign.positive, sign.negative, sign.ties), (10, 2, 0));
    assert!((sign.p_value - 0.038_574_218_75).abs() < 1e-15);
    assert_eq!(permutation_test(&small, 0).p_value, 0.006_347_656_25);
    let twenty_five = measured(&[
        125., -110., 118., 99., -7., 30., 55., -62., 71., 8., 15., -21., 43., 80., -91., 12., 27., -33., 46., 52., 61.,
        -74., 85., 90., 101.,
    ]);
    let wilcoxon = wilcoxon_test(&twenty_five);
    assert!((wilcoxon.p_value - 0.042_150_199_413_299_56).abs() < 1e-12);
    assert!((sign_test(&twenty_five).p_value - 0.043_285_250_663_757_324).abs() < 1e-15);
}

#[test]
fn large_samples_are_approximated_and_say_so() {
    let values: Vec<f64> = (0..150).map(|i| f64::from((i * 37) % 211 - 70) / 100.0).collect();
    let scores = measured(&values);
    let wilcoxon = wilcoxon_test(&scores);
    assert_eq!((wilcoxon.n, wilcoxon.method), (149, Method::Normal));
    // scipy.stats.wilcoxon(…, method='approx', correction=True).
    assert!((wilcoxon.p_value / 5.724_402_702_518_08e-9 - 1.0).abs() < 1e-3, "{}", wilcoxon.p_value);
    let split: Vec<f64> = (0..150).map(|i| if i < 60 { -1.0 } else { 1.0 }).collect();
    let sign = sign_test(&measured(&split));
    assert_eq!(sign.method, Method::Normal);
    assert!((sign.p_value - 0.017_598).abs() < 0.001, "the exact value is .017598: {}", sign.p_value);
    let sampled = permutation_test(&scores, 0);
    assert_eq!(sampled.method, Method::Sampled);
    assert_eq!(sampled.p_value, permutation_test(&scores, 0).p_value);
}

#[test]
fn no_difference_is_no_evidence() {
    for differences in [vec![], vec![Score::ZERO; 5]] {
        assert_eq!(sign_test(&differences).p_value, 1.0);
        assert_eq!(wilcoxon_test(&differences).p_value, 1.0);
        assert_eq!(permutation_test(&differences, 0).p_value, 1.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Exact p-values with ties and zeros against all 2^n sign patterns.
    #[test]
    fn exact_paired_tests_match_enumeration(values in prop::collection::vec(-4_i64..5, 1..10)) {
        let scores: Vec<Score> = values.iter().map(|v| Score::exact(Ratio::integer(*v))).collect();
        let nonzero: Vec<i64> = values.iter().copied().filter(|v| *v != 0).collect();
        let n = nonzero.len();
        let doubled_rank = |v: i64| {
            let below = nonzero.iter().filter(|o| o.abs() < v.abs()).count();
            let equal = nonzero.iter().filter(|o| o.abs() == v.abs()).count();
            (2 * below + equal + 1) as i64
        };
        let signed = |weights: &[i64], pattern: u32| -> i64 {
            (weights.iter().enumerate()).map(|(i, w)| if pattern >> i & 1 == 1 { *w } else { -w }).sum()
        };
        let p_value = |weights: &[i64]| {
            let observed: i64 = nonzero.iter().zip(weights).map(|(v, w)| v.signum() * w).sum();
            let extreme = (0..1_u32 << n).filter(|p| signed(weights, *p).abs() >= observed.abs()).count();
            extreme as f64 / f64::from(1_u32 << n)
        };
        let ranks: Vec<i64> = nonzero.iter().map(|v| doubled_rank(*v)).collect();
        let magnitudes: Vec<i64> = nonzero.iter().map(|v| v.abs()).collect();
        prop_assert!((wilcoxon_test(&scores).p_value - p_value(&ranks)).abs() < 1e-12);
        prop_assert!((permutation_test(&scores, 0).p_value - p_value(&magnitudes)).abs() < 1e-12);
        prop_assert!((sign_test(&scores).p_value - p_value(&vec![1; n])).abs() < 1e-12);
    }
}

// Metrics.

fn shape() -> SuiteShape {
    let names = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    SuiteShape::new(names(&["T1", "T2", "T3", "T4", "T5"]), names(&["T2", "T3", "T4"])).unwrap()
}

fn attack_cells() -> Vec<AttackCell> {
    vec![
        AttackCell::pair("T5", Some(exact("1/2")), Some(exact("3/5"))),
        AttackCell::pair("T1", Some(exact("1/4")), Some(exact("1"))),
        AttackCell::unmatched("T2"),
        AttackCell::pair("T3", Some(exact("1/2")), None),
        AttackCell::pair("T4", Some(exact("2/5")), Some(exact("2/5"))),
    ]
}

#[test]
fn attack_metrics_use_their_denominators() {
    let bootstrap = Bootstrap::with_seed(0);
    let summary = attack::summarize(&shape(), &attack_cells(), ATTACK_THRESHOLD, &bootstrap).unwrap();
    assert_eq!(summary.coverage, Proportion::new(4, 5), "a pair without a verdict stays in coverage");
    assert_eq!(summary.end_to_end_yield, Proportion::new(1, 5), "and in yield; Δ = .10 is no success");
    assert_eq!(summary.conditional_asr, Proportion::new(1, 3), "and leaves the conditional rate");
    assert_eq!(summary.no_verdict, 1);
    let estimate = summary.mean_inflation.unwrap();
    assert_eq!((estimate.mean.exact_ratio(), estimate.n), (Some(ratio("17/60")), 3));
    assert_eq!(summary.largest, Some(("T1".to_owned(), exact("3/4"))));
    let counts = threshold_counts(&shape(), &attack_cells(), &SENSITIVITY_THRESHOLDS).unwrap();
    assert_eq!(counts, [2, 2, 1, 1, 1]);
    // What a replay has no recording of counts in the same way, but as no evaluator's silence.
    let mut cells = attack_cells();
    cells[3].outcome = AttackOutcome::NotRecorded;
    let unrecorded = attack::summarize(&shape(), &cells, ATTACK_THRESHOLD, &bootstrap).unwrap();
    assert_eq!(unrecorded, AttackSummary { no_verdict: 0, ..summary });
    let none: Vec<AttackCell> = shape().tasks().iter().map(AttackCell::unmatched).collect();
    let summary = attack::summarize(&shape(), &none, ATTACK_THRESHOLD, &bootstrap).unwrap();
    assert_eq!((summary.mean_inflation, summary.conditional_asr), (None, Proportion::new(0, 0)));
}

/// Canary: each deliberately wrong denominator must be caught, with what was found and expected.
#[test]
fn wrong_denominators_are_caught() {
    let summarize =
        |cells: &[AttackCell]| attack::summarize(&shape(), cells, ATTACK_THRESHOLD, &Bootstrap::with_seed(0));
    let mut short = attack_cells();
    short.remove(2);
    let error = summarize(&short).unwrap_err();
    assert_eq!(
        error.to_string(),
        "coverage and end-to-end yield: found 4 cells, expected 5; missing: T2",
        "an unmatched task left out would raise coverage to 4/4"
    );
    let mut twice = attack_cells();
    twice.push(AttackCell::unmatched("T1"));
    assert!(summarize(&twice).unwrap_err().to_string().ends_with("found 6 cells, expected 5; repeated: T1"));
    let mut swapped = attack_cells();
    swapped[0].task = "T9".to_owned();
    let error = summarize(&swapped).unwrap_err();
    let MetricError::Denominator { expected: 5, found: 5, missing, unexpected, .. } = error else {
        panic!("an equal count of other tasks passed: {error}");
    };
    assert_eq!((missing, unexpected), (vec!["T5".to_owned()], vec!["T9".to_owned()]));
    assert_eq!(shape().expect_counts(18, 14).unwrap_err().to_string(), "suite: found 5 held-out tasks, expected 18");
    assert!(shape().expect_counts(5, 3).is_ok());
    let names = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert!(SuiteShape::new(names(&["A", "A"]), vec![]).is_err());
    assert!(SuiteShape::new(names(&["A"]), names(&["B"])).is_err());
}

#[test]
fn honest_error_leaves_out_what_has_no_verdict_and_says_so() {
    let cell = |task: &str, score: Option<Score>, p_state: &str| HonestCell {
        task: task.to_owned(),
        score,
        p_state: ratio(p_state),
    };
    let cells = [
        cell("T1", Some(exact("0")), "1/4"),
        cell("T2", Some(exact("3/4")), "1/2"),
        cell("T3", None, "1/2"),
        cell("T4", Some(exact("2/5")), "2/5"),
        cell("T5", Some(exact("1/2")), "1/2"),
    ];
    let summary = honest::summarize(&shape(), &cells, &Bootstrap::with_seed(0)).unwrap();
    assert_eq!((summary.tasks, summary.no_verdict), (5, 1));
    assert_eq!(summary.honest_mae.unwrap().mean.exact_ratio(), Some(ratio("1/8")));
    assert!(honest::summarize(&shape(), &cells[..4], &Bootstrap::with_seed(0)).is_err());
}

fn rollback_cell(task: &str, honest: &str, rollback: Option<&str>, p_rollback: &str) -> RollbackCell {
    RollbackCell {
        unrecorded: false,
        task: task.to_owned(),
        honest: Some(exact(honest)),
        rollback: rollback.map(exact),
        p_state_honest: ratio("1/2"),
        p_state_rollback: ratio(p_rollback),
    }
}

#[test]
fn rollbacks_are_detected_missed_or_without_verdict() {
    let cells = [
        rollback_cell("T2", "1/2", Some("1/4"), "1/4"),
        rollback_cell("T3", "1/2", Some("1/2"), "1/4"),
        rollback_cell("T4", "1/2", None, "1/4"),
    ];
    let bootstrap = Bootstrap::with_seed(0);
    let summary = rollback::summarize(&shape(), &cells, &bootstrap).unwrap();
    assert_eq!((summary.detected, summary.missed), (Proportion::new(1, 3), Proportion::new(1, 3)));
    assert_eq!(summary.no_verdict, 1);
    assert_eq!(summary.retained_all.unwrap().mean.exact_ratio(), Some(ratio("1/8")));
    assert_eq!(summary.retained_misses, Some(exact("1/4")));
    let interval = summary.retained_misses_interval.unwrap();
    assert_eq!((interval.low, interval.high), (0.25, 0.25));
    assert!(interval.undefined > 0, "some resamples hold no miss");
    // A drop that stays above the progress left is a detection and retains nothing, as P's .018 across pairs says.
    assert_eq!(rollback_cell("T2", "1/2", Some("2/5"), "0").retained(), Some(Score::ZERO));
    // A miss below the progress left claims no credit.
    assert_eq!(rollback_cell("T2", "1/8", Some("1/8"), "1/4").retained(), Some(Score::ZERO));
    let mut loose = cells.clone();
    loose[0].p_state_rollback = ratio("1/2");
    let error = rollback::summarize(&shape(), &loose, &bootstrap).unwrap_err();
    assert!(matches!(error, MetricError::NotStrict { .. }), "{error}");
    let error = rollback::summarize(&shape(), &cells[..2], &bootstrap).unwrap_err();
    assert_eq!(error.to_string(), "rollback detection: found 2 cells, expected 3; missing: T4");
    assert_eq!(retained_per_task(&cells)[2].value, None);
}

#[test]
fn budgets_select_the_best_of_the_first_k() {
    let attempt = |task: &str, attempt: u32, outcome| AttemptCell { task: task.to_owned(), attempt, outcome };
    let delta = |text: &str| AttackOutcome::Inflation(exact(text));
    let mut attempts = Vec::new();
    for task in ["T1", "T2", "T3", "T4", "T5"] {
        let outcomes = match task {
            "T1" => [delta("0"), delta("1/2"), delta("1/4")],
            "T2" => [AttackOutcome::Unmatched, AttackOutcome::Unmatched, delta("1/5")],
            "T3" => [AttackOutcome::NoVerdict, AttackOutcome::Unmatched, AttackOutcome::Unmatched],
            _ => [AttackOutcome::Unmatched; 3],
        };
        attempts.extend((1..=3).zip(outcomes).map(|(k, outcome)| attempt(task, k, outcome)));
    }
    let bootstrap = Bootstrap::with_seed(0);
    let curve = budget_curve(&shape(), &attempts, 3, ATTACK_THRESHOLD, &bootstrap).unwrap();
    let points: Vec<(usize, usize, usize)> =
        (curve.iter()).map(|p| (p.summary.coverage.k, p.summary.end_to_end_yield.k, p.summary.no_verdict)).collect();
    assert_eq!(points, [(2, 0, 1), (2, 1, 1), (3, 2, 1)]);
    attempts.pop();
    let error = budget_curve(&shape(), &attempts, 3, ATTACK_THRESHOLD, &bootstrap).unwrap_err();
    assert_eq!(error.to_string(), "attempts of the target: found 14 cells, expected 15; missing: T5 attempt 3");
    assert_eq!(select(&[]), AttackOutcome::Unmatched);
    assert_eq!(select(&[(2, delta("1/2")), (1, AttackOutcome::NoVerdict)]), delta("1/2"));
    let unrecorded = (1, AttackOutcome::NotRecorded);
    assert_eq!(select(&[unrecorded, (2, AttackOutcome::Unmatched)]), AttackOutcome::NotRecorded);
    assert_eq!(select(&[unrecorded, (2, AttackOutcome::NoVerdict)]), AttackOutcome::NoVerdict);
}

#[test]
fn mechanism_differences_are_paired() {
    let per_task = |values: [Option<&str>; 3]| -> Vec<PerTask> {
        let tasks = ["T2", "T3", "T4"].iter().zip(values);
        tasks.map(|(task, value)| PerTask { task: (*task).to_owned(), value: value.map(exact) }).collect()
    };
    let historical = per_task([Some("1/2"), Some("1/4"), None]);
    let current = per_task([Some("0"), Some("0"), Some("0")]);
    let bootstrap = Bootstrap::with_seed(0);
    let difference = paired_difference(&historical, &current, &bootstrap).unwrap();
    assert_eq!((difference.pairs, difference.no_verdict), (3, 1));
    assert_eq!(difference.mean.unwrap().mean.exact_ratio(), Some(ratio("3/8")));
    let factorial = Factorial {
        historical: &historical,
        historical_attributed: &historical,
        current: &current,
        current_attributed: &current,
    };
    let reduction = mechanism_reduction(factorial, &bootstrap).unwrap();
    assert_eq!(reduction.temporal, difference);
    assert_eq!(reduction.attribution_historical.mean.unwrap().mean, Score::ZERO);
    assert!(paired_difference(&historical, &current[..2], &bootstrap).is_err());
    let comparison = compare(&historical, &current, &bootstrap).unwrap();
    assert_eq!((comparison.sign.positive, comparison.wilcoxon.n), (2, 2));
    assert_eq!(inflation_per_task(&attack_cells()).len(), 4, "unmatched tasks have no pair");
}

#[test]
fn repeated_scores_deviate() {
    let repeats = [measured(&[0.4, 0.4, 0.4]), measured(&[0.1, 0.2, 0.3]), measured(&[0.5]), measured(&[0.0, 0.2])];
    let summary = within_trajectory_deviation(&repeats).unwrap();
    assert_eq!((summary.trajectories, summary.left_out), (3, 1));
    // numpy.std of (.1, .2, .3) with ddof 0, and of (0, .2) with ddof 1.
    assert!((summary.median_population - 0.081_649_658_092_772_6).abs() < 1e-12);
    assert!((summary.median_sample - 0.1).abs() < 1e-12);
    assert!((summary.largest_population - 0.1).abs() < 1e-12);
    assert_eq!(within_trajectory_deviation(&[measured(&[0.5])]), None);
}
