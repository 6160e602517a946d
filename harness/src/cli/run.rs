//! `parthack run`: the whole job, from candidates to tables.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use parthack_attacker::search::SearchOptions;
use parthack_evaluators::judge::{self, AnswerMode};
use parthack_model::accounting::Estimate;
use parthack_model::price::Cost;
use parthack_model::role::RoleConfig;

use crate::cli::models::{BUDGET, ModelArgs, ModelModeArg, ResolvedRoles, Roles, recorded_roles};
use crate::cli::plugins::PluginArgs;
use crate::cli::{Output, SealedArgs, SuiteArgs, commitments};
use crate::failure::{Exit, Failure};
use crate::locate::Places;
use crate::plugin::{self, Plugin};
use crate::run::attackers::{Attacker, ModelAttacker};
use crate::run::certifier_process::CertifierProcess;
use crate::run::certifying::Certify;
use crate::run::error::RunError;
use crate::run::estimate::estimate;
use crate::run::interrupt::stop_on_signal;
use crate::run::judge_processes::JudgeProcesses;
use crate::run::manifest::{Choices, Manifest, SemanticChoices};
use crate::run::models::{Models, Strict};
use crate::run::plugins::PluginScores;
use crate::run::recorded::{RecordedAttempts, recorded_attempts, recorded_judgements, recorded_role};
use crate::run::suite::Suite;
use crate::run::{Job, Progress, RunReport, run as run_job};
use crate::statistics::BootstrapPlan;
use crate::table::{Format, Table, render};
use crate::tables::CORE;

/// Where run folders are that nobody named.
const RUNS: &str = "runs";

/// Run the whole job: candidates, certification, scores, tables
///
/// Without flags: the reference suite, exact search against every rule evaluator, and every rule evaluator's scores of
/// honest trajectories, adversaries and rollbacks. What is done is kept in the run folder; a run that was stopped or
/// killed goes on with --resume and ends in the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack run --out runs/first")]
pub(super) struct Args {
    #[command(flatten)]
    suite: SuiteArgs,
    #[command(flatten)]
    sealed: SealedArgs,
    /// Who makes the candidates: search, patterns, llm, or file:DIR with one parthack.candidate/1 a file
    #[arg(long, default_value = "search", value_name = "WHO")]
    attacker: String,
    /// Only these tasks [default: all]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    tasks: Option<Vec<String>>,
    /// Evaluators that are attacked [default: every rule evaluator; for patterns and llm: historical-milestone, cape-max and
    /// the judges that score]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    targets: Option<Vec<String>>,
    /// Evaluators that score, built-in ones by id, your own as with --plugin [default: every rule evaluator, and with models
    /// llm-judge and idj, or what is recorded]
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    evaluators: Option<Vec<String>>,
    /// Run folder [default: runs/<suite>-<hash> in the working folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the unfinished run in the run folder, or begin it
    #[arg(long)]
    resume: bool,
    /// Worker threads; results don't depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Only trajectories of at most so many agent steps [default: any length]
    #[arg(long, value_name = "N")]
    max_steps: Option<u32>,
    /// States after which a search gives up
    #[arg(long, default_value_t = SearchOptions::default().max_states, value_name = "N")]
    max_states: usize,
    /// Explore every reachable state also where the bound is plain without it
    #[arg(long)]
    prove: bool,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Resamples of each interval
    #[arg(long, default_value_t = BootstrapPlan::default().resamples, value_name = "N")]
    resamples: u32,
    /// What the core tables look like: text, markdown, csv, json or latex
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    format: Format,
    /// An evaluator of your own that scores too, [NAME=]exec:'COMMAND' or [NAME=]http:URL; may be given several times
    #[arg(long, value_name = "EVALUATOR", help_heading = "Evaluators of your own")]
    plugin: Vec<String>,
    #[command(flatten)]
    plugins: PluginArgs,
    #[command(flatten)]
    models: ModelArgs,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let places = args.suite.places_with(&args.sealed);
    let (program, folder, sealed) = (places.certifier()?, places.suite()?, places.sealed()?);
    let suite = Suite::load(&folder)?;
    let stop = stop_on_signal()?;
    let plugins = open_plugins(args, &sealed, &stop)?;
    let PreparedModels { semantic, models, attacker_role, attempts } = prepare(args, &suite, &places, &stop)?;
    let budget = attempts.as_ref().map(|attempts| attempts.budget).or(args.models.budget).unwrap_or(BUDGET);
    let attacker = attacker(args, &suite, attacker_role, budget)?;
    let certifier = CertifierProcess::start(&program, &folder, &sealed)?;
    commitments::say(&suite);
    let choices = choices(args, attacker, semantic, attempts, &plugins);
    if args.models.dry_run {
        let manifest = Manifest::freeze(&suite, &choices, &certifier.protocol())?;
        let client = models.estimating()?;
        let estimate = estimate(&suite, &manifest, &choices.attacker, &client)?;
        return print_estimate(&estimate, args.format, out).map(|()| Exit::Done).map_err(Failure::from);
    }
    let report = run_job(Job {
        suite,
        choices,
        certifier: Box::new(certifier),
        evaluator_program: this_program()?,
        out: args.out.clone(),
        runs_root: PathBuf::from(RUNS),
        resume: args.resume,
        threads: threads_of(args),
        models,
        plugins: PluginScores::Asked(plugins),
        stop: &stop,
        progress: progress(),
    })?;
    print(&report, args.format, out)?;
    print_spent(&report);
    match Exit::from_code(report.exit_code()) {
        Exit::Incomplete if args.models.client.allow_missing => Ok(Exit::Done),
        exit => Ok(exit),
    }
}

