//! Rules of this house that no linter knows.

use std::path::{Path, PathBuf};
use std::process::Command;

use parthack_tests::workspace;

/// Lines of one file: a thousand is a sign of two ideas.
const MOST_LINES: usize = 1_000;

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if name != "target" && name != ".git" && name != "runs" {
                files(&path, ending, found);
            }
        } else if name.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&workspace(), ".rs", &mut found);
    assert!(found.len() > 20, "the sources are not where this test looks");
    found.sort();
    found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(&path).expect("readable source"))).collect()
}

#[test]
fn a_file_is_one_idea() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
    }
}

#[test]
fn files_are_named_for_their_content() {
    for (path, _) in sources() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        assert!(
            !["utils.rs", "util.rs", "common.rs", "helpers.rs", "misc.rs"].contains(&name.as_str()),
            "{}",
            path.display()
        );
    }
}

#[test]
fn files_say_what_they_are_for() {
    for (path, text) in sources() {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        assert!(first.starts_with("//!"), "{} does not begin with a module comment", path.display());
    }
}

#[test]
fn nothing_is_left_for_later_in_code() {
    let marks =
        ["TO".to_owned() + "DO", "FIX".to_owned() + "ME", "X".to_owned() + "XX", "unimpl".to_owned() + "emented!"];
    for (path, text) in sources() {
        for mark in &marks {
            assert!(!text.contains(mark), "{} contains {mark}", path.display());
        }
    }
}

#[test]
fn private_packages_are_read_by_the_certifier_alone() {
    let format = "parthack.private".to_owned() + "/1";
    for (path, text) in sources() {
        let inside = path.strip_prefix(workspace()).unwrap_or(&path);
        // The harness scaffolds a new package and publishes the schema; it reads none.
        let allowed =
            ["certifier", "harness/src/schemas", "harness/src/cli"].iter().any(|folder| inside.starts_with(folder));
        assert!(
            allowed || inside.starts_with("tests") || !text.contains(&format),
            "{} knows the private format",
            inside.display()
        );
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).expect("manifest");
    let section =
        manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default();
    let mut previous = "";
    for line in section.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let own = line.contains("path = ");
        assert!(line.starts_with('#') || own || previous.starts_with('#'), "no reason above: {line}");
        previous = line;
    }
}

#[test]
fn forbidden_edges() {
    for (crate_name, forbidden) in [
        ("parthack-env", &["parthack-certifier", "parthack-evaluators", "parthack-attacker", "parthack-model"][..]),
        ("parthack-evaluators", &["parthack-certifier", "parthack-attacker"][..]),
        ("parthack-attacker", &["parthack-certifier"][..]),
        ("parthack-model", &["parthack-certifier", "parthack-evaluators", "parthack-env"][..]),
        ("parthack-certifier", &["parthack-evaluators", "parthack-attacker", "parthack-model"][..]),
        ("parthack-logs", &["parthack-certifier", "parthack-evaluators", "parthack-attacker", "parthack-model"][..]),
        ("parthack-gcpc", &["parthack-certifier", "parthack-evaluators", "parthack-attacker"][..]),
        ("parthack-statistics", &["parthack-certifier", "parthack-env", "parthack-model"][..]),
        ("parthack-sandbox", &["parthack-certifier", "parthack-env", "parthack-evaluators", "parthack-model"][..]),
    ] {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "-p", crate_name, "--edges", "normal,build,dev", "--prefix", "none"])
            .current_dir(workspace())
            .output()
            .expect("cargo tree runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8_lossy(&output.stdout);
        for name in forbidden {
            let edge = tree.lines().skip(1).any(|line| line.split(' ').next() == Some(name));
            assert!(!edge, "{crate_name} must not depend on {name}");
        }
    }
}
