//! From `--task ID|FILE` to a task.

use std::path::Path;

use parthack_env::task::Task;

use crate::failure::Failure;
use crate::locate::{Places, read_input};
use crate::run::suite::Suite;

/// Whether a name is a path to a file rather than the id of a task.
pub(super) fn is_path(name: &str) -> bool {
    name.ends_with(".json") || name.contains(['/', '\\'])
}

/// The task of an id in the suite, its hash checked, or of a task file.
///
/// # Errors
/// [`Failure::Usage`] for an unknown id; a file or suite that cannot be read.
pub(super) fn load(places: &Places, name: &str) -> Result<Task, Failure> {
    if is_path(name) {
        return load_file(Path::new(name));
    }
    let suite = Suite::load(&places.suite()?)?;
    let known: Vec<String> = suite.tasks.iter().map(|task| task.task.spec.id.clone()).collect();
    let found = suite.tasks.into_iter().find(|task| task.task.spec.id == name);
    found.map(|task| task.task).ok_or_else(|| unknown(&suite.id, name, &known))
}

/// A task file.
///
/// # Errors
/// [`Failure::Input`].
pub(super) fn load_file(path: &Path) -> Result<Task, Failure> {
    let read = read_input(path).and_then(|bytes| Task::read(&bytes));
    Ok(read.map_err(|error| {
        let hint = "`parthack schema task` prints the format; `parthack task lint FILE` checks a file";
        let error = if error.hint.is_none() { error.hint(hint) } else { error };
        error.in_file(path)
    })?)
}

/// A task id that the suite does not have.
pub(super) fn unknown(suite: &str, name: &str, known: &[String]) -> Failure {
    let (first, last) = (known.first().map_or("", String::as_str), known.last().map_or("", String::as_str));
    Failure::usage(
        format!("the suite {suite} has no task {name:?}"),
        format!("its {} tasks go from {first} to {last}; a path such as ./{name}.json names a file", known.len()),
    )
}
