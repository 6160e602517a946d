//! Every probe at every tier that this host gives, as the user that runs the tests and, for root, as one without rights.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use parthack_sandbox::probes::{Host, Possible, Selection, all, audit, audit_with_network, reachable};
use parthack_sandbox::{Tier, detect, start_once_free};

const NOBODY: u32 = 65_534;

/// Who runs the probes.
struct User {
    name: &'static str,
    uid: Option<u32>,
    dropped: bool,
}

fn users() -> Vec<User> {
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if root {
        let dropping = User { name: "root, dropping to another user", uid: None, dropped: true };
        vec![dropping, User { name: "a user without rights", uid: Some(NOBODY), dropped: false }]
    } else {
        println!("not root: the change of user isn't tested here");
        vec![User { name: "the user of the tests", uid: None, dropped: false }]
    }
}

/// The program at a place that every user can reach.
fn program(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("passable folder");
    reachable(Path::new(env!("CARGO_BIN_EXE_parthack-probe")), folder).expect("copied")
}

/// Runs the program as a user; its standard output.
fn ask(program: &Path, user: &User, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/");
    if let Some(uid) = user.uid {
        command.uid(uid).gid(uid);
    }
    let output = start_once_free(|| command.output()).expect("started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.stdout.is_empty(), "{} as {}: {}: {errors}", arguments.join(" "), user.name, output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// Probe, and what came of it.
fn verdicts(output: &str) -> BTreeMap<String, String> {
    let rows = output.lines().filter_map(|line| {
        let mut parts = line.split('\t');
        Some((parts.next()?.to_owned(), parts.nth(1)?.to_owned()))
    });
    rows.collect()
}

fn highest(program: &Path, user: &User) -> Tier {
    let report = ask(program, user, &["detect"]);
    let number = report.strip_prefix("isolation: tier ").and_then(|rest| rest.chars().next()?.to_digit(10));
    let tier = number.and_then(|number| Tier::from_number(u8::try_from(number).ok()?));
    tier.unwrap_or_else(|| panic!("no tier as {}: {report}", user.name))
}

#[test]
fn every_probe_is_blocked_where_it_is_claimed_to_be() {
    let folder = tempfile::tempdir().expect("scratch");
    let program = program(folder.path());
    for user in users() {
        let highest = highest(&program, &user);
        assert!(highest >= Tier::Filtered, "as {}: {highest} alone", user.name);
        let control = verdicts(&ask(&program, &user, &["control"]));
        for tier in Tier::ALL.into_iter().filter(|tier| *tier <= highest) {
            let number = tier.number().to_string();
            let results = verdicts(&ask(&program, &user, &["audit", &number]));
            let open = results.values().filter(|verdict| verdict.starts_with("open")).count();
            let reads = results.values().filter(|verdict| verdict.contains("read the secret")).count();
            println!("tested: {tier} as {}: {open} open, {reads} read the secret", user.name);
            for probe in all() {
                let verdict = results.get(probe.id).unwrap_or_else(|| panic!("{} was not run", probe.id));
                let claimed = probe.claimed(tier, user.dropped);
                assert!(
                    !claimed || verdict.starts_with("blocked"),
                    "{} at {tier} as {}: {verdict}",
                    probe.id,
                    user.name
                );
                if verdict.starts_with("open") {
                    println!("  open: {}", probe.id);
                }
                assert!(!verdict.starts_with("could not"), "{} at {tier} as {}: {verdict}", probe.id, user.name);
            }
        }
        let mut shown = 0;
        for probe in all() {
            let verdict = control.get(probe.id).unwrap_or_else(|| panic!("{} was not run", probe.id));
            if verdict.starts_with("open") {
                shown += 1;
            } else {
                println!("  can't succeed here as {}: {} ({verdict})", user.name, probe.id);
                assert!(probe.possible != Possible::Always, "{} unconfined as {}: {verdict}", probe.id, user.name);
            }
        }
        println!("control as {}: {shown} of {} probes succeed unconfined", user.name, control.len());
        assert!(shown >= 40, "too few probes succeed unconfined for the others to mean anything");
    }
}

#[test]
fn a_probe_that_reads_says_so() {
    let folder = tempfile::tempdir().expect("scratch");
    let program = program(folder.path());
    for user in users() {
        let control = verdicts(&ask(&program, &user, &["control", "--quick"]));
        for id in [
            "file-absolute",
            "file-traversal",
            "file-planted-symlink",
            "file-planted-hard-link",
            "inherited-descriptor",
        ] {
            assert_eq!(control.get(id).map(String::as_str), Some("open, read the secret"), "{id} as {}", user.name);
        }
    }
}

#[test]
fn with_network_all_else_is_blocked_and_the_network_is_left_out() {
    let folder = tempfile::tempdir().expect("scratch");
    let host = Host { program: program(folder.path()), arguments: Vec::new() };
    let highest = detect().highest.expect("a tier");
    for tier in [Tier::Full, Tier::Landlocked].into_iter().filter(|tier| *tier <= highest) {
        let results = audit_with_network(&host, tier, Selection::Quick).expect("planted");
        let without = audit(&host, tier, Selection::Quick).expect("planted");
        assert_eq!(without.len() - results.len(), without.iter().filter(|it| it.probe.is_of_network()).count());
        for result in results {
            assert!(!result.falls_short() && !result.probe.is_of_network(), "{tier}: {result:?}");
        }
    }
}

#[test]
fn the_audit_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("scratch");
    let program = program(folder.path());
    let scratch = folder.path().join("temporary");
    std::fs::create_dir(&scratch).expect("made");
    let output =
        start_once_free(|| Command::new(&program).args(["audit", "1", "--quick"]).env("TMPDIR", &scratch).output());
    let output = output.expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(std::fs::read_dir(&scratch).expect("listed").count(), 0);
}

#[test]
fn without_namespaces_the_next_tier_is_found_and_holds() {
    // Inside a user namespace the number of further ones can be set to none: what a container or a sysctl does.
    let folder = tempfile::tempdir().expect("scratch");
    let program = program(folder.path());
    let inside = |arguments: &str| {
        let text = format!("echo 0 > /proc/sys/user/max_user_namespaces && exec {} {arguments}", program.display());
        Command::new("unshare").args(["--user", "--map-root-user", "sh", "-c", &text]).output()
    };
    let report = match inside("detect") {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        other => return println!("no `unshare` or no user namespaces here: not tested ({other:?})"),
    };
    assert!(report.starts_with("isolation: tier 2 "), "{report}");
    assert!(
        report.contains("tier 3 can't be reached") && report.contains("creating the process failed: ENOSPC"),
        "{report}"
    );
    let output = inside("audit 2 --quick").expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(verdicts(&text).len() > 70, "{text}");
    let output = inside("fall").expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("tier 2 ") && text.contains("instead of tier 3 "), "{text}");
    let output = inside("audit 3 --quick").expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "a tier that can't be set up is no success: {text}");
    let blocked = verdicts(&text).into_iter().filter(|(_, verdict)| verdict.starts_with("blocked")).count();
    assert!(blocked <= 1, "nothing but the link that is refused beforehand counts as blocked: {text}");
}
