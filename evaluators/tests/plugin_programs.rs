//! Programs that mean well, in the ways in which people write them.
#![cfg(unix)]

mod plugin_support;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parthack_evaluators::plugin::{Feeding, Hello, Outcome, PluginHost, PluginOptions};
use parthack_evaluators::registry::payload_hash;
use plugin_support::{Folder, check_shell, options, patient, payloads, shell, slices, told};

/// Scores by the number of characters, so that each payload has a score of its own.
const BY_LENGTH: &str = r#"while IFS= read -r line; do printf '{"score":0.%06d}\n' ${#line}; done"#;

fn lengths(payloads: &[Vec<u8>]) -> Vec<String> {
    payloads.iter().map(|payload| format!("0.{:06}", String::from_utf8_lossy(payload).chars().count())).collect()
}

#[test]
fn answers_are_in_order_with_any_number_of_workers() {
    let payloads = payloads(200);
    // A shell counts characters or bytes, as its locale and make are; the payloads are ASCII then.
    let payloads: Vec<Vec<u8>> = payloads.into_iter().filter(|payload| payload.is_ascii()).collect();
    assert!(payloads.len() > 100, "too few payloads: {}", payloads.len());
    let mut replies = Vec::new();
    for (workers, session_payloads) in [(1, 64), (4, 64), (3, 7), (4, 1)] {
        let (_folder, mut host) = shell(BY_LENGTH, PluginOptions { session_payloads, ..options(workers) });
        let found = host.score(&slices(&payloads));
        assert_eq!(told(&found), lengths(&payloads), "{workers} workers");
        assert!(host.starts() >= payloads.len().div_ceil(session_payloads) as u64);
        assert_eq!(host.notes(), Vec::<String>::new());
        replies.push(found);
    }
    for other in &replies[1..] {
        assert_eq!(*other, replies[0]);
    }
    for (reply, payload) in replies[0].iter().zip(&payloads) {
        assert_eq!(reply.payload, payload_hash(payload));
    }
}

#[test]
fn payloads_arrive_byte_for_byte() {
    let payloads = payloads(20);
    let (folder, mut host) = shell("cat > sent; echo 0.5", PluginOptions { feeding: Feeding::One, ..options(1) });
    for payload in &payloads {
        assert_eq!(told(&host.score(&[payload])), ["0.5"]);
        let sent = std::fs::read(folder.path().join("sent")).expect("what was sent");
        assert_eq!(sent, [payload.as_slice(), b"\n"].concat());
    }
}

#[test]
fn a_hello_is_optional() {
    let plain = "while read -r line; do echo 0.25; done";
    let with = format!(
        r#"echo '{{"protocol":"parthack.evaluator/1","name":"quarter","version":"7","deterministic":true,"batch":5,"mood":"good"}}'
{plain}"#
    );
    let payloads = payloads(30);
    for workers in [1, 4] {
        let (_folder, mut host) = shell(plain, options(workers));
        assert_eq!(told(&host.score(&slices(&payloads))), ["0.25"; 30]);
        assert_eq!(host.hello(), None);
        let (_folder, mut host) = shell(&with, options(workers));
        assert_eq!(told(&host.score(&slices(&payloads))), ["0.25"; 30]);
        let hello = Hello {
            name: Some("quarter".to_owned()),
            version: Some("7".to_owned()),
            deterministic: Some(true),
            batch: Some(5),
        };
        assert_eq!(host.hello(), Some(hello));
        assert_eq!(host.notes(), [r#"its hello has a key "mood", which means nothing here"#]);
    }
}

#[test]
fn a_batch_waits_at_once() {
    // It answers only when three payloads are there, or the input ends; a host that sent them one by one would wait.
    let script = r#"echo '{"protocol":"parthack.evaluator/1","batch":3}'
n=0
while read -r line; do
  n=$((n + 1))
  if [ $n -eq 3 ]; then echo '{"id":1,"score":0.1}'; echo '{"id":2,"score":0.2}'; echo '{"id":3,"score":0.3}'; fi
done"#;
    check_shell(script, 3, &|_| options(1), &["0.1", "0.2", "0.3"]);
}

#[test]
fn the_host_says_hello_in_the_environment() {
    let script = r#"while read -r line; do
  case $PARTHACK_PROTOCOL$PARTHACK_HELLO in
    'parthack.evaluator/1{'*'"protocol":"parthack.evaluator/1"'*'}') echo 1 ;;
    *) echo 0 ;;
  esac
done"#;
    check_shell(script, 2, &options, &["1", "1"]);
}

