//! Programs that mean ill, or that nobody tested: each ends in a typed fault, and what can be scored is scored.
#![cfg(unix)]

mod plugin_support;

use parthack_evaluators::plugin::{PluginHost, PluginOptions};
use plugin_support::{Folder, check_fault, check_shell, impatient, options, patient, payloads, shell, slices, told};

/// Wraps what a program prints for each line.
fn for_each(what: &str) -> String {
    format!("while IFS= read -r line; do {what}; done")
}

#[test]
fn ten_gigabytes() {
    // Ten times a gigabyte, in one line and in many.
    check_fault("read -r line; head -c 10000000000 /dev/zero", "too_long");
    check_fault(r"read -r line; yes '{}' | head -c 10000000000", "flood");
    // A flood behind a good answer.
    check_fault("read -r line; echo 0.5; yes | head -c 10000000000", "flood");
    // Line feeds alone, which are skipped elsewhere.
    check_fault("read -r line; yes ''", "too_long");
}

#[test]
fn endless_talk_on_standard_error() {
    let bounds = |workers| PluginOptions { error_bytes: 100_000, ..options(workers) };
    check_shell("yes beware >&2", 3, &bounds, &["flood"; 3]);
    let (_folder, mut host) = shell("yes beware >&2", bounds(1));
    let replies = host.score(&[b"{}"]);
    let fault = replies[0].fault().expect("a fault");
    assert_eq!(fault.message, "more than 100000 bytes on standard error");
    assert!(
        fault.stderr_tail.contains("beware\nbeware\n") && fault.stderr_tail.len() <= 4 << 10,
        "{}",
        fault.stderr_tail.len()
    );
    // Talk that stays within its bounds costs nothing, also where it is much in all.
    let talks = for_each("echo 0.5; head -c 20000 /dev/zero >&2");
    check_shell(&talks, 20, &bounds, &["0.5"; 20]);
}

#[test]
fn hangs() {
    let bounds = |workers| PluginOptions { faults_in_a_row: 3, ..impatient(workers) };
    check_shell("sleep 1000", 3, &bounds, &["timed_out"; 3]);
    check_shell(&for_each("sleep 1000"), 3, &bounds, &["timed_out"; 3]);
    // A drip, and a line that is never finished.
    check_shell("while printf ' '; do sleep 0.01; done", 3, &bounds, &["timed_out"; 3]);
    check_shell("printf '{\"score\":0.5'; sleep 1000", 3, &bounds, &["timed_out"; 3]);
    // It ignores the polite signals.
    check_shell("trap '' HUP INT TERM; read -r line; while :; do sleep 1000; done", 1, &bounds, &["timed_out"]);
}

#[test]
fn hangs_behind_an_answer() {
    check_shell("read -r line; echo 0.5; sleep 1000", 2, &patient, &["0.5"; 2]);
}

