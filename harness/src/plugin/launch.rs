//! Starting a user's program in the sandbox, at the highest tier that this host and this program allow.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use parthack_evaluators::plugin::{Ended, Launch, LaunchError, Launched, Process, Program};
use parthack_sandbox::policy::is_shared;
use parthack_sandbox::{Confined, End, Limits, Network, Policy, Scratch, SetUpError, Step, Tier, spawn};

use super::runs_below::{MOST_ENTRIES, private_folders};
use super::{Conditions, Confinement};

/// Where a program finds its scratch folder, at tier 3.
const SCRATCH: &str = "/scratch";
/// Size of the scratch folder in bytes.
const SCRATCH_BYTES: u64 = 64 << 20;
/// Files that the scratch folder holds.
const SCRATCH_FILES: u64 = 4096;

/// What a process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Address space in bytes.
    pub memory_bytes: u64,
    /// Processor time of one process in seconds.
    pub cpu_seconds: u64,
}

/// Starts programs in the sandbox.
#[derive(Debug)]
pub struct SandboxLaunch {
    highest: Tier,
    lowest: Tier,
    bounds: Bounds,
    network: bool,
    readable: Vec<PathBuf>,
    private: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    /// What of runs is private below folders that were looked through; none for one that is too large.
    searched: Mutex<BTreeMap<PathBuf, Option<Vec<PathBuf>>>>,
    /// Tiers that processes were started at.
    used: Mutex<BTreeSet<Tier>>,
}

impl SandboxLaunch {
    /// A launcher that has started nothing yet.
    #[must_use]
    pub fn new(confinement: &Confinement, conditions: &Conditions) -> SandboxLaunch {
        SandboxLaunch {
            highest: confinement.highest,
            lowest: confinement.lowest,
            bounds: conditions.bounds,
            network: conditions.network,
            readable: conditions.readable.clone(),
            private: conditions.private.iter().filter(|path| path.exists()).cloned().collect(),
            hidden: conditions.hidden.clone(),
            searched: Mutex::new(BTreeMap::new()),
            used: Mutex::new(BTreeSet::new()),
        }
    }

    /// The policy at a tier, and what the user should know about it.
    fn policy(&self, program: &Program, tier: Tier) -> (Policy, Option<String>) {
        let mut policy = Policy::new(&program.program).arguments(program.arguments.iter().cloned());
        policy.environment.clone_from(&program.environment);
        policy.private.clone_from(&self.private);
        policy.working_folder.clone_from(&program.working_folder);
        policy.network = if self.network { Network::All } else { Network::None };
        policy.limits = Limits {
            memory_bytes: self.bounds.memory_bytes,
            cpu_seconds: self.bounds.cpu_seconds,
            ..Limits::default()
        };
        let mut note = self.show(program, &mut policy);
        if tier < Tier::Landlocked {
            // Nothing is kept from being read here, so that there is nothing to name either.
            policy.read_only.clear();
            policy.hidden.clear();
            note = None;
        }
        if tier == Tier::Full {
            policy.scratch = Some(Scratch { path: SCRATCH.into(), bytes: SCRATCH_BYTES, files: SCRATCH_FILES });
        }
        let home = if tier == Tier::Full { SCRATCH } else { "/" };
        for name in ["HOME", "TMPDIR"] {
            policy.environment.insert(name.into(), home.into());
        }
        (policy, note)
    }

    /// Adds what the program may read, and hides what of runs is private below it.
    fn show(&self, program: &Program, policy: &mut Policy) -> Option<String> {
        policy.hidden.clone_from(&self.hidden);
        let (mut shown, mut note) = (false, None);
        for file in super::own_files(program) {
            // A link brings the folder that it leads to.
            let folders = [Some(file.clone()), std::fs::canonicalize(file).ok()].into_iter().flatten();
            let mut folders = folders.filter_map(|file| Some(file.parent()?.to_path_buf()));
            if let Some(folder) = folders.find(|folder| !is_shared(folder) && self.hide_below(folder, policy).is_none())
            {
                policy.read_only.push(file.clone());
                note = Some(too_large(&folder, "of it the program sees what its command names alone"));
            } else {
                let folder = policy.read_with_neighbours(file);
                shown |= folder && file.parent() == Some(&program.working_folder);
            }
        }
        if !shown {
            policy.working_folder = PathBuf::from("/");
        }
        let path = program.environment.get(std::ffi::OsStr::new("PYTHONPATH"));
        let packages = path.into_iter().flat_map(std::env::split_paths);
        let packages = packages.filter(|folder| folder.is_absolute() && folder.is_dir() && !is_root(folder));
        for path in packages.chain(self.readable.iter().cloned()) {
            if self.hide_below(&path, policy).is_none() {
                note = Some(too_large(&path, "the program sees all of it"));
            }
            policy.read_only.push(path);
        }
        note
    }

