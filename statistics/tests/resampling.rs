//! The bootstrap: its draws against a second writing of the stream, its intervals against numpy on those draws, against
//! scipy's own bootstrap loosely, and pinned.

use std::sync::LazyLock;

use parthack_statistics::discrimination::{discrimination, discrimination_by, paired_discrimination};
use parthack_statistics::random::StreamKey;
use parthack_statistics::{
    Bootstrap, BootstrapError, BootstrapPlan, ClusteredAuc, ClusteredSeparation, Clusters, PairedScored, Ratio,
    Resampled, Scored, auc, mean, separation, spearman,
};
use serde_json::Value;

static ORACLES: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(include_str!("data/oracles.json")).unwrap());

fn plan(resamples: u32, seed: u64) -> Bootstrap {
    Bootstrap::new(BootstrapPlan { resamples, seed, ..BootstrapPlan::default() }).unwrap()
}

#[test]
fn draws_are_those_of_the_documented_stream() {
    for case in ORACLES["draws"].as_array().unwrap() {
        let expected: Vec<Vec<u32>> = serde_json::from_value(case["rows"].clone()).unwrap();
        let tasks = case["tasks"].as_u64().unwrap() as usize;
        let mut drawn = Vec::new();
        plan(3, case["seed"].as_u64().unwrap()).for_each(tasks, |draws| drawn.push(draws.to_vec())).unwrap();
        assert_eq!(drawn, expected, "{tasks} tasks");
    }
}

#[test]
fn more_resamples_start_with_the_same_ones() {
    let draws = |resamples| {
        let mut all = Vec::new();
        plan(resamples, 3).for_each(11, |draws| all.push(draws.to_vec())).unwrap();
        all
    };
    assert_eq!(draws(50)[..20], draws(20));
    assert_ne!(draws(20)[0], draws(20)[1]);
}

/// Logs of a clustered case: task, two scores, outcome.
fn logs(case: &Value) -> Clusters<u64, PairedScored> {
    let log = |row: &Value| {
        let score = |place: usize| row[place].as_str().unwrap().parse::<Ratio>().unwrap();
        let scored = PairedScored { first: score(1), second: score(2), passed: row[3].as_bool().unwrap() };
        (row[0].as_u64().unwrap(), scored)
    };
    Clusters::from_pairs(case["logs"].as_array().unwrap().iter().map(log))
}

fn of_first(logs: &Clusters<u64, PairedScored>) -> Clusters<u64, Scored> {
    logs.filter_map(|log| Some(Scored { score: log.first, passed: log.passed }))
}

#[track_caller]
fn same(ours: &Resampled, theirs: &Value) {
    let numbers = [("low", ours.low), ("high", ours.high), ("mean", ours.mean), ("median", ours.median)];
    for (name, ours) in numbers {
        let theirs = theirs[name].as_f64().unwrap();
        assert!((ours - theirs).abs() < 1e-9, "{name}: ours {ours}, theirs {theirs}");
    }
    for (name, ours) in [("positive", ours.positive), ("negative", ours.negative)] {
        assert_eq!(u64::from(ours), theirs[name].as_u64().unwrap(), "{name}");
    }
}

#[test]
fn clustered_intervals_are_those_of_numpy_on_the_same_draws() {
    let mut undefined = 0;
    for case in ORACLES["clustered"].as_array().unwrap() {
        let number = |name: &str| case[name].as_u64().unwrap();
        let bootstrap = plan(number("resamples") as u32, number("seed"));
        let logs = logs(case);
        assert_eq!(logs.len() as u64, number("tasks"));
        let one = discrimination(&of_first(&logs), &bootstrap).unwrap();
        let auc_resampled = one.auc_resampled.unwrap();
        same(&auc_resampled, &case["first"]);
        same(&one.separation_resampled.unwrap(), &case["separation"]);
        let pair = paired_discrimination(&logs, &bootstrap).unwrap();
        same(&pair.difference_resampled.unwrap(), &case["difference"]);
        assert_eq!(u64::from(auc_resampled.undefined), number("undefined"));
        undefined += auc_resampled.undefined;
    }
    assert!(undefined > 0, "a resample without one outcome was met");
}

