//! `parthack cassette`: recorded exchanges with models listed, shown, verified, removed.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use parthack_model::cassette::{Cassette, CassetteError, Entry, Label, Prune, RecordedExchange};
use serde_json::{Value, json};

use crate::cli::{Output, ReportFormat, SuiteArgs};
use crate::failure::{Exit, Failure};

/// List, show, verify and remove recorded exchanges with models
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(ListArgs),
    Show(ShowArgs),
    Verify(VerifyArgs),
    Prune(PruneArgs),
    Strip(StripArgs),
}

/// Where the recordings are.
#[derive(Debug, clap::Args)]
struct FolderArgs {
    /// Cassette folder [default: the recordings of the suite]
    #[arg(long, value_name = "DIR")]
    cassettes: Option<PathBuf>,
    #[command(flatten)]
    suite: SuiteArgs,
}

/// List recorded exchanges by key
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack cassette list --role judge")]
struct ListArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Only exchanges of this role: judge, checklist, attacker
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Only exchanges of cells whose label contains this text
    #[arg(long, value_name = "TEXT")]
    cell: Option<String>,
    /// What the list looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// Show one recorded exchange: what was asked and what came back
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack cassette show 41c694c0")]
struct ShowArgs {
    /// Key of the exchange, or the start of it
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    folder: FolderArgs,
    /// What the exchange looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// Verify every recorded exchange: form, key, hash
///
/// Names each one at fault and exits 1 if there is one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack cassette verify")]
struct VerifyArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// Remove recorded exchanges that are broken, or that no named run used
///
/// Temporary files that a killed recording left are removed too.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  parthack cassette prune --cassettes recordings/pb-cste-1 --keep runs/first --dry-run"
)]
#[group(id = "what", required = true)]
struct PruneArgs {
    /// Cassette folder; it is changed, so there is no default
    #[arg(long, required = true, value_name = "DIR")]
    cassettes: PathBuf,
    /// Remove only what is broken
    #[arg(long, group = "what")]
    broken: bool,
    /// Remove also what none of these run folders used
    #[arg(long, group = "what", value_name = "RUN", num_args = 1..)]
    keep: Vec<PathBuf>,
    /// Say what would be removed and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// Leave the requests out of recorded exchanges, and keep the answers
///
/// For recordings whose questions quote texts that may not be passed on. Passages of the answers that stand in the requests go with them. A replay
/// makes each request again from the texts, which it must have, finds the answer under the same key, and puts the passages back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack cassette strip --cassettes recordings/study --dry-run")]
struct StripArgs {
    /// Cassette folder; it is changed, so there is no default
    #[arg(long, required = true, value_name = "DIR")]
    cassettes: PathBuf,
    /// Say what would be changed and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    match &args.command {
        Command::List(args) => list(args, out),
        Command::Show(args) => show(args, out),
        Command::Verify(args) => verify(args, out),
        Command::Prune(args) => prune(args, out),
        Command::Strip(args) => strip(args, out),
    }
}

fn list(args: &ListArgs, out: &mut Output) -> Result<Exit, Failure> {
    let mut entries = args.folder.cassette()?.list().map_err(failure)?;
    entries.retain(|entry| match &entry.exchange {
        Ok(label) => {
            args.role.as_ref().is_none_or(|role| *role == label.role)
                && args.cell.as_ref().is_none_or(|cell| label.cell.contains(cell))
        }
        Err(_) => args.role.is_none() && args.cell.is_none(),
    });
    match args.format {
        ReportFormat::Json => {
            let rows: Vec<Value> = entries.iter().map(row).collect();
            out.json(&json!({ "exchanges": rows }))?;
        }
        ReportFormat::Text => {
            out.title(&format!(
                "{:<12}  {:<9}  {:<28}  {:>6}  {:>3}  {:>8}  cell",
                "key", "role", "model", "repeat", "try", "bytes"
            ))?;
            for entry in &entries {
                let key = short(&entry.key);
                match &entry.exchange {
                    Ok(label) => {
                        let Label { cell, role, config, repeat, attempt, .. } = label.as_ref();
                        let (model, bytes) = (config.name(), entry.bytes);
                        writeln!(out, "{key}  {role:<9}  {model:<28}  {repeat:>6}  {attempt:>3}  {bytes:>8}  {cell}")?;
                    }
                    Err(problem) => writeln!(out, "{key}  broken: {problem}")?,
                }
            }
        }
    }
    Ok(Exit::Done)
}

