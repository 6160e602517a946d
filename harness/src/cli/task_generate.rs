//! `parthack task generate`: a sealed suite of any size from a secret seed, every task proved.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use parthack_certifier::sealing::folder::{KEY_FILE, KEY_FILE_VARIABLE, sealed_path};
use parthack_certifier::sealing::{SealError, SuiteKey, canonical_package, seal};
use parthack_env::names::is_identifier;
use parthack_env::spec::Family as TaskFamily;
use parthack_generator::{
    GenerateError, GeneratedTask, Generator, MAX_TASKS, Progress, Request, Seed, SuiteEntry, suite_manifest,
};
use serde_json::json;

use super::certifier_command::typed;
use super::run::threads;
use super::task_new::{Family, create_folder, write_new, write_new_bytes};
use super::{Output, ReportFormat};
use crate::failure::{Exit, Failure};
use crate::locate::read_input;

/// Generate a suite of tasks from a secret seed
///
/// Writes DIR/tasks/ID/ (public tasks and suite.json) and DIR/sealed/ID/ (private packages, readable by you alone). Every task is proved as `parthack task
/// lint` proves it before it is written. The same seed and flags give the same bytes on any machine; whoever has the seed has the packages.
/// With --seal, packages are encrypted before they are written, under a new key; sealed files differ each time, what is in them does not.
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
    /// Seal the packages, with a new key
    #[arg(long)]
    seal: bool,
    /// File for the new key, for its owner alone [default: suite.key beside the packages]
    #[arg(long, requires = "seal", value_name = "FILE")]
    new_key: Option<PathBuf>,
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
    let key_file = args.seal.then(|| args.new_key.clone().unwrap_or_else(|| sealed.join(KEY_FILE)));
    if let Some(taken) = [&tasks, &sealed].into_iter().chain(&key_file).find(|path| path.exists()) {
        return Err(Failure::usage(
            format!("{} is there already", taken.display()),
            "another --id or --out; nothing was written",
        ));
    }
    create_folder(&tasks, false)?;
    create_folder(&sealed, true)?;
    let key = key_file.as_deref().map(new_key).transpose()?;
    let folders = Folders { tasks: &tasks, sealed: &sealed, key: key.as_ref() };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Done::default());
    std::thread::scope(|scope| {
        for _ in 0..threads(args.threads).min(args.count.max(1)) {
            scope.spawn(|| work(&generator, &seed, args.count, &next, &done, folders));
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
            "redrawn": redrawn, "redrawn_by_reason": done.redrawn, "sealed": args.seal, "key_file": key_file,
        }))?,
        ReportFormat::Text => {
            writeln!(out, "{} tasks in {}, their packages in {}", entries.len(), tasks.display(), sealed.display())?;
            writeln!(out, "{redrawn} drafts were refused by lint and drawn anew")?;
            let mut variable = String::new();
            if let Some(file) = &key_file {
                writeln!(out, "the packages are sealed with the new key in {}", file.display())?;
                if args.new_key.is_none() {
                    writeln!(out, "it lies beside them: move it before you give the folder away")?;
                } else {
                    variable = format!("{KEY_FILE_VARIABLE}={} ", typed(file));
                }
            }
            writeln!(out, "{variable}parthack run --suite {} runs them", tasks.display())?;
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

/// Makes the key of a suite and writes it, before anything is sealed with it.
fn new_key(file: &Path) -> Result<SuiteKey, Failure> {
    let failed = |error: SealError| Failure::Bug(error.to_string());
    let key = SuiteKey::generate(&mut random).map_err(failed)?;
    write_new(file, &format!("{}\n", key.hex().as_str()), true)?;
    Ok(key)
}

fn random(bytes: &mut [u8]) -> std::io::Result<()> {
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(bytes))
}

/// Where a suite goes, and the key that its packages are sealed with.
#[derive(Clone, Copy)]
struct Folders<'f> {
    tasks: &'f Path,
    sealed: &'f Path,
    key: Option<&'f SuiteKey>,
}

impl Folders<'_> {
    fn write(self, task: &GeneratedTask) -> Result<(), Failure> {
        let name = format!("{}.json", task.id);
        write_new(&self.tasks.join(&name), &task.public, false)?;
        let Some(key) = self.key else { return write_new(&self.sealed.join(&name), &task.private, true) };
        let bug = |error: &dyn std::error::Error| Failure::Bug(format!("{}: {error}", task.id));
        let plaintext = canonical_package(task.private.as_bytes(), &task.id).map_err(|error| bug(&error))?;
        let file = seal(&plaintext, &task.id, key, &mut random).map_err(|error| bug(&error))?;
        write_new_bytes(&sealed_path(self.sealed, &task.id), file.bytes(), true)
    }
}

fn work(
    generator: &Generator,
    seed: &Seed,
    count: usize,
    next: &AtomicUsize,
    done: &Mutex<Done>,
    folders: Folders<'_>,
) {
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            return;
        }
        let made = generator.task(seed, index).map_err(failure).and_then(|task| {
            folders.write(&task)?;
            Ok(task)
        });
        let Ok(mut done) = done.lock() else { return };
        match made {
            Ok(GeneratedTask { entry, refused, .. }) => {
                done.entries.insert(index, entry);
                for refusal in refused {
                    *done.redrawn.entry(refusal.to_string()).or_default() += 1;
                }
                if done.entries.len().is_multiple_of(1_000) {
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
