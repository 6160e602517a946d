//! Invariances and bounds that hold for any input, and slow obvious oracles.

use parthack_statistics::{
    Clusters, Method, PairedScored, Preference, Preferred, Proportion, Ratio, Scored, TieRule, Weights, alpha_interval,
    alpha_nominal, alpha_ordinal, auc, cohen_kappa, distribution, fleiss_kappa, kendall_tau_b, macro_auc, macro_mean,
    mean, paired_auc, pearson, preference_counts, raw_agreement, separation, shares, sign_test, spearman, wilcoxon,
    wilcoxon_by,
};
use proptest::prelude::*;

fn score() -> impl Strategy<Value = Ratio> {
    (1_u32..=15).prop_flat_map(|of| (0..=of).prop_map(move |count| Ratio::fraction(count, of)))
}

/// Any ratio, also such as have no common scale.
fn any_ratio() -> impl Strategy<Value = Ratio> {
    prop_oneof![
        score(),
        (-50_i64..50).prop_map(Ratio::integer),
        (any::<i64>(), 1..i64::MAX).prop_map(|(a, b)| Ratio::new(a.into(), b.into()).unwrap()),
        (-1e12..1e12).prop_map(|value| Ratio::measured(value).unwrap()),
    ]
}

fn logs() -> impl Strategy<Value = Vec<Scored>> {
    prop::collection::vec((score(), any::<bool>()).prop_map(|(score, passed)| Scored { score, passed }), 0..40)
}

/// Strictly increasing on [0, 1]: x / (x + 1).
fn monotone(value: Ratio) -> Ratio {
    Ratio::new(value.numerator(), value.numerator() + value.denominator()).unwrap()
}

fn close(first: Option<f64>, second: Option<f64>) -> bool {
    match (first, second) {
        (Some(first), Some(second)) => (first - second).abs() < 1e-9,
        (first, second) => first == second,
    }
}

fn flipped(value: Option<f64>) -> Option<f64> {
    value.map(|value| -value)
}