#[test]
fn prepared_statistics_are_the_plain_ones_of_the_drawn_logs() {
    let case = &ORACLES["clustered"][1];
    let logs = of_first(&logs(case));
    let (by_rank, by_sum) = (ClusteredAuc::new(&logs), ClusteredSeparation::new(&logs));
    plan(200, 4)
        .for_each(logs.len(), |draws| {
            let drawn: Vec<Scored> = logs.drawn(draws).copied().collect();
            assert_eq!(by_rank.of(draws), auc(&drawn));
            let plain = separation(&drawn).map(|separation| separation.difference);
            assert!((by_sum.of(draws).unwrap() - plain.unwrap()).abs() < 1e-15);
        })
        .unwrap();
    let by_closure = plan(200, 4).over(&logs, |drawn| auc(drawn).map(Ratio::to_f64)).unwrap();
    assert_eq!(by_closure, discrimination(&logs, &plan(200, 4)).unwrap().auc_resampled);
}

#[test]
fn scipy_draws_other_numbers_and_finds_about_the_same_interval() {
    let case = &ORACLES["bootstrap"];
    let values: Vec<Ratio> =
        case["values"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().parse().unwrap()).collect();
    let clusters = Clusters::from_pairs(values.into_iter().enumerate());
    let ours = plan(20_000, 0).over(&clusters, mean).unwrap().unwrap();
    let error = case["standard_error"].as_f64().unwrap();
    // A bound of 20,000 resamples has itself a standard error of about two hundredths of the statistic's.
    for (ours, theirs) in [(ours.low, "low"), (ours.high, "high")] {
        let theirs = case[theirs].as_f64().unwrap();
        assert!((ours - theirs).abs() < 0.1 * error, "ours {ours}, theirs {theirs}, standard error {error}");
        assert_ne!(ours, theirs);
    }
}

#[test]
fn numbers_of_the_default_plan_are_pinned() {
    let key = StreamKey::root(0).child("bootstrap").child("tasks=12");
    let mut stream = key.stream();
    assert_eq!([(); 4].map(|()| stream.below(1000)), GOLDEN_DRAWS);
    let logs = logs(&ORACLES["clustered"][2]);
    let pair = paired_discrimination(&logs, &Bootstrap::with_seed(0)).unwrap();
    let resampled = pair.difference_resampled.unwrap();
    assert_eq!(pair.difference_exact.unwrap().to_string(), GOLDEN_DIFFERENCE);
    assert_eq!((resampled.low, resampled.high, resampled.positive), GOLDEN_INTERVAL);
    let ranks: Vec<(Ratio, Ratio)> = logs.all().map(|log| (log.first, log.second)).collect();
    let pairs = logs.filter_map(|log| Some((log.first, log.second)));
    let rho = Bootstrap::with_seed(0).over(&pairs, spearman).unwrap().unwrap();
    assert_eq!((spearman(&ranks).unwrap(), rho.low, rho.high), GOLDEN_RHO);
}

const GOLDEN_DRAWS: [u32; 4] = [359, 338, 110, 370];
const GOLDEN_DIFFERENCE: &str = "3183/98980";
const GOLDEN_INTERVAL: (f64, f64, u32) = (-0.03345359352726139, 0.09847245609691659, 1645);
const GOLDEN_RHO: (f64, f64, f64) = (-0.0043227863141084445, -0.09786495902999223, 0.08732100465712317);

