//! Where a task's instruction and verifier come from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use parthack_env::input::{InputError, Place};
use parthack_gcpc::checklist::Document;
use parthack_gcpc::gates::{self, Options, Report};
use parthack_gcpc::verifier::Verifier;
use parthack_logs::{Imported, Kind, import};

use crate::failure::{Exit, Failure};
use crate::gcpc::folder::GcpcFolder;
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
    let found = tasks.iter().position(|task| is_named(task, wanted));
    match found {
        Some(index) => Ok(tasks.swap_remove(index)),
        None => Err(Failure::usage(format!("no task {wanted:?}"), "name one with --task ID")),
    }
}

/// Whether a task has a name: with its suite or without.
pub(super) fn is_named(task: &GcpcTask, name: &str) -> bool {
    task.task == name || task.task.rsplit('/').next() == Some(name)
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
    let mut files = BTreeMap::new();
    for path in verifier {
        if path.is_dir() {
            collect(path, path, &mut files)?;
        } else {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            files.insert(name, text(path)?);
        }
    }
    Ok(GcpcTask {
        format: TASK_FORMAT.to_owned(),
        task: name,
        benchmark: "files".to_owned(),
        instruction: text(instruction)?,
        verifier: files,
    })
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let fault =
        |error| Failure::environment(format!("cannot read {}", folder.display()), error, "check its permissions");
    for entry in fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if let (Ok(relative), Ok(text)) = (path.strip_prefix(root), text(&path)) {
            // What is no text is no source.
            files.insert(relative.to_string_lossy().replace('\\', "/"), text);
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read_input(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Input(InputError::new(Place::Byte(at), "bytes that are no UTF-8", "text").in_file(path))
    })
}
