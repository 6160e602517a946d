//! The self-confinement of the certifier: its work goes on, everything else kills it.
#![cfg(target_os = "linux")]

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

fn deed(name: &str) -> Output {
    let folder = tempfile::tempdir().expect("scratch");
    Command::new(env!("CARGO_BIN_EXE_parthack-probe"))
        .args(["certifier-deed", name])
        .env("PARTHACK_PROBE_BASE", folder.path())
        .env_remove("RUST_BACKTRACE")
        .output()
        .expect("started")
}

#[test]
fn work_goes_on() {
    let output = deed("work");
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"parthack-probe/1 open 0\n");
}

#[test]
fn anything_else_kills() {
    for name in ["open", "socket", "fork", "exec", "trace", "code", "thread", "kill"] {
        let output = deed(name);
        assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{name}: {} {output:?}", output.status);
        assert!(output.stdout.is_empty(), "{name}");
    }
}

#[test]
fn a_process_with_threads_is_refused() {
    // The harness of these tests has several; a refusal leaves the process as it was.
    let error = parthack_sandbox::confine_self(&[]).expect_err("refused").to_string();
    assert!(error.contains("looking for other threads failed: EBUSY"), "{error}");
    assert!(std::fs::read_dir("/").is_ok());
}