proptest! {
    #[test]
    fn auc_is_the_share_of_pairs_won(logs in logs()) {
        let (mut doubled, mut pairs) = (0, 0);
        for passed in logs.iter().filter(|log| log.passed) {
            for failed in logs.iter().filter(|log| !log.passed) {
                pairs += 1;
                doubled += match passed.score.cmp(&failed.score) {
                    std::cmp::Ordering::Less => 0,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 2,
                };
            }
        }
        prop_assert_eq!(auc(&logs), Ratio::new(doubled, 2 * pairs).ok());
    }

    #[test]
    fn auc_knows_order_only(logs in logs()) {
        let of = |change: fn(&Scored) -> Scored| auc(&logs.iter().map(change).collect::<Vec<_>>());
        let found = auc(&logs);
        prop_assert_eq!(found, of(|log| Scored { score: monotone(log.score), ..*log }));
        let complement = found.map(|found| Ratio::ONE.difference(found));
        prop_assert_eq!(complement, of(|log| Scored { score: log.score.negated(), ..*log }));
        prop_assert_eq!(complement, of(|log| Scored { passed: !log.passed, ..*log }));
        prop_assert!(found.is_none_or(|found| (Ratio::ZERO..=Ratio::ONE).contains(&found)));
        let turned: Vec<Scored> = logs.iter().rev().copied().collect();
        prop_assert_eq!(found, auc(&turned));
        prop_assert_eq!(separation(&logs), separation(&turned));
    }

    #[test]
    fn a_paired_auc_is_two_aucs(rows in prop::collection::vec((score(), score(), any::<bool>()), 0..30)) {
        let paired: Vec<PairedScored> =
            rows.iter().map(|(first, second, passed)| PairedScored { first: *first, second: *second, passed: *passed }).collect();
        let one = |place: fn(&PairedScored) -> Ratio| {
            auc(&paired.iter().map(|log| Scored { score: place(log), passed: log.passed }).collect::<Vec<_>>())
        };
        let (first, second) = (one(|log| log.first), one(|log| log.second));
        let found = paired_auc(&paired);
        prop_assert_eq!(found.map(|found| (found.first, found.second)), first.zip(second));
        if let Some(found) = found {
            prop_assert_eq!(found.difference.checked_add(found.second), Some(found.first));
        }
    }

    #[test]
    fn correlations_are_bounded_symmetric_and_free_of_order(rows in prop::collection::vec((any_ratio(), any_ratio()), 0..25)) {
        let swapped: Vec<(Ratio, Ratio)> = rows.iter().map(|(first, second)| (*second, *first)).collect();
        let turned: Vec<(Ratio, Ratio)> = rows.iter().rev().copied().collect();
        let negated: Vec<(Ratio, Ratio)> = rows.iter().map(|(first, second)| (first.negated(), *second)).collect();
        for statistic in [pearson, spearman::<Ratio, Ratio>, kendall_tau_b::<Ratio, Ratio>] {
            let found = statistic(&rows);
            prop_assert!(found.is_none_or(|found| (-1.0..=1.0).contains(&found)));
            prop_assert_eq!(found, statistic(&swapped));
            prop_assert_eq!(found, statistic(&turned));
            prop_assert!(close(flipped(found), statistic(&negated)));
        }
    }

    #[test]
    fn rank_correlations_know_order_only(rows in prop::collection::vec((score(), score()), 0..25)) {
        let changed: Vec<(Ratio, Ratio)> = rows.iter().map(|(first, second)| (monotone(*first), *second)).collect();
        prop_assert_eq!(spearman(&rows), spearman(&changed));
        prop_assert_eq!(kendall_tau_b(&rows), kendall_tau_b(&changed));
        // A column with itself; three times and one more.
        let same: Vec<(Ratio, Ratio)> = rows.iter().map(|(first, _)| {
            (*first, first.checked_mul(Ratio::integer(3)).and_then(|triple| triple.checked_add(Ratio::ONE)).unwrap())
        }).collect();
        let varies = same.iter().any(|pair| pair.0 != same[0].0);
        for found in [pearson(&same), spearman(&same), kendall_tau_b(&same)] {
            prop_assert_eq!(found, varies.then_some(1.0));
        }
    }

    #[test]
    fn kendall_counts_pairs(rows in prop::collection::vec((0..5_i32, 0..4_i32), 0..25)) {
        let (mut balance, mut first, mut second) = (0_i32, 0_i32, 0_i32);
        for (i, a) in rows.iter().enumerate() {
            for b in &rows[..i] {
                let signs = ((a.0 - b.0).signum(), (a.1 - b.1).signum());
                balance += signs.0 * signs.1;
                first += signs.0.abs();
                second += signs.1.abs();
            }
        }
        let slow = (first > 0 && second > 0)
            .then(|| f64::from(balance) / (f64::from(first).sqrt() * f64::from(second).sqrt()));
        prop_assert!(close(kendall_tau_b(&rows), slow));
    }

    #[test]
    fn alpha_asks_not_who_rated(units in prop::collection::vec(prop::collection::vec(prop::option::of(score()), 0..5), 0..12)) {
        let turned: Vec<Vec<Option<Ratio>>> =
            units.iter().rev().map(|unit| unit.iter().rev().copied().chain([None]).collect()).collect();
        let renamed: Vec<Vec<Option<Ratio>>> =
            units.iter().map(|unit| unit.iter().map(|rating| rating.map(monotone)).collect()).collect();
        let linear: Vec<Vec<Option<Ratio>>> = units.iter().map(|unit| unit.iter().map(|rating| {
            rating.and_then(|rating| Ratio::integer(5).difference(rating).checked_mul(Ratio::integer(7)))
        }).collect()).collect();
        let (nominal, ordinal, interval) = (alpha_nominal(&units), alpha_ordinal(&units), alpha_interval(&units));
        prop_assert_eq!(nominal, alpha_nominal(&turned));
        prop_assert_eq!(ordinal, alpha_ordinal(&turned));
        prop_assert_eq!(interval, alpha_interval(&turned));
        prop_assert_eq!(nominal, alpha_nominal(&renamed));
        prop_assert_eq!(ordinal, alpha_ordinal(&renamed));
        prop_assert!(close(interval.map(|alpha| alpha.alpha), alpha_interval(&linear).map(|alpha| alpha.alpha)));
        for alpha in [nominal, ordinal, interval].into_iter().flatten() {
            prop_assert!(alpha.alpha.is_finite() && alpha.alpha <= 1.0);
        }
        prop_assert_eq!(nominal.is_some(), interval.is_some());
    }

    #[test]
    fn with_two_labels_the_three_alphas_are_one(units in prop::collection::vec(prop::collection::vec(prop::option::of(0..2_i64), 0..5), 0..12)) {
        let numbers: Vec<Vec<Option<Ratio>>> =
            units.iter().map(|unit| unit.iter().map(|rating| rating.map(Ratio::integer)).collect()).collect();
        let nominal = alpha_nominal(&units).map(|alpha| alpha.alpha);
        prop_assert!(close(nominal, alpha_ordinal(&units).map(|alpha| alpha.alpha)));
        prop_assert!(close(nominal, alpha_interval(&numbers).map(|alpha| alpha.alpha)));
    }

    #[test]
    fn alpha_is_its_own_definition(units in prop::collection::vec(prop::collection::vec(prop::option::of(0..4_i64), 0..5), 0..10)) {
        // From the coincidence matrix, as Krippendorff writes it.
        let mut coincidences = [[0.0_f64; 4]; 4];
        for unit in &units {
            let given: Vec<usize> = unit.iter().flatten().map(|value| *value as usize).collect();
            for (i, a) in given.iter().enumerate() {
                for (j, b) in given.iter().enumerate() {
                    if i != j {
                        coincidences[*a][*b] += 1.0 / (given.len() as f64 - 1.0);
                    }
                }
            }
        }
        let counts = coincidences.map(|row| row.iter().sum::<f64>());
        let n: f64 = counts.iter().sum();
        let slow = |delta: &dyn Fn(usize, usize) -> f64| {
            let (mut observed, mut expected) = (0.0, 0.0);
            for c in 0..4 {
                for k in 0..4 {
                    observed += coincidences[c][k] * delta(c, k).powi(2);
                    expected += counts[c] * counts[k] * delta(c, k).powi(2);
                }
            }
            (expected > 1e-9).then(|| 1.0 - (n - 1.0) * observed / expected)
        };
        let ordinal = |c: usize, k: usize| {
            let (low, high) = (c.min(k), c.max(k));
            counts[low..=high].iter().sum::<f64>() - (counts[c] + counts[k]) / 2.0
        };
        let ordinal = |c: usize, k: usize| if c == k { 0.0 } else { ordinal(c, k) };
        let numbers: Vec<Vec<Option<Ratio>>> =
            units.iter().map(|unit| unit.iter().map(|rating| rating.map(Ratio::integer)).collect()).collect();
        prop_assert!(close(alpha_nominal(&units).map(|a| a.alpha), slow(&|c, k| f64::from(u8::from(c != k)))));
        prop_assert!(close(alpha_ordinal(&units).map(|a| a.alpha), slow(&ordinal)));
        prop_assert!(close(alpha_interval(&numbers).map(|a| a.alpha), slow(&|c, k| c as f64 - k as f64)));
    }

    #[test]
    fn kappas_ask_neither_names_nor_sides(pairs in prop::collection::vec((0..4_i32, 0..4_i32), 0..25)) {
        let swapped: Vec<(i32, i32)> = pairs.iter().map(|(first, second)| (*second, *first)).collect();
        let reversed: Vec<(i32, i32)> = pairs.iter().map(|(first, second)| (-first, -second)).collect();
        for weights in [Weights::Unweighted, Weights::Linear, Weights::Quadratic] {
            let found = cohen_kappa(&pairs, weights);
            prop_assert_eq!(found, cohen_kappa(&swapped, weights));
            prop_assert_eq!(found, cohen_kappa(&reversed, weights));
            prop_assert!(found.is_none_or(|found| (Ratio::integer(-1)..=Ratio::ONE).contains(&found)));
            if raw_agreement(&pairs) == Some(Ratio::ONE) {
                prop_assert!(found.is_none_or(|found| found == Ratio::ONE));
            }
        }
        let shuffled: Vec<(i32, i32)> = pairs.iter().map(|(a, b)| ((a * 3) % 5, (b * 3) % 5)).collect();
        prop_assert_eq!(cohen_kappa(&pairs, Weights::Unweighted), cohen_kappa(&shuffled, Weights::Unweighted));
        let units: Vec<[i32; 2]> = pairs.iter().map(|(first, second)| [*first, *second]).collect();
        let turned: Vec<[i32; 2]> = shuffled.iter().map(|(first, second)| [*second, *first]).collect();
        prop_assert_eq!(fleiss_kappa(&units), fleiss_kappa(&turned));
    }

    #[test]
    fn preferences_are_all_counted(rows in prop::collection::vec((prop::option::of(score()), prop::option::of(score()), 0..3), 0..25)) {
        let preferred = |choice| [Preferred::First, Preferred::Second, Preferred::Neither][choice as usize];
        let rows: Vec<Preference> =
            rows.into_iter().map(|(first, second, choice)| Preference { first, second, preferred: preferred(choice) }).collect();
        let counts = preference_counts(&rows);
        prop_assert_eq!(counts.agree + counts.disagree + counts.score_ties + counts.human_ties + counts.missing, rows.len());
        let swapped: Vec<Preference> = rows.iter().map(|row| Preference {
            first: row.second,
            second: row.first,
            preferred: match row.preferred {
                Preferred::First => Preferred::Second,
                Preferred::Second => Preferred::First,
                Preferred::Neither => Preferred::Neither,
            },
        }).collect();
        prop_assert_eq!(counts, preference_counts(&swapped));
        let [excluded, half, disagreement] =
            [TieRule::Excluded, TieRule::Half, TieRule::Disagreement].map(|rule| counts.agreement(rule));
        if let (Some(half), Some(disagreement)) = (half, disagreement) {
            prop_assert!(disagreement <= half);
            prop_assert!(excluded.is_none_or(|excluded| disagreement <= excluded));
        }
        prop_assert_eq!(half.is_some(), disagreement.is_some());
    }

    #[test]
    fn intervals_hold_their_share(of in 1_usize..400, part in 0.0..1.0_f64) {
        let count = (of as f64 * part).round() as usize;
        let proportion = Proportion::new(count, of).unwrap();
        let share = proportion.ratio().unwrap().to_f64();
        let mirrored = Proportion::new(of - count, of).unwrap();
        for interval in [|p: Proportion| p.wilson().unwrap(), |p: Proportion| p.clopper_pearson(0.025).unwrap()] {
            let [low, high] = interval(proportion);
            prop_assert!(0.0 <= low && low <= share + 1e-12 && share <= high + 1e-12 && high <= 1.0);
            let [other_low, other_high] = interval(mirrored);
            prop_assert!((low + other_high - 1.0).abs() < 1e-12 && (high + other_low - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn paired_tests_ask_not_for_direction(differences in prop::collection::vec(score().prop_flat_map(|a| score().prop_map(move |b| a.difference(b))), 0..40)) {
        let turned: Vec<Ratio> = differences.iter().map(|difference| difference.negated()).collect();
        let (there, back) = (wilcoxon(&differences), wilcoxon(&turned));
        prop_assert_eq!(there.p_value, back.p_value);
        prop_assert_eq!(there.positive_rank_sum, back.negative_rank_sum);
        prop_assert_eq!(there.positive_rank_sum + there.negative_rank_sum, (there.n * (there.n + 1)) as f64 / 2.0);
        prop_assert_eq!(sign_test(&differences).p_value, sign_test(&turned).p_value);
        for method in [Method::Exact, Method::Normal, Method::NormalCorrected] {
            let p_value = wilcoxon_by(&differences, method).p_value;
            prop_assert!(p_value > 0.0 && p_value <= 1.0);
        }
        let corrected = wilcoxon_by(&differences, Method::NormalCorrected).p_value;
        prop_assert!(corrected >= wilcoxon_by(&differences, Method::Normal).p_value);
        let row = shares(&differences, Ratio::fraction(1, 10));
        prop_assert_eq!(row.improved.count() + row.regressed.count() + row.within.count(), differences.len());
    }

    #[test]
    fn exact_wilcoxon_is_enumeration(differences in prop::collection::vec((-6_i64..=6).prop_map(Ratio::integer), 0..9)) {
        let nonzero: Vec<Ratio> = differences.iter().copied().filter(|difference| *difference != Ratio::ZERO).collect();
        let found = wilcoxon(&differences);
        let distance = |test: &parthack_statistics::WilcoxonTest| (test.positive_rank_sum - test.negative_rank_sum).abs();
        let patterns = 1_u32 << nonzero.len();
        let as_extreme = (0..patterns).filter(|pattern| {
            let signed: Vec<Ratio> = (nonzero.iter().enumerate())
                .map(|(i, value)| if pattern >> i & 1 == 1 { value.negated() } else { *value })
                .collect();
            distance(&wilcoxon_by(&signed, Method::Normal)) >= distance(&found)
        });
        prop_assert_eq!(found.p_value, as_extreme.count() as f64 / f64::from(patterns));
    }

    #[test]
    fn distributions_are_in_order_and_free_of_order(values in prop::collection::vec(any_ratio(), 0..30)) {
        let turned: Vec<Ratio> = values.iter().rev().copied().collect();
        let found = distribution(&values);
        prop_assert_eq!(found, distribution(&turned));
        prop_assert_eq!(found.is_none(), values.is_empty());
        if let Some(found) = found {
            let order = [found.minimum, found.lower_quartile, found.median, found.upper_quartile, found.maximum];
            prop_assert!(order.is_sorted(), "{:?}", order);
            let slack = 1e-12 * order[0].abs().max(order[4].abs());
            prop_assert!(found.minimum - slack <= found.mean && found.mean <= found.maximum + slack);
        }
    }

    #[test]
    fn macro_means_count_each_task_once(rows in prop::collection::vec((0..5_u8, score(), any::<bool>()), 0..30), copies in 1_usize..4) {
        // Repeating every log of one task changes the pooled value only.
        let repeated = rows.iter().flat_map(|row| vec![*row; if row.0 == 0 { copies } else { 1 }]);
        let of = |rows: Vec<(u8, Ratio, bool)>| {
            let logs = Clusters::from_pairs(rows.into_iter().map(|(task, score, passed)| (task, Scored { score, passed })));
            (macro_mean(&logs.filter_map(|log| Some(log.score))), macro_auc(&logs))
        };
        let ((means, aucs), (other_means, other_aucs)) = (of(rows.clone()), of(repeated.collect()));
        prop_assert_eq!(means.map(|means| means.macro_mean), other_means.map(|means| means.macro_mean));
        prop_assert_eq!(aucs.map(|aucs| (aucs.macro_mean, aucs.undefined)), other_aucs.map(|aucs| (aucs.macro_mean, aucs.undefined)));
        let all: Vec<Ratio> = rows.iter().map(|row| row.1).collect();
        let pooled = macro_mean(&Clusters::from_pairs(rows.iter().map(|row| (row.0, row.1)))).and_then(|means| means.pooled);
        prop_assert_eq!(pooled, mean(&all));
    }

    #[test]
    fn ratios_are_ordered_as_numbers(a in any_ratio(), b in any_ratio(), c in any_ratio()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
        if a.to_f64() < b.to_f64() {
            prop_assert!(a < b);
        }
        prop_assert_eq!(a.to_string().parse::<Ratio>(), Ok(a));
        prop_assert_eq!(a.difference(b), b.difference(a).negated());
        prop_assert_eq!(serde_json::from_str::<Ratio>(&serde_json::to_string(&a).unwrap()).unwrap(), a);
    }

    #[test]
    fn measured_floats_come_back(value in 0.001..1000.0_f64) {
        prop_assert_eq!(Ratio::measured(value).unwrap().to_f64(), value);
    }
}
