//! `parthack gcpc judge`: logs judged by frozen checklists, and by what GCPC is compared with.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parthack_gcpc::judging::windows::Budget;
use parthack_gcpc::judging::{Asking, Setting};
use parthack_gcpc::records::Variant;
use parthack_logs::{Imported, Kind, import};
use serde::Serialize;

use super::{existing, pipeline, say_spent};
use crate::cli::models::ClientArgs;
use crate::cli::{Output, ReportFormat};
use crate::failure::{Exit, Failure};
use crate::gcpc::judging::{Bench, Method, Work};
use crate::gcpc::logs::{identity, view};
use crate::gcpc::matching::{Matcher, Names};
use crate::run::error::RunError;

/// Judge logs by the frozen checklists
///
/// Logs are matched to checklists by their task: by the same name, else by the same id without the suite, where one checklist alone has it; --map
/// says it where names differ. Each judgement is kept as soon as it is made, and none is made twice: a start that was stopped goes
/// on with the same command.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  parthack gcpc judge study atif logs/ --model-mode live --role judge=openai/gpt-4.1-mini"
)]
pub(super) struct Args {
    /// Folder of the pipeline
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    matching: MatchArgs,
    /// How logs are scored: gcpc, holistic, generic-checklist, tick, tick-trajectory
    #[arg(long, value_delimiter = ',', default_value = "gcpc", value_name = "METHODS")]
    methods: Vec<String>,
    /// Passes of every judgement
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    passes: u32,
    #[command(flatten)]
    setting: SettingArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
    #[command(flatten)]
    client: ClientArgs,
}

/// Where logs are.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct LogArgs {
    /// A kind of log that `parthack import` knows
    #[arg(value_name = "KIND")]
    pub(super) kind: Kind,
    /// A file or a folder of logs
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,
}

/// Which checklist a log is judged by.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct MatchArgs {
    /// Judge logs of LOGTASK (with its suite or without) by the checklist of CHECKLIST; may be given several times
    #[arg(long, value_name = "LOGTASK=CHECKLIST")]
    map: Vec<String>,
}

/// How items are asked about.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SettingArgs {
    /// Ask about each item in a prompt of its own [default: all items in one, as in the paper]
    #[arg(long)]
    apart: bool,
    /// Tokens of a log in one prompt; a longer log is read in windows
    #[arg(long, default_value_t = Setting::default().budget.window, value_name = "N")]
    window: usize,
    /// Tokens that windows share
    #[arg(long, default_value_t = Setting::default().budget.overlap, value_name = "N")]
    overlap: usize,
}

impl SettingArgs {
    pub(super) fn setting(&self) -> Setting {
        let asking = if self.apart { Asking::Apart } else { Asking::Together };
        let budget = Budget { window: self.window, overlap: self.overlap }.bounded();
        Setting { asking, budget, forced: false }
    }
}

/// What became of a batch of logs.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// Logs that were read.
    logs: usize,
    /// Those that say no task.
    without_task: usize,
    /// Those whose task has no frozen checklist.
    without_checklist: usize,
    /// Names of the frozen checklists, as a message lists them.
    #[serde(skip)]
    frozen: String,
    /// Files that were refused.
    refused: usize,
    /// Judgements made now.
    made: usize,
    /// Judgements that were there.
    there: usize,
    /// Judgements made now that have no verdict.
    without_verdict: usize,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let methods = methods(&args.methods)?;
    let folder = existing(&args.folder)?;
    let _lock = folder.open()?;
    let pipeline = pipeline(&args.client, &folder)?;
    let mut bench = Bench::open(&folder, &pipeline, args.setting.setting())?;
    for method in &methods {
        bench.prepare(*method)?;
    }
    let passes = args.passes;
    let threads = args.client.concurrency as usize;
    let report = judge_logs(&mut bench, &args.logs, &args.matching, threads, |_, identity, view| {
        let work = |method: Method, pass: u32| Work {
            identity: identity.clone(),
            view: view.clone(),
            method,
            variant: Variant::Primary {},
            pass,
        };
        Ok(methods.iter().flat_map(|method| (1..=passes).map(move |pass| work(*method, pass))).collect())
    });
    say_spent(&pipeline);
    let report = report?;
    let exit = print(&report, args.format, &args.client, out)?;
    out.flush()?;
    report.need_a_checklist()?;
    Ok(exit)
}

impl Report {
    /// Fails where every log was left out.
    pub(super) fn need_a_checklist(&self) -> Result<(), Failure> {
        let Report { logs, without_task, without_checklist, frozen, .. } = self;
        if without_task + without_checklist < *logs {
            return Ok(());
        }
        let message = format!(
            "nothing was judged: of {logs} logs {without_task} say no task, and {without_checklist} are of tasks without a frozen checklist\n\
             hint: frozen are {frozen}; --map LOGTASK=CHECKLIST says that two names are one task"
        );
        Err(Failure::Other { exit: Exit::Input, message, source: None })
    }
}