/// Threads: a call that is waited for takes a thread, and next to no time of a core.
fn threads_of(args: &Args) -> usize {
    let asking = matches!(args.models.client.model_mode, Some(ModelModeArg::Live | ModelModeArg::Record));
    let calls = if asking { args.models.client.concurrency as usize } else { 0 };
    threads(args.threads).max(calls)
}

/// The evaluators of the user's own, from `--plugin` and from among `--evaluators`.
fn open_plugins(args: &Args, sealed: &Path, stop: &Arc<AtomicBool>) -> Result<Vec<Plugin>, Failure> {
    let named = args.evaluators.iter().flatten().filter_map(|text| plugin::parse(text));
    let given = args.plugin.iter().map(|text| {
        let hint = "[NAME=]exec:'COMMAND' or [NAME=]http:URL; built-in evaluators are named with --evaluators";
        plugin::parse(text).unwrap_or_else(|| Err(Failure::usage(format!("--plugin: found {text:?}"), hint)))
    });
    let mut specs = BTreeMap::new();
    for parsed in given.chain(named) {
        let (id, spec) = parsed?;
        if specs.insert(id.clone(), spec).is_some() {
            return Err(Failure::usage(
                format!("--plugin: two evaluators are named {id}"),
                "name them apart: --plugin NAME=exec:'COMMAND'",
            ));
        }
    }
    let is_target = |text: &&String| specs.contains_key(*text) || plugin::parse(text).is_some();
    if let Some(target) = args.targets.iter().flatten().find(is_target) {
        let message = format!("--targets: {target} is an evaluator of your own, which no search here attacks");
        return Err(Failure::usage(message, "parthack stress makes adversaries for it"));
    }
    if specs.is_empty() {
        return Ok(Vec::new());
    }
    let mut conditions = args.plugins.conditions(sealed, Some(Arc::clone(stop)))?;
    // Without a name the run's folder is named for what is frozen later; it is one of these.
    conditions.hide(args.out.as_deref().unwrap_or(Path::new(RUNS)));
    specs.into_iter().map(|(id, spec)| Plugin::open(id, &spec, &conditions)).collect()
}

