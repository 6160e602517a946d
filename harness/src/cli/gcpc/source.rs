//! Where a task's instruction and verifier come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parthack_env::input::{InputError, Place};
use parthack_gcpc::checklist::Document;
use parthack_gcpc::gates::{self, Options, Report};
use parthack_gcpc::verifier::Verifier;
use parthack_logs::{Imported, Kind, import};

use super::verifier_files::verifier_files;
use crate::failure::{Exit, Failure};
use crate::gcpc::folder::GcpcFolder;
use crate::gcpc::matching::{Meaning, Names, OWN_FILES, list_names};
use crate::gcpc::task::{GcpcTask, TASK_FORMAT};
use crate::locate::read_input;

/// Flags that name a task.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Task")]
pub(super) struct SourceArgs {
    /// The task's instruction, a text file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tasks", "folder"], requires = "verifier")]
    instruction: Option<PathBuf>,
    /// Files of the verifier, or folders of such
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "instruction")]
    verifier: Vec<PathBuf>,
    /// Tasks of another program: a kind that `parthack import` knows, and a file or folder
    #[arg(long, num_args = 2, value_names = ["KIND", "PATH"], conflicts_with = "folder")]
    tasks: Vec<String>,
    /// The folder of a pipeline that holds the task
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Which of the tasks [default: the one that the checklist names, or the only one]
    #[arg(long, value_name = "ID")]
    task: Option<String>,
}

/// A checklist that went through the gates, and what it was held against.
pub(super) struct Checked {
    pub(super) document: Document,
    pub(super) task: GcpcTask,
    pub(super) verifier: Verifier,
    pub(super) report: Report,
}

impl SourceArgs {
    /// Puts a checklist's file through the gates of its task.
    pub(super) fn check(&self, path: &Path, options: &Options) -> Result<Checked, Failure> {
        let document = Document::read(&read_input(path)?).map_err(|error| error.in_file(path))?;
        let task = self.find(document.task())?;
        let verifier = task.read_verifier()?;
        let report = gates::check(&task.instruction, &verifier, document.checklist(), options);
        Ok(Checked { document, task, verifier, report })
    }

    /// The task of a checklist that says whose it is, or does not.
    fn find(&self, named: Option<&str>) -> Result<GcpcTask, Failure> {
        let wanted = self.task.as_deref().or(named);
        if let Some(instruction) = &self.instruction {
            let name = wanted.unwrap_or("task").to_owned();
            return from_files(name, instruction, &self.verifier);
        }
        let tasks: Vec<GcpcTask> = match (&self.tasks[..], &self.folder) {
            ([kind, path], _) => imported(kind.parse::<Kind>().map_err(usage)?, Path::new(path))?,
            (_, Some(folder)) => GcpcFolder::at(folder).tasks()?.into_values().collect(),
            _ => {
                return Err(Failure::usage(
                    "nothing says which task the checklist is of",
                    "give --tasks KIND PATH, --instruction FILE --verifier PATH, or --folder DIR",
                ));
            }
        };
        choose(tasks, wanted)
    }
}

fn usage(error: parthack_logs::UnknownKind) -> Failure {
    Failure::usage(error.to_string(), "parthack import --help says what each is")
}

fn choose(mut tasks: Vec<GcpcTask>, wanted: Option<&str>) -> Result<GcpcTask, Failure> {
    let Some(wanted) = wanted else {
        if tasks.len() == 1 {
            return tasks.pop().ok_or_else(|| Failure::Bug("one task and none".to_owned()));
        }
        let message = format!("{} tasks, and nothing says which", tasks.len());
        return Err(Failure::usage(message, "name one with --task ID"));
    };
    let name = named(&tasks, wanted)?;
    let found = tasks.iter().position(|task| task.task == name);
    found.map(|index| tasks.swap_remove(index)).ok_or_else(|| Failure::Bug(format!("{name} is there and is not")))
}

/// The task that a name means, with its suite or without.
pub(super) fn named(tasks: &[GcpcTask], wanted: &str) -> Result<String, Failure> {
    let names = Names::new(tasks.iter().map(|task| (task.task.as_str(), Some(task))));
    match names.meaning(wanted) {
        Meaning::Exact(name) => Ok(name),
        Meaning::ById(name) => {
            // A name without its suite is short for the one with it; any other difference is worth a word.
            if !name.ends_with(&format!("/{wanted}")) {
                eprintln!("note: {wanted} is taken for {name}, the only task of that id");
            }
            Ok(name)
        }
        Meaning::Several(found) => {
            let message = format!("task {wanted:?} may be {}", list_names(&found));
            Err(Failure::usage(message, format!("say which with --task {}", found[0])))
        }
        Meaning::Elsewhere(_) | Meaning::Nothing => {
            Err(Failure::usage(format!("no task {wanted:?}"), format!("name one with --task ID: {}", names.listed())))
        }
    }
}

/// The tasks of a file or folder; files that can't be read are said on standard error.
pub(super) fn imported(kind: Kind, path: &Path) -> Result<Vec<GcpcTask>, Failure> {
    let mut tasks = BTreeMap::new();
    for found in import(kind, path) {
        match found {
            Ok(Imported::Task(task)) => {
                let task = GcpcTask::of(&task);
                tasks.entry(task.task.clone()).or_insert(task);
            }
            Ok(Imported::Log(_)) => {}
            Err(refusal) => eprintln!("refused: {refusal}"),
        }
    }
    if tasks.is_empty() {
        let message = format!("{}: no task in it", path.display());
        return Err(Failure::Other { exit: Exit::Input, message, source: None });
    }
    Ok(tasks.into_values().collect())
}

fn from_files(name: String, instruction: &Path, verifier: &[PathBuf]) -> Result<GcpcTask, Failure> {
    Ok(GcpcTask {
        format: TASK_FORMAT.to_owned(),
        task: name,
        benchmark: OWN_FILES.to_owned(),
        instruction: text(instruction)?,
        verifier: verifier_files(verifier)?,
    })
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read_input(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Input(InputError::new(Place::Byte(at), "bytes that are no UTF-8", "text").in_file(path))
    })
}
