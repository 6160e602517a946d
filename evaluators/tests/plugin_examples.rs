//! The example evaluators, each in its own language, behind the host.
#![cfg(unix)]

mod plugin_support;

use std::path::{Path, PathBuf};

use parthack_evaluators::plugin::{ExecHost, PlainLaunch, PluginHost, Program, SpecError, Surroundings};
use parthack_evaluators::rules::Rule;
use parthack_evaluators::score::Verdict;
use plugin_support::{options, payloads, slices, told};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a command of the repository says of the payloads, the same with one worker and three; none where its interpreter
/// is not installed, which CI doesn't put up with.
fn verdicts(command: &[&str], payloads: &[Vec<u8>]) -> Option<Vec<Verdict>> {
    let base = std::fs::canonicalize(workspace()).expect("the workspace");
    let python_packages = vec![base.join("python")];
    let variables = std::env::vars_os().collect();
    let surroundings = Surroundings { base, variables, python_packages, ..Surroundings::default() };
    let words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    let program = match Program::find(&words, &surroundings) {
        Ok(program) => program,
        Err(error @ SpecError::NoProgram { .. }) if std::env::var_os("CI").is_none() => {
            println!("not tested: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let mut found = Vec::new();
    for workers in [1, 3] {
        let mut host = ExecHost::new(program.clone(), Box::new(PlainLaunch), options(workers));
        let replies = host.score(&slices(payloads));
        for reply in &replies {
            assert_eq!(reply.fault(), None, "{command:?}");
        }
        assert_eq!(host.notes(), Vec::<String>::new(), "{command:?}");
        found.push((told(&replies), replies.iter().map(|reply| reply.verdict()).collect::<Vec<_>>()));
    }
    let (one, three) = (found.pop(), found.pop());
    assert_eq!(one, three, "{command:?}");
    one.map(|(_, verdicts)| verdicts)
}

#[test]
fn the_best_moment_in_python_is_the_historical_milestone() {
    let payloads = payloads(80);
    let Some(found) = verdicts(&["python3", "examples/python/ten_lines.py"], &payloads) else { return };
    for (verdict, payload) in found.into_iter().zip(&payloads) {
        let expected = parthack_evaluators::registry::score_all(&[Rule::HistoricalMilestone], payload);
        assert_eq!(vec![verdict], expected);
    }
}

#[test]
fn the_others_answer_every_payload() {
    let payloads = payloads(80);
    for command in [
        &["python3", "examples/python/diff_judge.py"][..],
        &["node", "--jitless", "examples/node/evaluator.mjs"],
        &["sh", "examples/shell/evaluator.sh"],
    ] {
        let Some(found) = verdicts(command, &payloads) else { continue };
        let scores = found.iter().filter(|verdict| matches!(verdict, Verdict::Score { .. })).count();
        assert!(scores > 40, "{command:?}: {scores} scores");
    }
}
