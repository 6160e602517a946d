//! Worked numbers, those of the paper among them, and every degenerate input.

use parthack_statistics::differences::MATERIAL_CHANGE;
use parthack_statistics::normal::upper_point;
use parthack_statistics::{
    Clusters, ExactError, FleissError, HistogramError, MatchedPair, MatchedRun, NOISE_FLOOR, Preference,
    PreferenceCounts, Preferred, Proportion, Ratio, SameTaskPair, Scored, TieRule, Transition, Weights, alpha_interval,
    alpha_nominal, alpha_ordinal, auc, cohen_kappa, distribution, fleiss_kappa, histogram, kendall_tau_b, macro_auc,
    majority, mcnemar, mean, pearson, preference_counts, quantile, raw_agreement, separation, shares, sign_test,
    spearman, summarize_differences, transition_table, wilcoxon, win_tie_loss,
};

fn ratio(text: &str) -> Ratio {
    text.parse().unwrap()
}

fn scored(text: &str, passed: bool) -> Scored {
    Scored { score: ratio(text), passed }
}

#[test]
fn thresholds_are_strict_and_exact() {
    assert_eq!((MATERIAL_CHANGE, NOISE_FLOOR), (ratio("0.10"), ratio("0.037")));
    // 1/3 − 7/30 is a tenth; of floats it is less, and 0.4 − 0.3 is more.
    let differences =
        [ratio("1/3").difference(ratio("7/30")), ratio("0.4").difference(ratio("0.3")), ratio("0.1000001")];
    let row = shares(&differences, MATERIAL_CHANGE);
    assert_eq!((row.improved.count(), row.within.count(), row.regressed.count()), (1, 2, 0));
    let row = shares(&differences.map(Ratio::negated), MATERIAL_CHANGE);
    assert_eq!((row.improved.count(), row.within.count(), row.regressed.count()), (0, 2, 1));
    assert_eq!(shares(&[ratio("37/1000")], NOISE_FLOOR).within.count(), 1);
}

#[test]
fn terminal_bench_pairs_of_the_paper() {
    // G §4.6: of 69 decidable pairs 40 higher, two lower, 27 the same, p < 1e-9; 86 tasks.
    let pair = |first: &str, second: &str| SameTaskPair { first: Some(ratio(first)), second: Some(ratio(second)) };
    let mut pairs = vec![pair("1", "3/4"); 40];
    pairs.extend(vec![pair("1/2", "1"); 2]);
    pairs.extend(vec![pair("1/2", "2/4"); 27]);
    pairs.extend(vec![SameTaskPair { first: None, second: Some(Ratio::ONE) }; 17]);
    let row = win_tie_loss(&pairs, Ratio::ZERO);
    assert_eq!((row.decidable, row.undecidable), (69, 17));
    assert_eq!((row.wins, row.ties, row.losses), (40, 27, 2));
    assert_eq!(row.median_difference, Some(0.25));
    // 2·(1 + 42 + 861) / 2^42.
    assert_eq!(row.sign_test.p_value, 1808.0 / 4_398_046_511_104.0);
    assert!(row.sign_test.p_value < 1e-9);
    let wide = win_tie_loss(&pairs, ratio("1/4"));
    assert_eq!((wide.wins, wide.ties, wide.losses), (0, 67, 2));
}