fn methods(words: &[String]) -> Result<Vec<Method>, Failure> {
    let method = |word: &String| {
        let known = || format!("one of {}", Method::ids().join(", "));
        Method::from_id(word).ok_or_else(|| Failure::usage(format!("--methods: found {word:?}"), known()))
    };
    let mut methods = words.iter().map(method).collect::<Result<Vec<_>, _>>()?;
    methods.sort_unstable();
    methods.dedup();
    Ok(methods)
}

/// Streams logs past the judge: memory holds one batch of them.
pub(super) fn judge_logs<'w>(
    bench: &mut Bench<'_>,
    logs: &LogArgs,
    matching: &MatchArgs,
    threads: usize,
    mut works_of: impl FnMut(
        &Bench<'_>,
        &parthack_gcpc::records::LogIdentity,
        &parthack_gcpc::judging::log::LogView,
    ) -> Result<Vec<Work>, RunError>
    + 'w,
) -> Result<Report, Failure> {
    let names = Names::new(bench.checklists().keys().map(|name| (name.as_str(), bench.tasks().get(name))));
    let mut matcher = Matcher::new(names, &matching.map)?;
    let mut report = Report { frozen: matcher.listed(), ..Report::default() };
    let mut batch = Vec::new();
    let mut unknown = BTreeMap::<String, usize>::new();
    let mut said = Instant::now();
    let mut judge = |bench: &mut Bench<'_>, batch: &mut Vec<Work>, report: &mut Report| -> Result<(), Failure> {
        let tally = bench.judge(batch, threads)?;
        batch.clear();
        report.made += tally.made;
        report.there += tally.there;
        report.without_verdict += tally.without_verdict;
        if said.elapsed() >= BETWEEN_LINES {
            said = Instant::now();
            eprintln!("{} logs read, {} judgements made", report.logs, report.made);
        }
        Ok(())
    };
    for found in import(logs.kind, &logs.path) {
        let log = match found {
            Ok(Imported::Log(log)) => log,
            Ok(Imported::Task(_)) => continue,
            Err(refusal) => {
                eprintln!("refused: {refusal}");
                report.refused += 1;
                continue;
            }
        };
        report.logs += 1;
        let Some(mut identity) = identity(&log) else {
            report.without_task += 1;
            continue;
        };
        let checklist = matcher.find(&identity.task)?;
        matcher.take_notes().iter().for_each(|note| eprintln!("note: {note}"));
        let Some(checklist) = checklist else {
            report.without_checklist += 1;
            *unknown.entry(identity.task).or_default() += 1;
            continue;
        };
        // One task has one name in the ledger, whatever its logs call it.
        identity.task = checklist;
        batch.extend(works_of(bench, &identity, &view(&log))?);
        if batch.len() >= 4 * threads.max(1) {
            judge(bench, &mut batch, &mut report)?;
        }
    }
    judge(bench, &mut batch, &mut report)?;
    for (task, count) in unknown.iter().take(MOST_NAMED) {
        eprintln!("no frozen checklist of {task}: {count} logs left out");
    }
    matcher.unused().iter().for_each(|entry| eprintln!("note: --map {entry}: no log of that task"));
    if report.logs == 0 {
        return Err(nothing(&logs.path));
    }
    Ok(report)
}

/// How often a long start says how far it is.
const BETWEEN_LINES: Duration = Duration::from_secs(60);
/// Tasks without a checklist that are named.
const MOST_NAMED: usize = 20;

fn nothing(path: &Path) -> Failure {
    let message =
        format!("{}: no log in it\nhint: parthack import says what was read and what was not", path.display());
    Failure::Other { exit: Exit::Input, message, source: None }
}

/// Prints what became of the logs, and says how the command ends.
pub(super) fn print(
    report: &Report,
    format: ReportFormat,
    client: &ClientArgs,
    out: &mut Output,
) -> Result<Exit, Failure> {
    let Report { logs, without_task, without_checklist, refused, made, there, without_verdict, frozen: _ } = report;
    if format == ReportFormat::Json {
        out.json(report)?;
    } else {
        writeln!(out, "logs          {logs}: {without_task} without a task, {without_checklist} without a checklist")?;
        writeln!(out, "refused       {refused}")?;
        writeln!(out, "judgements    {made} made, {without_verdict} of them without a verdict; {there} there before")?;
    }
    Ok(if *without_verdict > 0 && !client.allow_missing { Exit::Incomplete } else { Exit::Done })
}
