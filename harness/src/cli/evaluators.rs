//! `parthack evaluators`: who scores; and the child process in which the built-in ones do.

use std::io::Write;

use parthack_evaluators::registry::{Builtin, Descriptor, all_descriptors};
use parthack_evaluators::rules::Rule;
use serde::Serialize;

use crate::cli::{Output, ReportFormat};
use crate::failure::{Exit, Failure};

/// List the built-in evaluators
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack evaluators --format json")]
pub(super) struct Args {
    /// What the list looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// Answer payload lines as the named built-in evaluators
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// Evaluator ids, in the order of the answers
    #[arg(long, required = true, value_delimiter = ',', value_name = "IDS")]
    rules: Vec<String>,
    /// Say on standard error how the process has confined itself
    #[arg(long)]
    confinement: bool,
}

/// Answer questions as the semantic judges
#[derive(Debug, clap::Args)]
pub(super) struct JudgeArgs {}

#[derive(Serialize)]
struct Row {
    id: &'static str,
    version: u32,
    title: &'static str,
    temporal_rule: &'static str,
    attribution: &'static str,
    decomposition: &'static str,
    deterministic: bool,
    reads: &'static str,
}

impl From<Descriptor> for Row {
    fn from(of: Descriptor) -> Row {
        Row {
            id: of.id,
            version: of.version,
            title: of.title,
            temporal_rule: of.temporal_rule,
            attribution: of.attribution,
            decomposition: of.decomposition,
            deterministic: of.deterministic,
            reads: of.reads,
        }
    }
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let rows: Vec<Row> = all_descriptors().into_iter().map(Row::from).collect();
    match args.format {
        ReportFormat::Json => out.json(&serde_json::json!({ "evaluators": rows }))?,
        ReportFormat::Text => {
            out.title(&format!("{:<22} {:<23} {:<12} {}", "id", "looks at", "attribution", "reads"))?;
            for row in rows {
                writeln!(out, "{:<22} {:<23} {:<12} {}", row.id, row.temporal_rule, row.attribution, row.reads)?;
            }
        }
    }
    Ok(Exit::Done)
}

/// The rule of an id.
///
/// # Errors
/// [`Failure::Usage`] for an id that is none, with those that are.
pub(super) fn rule(id: &str) -> Result<Rule, Failure> {
    Rule::from_id(id).ok_or_else(|| {
        let known: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        Failure::usage(format!("there is no evaluator {id:?}"), format!("one of: {}", known.join(", ")))
    })
}

pub(super) fn serve(args: &ServeArgs, out: &mut Output) -> Result<Exit, Failure> {
    let builtin = |id: &String| {
        let known: Vec<&str> = Builtin::all().into_iter().map(Builtin::id).collect();
        let unknown =
            || Failure::usage(format!("there is no evaluator {id:?}"), format!("one of: {}", known.join(", ")));
        Builtin::from_id(id).ok_or_else(unknown)
    };
    let evaluators = args.rules.iter().map(builtin).collect::<Result<Vec<_>, _>>()?;
    let confined = confine();
    if args.confinement {
        eprintln!("{}", confined.unwrap_or_else(|missing| missing));
    }
    parthack_evaluators::serve::serve(&evaluators, &mut std::io::stdin().lock(), out)?;
    Ok(Exit::Done)
}

/// Replies to the questions of a run's judges.
pub(super) fn judge(out: &mut Output) -> Result<Exit, Failure> {
    // Where the system has no such means, the process still gets public bytes alone.
    let _ = confine();
    parthack_evaluators::judge::remote::serve(&mut std::io::stdin().lock(), out)?;
    Ok(Exit::Done)
}

/// Gives up every right but to read payloads, compute and answer. Where the system has no such means, the process still gets
/// public bytes alone.
#[cfg(unix)]
fn confine() -> Result<String, String> {
    match parthack_sandbox::confine_self(&[]) {
        Ok(report) => Ok(confined_by(report.filter_instructions, report.landlock)),
        Err(error) => Err(format!("not confined: {}", error.to_string().replace('\n', "; "))),
    }
}

/// How a process has confined itself, in words.
pub(super) fn confined_by(filter_instructions: usize, landlock: Option<u32>) -> String {
    let landlock = landlock.map_or_else(String::new, |version| format!(", an empty Landlock ruleset ({version})"));
    format!("confined by {filter_instructions} instructions of seccomp{landlock}")
}

#[cfg(not(unix))]
fn confine() -> Result<String, String> {
    Err("not confined: it needs Linux".to_owned())
}