#[test]
fn transitions_keep_their_pairs() {
    let run = |passed, score: &str| MatchedRun { passed, score: (score != "-").then(|| ratio(score)) };
    let pairs = [
        ((false, "1/9"), (false, "7/9")),
        ((false, "5/9"), (false, "4/9")),
        ((false, "1/2"), (false, "27/50")),
        ((false, "-"), (false, "1")),
        ((false, "1/2"), (true, "1")),
        ((true, "1"), (false, "3/4")),
        ((true, "1"), (true, "1")),
    ]
    .map(|(without, with)| MatchedPair { without: run(without.0, without.1), with: run(with.0, with.1) });
    let table = transition_table(&pairs, &[MATERIAL_CHANGE, NOISE_FLOOR]);
    let counts: Vec<_> = Transition::ALL.iter().map(|transition| table.transitions[transition].pairs).collect();
    assert_eq!(counts, [4, 1, 1, 1]);
    let unmoved = &table.transitions[&Transition::FailToFail];
    assert_eq!(unmoved.undecided, 1);
    let [material, floor] = &unmoved.differences.shares[..] else { panic!("two thresholds") };
    assert_eq!((material.improved.count(), material.regressed.count(), material.within.count()), (1, 1, 1));
    assert_eq!((floor.improved.count(), floor.regressed.count(), floor.within.count()), (2, 1, 0));
    let spread = unmoved.differences.distribution.unwrap();
    assert_eq!((spread.n, spread.median), (3, 0.04));
    assert_eq!(spread.mean, ratio("2/3").difference(ratio("1/9")).checked_add(ratio("1/25")).unwrap().to_f64() / 3.0);
    assert_eq!((table.unchanged.pairs, table.all.pairs, table.all.undecided), (5, 7, 1));
    assert_eq!(table.transitions[&Transition::PassToFail].differences.distribution.unwrap().mean, -0.25);
    let json = serde_json::to_value(&table).unwrap();
    assert_eq!(json["transitions"]["fail-to-pass"]["differences"]["distribution"]["mean"], 0.5);
    assert_eq!(json["all"]["differences"]["shares"][1]["threshold"], "37/1000");
}

#[test]
fn tie_rules_of_preferences() {
    let counts = PreferenceCounts { agree: 6, disagree: 2, score_ties: 4, human_ties: 5, missing: 7 };
    assert_eq!(counts.agreement(TieRule::Excluded), Some(ratio("3/4")));
    assert_eq!(counts.agreement(TieRule::Half), Some(ratio("2/3")));
    assert_eq!(counts.agreement(TieRule::Disagreement), Some(ratio("1/2")));
    let missing = Preference { first: None, second: Some(Ratio::ONE), preferred: Preferred::Second };
    let none = preference_counts(&[missing]);
    assert_eq!(none, PreferenceCounts { missing: 1, ..PreferenceCounts::default() });
    assert_eq!(none.agreement(TieRule::Half), None);
    use Preferred::{First, Neither, Second};
    assert_eq!(majority(&[]), None);
    for (votes, expected) in [
        (&[First, Neither, Neither][..], First),
        (&[First, Second], Neither),
        (&[First, Second, Second], Second),
        (&[Neither], Neither),
    ] {
        assert_eq!(majority(votes), Some(expected), "{votes:?}");
    }
}

#[test]
fn krippendorff_of_his_own_example() {
    // Krippendorff (2011), example C: nominal .743, ordinal .815, interval .849.
    let observers =
        ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
            .map(|row| row.split(' ').map(|rating| rating.parse::<i64>().ok()).collect::<Vec<_>>());
    let units: Vec<Vec<Option<i64>>> =
        (0..12).map(|unit| observers.iter().map(|observer| observer[unit]).collect()).collect();
    let numbers: Vec<Vec<Option<Ratio>>> =
        units.iter().map(|unit| unit.iter().map(|rating| rating.map(Ratio::integer)).collect()).collect();
    let (nominal, ordinal, interval) =
        (alpha_nominal(&units).unwrap(), alpha_ordinal(&units).unwrap(), alpha_interval(&numbers).unwrap());
    let printed = [nominal, ordinal, interval].map(|alpha| format!("{:.3}", alpha.alpha));
    assert_eq!(printed, ["0.743", "0.815", "0.849"]);
    assert_eq!((nominal.units, nominal.ratings), (11, 40));
}