fn choices(
    args: &Args,
    attacker: Attacker,
    semantic: Option<SemanticChoices>,
    attempts: Option<RecordedAttempts>,
    plugins: &[Plugin],
) -> Choices {
    let (max_steps, max_states, prove) = (args.max_steps, args.max_states, args.prove);
    let (tasks, targets) = attempts.map(|attempts| (attempts.tasks, attempts.targets)).unzip();
    Choices {
        tasks: args.tasks.clone().or(tasks),
        targets: args.targets.clone().or(targets),
        evaluators: args
            .evaluators
            .as_ref()
            .map(|named| named.iter().filter(|text| plugin::parse(text).is_none()).cloned().collect()),
        plugins: plugins.iter().map(|plugin| (plugin.id.clone(), plugin.frozen.clone())).collect(),
        attacker,
        search: SearchOptions { max_steps, max_states, prove, ..SearchOptions::default() },
        bootstrap: BootstrapPlan { resamples: args.resamples, seed: args.seed, ..BootstrapPlan::default() },
        semantic,
    }
}

fn attacker(args: &Args, suite: &Suite, role: Option<RoleConfig>, budget: u32) -> Result<Attacker, RunError> {
    let known: Vec<&str> = suite.tasks.iter().map(|task| task.task.spec.id.as_str()).collect();
    let name = args.attacker.as_str();
    match (name.split_once(':'), name) {
        (None, "search") => Ok(Attacker::Search),
        (None, "patterns") => Ok(Attacker::Patterns),
        (None, LLM) => match role {
            Some(role) => Ok(Attacker::Llm(Box::new(ModelAttacker { role, budget, feedback: args.models.feedback() }))),
            None => Err(RunError::usage(
                "--attacker llm: no model plays the attacker",
                "give --role attacker=PROVIDER/MODEL with --model-mode live or record, or replay a recording of one",
            )),
        },
        (Some(("file", folder)), _) if !folder.is_empty() => Attacker::from_folder(Path::new(folder), &known),
        _ => {
            let message = format!("--attacker: found {name:?}, expected search, patterns, llm or file:DIR");
            Err(RunError::usage(message, "DIR holds one candidate a file, *.json"))
        }
    }
}

/// The attacker that is a model.
const LLM: &str = "llm";

/// What the flags about models come to.
struct PreparedModels {
    semantic: Option<SemanticChoices>,
    models: Models,
    attacker_role: Option<RoleConfig>,
    /// Of a replay of a model's attempts.
    attempts: Option<RecordedAttempts>,
}

fn prepare(args: &Args, suite: &Suite, places: &Places, stop: &Arc<AtomicBool>) -> Result<PreparedModels, Failure> {
    let roles = args.models.client.roles()?;
    let any_role = roles != Roles::default();
    match args.models.client.model_mode {
        None if any_role => {
            Err(Failure::usage("--role: no model takes part", "add --model-mode live, record or replay"))
        }
        None => Ok(PreparedModels { semantic: None, models: Models::None, attacker_role: None, attempts: None }),
        Some(ModelModeArg::Replay) => prepare_replay(args, suite, places, &roles),
        Some(mode) => prepare_asking(args, roles, mode, stop),
    }
}