#[test]
fn the_order_of_logs_and_of_questions_does_not_matter() {
    let case = &ORACLES["clustered"][1];
    let forward = logs(case);
    let mut rows: Vec<(u64, PairedScored)> =
        forward.iter().flat_map(|(task, logs)| logs.iter().map(|log| (*task, *log))).collect();
    rows.reverse();
    let backward = Clusters::from_pairs(rows);
    assert_ne!(forward, backward);
    let bootstrap = Bootstrap::with_seed(9);
    let first = discrimination(&of_first(&forward), &bootstrap).unwrap();
    paired_discrimination(&forward, &bootstrap).unwrap();
    assert_eq!(first, discrimination(&of_first(&backward), &bootstrap).unwrap());
}

#[test]
fn many_threads_get_what_one_gets() {
    let logs = of_first(&logs(&ORACLES["clustered"][1]));
    let bootstrap = Bootstrap::with_seed(2);
    let alone = discrimination(&logs, &bootstrap).unwrap();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| discrimination(&logs, &bootstrap).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(together.iter().all(|result| *result == alone));
}

#[test]
fn undefined_resamples_are_counted_and_left_out() {
    let bootstrap = plan(100, 0);
    let mut calls = 0;
    let resampled = bootstrap.statistic(3, |draws| {
        calls += 1;
        match draws[0] {
            0 => None,
            1 => Some(f64::NAN),
            _ => Some(-2.0),
        }
    });
    let resampled = resampled.unwrap().unwrap();
    assert_eq!(calls, 100);
    assert_eq!(resampled.defined + resampled.undefined, 100);
    assert!(resampled.defined > 10 && resampled.undefined > 40, "{resampled:?}");
    assert_eq!((resampled.low, resampled.high, resampled.mean, resampled.median), (-2.0, -2.0, -2.0, -2.0));
    assert_eq!((resampled.positive, resampled.negative, resampled.share_positive()), (0, resampled.defined, 0.0));
    assert_eq!(bootstrap.statistic(3, |_| None), Ok(None));
    assert_eq!(bootstrap.statistic(0, |_| Some(1.0)), Ok(None));
    assert_eq!(bootstrap.statistic(0, |_| panic!("a resample of no clusters")), Ok(None));
}

#[test]
fn plans_outside_their_ranges_are_refused() {
    for (resamples, tail) in
        [(1, "1/40"), (1_000_001, "1/40"), (2000, "0"), (2000, "1/2"), (2000, "-1/40"), (2000, "1/1000000001")]
    {
        let tail: Ratio = tail.parse().unwrap();
        let refused = Bootstrap::new(BootstrapPlan { resamples, seed: 0, tail });
        assert_eq!(refused, Err(BootstrapError::Plan { resamples, tail }));
    }
    let too_many = u32::MAX as usize + 1;
    let refused = plan(2, 0).for_each(too_many, |_| panic!("a resample"));
    assert_eq!(refused, Err(BootstrapError::TooManyClusters { found: too_many }));
}

#[test]
fn conditions_have_their_own_samples() {
    let logs = of_first(&logs(&ORACLES["clustered"][1]));
    let rows = logs.iter().flat_map(|(task, logs)| logs.iter().enumerate().map(|(i, log)| (i % 2 == 0, *task, *log)));
    let bootstrap = plan(100, 0);
    let by = discrimination_by(rows, &bootstrap).unwrap();
    assert_eq!(by.values().map(|row| row.passes + row.fails).sum::<usize>(), logs.observations());
    // The odd logs of tasks with a single log are none: those tasks are no clusters of that condition.
    assert_eq!(by[&true].tasks, logs.len());
    assert!(by[&false].tasks < by[&true].tasks);
    let mut index = 0;
    let mut previous = None;
    let even = Clusters::from_pairs(
        logs.iter().flat_map(|(task, logs)| logs.iter().map(move |log| (*task, *log))).filter(|(task, _)| {
            index = if previous == Some(*task) { index + 1 } else { 0 };
            previous = Some(*task);
            index % 2 == 0
        }),
    );
    assert_eq!(by[&true], discrimination(&even, &bootstrap).unwrap());
}