#[test]
fn what_is_undefined_is_none() {
    let none: [Scored; 0] = [];
    assert_eq!((auc(&none), separation(&none)), (None, None));
    let failed = [scored("1/2", false), scored("1", false)];
    assert_eq!((auc(&failed), separation(&failed)), (None, None));
    assert_eq!(auc(&[scored("1/2", false), scored("2/4", true)]), Some(ratio("1/2")));
    let empty: [(Ratio, Ratio); 0] = [];
    let one = [(Ratio::ONE, Ratio::ZERO)];
    let constant = [(Ratio::ONE, Ratio::ZERO), (Ratio::ONE, Ratio::ONE)];
    for pairs in [&empty[..], &one, &constant] {
        assert_eq!((pearson(pairs), spearman(pairs), kendall_tau_b(pairs)), (None, None, None));
    }
    let no_units: [Vec<Option<Ratio>>; 0] = [];
    let unpairable = [vec![Some(Ratio::ONE), None], vec![None, Some(Ratio::ZERO)], vec![]];
    let constant = [vec![Some(Ratio::ONE); 2], vec![Some(Ratio::ONE); 3], vec![Some(Ratio::ZERO)]];
    for units in [&no_units[..], &unpairable, &constant] {
        assert_eq!((alpha_nominal(units), alpha_ordinal(units), alpha_interval(units)), (None, None, None));
    }
    let no_pairs: [(i32, i32); 0] = [];
    assert_eq!((raw_agreement(&no_pairs), cohen_kappa(&no_pairs, Weights::Linear)), (None, None));
    assert_eq!(cohen_kappa(&[(1, 1)], Weights::Quadratic), None);
    assert_eq!(fleiss_kappa::<i32, Vec<i32>>(&[]), Ok(None));
    assert_eq!(fleiss_kappa(&[[1, 1], [1, 1]]), Ok(None));
    assert_eq!((mean(&[]), distribution(&[]), quantile(&[], Ratio::ZERO)), (None, None, None));
    assert_eq!(quantile(&[Ratio::ONE], ratio("-1/10")), None);
    assert_eq!(quantile(&[Ratio::ONE], ratio("11/10")), None);
    assert_eq!(macro_auc(&Clusters::from_pairs([("a", scored("1", true)), ("b", scored("0", false))])), None);
    let zero = Proportion::new(0, 0).unwrap();
    assert_eq!((zero.ratio(), zero.wilson(), zero.clopper_pearson(0.025)), (None, None, None));
    assert_eq!(Proportion::new(2, 1), None);
    let half = Proportion::new(1, 2).unwrap();
    for tail in [0.0, 0.5, -1.0, 2.0, f64::NAN] {
        assert_eq!((half.wilson_at(tail), half.clopper_pearson(tail)), (None, None), "{tail}");
    }
    assert_eq!((upper_point(0.0), upper_point(1.0), upper_point(f64::NAN)), (None, None, None));
}

#[test]
fn tests_without_a_difference_have_p_one() {
    let zeros = [Ratio::ZERO; 3];
    for differences in [&[][..], &zeros] {
        assert_eq!((sign_test(differences).p_value, wilcoxon(differences).p_value), (1.0, 1.0));
    }
    assert_eq!(sign_test(&zeros).ties, 3);
    assert_eq!(wilcoxon(&zeros).zeros, 3);
    let test = mcnemar(&[(true, true), (false, true), (true, false), (false, true)]);
    assert_eq!((test.positive, test.negative, test.ties, test.p_value), (2, 1, 1, 1.0));
    let nothing = summarize_differences(&[], &[MATERIAL_CHANGE]);
    assert_eq!((nothing.distribution, nothing.shares[0].improved_wilson), (None, None));
}

