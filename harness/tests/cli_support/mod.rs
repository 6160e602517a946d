//! Running the program, and making input that is wrong in one place.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use parthack_env::json::Json;
use parthack_env::spec::environment_revision;
use serde_json::Value;

/// The program under test.
pub(crate) const PARTHACK: &str = env!("CARGO_BIN_EXE_parthack");

/// What a call did.
pub(crate) struct Done {
    /// Exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Done {
    fn of(output: Output) -> Done {
        Done {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}

/// A command without the caller's settings.
pub(crate) fn command() -> Command {
    let mut command = Command::new(PARTHACK);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PARTHACK_") {
            command.env_remove(name);
        }
    }
    command.env_remove("NO_COLOR");
    command
}

/// Runs the program.
pub(crate) fn parthack<S: AsRef<OsStr>>(arguments: &[S]) -> Done {
    Done::of(command().args(arguments).output().expect("the program starts"))
}

/// Runs a prepared command.
pub(crate) fn finish(mut command: Command) -> Done {
    Done::of(command.output().expect("the program starts"))
}

/// Runs the program and expects success.
pub(crate) fn works<S: AsRef<OsStr>>(arguments: &[S]) -> Done {
    let done = parthack(arguments);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    done
}

/// The source tree.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

/// A file of the reference suite.
pub(crate) fn task_file(id: &str) -> PathBuf {
    workspace().join("tasks/pb-cste-1").join(format!("{id}.json"))
}

/// A task file's JSON.
pub(crate) fn task_json(id: &str) -> Value {
    serde_json::from_slice(&fs::read(task_file(id)).expect("a task")).expect("JSON")
}

/// The text of a task with the environment revision that fits it.
pub(crate) fn revised(mut task: Value) -> String {
    let text = task.to_string();
    let json = Json::parse(text.as_bytes()).expect("JSON");
    task["environment_revision"] = environment_revision(&json).hex().into();
    task.to_string()
}

/// The certifier's program; built if this test runs without the rest of the workspace.
pub(crate) fn certifier() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = Path::new(PARTHACK).parent().expect("a folder");
        let program = folder.join(format!("parthack-certifier{}", std::env::consts::EXE_SUFFIX));
        if !program.is_file() {
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "--package", "parthack-certifier", "--target-dir"]);
            build.arg(folder.parent().expect("a target folder")).current_dir(workspace());
            if folder.ends_with("release") {
                build.arg("--release");
            }
            assert!(build.status().expect("cargo runs").success(), "the certifier builds");
        }
        program
    })
}

/// Every path below a folder, sorted.
pub(crate) fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}