fn row(entry: &Entry) -> Value {
    match &entry.exchange {
        Ok(label) => json!({
            "key": entry.key,
            "bytes": entry.bytes,
            "cell": label.cell,
            "role": label.role,
            "model": label.config.name(),
            "identity": label.config.identity,
            "repeat": label.repeat,
            "try": label.attempt,
            "status": label.status,
        }),
        Err(problem) => json!({ "key": entry.key, "bytes": entry.bytes, "broken": problem }),
    }
}

fn show(args: &ShowArgs, out: &mut Output) -> Result<Exit, Failure> {
    let cassette = args.folder.cassette()?;
    let keys: BTreeSet<String> = cassette.keys().map_err(failure)?;
    let mut found = keys.into_iter().filter(|key| key.starts_with(&args.key));
    let key = match (found.next(), found.next()) {
        (Some(key), None) => key,
        (None, _) => {
            return Err(Failure::usage(
                format!("no exchange has a key that begins with {:?}", args.key),
                "`parthack cassette list` prints the keys",
            ));
        }
        (Some(one), Some(two)) => {
            return Err(Failure::usage(
                format!(
                    "several exchanges have a key that begins with {:?}: {}, {}",
                    args.key,
                    short(&one),
                    short(&two)
                ),
                "give more of it",
            ));
        }
    };
    let Some(exchange) = cassette.get(&key).map_err(failure)? else {
        return Err(Failure::absent(format!("the exchange {key} has just vanished"), "list the exchanges again"));
    };
    match args.format {
        ReportFormat::Json => out.json(&exchange)?,
        ReportFormat::Text => print(&exchange, out)?,
    }
    Ok(Exit::Done)
}

fn print(exchange: &RecordedExchange, out: &mut Output) -> std::io::Result<()> {
    let RecordedExchange { config, response, .. } = exchange;
    out.title(&exchange.key)?;
    writeln!(
        out,
        "cell {}, role {}, repeat {}, try {}",
        exchange.cell, exchange.role, exchange.repeat, exchange.attempt
    )?;
    writeln!(out, "{}, temperature {}", config.name(), config.temperature)?;
    for (name, value) in &config.identity {
        writeln!(out, "  {name}: {value}")?;
    }
    if exchange.is_stripped() {
        writeln!(out, "\nthe request is left out of this recording, and what the answer quotes of it")?;
    }
    for message in exchange.request["messages"].as_array().into_iter().flatten() {
        out.title(&format!("\n{}", message["role"].as_str().unwrap_or("message")))?;
        writeln!(out, "{}", message["content"].as_str().unwrap_or_default())?;
    }
    let reason = response.finish_reason.as_deref().unwrap_or("none");
    out.title(&format!(
        "\nanswer (status {}, finish_reason {reason}, {} logprobs)",
        response.status,
        response.tokens.len()
    ))?;
    let refusal = response.refusal.as_deref().unwrap_or_default();
    for text in [response.content.as_str(), refusal, response.detail.as_str()] {
        if !text.is_empty() {
            writeln!(out, "{text}")?;
        }
    }
    if let Some(usage) = response.usage {
        writeln!(out, "\ntokens: prompt {}, answer {}", usage.prompt_tokens, usage.completion_tokens)?;
    }
    Ok(())
}

