//! `parthack task new`: a public task and its private package, small but whole, to be filled in.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use parthack_env::json::Json;
use parthack_env::names::is_identifier;
use parthack_env::spec::{environment_revision, file_hash};
use serde_json::{Value, json};

use super::certifier::{hex, random_bytes};
use super::scaffold::{Form, Scaffold};
use super::{Output, scaffold};
use crate::failure::{Exit, Failure};

/// Scaffold a new task: a public file and its private package
///
/// Writes DIR/tasks/ID.json and DIR/sealed/ID.json, which lint as they are. Replace their content with your own; then
/// `parthack task lint DIR/tasks/ID.json` says what is missing, and prints the hashes that an edit changes. Nothing is
/// overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack task new my-suite --id MY-01 --family interaction --m 4")]
pub(super) struct Args {
    /// Folder for tasks/ and sealed/
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Task id
    #[arg(long, value_name = "ID")]
    id: String,
    /// Task family
    #[arg(long, value_enum, value_name = "FAMILY")]
    family: Family,
    /// Goal predicates
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(3..=5), value_name = "N")]
    m: u8,
}

/// A family of Table A.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Family {
    /// Several steps whose results must last
    Persistent,
    /// Entities to create, change and delete
    Crud,
    /// Another actor takes part
    Interaction,
    /// The goal is revised on the way
    Goalpatch,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    if !is_identifier(&args.id) {
        let hint = "1 to 64 letters, digits, '.', '_', ':' or '-', beginning with a letter or a digit";
        return Err(Failure::usage(format!("{:?} is no task id", args.id), hint));
    }
    let form = match args.family {
        Family::Persistent => Form::Persistent,
        Family::Crud => Form::Crud,
        Family::Interaction => Form::Interaction,
        Family::Goalpatch => Form::GoalPatch,
    };
    let scaffold = scaffold::new(&args.id, form, usize::from(args.m));
    let (public, public_hash) = seal_public(scaffold.public.clone())?;
    let private = private_package(&args.id, &scaffold, &public_hash)?;
    let (tasks, sealed) = (args.folder.join("tasks"), args.folder.join("sealed"));
    let name = format!("{}.json", args.id);
    let paths = [tasks.join(&name), sealed.join(&name)];
    if let Some(taken) = paths.iter().find(|path| path.exists()) {
        let message = format!("{} is there already", taken.display());
        return Err(Failure::usage(message, "choose another --id or folder; nothing was written"));
    }
    create_folder(&tasks, false)?;
    create_folder(&sealed, true)?;
    write_new(&paths[0], &pretty(&public)?, false)?;
    write_new(&paths[1], &pretty(&private)?, true)?;
    for path in &paths {
        writeln!(out, "{}", path.display())?;
    }
    Ok(Exit::Done)
}

/// The public file with its environment revision, and its hash.
fn seal_public(mut public: Value) -> Result<(Value, String), Failure> {
    let text = public.to_string();
    let json = Json::parse(text.as_bytes())?;
    public["environment_revision"] = environment_revision(&json).hex().into();
    let text = public.to_string();
    let hash = file_hash(&Json::parse(text.as_bytes())?).hex();
    Ok((public, hash))
}

fn private_package(id: &str, scaffold: &Scaffold, public_hash: &str) -> Result<Value, Failure> {
    let random = |length: usize| {
        let mut bytes = vec![0; length];
        random_bytes(&mut bytes).map(|()| hex(&bytes))
    };
    let mut private_ids = serde_json::Map::new();
    for (entity_type, public_id) in &scaffold.ids {
        private_ids.insert(format!("{entity_type}/{public_id}"), format!("pv-{}", random(9)?).into());
    }
    let canaries = (0..8).map(|_| Ok(format!("canary-{}", random(12)?))).collect::<Result<Vec<_>, Failure>>()?;
    let mut predicates = serde_json::Map::new();
    for goal in scaffold.public["goal_versions"].as_array().into_iter().flatten() {
        let own = goal["predicates"].as_array().into_iter().flatten().map(|predicate| {
            json!({ "id": predicate["id"], "predicate": with_private_ids(&predicate["predicate"], &private_ids) })
        });
        predicates.insert(goal["version"].to_string(), own.collect());
    }
    Ok(json!({
        "format": "parthack.private/1",
        "task_id": id,
        "public_hash": public_hash,
        "redaction_key": random(32)?,
        "private_ids": private_ids,
        "sealed_values": [],
        "predicates": predicates,
        "hidden_tests": scaffold.hidden_tests,
        "expected_honest": scaffold.expected_honest,
        "canaries": canaries,
    }))
}

fn with_private_ids(predicate: &Value, private_ids: &serde_json::Map<String, Value>) -> Value {
    let mut predicate = predicate.clone();
    let key = format!("{}/{}", predicate["type"].as_str().unwrap_or(""), predicate["id"].as_str().unwrap_or(""));
    if let Some(private) = private_ids.get(&key) {
        predicate["id"] = private.clone();
    }
    predicate
}

pub(super) fn create_folder(path: &Path, private: bool) -> Result<(), Failure> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if private {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path).map_err(|error| failed(path, error))
}

fn pretty(content: &Value) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(content).map_err(|error| Failure::Bug(error.to_string()))?;
    text.push('\n');
    Ok(text)
}

/// Writes a file that is not there yet; a private one for its owner alone.
pub(super) fn write_new(path: &Path, text: &str, private: bool) -> Result<(), Failure> {
    write_new_bytes(path, text.as_bytes(), private)
}

/// The same for bytes.
pub(super) fn write_new_bytes(path: &Path, bytes: &[u8], private: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path).and_then(|mut file| file.write_all(bytes)).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    Failure::environment(format!("cannot write {}", path.display()), error, "name another folder")
}