#[test]
fn ends_without_an_answer() {
    check_fault("exit 0", "ended_early");
    check_fault("exit 3", "crashed");
    check_fault("read -r line; kill -11 $$", "crashed");
    check_fault("read -r line; exec 1>&-; exit 0", "ended_early");
    // Closed, and it runs on.
    check_shell("read -r line; exec 1>&-; sleep 1000", 3, &impatient, &["ended_early"; 3]);
    // Within a line. A number that is cut is a number too, so that only a good end makes it count.
    check_fault(r#"read -r line; printf '{"score":0.'"#, "ended_early");
    check_fault("read -r line; printf 0; kill -9 $$", "crashed");
    check_fault("read -r line; printf 0; exit 1", "crashed");
    // A score out of range keeps its own name.
    check_fault("read -r line; printf 5", "out_of_range");
}

#[test]
fn eats_nothing() {
    check_shell("exec 0<&-; sleep 1000", 2, &impatient, &["timed_out"; 2]);
    check_fault("exec 0<&-; exit 4", "crashed");
}

#[test]
fn answers_twice() {
    check_fault(&for_each("echo 0.5; echo 0.5"), "unsolicited");
    // Only one payload of many is answered twice: the others keep their answers.
    let payloads = payloads(30);
    let folder = Folder::new();
    folder.file("bad", &String::from_utf8_lossy(&payloads[11]));
    let each = for_each(r#"[ "$line" = "$bad" ] && echo 0.125; echo 0.${#line}"#);
    folder.file("e.sh", &format!("read -r bad < bad\n{each}"));
    let mut expected: Vec<String> = payloads.iter().map(|payload| format!("0.{}", payload.len())).collect();
    if !payloads.iter().all(|payload| payload.is_ascii()) {
        panic!("the shell counts characters or bytes");
    }
    expected[11] = "unsolicited".to_owned();
    for workers in [1, 4] {
        let mut host = folder.host("exec:sh e.sh", options(workers));
        assert_eq!(told(&host.score(&slices(&payloads))), expected);
    }
}

#[test]
fn answers_the_wrong_way_round() {
    let hello = r#"echo '{"protocol":"parthack.evaluator/1","batch":2}'"#;
    // Always a number that is not the payload's.
    let script = format!("{hello}\n{}", for_each(r#"echo '{"id":7,"score":0.5}'"#));
    check_fault(&script, "out_of_order");
    // In pairs, the second first: by numbers this is seen, and one at a time they are answered well.
    let pairs = format!(
        r#"{hello}
n=0
while IFS= read -r line; do
  n=$((n + 1))
  if IFS= read -r second; then
    n=$((n + 1))
    echo '{{"id":'$n',"score":0.25}}'
    echo '{{"id":'$((n - 1))',"score":0.5}}'
  else
    echo '{{"id":'$n',"score":0.5}}'
  fi
done"#
    );
    // Alone it sees that no second payload comes.
    check_shell(&pairs, 2, &options, &["0.5"; 2]);
}

#[test]
fn lines_that_are_no_answers() {
    for (what, code) in [
        (r#"echo '{"score":NaN}'"#, "not_finite"),
        ("echo NaN", "not_finite"),
        (r#"echo '{"score":-Infinity}'"#, "not_finite"),
        (r#"echo '{"score":1.01}'"#, "out_of_range"),
        ("echo -0.01", "out_of_range"),
        (r#"echo '{"score":1e999}'"#, "out_of_range"),
        ("echo hello", "wrong_line"),
        (r#"echo '{"score":1,"score":0}'"#, "wrong_line"),
        (r#"printf '{"score":"\377"}\n'"#, "wrong_line"),
        (r"printf '\0\n'", "wrong_line"),
        (r#"echo '{"points":1}'"#, "wrong_schema"),
        (r#"echo '{"score":1,"cites":["/nowhere"]}'"#, "bad_cite"),
    ] {
        check_fault(&for_each(what), code);
    }
    let deep = for_each("head -c 100000 /dev/zero | tr '\\0' '['; echo");
    check_fault(&deep, "wrong_line");
}

#[test]
fn a_wrong_line_costs_its_payload_alone() {
    let script = "n=0; while read -r line; do n=$((n + 1)); [ $n = 2 ] && echo NaN || echo 0.5; done";
    check_shell(script, 4, &|_| options(1), &["0.5", "not_finite", "0.5", "0.5"]);
}

#[test]
fn talk_on_standard_output() {
    // A banner takes the first answer's place; nobody's score may move by it.
    let script = format!("echo Loading model; {}", for_each("echo 0.5"));
    check_fault(&script, "wrong_line");
    let (_folder, mut host) = shell(&script, options(1));
    let replies = host.score(&[b"{}"]);
    assert!(replies[0].fault().is_some_and(|fault| fault.message.contains("Loading model")), "{replies:?}");
}

#[test]
fn hellos_of_others() {
    check_fault(r#"echo '{"protocol":"parthack.evaluator/2"}'; cat > /dev/null"#, "wrong_hello");
    let twice = format!("{0}; {0}; {1}", r#"echo '{"protocol":"parthack.evaluator/1"}'"#, for_each("echo 1"));
    check_fault(&twice, "wrong_hello");
}

#[test]
fn what_it_starts_ends_with_it() {
    // A child that would hold the pipes open for ever, of a parent that ends, crashes or hangs.
    check_fault("sleep 1000 & exit 0", "ended_early");
    check_shell("sleep 1000 &\nread -r line; echo 0.5", 2, &options, &["0.5"; 2]);
    check_shell("sleep 1000 &\nsleep 1000", 2, &impatient, &["timed_out"; 2]);
    // Many of them; all are gone when the call returns, and none has written.
    let folder = Folder::new();
    folder.file("e.sh", "for i in 1 2 3 4 5 6 7 8; do (sleep 3; echo late >> late) & done\nread -r line; echo 0.5");
    let mut host = folder.host("exec:sh e.sh", options(1));
    assert_eq!(told(&host.score(&[b"{}"])), ["0.5"]);
    let mut wait = folder.host("exec:sh -c 'sleep 4; echo 1'", options(1));
    assert_eq!(told(&wait.score(&[b"{}"])), ["1"]);
    assert!(!folder.path().join("late").exists(), "a child outlived its parent");
}

#[test]
fn no_program() {
    let folder = Folder::new();
    folder.file("broken", "#!/no/such/interpreter\n");
    let path = folder.path().join("broken");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("allowed");
    let mut host = folder.host("exec:./broken", options(2));
    let payloads = payloads(3);
    assert_eq!(told(&host.score(&slices(&payloads))), ["not_started"; 3]);
}

#[test]
fn a_hopeless_program_is_given_up() {
    let mut expected = ["given_up"; 30];
    expected[..8].fill("crashed");
    check_shell("exit 7", 30, &options, &expected);
    // The next call doesn't begin again.
    let (_folder, mut host) = shell("exit 7", PluginOptions { faults_in_a_row: 2, ..options(1) });
    let payloads = payloads(4);
    assert_eq!(told(&host.score(&slices(&payloads))), ["crashed", "crashed", "given_up", "given_up"]);
    let starts = host.starts();
    assert_eq!(told(&host.score(&slices(&payloads))), ["given_up"; 4]);
    assert_eq!(host.starts(), starts);
}

#[test]
fn the_end_of_standard_error_is_kept() {
    let (_folder, mut host) = shell("read -r line; echo 'Traceback: no module' >&2; exit 1", options(1));
    let replies = host.score(&[b"{}"]);
    let fault = replies[0].fault().expect("a fault");
    assert_eq!(fault.to_string(), "crashed: it ended with exit code 1 before it answered");
    assert_eq!(fault.stderr_tail, "Traceback: no module");
    assert!(matches!(replies[0].verdict(), parthack_evaluators::score::Verdict::NoVerdict(_)));
}