    /// Hides what of runs is private below a folder; none if the folder is too large to be looked through.
    fn hide_below(&self, folder: &Path, policy: &mut Policy) -> Option<()> {
        let mut searched = self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        let found = searched.entry(folder).or_insert_with_key(|folder| private_folders(folder));
        policy.hidden.extend(found.as_ref()?.iter().cloned());
        Some(())
    }

    /// One tier after the other, from the highest that holds here to the lowest that is put up with.
    fn start(&self, program: &Program) -> Result<(Confined, Option<String>), LaunchError> {
        let mut fallen = None;
        for tier in Tier::ALL.into_iter().filter(|tier| (self.lowest..=self.highest).contains(tier)) {
            let (policy, note) = self.policy(program, tier);
            match spawn(&policy, tier) {
                Ok(confined) => {
                    let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                    used.insert(tier);
                    let notes: Vec<String> = fallen.into_iter().chain(note).collect();
                    return Ok((confined, (!notes.is_empty()).then(|| notes.join("; "))));
                }
                Err(reason) if reason.depends_on_host() && tier > self.lowest => {
                    let reason = reason.to_string().replace('\n', "; ");
                    fallen.get_or_insert(format!("one tier down: {reason}"));
                }
                Err(SetUpError::Step { step: Step::Execute, .. }) => {
                    let message = format!("{}: it can't be executed", program.program.display());
                    return Err(LaunchError::NotStarted(message));
                }
                Err(reason) => return Err(LaunchError::Sandbox(reason.to_string().replace('\n', "; "))),
            }
        }
        Err(LaunchError::Sandbox(format!("no tier from {} down to {}", self.highest, self.lowest)))
    }
}

fn too_large(folder: &Path, what: &str) -> String {
    format!("{} holds more than {MOST_ENTRIES} files, too many to look for runs in it; {what}", folder.display())
}

fn is_root(folder: &Path) -> bool {
    std::fs::canonicalize(folder).is_ok_and(|folder| folder.parent().is_none())
}

impl Launch for SandboxLaunch {
    fn launch(&self, program: &Program) -> Result<Launched, LaunchError> {
        let (mut confined, fallen) = self.start(program)?;
        let note = fallen.or_else(|| confined.note().map(str::to_owned));
        let pipes = (confined.stdin.take(), confined.stdout.take(), confined.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(LaunchError::Sandbox("it has no pipes".to_owned()));
        };
        let input: Box<dyn Write + Send> = Box::new(input);
        let (output, errors): (Box<dyn Read + Send>, Box<dyn Read + Send>) = (Box::new(output), Box::new(errors));
        Ok(Launched { input, output, errors, process: Box::new(Running(confined)), note })
    }

    fn isolation(&self) -> String {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let tier = used.first().copied().unwrap_or(self.highest);
        let network = if self.network { "network allowed" } else { "no network" };
        format!("sandbox of {tier}, {network}")
    }
}

/// A confined process.
#[derive(Debug)]
struct Running(Confined);

impl Process for Running {
    fn wait(&mut self, at_most: Duration) -> io::Result<Option<Ended>> {
        let exit = self.0.wait(Some(at_most))?;
        Ok(exit.map(|exit| match exit.end {
            End::Code(code) => Ended::Code(code),
            End::Signal(signal) => Ended::Signal(signal),
            End::CpuLimit => Ended::CpuLimit,
        }))
    }

    fn kill(&mut self) -> io::Result<()> {
        self.0.kill()
    }
}