#[test]
fn the_environment_is_what_was_agreed() {
    let folder = Folder::new();
    folder.file("e.sh", r#"read -r line; printf '{"no_verdict":"%s"}\n' "$HOME|$SECRET|$GIVEN|$PYTHONPATH|$PWD""#);
    let mut surroundings = folder.surroundings();
    for (name, value) in [("HOME", "/h"), ("SECRET", "s"), ("GIVEN", "g"), ("PYTHONPATH", "lib:/abs")] {
        surroundings.variables.insert(name.into(), value.into());
    }
    surroundings.keep.insert("GIVEN".into());
    surroundings.python_packages.push("/bundled".into());
    let words = ["sh".to_owned(), "e.sh".to_owned()];
    let program = parthack_evaluators::plugin::Program::find(&words, &surroundings).expect("sh");
    let mut host = parthack_evaluators::plugin::ExecHost::new(
        program,
        Box::new(parthack_evaluators::plugin::PlainLaunch),
        options(1),
    );
    let base = folder.path().display().to_string();
    let expected = format!("no verdict: /h||g|/bundled:{base}/lib:/abs|{base}");
    assert_eq!(told(&host.score(&[b"{}"])), [expected]);
}

#[test]
fn details_and_citations_are_kept() {
    let script = r#"while read -r line; do echo '{"cites":["/task_id"],"detail":{"b":1,"a":[]},"exact":"1/2","score":0.50}'; done"#;
    let (_folder, mut host) = shell(script, options(1));
    let payloads = payloads(2);
    for reply in host.score(&slices(&payloads)) {
        let Outcome::Score(score) = reply.outcome else { panic!("{reply:?}") };
        assert_eq!((score.value, score.text.as_str()), (0.5, "0.50"));
        assert_eq!(score.exact.map(|exact| exact.to_string()).as_deref(), Some("1/2"));
        assert_eq!(score.detail.as_deref(), Some(r#"{"a":[],"b":1}"#));
        assert_eq!(score.cites, ["/task_id"]);
    }
}

#[test]
fn line_ends_and_blank_lines_do_not_matter() {
    check_shell(r"while read -r line; do printf '\n  \n0.5\r\n\n'; done", 5, &options, &["0.5"; 5]);
    // The last line without its end.
    check_shell("read -r line; printf 0.75", 3, &options, &["0.75"; 3]);
}

#[test]
fn a_program_that_reads_all_of_its_input_first() {
    let payloads = payloads(5);
    let folder = Folder::new();
    folder.file("all.sh", "n=$(cat | wc -c); echo 0.$n");
    let expected: Vec<String> = payloads.iter().map(|payload| format!("0.{}", payload.len() + 1)).collect();
    for (workers, feeding) in [(1, Feeding::Auto), (4, Feeding::Auto), (2, Feeding::One)] {
        let base = if feeding == Feeding::Auto { patient(workers) } else { options(workers) };
        let mut host = folder.host("exec:sh all.sh", PluginOptions { feeding, ..base });
        assert_eq!(told(&host.score(&slices(&payloads))), expected, "{workers} workers, {feeding:?}");
        let is_noted = host.notes().iter().any(|note| note.contains("only when its input ends"));
        assert_eq!(is_noted, feeding == Feeding::Auto);
    }
}

#[test]
fn a_program_that_prints_without_reading() {
    check_shell("echo 0.5", 4, &options, &["0.5"; 4]);
}

#[test]
fn a_program_that_ends_now_and_then_is_started_again() {
    let script = "for i in 1 2 3; do read -r line && echo 0.5; done";
    check_shell(script, 20, &options, &["0.5"; 20]);
    let (_folder, mut host) = shell(&format!("{script}; exit 3"), options(1));
    assert_eq!(told(&host.score(&slices(&payloads(20)))), ["0.5"; 20]);
    let (notes, restarts) = (host.notes(), host.restarts());
    assert_eq!(restarts.keys().map(|code| code.code()).collect::<Vec<_>>(), ["crashed"], "{restarts:?}");
    assert!(notes[0].starts_with("crashed among several payloads, "), "{notes:?}");
    assert_eq!(notes[1..], ["it ended with exit code 3 behind its last answer"]);
}

#[test]
fn a_crash_costs_its_payload_alone() {
    let payloads = payloads(40);
    let folder = Folder::new();
    folder.file("bad", &String::from_utf8_lossy(&payloads[17]));
    folder.file(
        "e.sh",
        "read -r bad < bad\nwhile read -r line; do [ \"$line\" = \"$bad\" ] && kill -9 $$; echo 0.5; done",
    );
    for workers in [1, 4] {
        let mut host = folder.host("exec:sh e.sh", options(workers));
        let replies = host.score(&slices(&payloads));
        let mut expected = ["0.5"; 40];
        expected[17] = "crashed";
        assert_eq!(told(&replies), expected);
        let fault = replies[17].fault().expect("a fault");
        assert_eq!(fault.message, "SIGKILL (signal 9) ended it before it answered");
    }
}

#[test]
fn determinism_is_measured() {
    let payloads = payloads(6);
    let slices = slices(&payloads);
    let (_folder, mut host) = shell(BY_LENGTH, options(2));
    let replies = host.score(&slices);
    let found = host.measure(&slices, &replies, 2);
    assert_eq!((found.calls, found.payloads, found.is_equal()), (12, 6, true));
    assert_eq!(found.claimed, None);

    // A counter, whatever the payload is, that calls itself deterministic.
    let script = r#"echo '{"protocol":"parthack.evaluator/1","deterministic":true}'
n=0; while read -r line; do n=$((n + 1)); echo 0.$n; done"#;
    let (_folder, mut host) = shell(script, options(1));
    let replies = host.score(&slices);
    assert_eq!(told(&replies), ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]);
    let found = host.measure(&slices, &replies, 1);
    assert_eq!((found.moved, found.lost, found.claimed), (6, 0, Some(true)));
    assert_eq!(found.largest_difference, 0.6 - 0.1);
    assert!(!found.is_equal());
}

#[test]
fn the_user_may_stop_the_work() {
    let stop = Arc::new(AtomicBool::new(true));
    let (_folder, mut host) = shell(BY_LENGTH, PluginOptions { stop: Some(Arc::clone(&stop)), ..options(2) });
    let payloads = payloads(3);
    assert_eq!(told(&host.score(&slices(&payloads))), ["stopped"; 3]);
    assert_eq!(host.starts(), 0);
    // While one waits for an answer that never comes.
    let folder = Folder::new();
    folder.file("e.sh", "echo here > started; while read -r line; do sleep 1000; done");
    stop.store(false, std::sync::atomic::Ordering::Relaxed);
    let mut host = folder.host("exec:sh e.sh", PluginOptions { stop: Some(Arc::clone(&stop)), ..options(1) });
    let started = folder.path().join("started");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !started.exists() {
                std::thread::yield_now();
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(told(&host.score(&slices(&payloads))), ["stopped"; 3]);
    });
}

#[test]
fn nothing_to_score() {
    let (_folder, mut host) = shell(BY_LENGTH, options(4));
    assert_eq!(host.score(&[]), []);
    assert!(!host.measure(&[], &[], 3).is_equal());
}

/// A program that answers full batches, and what is left when its input ends.
#[test]
fn what_is_left_of_a_batch_is_answered_at_the_end_of_the_input() {
    let script = r#"echo '{"protocol":"parthack.evaluator/1","batch":8}'
        n=0; flush() { while [ $n -gt 0 ]; do echo 0.5; n=$((n-1)); done; }
        while IFS= read -r line; do n=$((n+1)); if [ $n -eq 8 ]; then flush; fi; done; flush"#;
    check_shell(script, 21, &options, &["0.5"; 21]);
}
