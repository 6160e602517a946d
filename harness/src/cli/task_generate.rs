//! `parthack task generate`: a sealed suite of any size from a secret seed, every task proved.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use parthack_env::names::is_identifier;
use parthack_env::spec::Family as TaskFamily;
use parthack_generator::{
    GenerateError, GeneratedTask, Generator, MAX_TASKS, Progress, Request, Seed, SuiteEntry, suite_manifest,
};
use serde_json::json;

use super::run::threads;
use super::task_new::{Family, create_folder, write_new};
use super::{Output, ReportFormat};
use crate::failure::{Exit, Failure};
use crate::locate::read_input;

/// Generate a suite of tasks from a secret seed
///
/// Writes DIR/tasks/ID/ (public tasks and suite.json) and DIR/sealed/ID/ (private packages, readable by you alone). Every task is proved as `parthack task
/// lint` proves it before it is written. The same seed and flags give the same bytes on any machine; whoever has the seed has the packages.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  head -c 32 /dev/urandom > seed && parthack task generate --count 200 --seed-file seed --out my-suite"
)]
pub(super) struct Args {
    /// Folder for tasks/ and sealed/
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// File of at least 16 secret bytes
    #[arg(long, value_name = "FILE")]
    seed_file: PathBuf,
    /// Tasks
    #[arg(long, default_value_t = 100, value_name = "N")]
    count: usize,
    /// Families; tasks take turns [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FAMILIES")]
    family: Vec<Family>,
    /// Goal predicates, 3 to 5; tasks take turns [default: 3,4,5]
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    m: Vec<usize>,
    /// Progress of honest trajectories, such as 1/2,2/4 [default: every k of m]
    #[arg(long, value_delimiter = ',', value_name = "RATIOS")]
    progress: Vec<String>,
    /// Id of the suite
    #[arg(long, default_value = "generated", value_name = "ID")]
    id: String,
    /// Beginning of task ids; a hyphen and a number follow
    #[arg(long, default_value = "GEN", value_name = "TEXT")]
    prefix: String,
    /// Worker threads; results don't depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

/// What became of the work.
#[derive(Debug, Default)]
struct Done {
    entries: BTreeMap<usize, SuiteEntry>,
    redrawn: BTreeMap<String, usize>,
    failure: Option<Failure>,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    if !is_identifier(&args.id) {
        return Err(Failure::usage(format!("{:?} is no suite id", args.id), "letters, digits, '.', '_', ':' and '-'"));
    }
    let seed = Seed::from_bytes(&read_input(&args.seed_file)?)
        .map_err(|error| Failure::usage(error.to_string(), "head -c 32 /dev/urandom > FILE makes a seed"))?;
    let request = request(args)?;
    let generator = Generator::new(request).map_err(|error| {
        Failure::usage(error.to_string(), format!("3 to 5 predicates, progress k of m, at most {MAX_TASKS} tasks"))
    })?;
    let (tasks, sealed) = (args.out.join("tasks").join(&args.id), args.out.join("sealed").join(&args.id));
    if let Some(taken) = [&tasks, &sealed].into_iter().find(|folder| folder.exists()) {
        return Err(Failure::usage(
            format!("{} is there already", taken.display()),
            "another --id or --out; nothing was written",
        ));
    }
    create_folder(&tasks, false)?;
    create_folder(&sealed, true)?;
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Done::default());
    std::thread::scope(|scope| {
        for _ in 0..threads(args.threads).min(args.count.max(1)) {
            scope.spawn(|| work(&generator, &seed, args.count, &next, &done, (&tasks, &sealed)));
        }
    });
    let done = done.into_inner().unwrap_or_default();
    if let Some(failure) = done.failure {
        return Err(failure);
    }
    let entries: Vec<SuiteEntry> = done.entries.into_values().collect();
    let description = format!("{} generated tasks", entries.len());
    let text =
        suite_manifest(&args.id, "1", &description, &entries).map_err(|error| Failure::Bug(error.to_string()))?;
    write_new(&tasks.join("suite.json"), &text, false)?;
    let redrawn: usize = done.redrawn.values().sum();
    match args.format {
        ReportFormat::Json => out.json(&json!({
            "suite": args.id, "tasks": entries.len(), "tasks_folder": tasks, "sealed_folder": sealed,
            "redrawn": redrawn, "redrawn_by_reason": done.redrawn,
        }))?,
        ReportFormat::Text => {
            writeln!(out, "{} tasks in {}, their packages in {}", entries.len(), tasks.display(), sealed.display())?;
            writeln!(out, "{redrawn} drafts were refused by lint and drawn anew")?;
            writeln!(out, "parthack run --suite {} runs them", tasks.display())?;
        }
    }
    Ok(Exit::Done)
}

fn request(args: &Args) -> Result<Request, Failure> {
    let mut request = Request { count: args.count, id_prefix: args.prefix.clone(), ..Request::default() };
    if !args.family.is_empty() {
        request.families = args.family.iter().map(|family| family_of(*family)).collect();
    }
    if !args.m.is_empty() {
        request.sizes.clone_from(&args.m);
    }
    let progress = args.progress.iter().map(|text| {
        Progress::parse(text)
            .ok_or_else(|| Failure::usage(format!("--progress: found {text:?}"), "ratios such as 1/2 or 2/4"))
    });
    request.progress = progress.collect::<Result<_, _>>()?;
    Ok(request)
}

fn family_of(family: Family) -> TaskFamily {
    match family {
        Family::Persistent => TaskFamily::Persistent,
        Family::Crud => TaskFamily::Crud,
        Family::Interaction => TaskFamily::Interaction,
        Family::Goalpatch => TaskFamily::GoalPatch,
    }
}

fn work(
    generator: &Generator,
    seed: &Seed,
    count: usize,
    next: &AtomicUsize,
    done: &Mutex<Done>,
    (tasks, sealed): (&Path, &Path),
) {
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            return;
        }
        let made = generator.task(seed, index).map_err(failure).and_then(|task| {
            let name = format!("{}.json", task.id);
            write_new(&tasks.join(&name), &task.public, false)?;
            write_new(&sealed.join(&name), &task.private, true)?;
            Ok(task)
        });
        let Ok(mut done) = done.lock() else { return };
        match made {
            Ok(GeneratedTask { entry, refused, .. }) => {
                done.entries.insert(index, entry);
                for refusal in refused {
                    *done.redrawn.entry(refusal.to_string()).or_default() += 1;
                }
                if (index + 1).is_multiple_of(1_000) {
                    eprintln!("{} of {count} tasks", done.entries.len());
                }
            }
            Err(failure) => {
                done.failure.get_or_insert(failure);
                next.store(count, Ordering::Relaxed);
                return;
            }
        }
    }
}

fn failure(error: GenerateError) -> Failure {
    Failure::Bug(error.to_string())
}