fn prepare_replay(args: &Args, suite: &Suite, places: &Places, roles: &Roles) -> Result<PreparedModels, Failure> {
    let folder = args.models.client.cassettes.clone().or_else(|| places.recordings()).ok_or_else(|| {
        Failure::absent("no recordings come with this suite", "name a folder of recorded exchanges with --cassettes")
    })?;
    let mut recorded = recorded_roles(&folder)?;
    let judge = recorded_role(&mut recorded, "judge", roles.judge.as_ref())?;
    let checklist = recorded_role(&mut recorded, "checklist", roles.checklist.as_ref())?;
    let attacker_role = recorded_role(&mut recorded, "attacker", roles.attacker.as_ref())?;
    let folders = vec![folder];
    let mut attempts = match &attacker_role {
        Some(role) if args.attacker == LLM => {
            Some(recorded_attempts(suite, &folders, role, args.models.feedback(), args.models.budget)?)
        }
        _ => None,
    };
    let tasks = args.tasks.as_deref().or(attempts.as_ref().map(|attempts| attempts.tasks.as_slice()));
    let mut semantic = None;
    if let Some(judge) = judge {
        let mut choices = SemanticChoices {
            judge: Some(judge),
            checklist,
            answer_mode: AnswerMode::Number,
            probes: !args.models.no_probes,
            recorded: None,
        };
        let judges = Arc::new(JudgeProcesses::new(&this_program()?));
        let (mode, mut recorded) =
            recorded_judgements(suite, tasks, &folders, &choices, args.models.answer_mode(), &judges)?;
        // A judge that is named and has no recording at all is a miss, not an empty row.
        for id in args.evaluators.iter().flatten().filter(|id| judge::judge(id).is_some()) {
            let all = || suite.tasks.iter().map(|task| task.task.spec.id.clone()).collect();
            recorded.tasks.entry(id.clone()).or_insert_with(all);
        }
        choices.answer_mode = mode;
        choices.recorded = Some(recorded);
        semantic = Some(choices);
    }
    if let Some(attempts) = &mut attempts {
        // A judge scores its own adversaries; one that takes no part is no target.
        let recorded = semantic.iter().flat_map(|choices| choices.recorded.iter()).flat_map(|r| r.tasks.keys());
        let judges: Vec<&String> = args.evaluators.as_ref().map_or(recorded.collect(), |named| named.iter().collect());
        attempts.targets.retain(|id| judge::judge(id).is_none() || judges.contains(&id));
    }
    // What is named must be recorded; of all else, what is recorded takes part.
    let strict = Strict {
        attempts: args.tasks.is_some() || args.targets.is_some() || args.models.budget.is_some(),
        judgements: args.evaluators.iter().flatten().any(|id| judge::judge(id).is_some()),
    };
    Ok(PreparedModels { semantic, models: Models::Replay { folders, strict }, attacker_role, attempts })
}

fn prepare_asking(
    args: &Args,
    roles: Roles,
    mode: ModelModeArg,
    stop: &Arc<AtomicBool>,
) -> Result<PreparedModels, Failure> {
    let options = args.models.client.options(stop)?;
    let ResolvedRoles { judge, checklist, attacker: attacker_role } = roles.resolved(&options)?;
    let semantic = judge.map(|judge| SemanticChoices {
        judge: Some(judge),
        checklist,
        answer_mode: args.models.answer_mode().unwrap_or(AnswerMode::Number),
        probes: !args.models.no_probes,
        recorded: None,
    });
    let models = match mode {
        ModelModeArg::Record => {
            let folder = args.models.client.record_folder()?;
            Models::Record(options, folder)
        }
        _ => Models::Live(options),
    };
    Ok(PreparedModels { semantic, models, attacker_role, attempts: None })
}

/// The path of this executable: the evaluator processes are started from it.
pub(super) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::environment("cannot find this program's own file", error, "call it by its full path"))
}

/// Threads to use: as asked for, else one a core.
pub(super) fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)).clamp(1, 256)
}