fn verify(args: &VerifyArgs, out: &mut Output) -> Result<Exit, Failure> {
    let entries = args.folder.cassette()?.list().map_err(failure)?;
    let broken: Vec<(&Entry, &String)> =
        entries.iter().filter_map(|entry| entry.exchange.as_ref().err().map(|problem| (entry, problem))).collect();
    match args.format {
        ReportFormat::Json => {
            let faults: Vec<Value> =
                broken.iter().map(|(entry, problem)| json!({"key": entry.key, "problem": problem})).collect();
            out.json(&json!({"verified": broken.is_empty(), "exchanges": entries.len(), "broken": faults}))?;
        }
        ReportFormat::Text => {
            for (entry, problem) in &broken {
                writeln!(out, "{}: {problem}", entry.key)?;
            }
            let sound = entries.len() - broken.len();
            writeln!(out, "{sound} of {} exchanges are what was recorded", entries.len())?;
        }
    }
    Ok(if broken.is_empty() { Exit::Done } else { Exit::Failed })
}

fn prune(args: &PruneArgs, out: &mut Output) -> Result<Exit, Failure> {
    let cassette = Cassette::new(Some(existing(&args.cassettes)?), Vec::new());
    let pruned = if args.keep.is_empty() {
        cassette.prune(Prune::Broken, args.dry_run)
    } else {
        let mut folders = Vec::new();
        for run in &args.keep {
            // A run folder keeps its exchanges among its objects; another cassette has them at its top.
            folders.extend([existing(run)?, run.join("objects")]);
        }
        let used = Cassette::new(None, folders).keys().map_err(failure)?;
        cassette.prune(Prune::Unused(&used), args.dry_run)
    };
    let pruned = pruned.map_err(failure)?;
    match args.format {
        ReportFormat::Json => out.json(&json!({
            "dry_run": args.dry_run,
            "exchanges": pruned.exchanges,
            "temporary_files": pruned.temporary,
            "bytes": pruned.bytes,
        }))?,
        ReportFormat::Text => {
            for key in &pruned.exchanges {
                writeln!(out, "{key}")?;
            }
            let verb = if args.dry_run { "would be removed" } else { "removed" };
            let (exchanges, temporary) = (pruned.exchanges.len(), pruned.temporary);
            writeln!(out, "{exchanges} exchanges and {temporary} temporary files {verb}, {} bytes", pruned.bytes)?;
        }
    }
    Ok(Exit::Done)
}

fn strip(args: &StripArgs, out: &mut Output) -> Result<Exit, Failure> {
    let cassette = Cassette::new(Some(existing(&args.cassettes)?), Vec::new());
    let stripped = cassette.strip(args.dry_run).map_err(failure)?;
    let verb = if args.dry_run { "would lose" } else { "lost" };
    writeln!(out, "{} exchanges {verb} their requests", stripped.len())?;
    Ok(Exit::Done)
}

impl FolderArgs {
    fn cassette(&self) -> Result<Cassette, Failure> {
        let folder = match &self.cassettes {
            Some(folder) => existing(folder)?,
            None => self.suite.places().recordings().ok_or_else(|| {
                Failure::absent(
                    "no recordings come with this suite",
                    "name a folder of recorded exchanges with --cassettes",
                )
            })?,
        };
        Ok(Cassette::new(None, vec![folder]))
    }
}

/// A folder that is there: a name with a slip must not look like an empty cassette.
fn existing(folder: &std::path::Path) -> Result<PathBuf, Failure> {
    if folder.is_dir() {
        return Ok(folder.to_path_buf());
    }
    Err(Failure::absent(
        format!("{} is no folder", folder.display()),
        "name the folder that holds exchanges/, or a run folder",
    ))
}

/// A cassette's failure: what is broken is wrong input, the rest is the system's.
fn failure(error: CassetteError) -> Failure {
    let exit = match &error {
        CassetteError::Broken { .. } => Exit::Input,
        CassetteError::ReadOnly => Exit::Usage,
        CassetteError::Io { .. } => Exit::Environment,
    };
    let message = error.to_string();
    Failure::Other { exit, message, source: Some(Box::new(error)) }
}

fn short(key: &str) -> &str {
    key.get(..12).unwrap_or(key)
}
