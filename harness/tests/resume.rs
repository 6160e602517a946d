//! A run killed at any moment goes on to the same bytes and the same exit code (SPEC §8).

mod cli_support;
mod run_support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cli_support::{certifier, command, finish, works};
use parthack::statistics::random::StreamKey;
use run_support::{promised, write_script};

/// A task of each family, two of them held out; small enough to be run forty times.
const TASKS: &str = "PH-D01,PH-D03,PH-D05,PH-H05,PH-H15";

fn run_command(out: &Path, resume: bool) -> Command {
    let mut command = command();
    command.env("PARTHACK_CERTIFIER", certifier());
    command.args(["run", "--tasks", TASKS, "--format", "json", "--out"]).arg(out);
    if resume {
        command.arg("--resume");
    }
    command
}

/// Starts a run and kills it after `delay`, or lets it end if it is faster.
fn kill_after(out: &Path, delay: Duration) -> bool {
    let mut child = run_command(out, true).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let (_alarm, timer) = channel::<()>();
    // Nobody sends: the wait ends when the delay is over.
    let _ = timer.recv_timeout(delay);
    let ended = child.try_wait().expect("a child").is_some();
    child.kill().expect("a child that can be killed");
    child.wait().expect("a child that ended");
    !ended
}

#[test]
fn killed_at_twenty_random_points_and_resumed() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let whole = scratch.path().join("whole");
    let begun = Instant::now();
    let expected = finish(run_command(&whole, false));
    let length = begun.elapsed();
    assert_eq!(expected.code, 0, "{}", expected.err);
    let bytes = promised(&whole);

    let mut random = StreamKey::root(20).child("kill").stream();
    let mut killed = 0;
    for point in 0..20_u32 {
        let out = scratch.path().join(format!("killed-{point}"));
        // The first five within the first five milliseconds, when nothing may be there yet.
        let delay = match point {
            0..5 => Duration::from_micros(u64::from(1_000 * point + random.below(1_000))),
            _ => length * (1 + random.below(1_000)) / 1_000,
        };
        killed += usize::from(kill_after(&out, delay));
        if point % 3 == 0 {
            killed += usize::from(kill_after(&out, length / 3));
        }
        let resumed = finish(run_command(&out, true));
        assert_eq!((resumed.code, &resumed.out), (expected.code, &expected.out), "point {point}: {}", resumed.err);
        assert!(promised(&out) == bytes, "point {point}, killed after {delay:?}: other bytes");
    }
    assert!(killed >= 10, "only {killed} runs were killed before their end");
}

#[test]
fn a_full_disk_ends_in_four_and_the_run_goes_on() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (whole, full) = (scratch.path().join("whole"), scratch.path().join("full"));
    assert_eq!(finish(run_command(&whole, false)).code, 0);
    // A limit on the size of a file, in blocks of 512 or 1024 bytes: room for the manifest, then for a part of the work.
    for blocks in [4, 40, 100] {
        let mut limited = Command::new("/bin/sh");
        limited.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", &blocks.to_string()]);
        let inner = run_command(&full, true);
        limited.arg(inner.get_program()).args(inner.get_args()).env("PARTHACK_CERTIFIER", certifier());
        let done = finish(limited);
        assert_eq!(done.code, 4, "{blocks} blocks: {}{}", done.out, done.err);
        assert!(done.err.contains("cannot write") && done.err.contains("hint:"), "{}", done.err);
    }
    let resumed = finish(run_command(&full, true));
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert!(promised(&full) == promised(&whole));
}

#[test]
fn a_certifier_that_dies_ends_in_four_and_the_run_goes_on() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (whole, out) = (scratch.path().join("whole"), scratch.path().join("out"));
    assert_eq!(finish(run_command(&whole, false)).code, 0);
    for requests in [10, 25] {
        let program = scratch.path().join(format!("dying-{requests}"));
        let line = format!("sed -u {requests}q | {} \"$@\"", certifier().display());
        write_script(&program, &line);
        let mut dying = run_command(&out, true);
        dying.env("PARTHACK_CERTIFIER", &program);
        let done = finish(dying);
        assert_eq!(done.code, 4, "{}{}", done.out, done.err);
        assert!(done.err.contains("the certifier died") && done.err.contains("--resume"), "{}", done.err);
    }
    assert_eq!(finish(run_command(&out, true)).code, 0);
    assert!(promised(&out) == promised(&whole));
}

#[test]
fn an_unfinished_run_needs_resume_and_a_finished_one_is_verified() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let out = scratch.path().join("out");
    let program = scratch.path().join("dying");
    write_script(&program, &format!("sed -u 9q | {} \"$@\"", certifier().display()));
    let mut dying = run_command(&out, false);
    dying.env("PARTHACK_CERTIFIER", &program);
    assert_eq!(finish(dying).code, 4);
    let refused = finish(run_command(&out, false));
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("--resume"), "{}", refused.err);
    assert_eq!(finish(run_command(&out, true)).code, 0);
    let text = |path: &Path| path.display().to_string();
    let verified = works(&["verify", &text(&out), "--certifier", &text(certifier()), "--format", "json"]).json();
    assert_eq!(verified["verified"], true, "{verified}");
    let ledger = out.join("ledger.jsonl");
    let mut bytes = fs::read(&ledger).expect("a ledger");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&ledger, bytes).expect("written");
    let found = cli_support::parthack(&["verify", &text(&out), "--certifier", &text(certifier())]);
    assert_eq!(found.code, 1, "{}{}", found.out, found.err);
    assert!(found.out.contains("FAULT") && found.out.contains("ledger.jsonl"), "{}", found.out);
}

#[test]
fn a_folder_that_cannot_be_written_ends_in_four() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let file = scratch.path().join("a-file");
    fs::write(&file, "not a folder").expect("a file");
    for out in [Path::new("/proc/parthack-run"), &file.join("run")] {
        let done = finish(run_command(out, false));
        assert_eq!(done.code, 4, "{}: {}{}", out.display(), done.out, done.err);
        assert!(done.err.contains("cannot create") && done.err.contains("--out"), "{}", done.err);
        assert!(!out.exists());
    }
    let foreign = scratch.path().join("foreign");
    fs::create_dir(&foreign).and_then(|()| fs::write(foreign.join("thesis.txt"), "mine")).expect("a folder");
    assert_eq!(finish(run_command(&foreign, false)).code, 2);
    assert_eq!(fs::read_to_string(foreign.join("thesis.txt")).expect("still there"), "mine");
}