/// How often a run that asks models says how far it is where standard error is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// A line on standard error that is written over; into a file or pipe, a line a minute, and only if models are asked.
fn progress() -> Box<dyn FnMut(Progress) + Send> {
    let terminal = io::stderr().is_terminal();
    let mut phase = None::<(&'static str, Instant, usize)>;
    let mut said = Instant::now();
    Box::new(move |progress| {
        let (started, already) = match phase {
            Some((name, started, already)) if name == progress.phase => (started, already),
            _ => {
                phase = Some((progress.phase, Instant::now(), progress.done));
                (Instant::now(), progress.done)
            }
        };
        let ended = progress.done == progress.total;
        let line = progress_line(progress, progress.done - already, started.elapsed());
        let mut stderr = io::stderr().lock();
        // Talk that can't be heard changes nothing.
        if terminal {
            let end = if ended { "\n" } else { "" };
            let _ = write!(stderr, "\r\x1b[K{line}{end}").and_then(|()| stderr.flush());
        } else if progress.calls.is_some() && (said.elapsed() >= BETWEEN_LINES) {
            said = Instant::now();
            let _ = writeln!(stderr, "{line}");
        }
    })
}

/// How far a phase is; where models are asked, with rate, cost and time left.
fn progress_line(progress: Progress, done_now: usize, elapsed: Duration) -> String {
    let Progress { phase, done, total, calls, cost } = progress;
    let mut line = format!("{phase}: {done} of {total}");
    let Some(calls) = calls else { return line };
    line.push_str(&format!(", {calls} calls, {cost}"));
    let seconds = elapsed.as_secs_f64();
    if done_now > 0 && seconds > 1.0 && done < total {
        let rate = done_now as f64 / seconds;
        let left = (total - done) as f64 / rate;
        line.push_str(&format!(", {:.1} a minute, {} left", rate * 60.0, span(Duration::from_secs_f64(left))));
    }
    line
}

/// `42 s`, `12 min` or `3 h 05 min`.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// What models were asked and what it cost, by role; on standard error, for it is not the same in a replay.
fn print_spent(report: &RunReport) {
    let unrecorded = report.unrecorded();
    if unrecorded > 0 {
        eprintln!("{unrecorded} scores or attempts have no recording; --model-mode record makes the missing ones");
    }
    let Some(accounting) = &report.accounting else { return };
    for (role, account) in &accounting.roles {
        let asked = account.usage.prompt_tokens + account.cassette_usage.prompt_tokens;
        let answered = account.usage.completion_tokens + account.cassette_usage.completion_tokens;
        eprintln!(
            "{role}: {} calls ({} requests sent, {} from recordings, {} retries), {asked} prompt tokens, {answered} \
             completion tokens, {}{}",
            account.calls,
            account.requests,
            account.from_cassette,
            account.retries,
            account.cost,
            if account.unpriced > 0 {
                format!(", {} requests without a known price", account.unpriced)
            } else {
                String::new()
            },
        );
        for (code, count) in &account.no_answers {
            let example = account.examples.get(code);
            let first = example.map(|example| format!("; first {}: {}", example.cell, example.reason));
            eprintln!("  {count} without an answer: {code}{}", first.unwrap_or_default());
            if example.is_some_and(|example| example.refuses_form) {
                let option = format!("--role {role}=PROVIDER/MODEL,response_format=json_object (or none)");
                eprintln!("  hint: the server does not take a JSON schema; {option} asks without one");
            }
        }
    }
    if report.spent_before != Cost::ZERO {
        eprintln!("earlier starts of this run had cost {}", report.spent_before);
    }
}

fn print_estimate(estimate: &Estimate, format: Format, out: &mut Output) -> io::Result<()> {
    let Estimate { calls, recorded, prompt_tokens, completion_tokens_at_most, cost, cost_at_most, unpriced } = estimate;
    if format == Format::Json {
        return out.json(estimate);
    }
    writeln!(out, "calls                   {calls}, {recorded} of them recorded")?;
    writeln!(out, "prompt tokens           about {prompt_tokens}")?;
    writeln!(out, "completion tokens       at most {completion_tokens_at_most}")?;
    writeln!(out, "cost                    about {cost}, at most {cost_at_most}")?;
    if !unpriced.is_empty() {
        let names: Vec<&str> = unpriced.iter().map(String::as_str).collect();
        writeln!(out, "without a known price   {} (--prices FILE names one)", names.join(", "))?;
    }
    out.flush()
}

fn print(report: &RunReport, format: Format, out: &mut Output) -> io::Result<()> {
    let core: Vec<Table> = report.tables.iter().filter(|table| CORE.contains(&table.id.as_str())).cloned().collect();
    write!(out, "{}", render(&core, format))?;
    out.flush()?;
    let folder = report.folder.display();
    if report.was_finished {
        eprintln!("the run was finished already; nothing was written");
    }
    if report.lost() > 0 {
        eprintln!(
            "{} scores or attempts lack an answer that was lost on the way; the same command with --resume asks again",
            report.lost()
        );
    }
    match format {
        Format::Text | Format::Markdown => {
            writeln!(out, "\nrun folder: {folder}\nall tables: {folder}/tables/tables.txt, or parthack tables {folder}")
        }
        // Data for programs stays data alone.
        Format::Csv | Format::Json | Format::Latex => {
            eprintln!("run folder: {folder}");
            Ok(())
        }
    }
}