#[test]
fn refusals_say_what_was_found() {
    let refused = fleiss_kappa(&[vec![1, 2], vec![1]]).unwrap_err();
    assert_eq!(refused, FleissError::Unequal { unit: 1, found: 1, expected: 2 });
    assert_eq!(refused.to_string(), "unit 1 (counted from 0) has 1 ratings, expected 2 as in unit 0, and at least 2");
    assert_eq!(fleiss_kappa(&[vec![1]]), Err(FleissError::Unequal { unit: 0, found: 1, expected: 1 }));
    let (low, high) = (Ratio::ZERO, Ratio::ONE);
    assert_eq!(histogram(&[], low, high, 0), Err(HistogramError::Range { bins: 0, low, high }));
    assert_eq!(histogram(&[], high, low, 4), Err(HistogramError::Range { bins: 4, low: high, high: low }));
    assert_eq!(histogram(&[], low, low, 4), Err(HistogramError::Range { bins: 4, low, high: low }));
    for text in ["", ".", "-", "1/", "/2", "1/-2", "1/+2", "+1", "a", "1e", "1.2.3", "0x1", "1/2/3", "NaN", "inf"] {
        assert_eq!(text.parse::<Ratio>(), Err(ExactError::Syntax { found: text.to_owned() }), "{text}");
    }
    assert_eq!("1/0".parse::<Ratio>(), Err(ExactError::ZeroDenominator));
    assert!(matches!("1e39".parse::<Ratio>(), Err(ExactError::Overflow { .. })));
    assert!(matches!("1e-39".parse::<Ratio>(), Err(ExactError::Overflow { .. })));
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(Ratio::measured(float), Err(ExactError::NotFinite { .. })));
    }
    assert!(matches!(Ratio::measured(2e15), Err(ExactError::Overflow { .. })));
    assert_eq!(Ratio::measured(1e-300), Ok(Ratio::ZERO));
    assert_eq!(Ratio::measured(-0.0), Ok(Ratio::ZERO));
    assert!(serde_json::from_str::<Ratio>("\"one\"").unwrap_err().to_string().contains("found \"one\""));
    assert!(serde_json::from_str::<Ratio>("true").is_err());
    assert_eq!(serde_json::from_str::<Ratio>("0.1").unwrap(), ratio("1/10"));
    assert_eq!(serde_json::from_str::<Ratio>("-3").unwrap(), Ratio::integer(-3));
}

#[test]
fn differences_that_do_not_fit_are_nearest() {
    let (large, fine) = (Ratio::new(i128::MAX, 3).unwrap(), Ratio::new(1, i128::MAX).unwrap());
    assert_eq!(large.difference(fine), Ratio::integer(1_000_000_000_000_000));
    let (a, b) = (Ratio::new(1, (1 << 100) + 1).unwrap(), Ratio::new(1, 3).unwrap());
    assert!((a.difference(b).to_f64() + 1.0 / 3.0).abs() < 1e-15);
    assert!(a < b && fine < a && large > b);
}

#[test]
fn order_is_exact_where_cross_products_do_not_fit() {
    // 2^20 + 1/2^100, and 2^20 + 64/(64·2^100 + 1), which is less by about 2^-206.
    let above = Ratio::new((1 << 120) + 1, 1 << 100).unwrap();
    let (part, whole) = ((1_i128 << 106) + 1, 1_i128 << 20);
    let below = Ratio::new(whole * part + 64, part).unwrap();
    assert_eq!(above.to_f64(), below.to_f64());
    assert!(below < above && above.negated() < below.negated());
    assert_eq!(above.cmp(&above), std::cmp::Ordering::Equal);
}

#[test]
fn macro_auc_leaves_out_tasks_with_one_outcome() {
    let logs = Clusters::from_pairs([
        ("both", scored("1/2", false)),
        ("both", scored("1", true)),
        ("tied", scored("1/3", false)),
        ("tied", scored("1/3", true)),
        ("failed", scored("1", false)),
    ]);
    let found = macro_auc(&logs).unwrap();
    assert_eq!(found.by_task.into_iter().collect::<Vec<_>>(), [("both", 1.0), ("tied", 0.5)]);
    assert_eq!((found.macro_mean, found.undefined), (0.75, 1));
    // Of six pairs, the log at 1 wins two and ties with the failed log at 1; that at 1/3 ties with its own task's.
    assert_eq!(found.pooled, Some(0.5));
}

#[test]
fn clusters_are_in_the_order_of_their_names() {
    let clusters = Clusters::from_pairs([("c", 1), ("a", 2), ("c", 3), ("b", 4)]);
    assert_eq!(clusters.all().copied().collect::<Vec<_>>(), [2, 4, 1, 3]);
    assert_eq!((clusters.len(), clusters.observations(), clusters.is_empty()), (3, 4, false));
    let odd = clusters.filter_map(|value| (value % 2 == 1).then_some(*value));
    assert_eq!((odd.names(), odd.members(0), odd.members(1)), (&["c"][..], &[1, 3][..], &[][..]));
}
