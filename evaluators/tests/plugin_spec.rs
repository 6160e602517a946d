//! What a user writes for an evaluator, and what it means in a folder.
#![cfg(unix)]

mod plugin_support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use parthack_evaluators::plugin::{EvaluatorSpec, Program, SpecError};
use plugin_support::Folder;

#[test]
fn addresses() {
    let id = |text: &str| EvaluatorSpec::parse(text).map(|spec| spec.map(|spec| spec.id()));
    for (text, expected) in [
        ("http:http://127.0.0.1:8000/score", "http://127.0.0.1:8000/score"),
        ("http:https://example.org/s?key=secret", "https://example.org/s"),
        ("https://example.org", "https://example.org"),
        ("exec: python3  'my eval.py' ", "exec:python3  'my eval.py'"),
    ] {
        assert_eq!(id(text), Some(Ok(expected.to_owned())), "{text}");
    }
    for text in ["csps", "gcpc", "file:x", ""] {
        assert_eq!(id(text), None, "{text}");
    }
    for text in [
        "http:example.org",
        "http://",
        "https:",
        "http://a b/",
        "http:ftp://x",
        "http://x/\n",
        "http://[::1",
        "http://x:99999/",
        "http://:80/",
    ] {
        assert!(matches!(id(text), Some(Err(SpecError::Url { .. }))), "{text}");
    }
    for text in ["http://[::1]:8000/score", "https://example.org:443/x", "http://127.0.0.1:1"] {
        assert!(matches!(id(text), Some(Ok(_))), "{text}");
    }
    let error = id("http://me:secret@host/").and_then(Result::err).expect("refused").to_string();
    assert!(!error.contains("secret"), "{error}");
    let error = id("exec:python3 a.py | tee x").and_then(Result::err).expect("refused").to_string();
    assert!(error.contains("'|' at character 14") && error.contains("exec:sh -c"), "{error}");
}

fn made() -> Folder {
    let folder = Folder::new();
    for name in ["eval/my_eval.py", "eval/data.json", "bin/tool", "conf.json"] {
        folder.file(name, "#!/bin/sh\n");
    }
    std::fs::set_permissions(folder.path().join("bin/tool"), std::fs::Permissions::from_mode(0o755)).expect("allowed");
    folder
}

#[test]
fn programs_and_their_files() {
    let folder = made();
    let at = |name: &str| folder.path().join(name);
    let check = |spec: &str, program: Option<&str>, arguments: &[&str], files: &[&str], working: &Path| {
        let found = folder.program(spec);
        if let Some(program) = program {
            assert_eq!(found.program, at(program), "{spec}");
        }
        let given: Vec<&str> = found.arguments.iter().map(|argument| argument.to_str().expect("text")).collect();
        let expected: Vec<String> =
            arguments.iter().map(|argument| argument.replace("{}", &folder.path().display().to_string())).collect();
        assert_eq!(given, expected, "{spec}");
        assert_eq!(found.files, files.iter().map(|name| at(name)).collect::<Vec<PathBuf>>(), "{spec}");
        assert_eq!(found.working_folder, working, "{spec}");
    };
    check(
        "exec:sh ./eval/my_eval.py --flag data.json --config=conf.json -x=nothing 0.5",
        None,
        &["{}/eval/my_eval.py", "--flag", "data.json", "--config={}/conf.json", "-x=nothing", "0.5"],
        &["eval/my_eval.py", "conf.json"],
        &at("eval"),
    );
    check(
        "exec:bin/tool eval/data.json eval",
        Some("bin/tool"),
        &["{}/eval/data.json", "{}/eval"],
        &["eval/data.json"],
        &at("bin"),
    );
    check("exec:sh bin/../eval/./my_eval.py", None, &["{}/eval/my_eval.py"], &["eval/my_eval.py"], &at("eval"));
    check(
        "exec:eval/../bin/tool --x=bin/../conf.json",
        Some("bin/tool"),
        &["--x={}/conf.json"],
        &["conf.json"],
        &at("bin"),
    );
    check("exec:/bin/sh eval/my_eval.py", None, &["{}/eval/my_eval.py"], &["eval/my_eval.py"], &at("eval"));
    check("exec:sh -c 'echo 1'", None, &["-c", "echo 1"], &[], Path::new("/"));
    let folders = folder.program("exec:sh eval/my_eval.py eval/data.json conf.json").folders();
    assert_eq!(folders, [at("eval"), folder.path().to_path_buf()]);
}

#[test]
fn programs_that_are_not_there() {
    let folder = made();
    let check = |command: &str, part: &str| {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let error = Program::find(&words, &folder.surroundings()).expect_err(command);
        assert!(error.to_string().contains(part), "{error}");
    };
    check("./eval/none.py", "no such file");
    check("eval/my_eval.py", "without the right to be run");
    check("./eval", "not a file");
    check("no-such-program-anywhere x", "no program on PATH");
    check("conf.json", "./NAME");
    check("KEY=1 sh", "exec:env");
}
