//! Starting a confined program on Linux: the parent's side.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::bpf::{MACHINE, Program, assemble};
use crate::busy::while_busy;
use crate::confined::Confined;
use crate::error::{Errno, Step};
use crate::filter::{CONFINED_OTHERWISE, Shape, confined};
use crate::identity::change;
use crate::layout::{Kind, Layout, text};
use crate::policy::{Identity, Network, Policy};
use crate::program::{Launch, resolve};
use crate::raw::child::{Change, END, Mounts, Plan, REHEARSED};
use crate::raw::{calls, landlock, launch};
use crate::{SetUpError, Tier};

/// Devices that are there for every program.
const DEVICES: [&str; 2] = ["/dev/null", "/dev/urandom"];
/// What names and certificates are looked up in: readable with network, where it is there.
const LOOKED_UP: [&str; 9] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/pki",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
];
/// Folders that the new root may be mounted over for a moment; the first that exists is taken.
const STAGING: [&str; 4] = ["/tmp", "/proc", "/dev", "/mnt"];
/// Below tier 3 the limit on threads counts all threads of the user, whose number changes; this many more are allowed.
const THREADS_OF_OTHERS: u64 = 1024;

/// Starts a program at exactly this tier.
///
/// The calling thread must outlive the program: the kernel kills the program when the thread that started it ends.
///
/// # Errors
///
/// [`SetUpError`]: the policy is refused, a step of the set-up failed, or the program can't be executed. The program has
/// not run then.
pub fn spawn(policy: &Policy, tier: Tier) -> Result<Confined, SetUpError> {
    policy.check(tier)?;
    let launch = resolve(policy)?;
    policy.keep_apart(launch.needs.keys().map(PathBuf::as_path), tier)?;
    while_busy(is_busy, || {
        let started = start(policy, tier, &launch, false)?;
        match started.report {
            None => Ok(started.confined.noted(launch.note.clone())),
            Some((step, errno)) => {
                let subject = subject(policy, &launch, step);
                Err(SetUpError::Step { tier, step, errno, subject })
            }
        }
    })
}

/// Goes through the whole set-up without a program; what holds, as bits of [`crate::raw::child::held`].
pub(crate) fn rehearse(policy: &Policy, tier: Tier) -> Result<u32, SetUpError> {
    let launch = Launch {
        program: policy.program.clone(),
        arguments: Vec::new(),
        needs: DEVICES.iter().filter(|path| Path::new(path).exists()).map(|path| (path.into(), false)).collect(),
        note: None,
    };
    let mut started = start(policy, tier, &launch, true)?;
    let _ = started.confined.wait(None);
    match (started.rehearsal, started.report) {
        (Some(held), _) => Ok(held),
        (None, Some((step, errno))) => Err(SetUpError::Step { tier, step, errno, subject: None }),
        (None, None) => {
            Err(SetUpError::Step { tier, step: Step::Go, errno: Errno(libc::EPIPE), subject: Some("no report".into()) })
        }
    }
}

fn is_busy(error: &SetUpError) -> bool {
    matches!(error, SetUpError::Step { step: Step::Execute, errno: Errno(libc::ETXTBSY), .. })
}

fn subject(policy: &Policy, launch: &Launch, step: Step) -> Option<String> {
    match step {
        Step::Execute => Some(launch.program.display().to_string()),
        Step::WorkingFolder => Some(policy.working_folder.display().to_string()),
        _ => None,
    }
}

struct Started {
    confined: Confined,
    report: Option<(Step, Errno)>,
    rehearsal: Option<u32>,
}

/// What must stay open until the child has its own copies.
struct Ends {
    _child: [OwnedFd; 5],
    _ruleset: Option<OwnedFd>,
    _trees: Vec<OwnedFd>,
}

/// The parent's ends.
struct Pipes {
    stdin: File,
    stdout: File,
    stderr: File,
    go: File,
    status: File,
}

fn start(policy: &Policy, tier: Tier, launch: &Launch, rehearse: bool) -> Result<Started, SetUpError> {
    let failed = |step: Step| move |errno: Errno| SetUpError::Step { tier, step, errno, subject: None };
    let (mut plan, ends, mut pipes) = prepare(policy, tier, launch, rehearse)?;
    let namespaces = match (tier, &policy.network) {
        (Tier::Full, Network::All) => launch::NAMESPACES & !launch::NETWORK,
        (Tier::Full, _) => launch::NAMESPACES,
        _ => 0,
    };
    let (number, process) = launch::launch(&mut plan, namespaces).map_err(failed(Step::Clone))?;
    drop(ends);
    let cpu_seconds = policy.limits.cpu_seconds;
    let confined = Confined::new(tier, number, process, [pipes.stdin, pipes.stdout, pipes.stderr], cpu_seconds);
    if tier == Tier::Full {
        // Dropping `confined` on the way out kills and reaps the child.
        write_maps(number, policy.identity).map_err(|(file, errno)| SetUpError::Step {
            tier,
            step: Step::Maps,
            errno,
            subject: Some(file),
        })?;
    }
    // A child that has died already reports nothing below.
    let _ = pipes.go.write_all(b"g");
    drop(pipes.go);
    let mut message = Vec::new();
    pipes.status.read_to_end(&mut message).map_err(|error| failed(Step::Go)(Errno::of(&error)))?;
    let (mut report, mut rehearsal) = (None, None);
    if let Some((first, second)) = words(&message) {
        if first == REHEARSED {
            rehearsal = Some(second);
        } else {
            let step = Step::ALL.get(first as usize).copied().unwrap_or(Step::Go);
            report = Some((step, Errno(second as i32)));
        }
    }
    Ok(Started { confined, report, rehearsal })
}

fn words(message: &[u8]) -> Option<(u32, u32)> {
    let (first, rest) = message.split_first_chunk::<4>()?;
    let (second, _) = rest.split_first_chunk::<4>()?;
    Some((u32::from_ne_bytes(*first), u32::from_ne_bytes(*second)))
}

fn prepare(policy: &Policy, tier: Tier, launch: &Launch, rehearse: bool) -> Result<(Plan, Ends, Pipes), SetUpError> {
    let failed = |step: Step| move |errno: Errno| SetUpError::Step { tier, step, errno, subject: None };
    let layout = layout(policy, tier, launch)?;
    let (stdin_read, stdin_write) = calls::pipe().map_err(failed(Step::Prepare))?;
    let (stdout_read, stdout_write) = calls::pipe().map_err(failed(Step::Prepare))?;
    let (stderr_read, stderr_write) = calls::pipe().map_err(failed(Step::Prepare))?;
    let (go_read, go_write) = calls::pipe().map_err(failed(Step::Prepare))?;
    let (status_read, status_write) = calls::pipe().map_err(failed(Step::Prepare))?;
    let version = if tier >= Tier::Landlocked { landlock::version().map_err(failed(Step::Ruleset))? } else { 0 };
    let ruleset = (tier >= Tier::Landlocked)
        .then(|| landlock::reading(version, &layout, policy.network == Network::All))
        .transpose()
        .map_err(|(errno, subject)| SetUpError::Step { tier, step: Step::Ruleset, errno, subject: Some(subject) })?
        .map(|ruleset| calls::raise(ruleset).map_err(failed(Step::Ruleset)))
        .transpose()?;
    let cookie = calls::random().map_err(failed(Step::Prepare))?;
    let filter =
        (tier >= Tier::Filtered).then(|| filter(policy, tier, cookie)).transpose().map_err(failed(Step::Filter))?;
    let change = change(policy.identity);
    let mut trees = Vec::new();
    let mounts = (tier == Tier::Full).then(|| mounts(policy, &layout, version, &mut trees)).transpose()?;

    let mut strings = Vec::new();
    let mut list = |texts: Vec<CString>| {
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([END]).collect();
        strings.extend(texts);
        pointers
    };
    let arguments: Result<Vec<_>, _> = launch.arguments.iter().map(|argument| text(Path::new(argument))).collect();
    let environment: Result<Vec<_>, _> = policy
        .environment
        .iter()
        .map(|(name, value)| {
            let pair = [name.as_bytes(), b"=", value.as_bytes()].concat();
            text(Path::new(OsStr::from_bytes(&pair)))
        })
        .collect();
    let (arguments, environment) = (list(arguments?), list(environment?));
    let plan = Plan {
        go_read: go_read.as_raw_fd(),
        go_write: go_write.as_raw_fd(),
        status: status_write.as_raw_fd(),
        standard: [stdin_read.as_raw_fd(), stdout_write.as_raw_fd(), stderr_write.as_raw_fd()],
        ruleset: ruleset.as_ref().map(|ruleset| ruleset.as_raw_fd()),
        change,
        mounts,
        limits: limits(policy, tier, change),
        filter,
        cookie,
        working_folder: text(&policy.working_folder)?,
        program: text(&launch.program)?,
        arguments,
        environment,
        _strings: strings,
        rehearse,
    };
    let ends = Ends {
        _child: [stdin_read, stdout_write, stderr_write, go_read, status_write],
        _ruleset: ruleset,
        _trees: trees,
    };
    let pipes = Pipes {
        stdin: stdin_write.into(),
        stdout: stdout_read.into(),
        stderr: stderr_read.into(),
        go: go_write.into(),
        status: status_read.into(),
    };
    Ok((plan, ends, pipes))
}

fn layout(policy: &Policy, tier: Tier, launch: &Launch) -> Result<Layout, SetUpError> {
    let mut layout = Layout::default();
    if tier < Tier::Landlocked {
        return Ok(layout);
    }
    layout.concealed = policy.concealed()?;
    for (path, execute) in &launch.needs {
        layout.add(path, *execute)?;
    }
    for path in policy.read_only.iter().map(|path| path.as_path()).chain(DEVICES.map(Path::new)) {
        if path.exists() || policy.read_only.iter().any(|asked| asked == path) {
            layout.add(path, false)?;
        }
    }
    if policy.network == Network::All {
        for path in LOOKED_UP.map(Path::new).into_iter().filter(|path| path.exists()) {
            layout.add(path, false)?;
        }
    }
    Ok(layout)
}

fn filter(policy: &Policy, tier: Tier, cookie: [u64; 3]) -> Result<Program, Errno> {
    let shape = Shape {
        refuse_writing: tier < Tier::Landlocked,
        scratch: policy.scratch.is_some(),
        threads: policy.limits.threads > 0,
        network: policy.network == Network::All,
        cookie,
    };
    let machine = MACHINE.ok_or(Errno(libc::ENOSYS))?;
    Ok(assemble(machine, &confined(&shape), CONFINED_OTHERWISE))
}

fn mounts(policy: &Policy, layout: &Layout, version: u32, owned: &mut Vec<OwnedFd>) -> Result<Mounts, SetUpError> {
    let entries = layout.entries(policy.scratch.as_ref())?;
    let mut sources = Vec::new();
    for (path, kind) in layout.sources() {
        sources.push((text(path)?, kind == Kind::Device));
    }
    // Root copies the mounts itself: the child, which is root of nothing, may not reach them.
    let mut trees = vec![-1; sources.len()];
    if calls::identity().0 == 0 {
        let copies: Result<Vec<OwnedFd>, Errno> =
            sources.iter().map(|(path, device)| calls::copy_mount(path, *device).and_then(calls::raise)).collect();
        if let Ok(copies) = copies {
            trees = copies.iter().map(|copy| copy.as_raw_fd()).collect();
            *owned = copies;
        }
    }
    let staging = STAGING.iter().find(|path| Path::new(path).is_dir()).unwrap_or(&"/");
    let scratch = policy.scratch.as_ref().map(|scratch| text(&scratch.path)).transpose()?;
    Ok(Mounts {
        staging: text(Path::new(staging))?,
        options: text(Path::new(&format!("mode=0755,size=256k,nr_inodes={}", entries.len() + 16)))?,
        sources,
        trees,
        entries,
        scratch: scratch.map(|path| (path, landlock::scratch_rights(version))),
    })
}

#[allow(clippy::unnecessary_cast, reason = "the type of these constants differs between C libraries")]
fn limits(policy: &Policy, tier: Tier, change: Option<Change>) -> Vec<(u32, u64, u64)> {
    let limits = &policy.limits;
    let uid = change.map_or_else(|| calls::identity().0, |change| change.uid);
    let threads = match tier {
        // A user namespace counts for itself.
        Tier::Full => limits.threads + 1,
        _ => limits.threads + 1 + threads_of(uid) + THREADS_OF_OTHERS,
    };
    let same = |resource: u32, value: u64| (resource, value, value);
    let all = vec![
        same(libc::RLIMIT_AS as u32, limits.memory_bytes),
        same(libc::RLIMIT_DATA as u32, limits.memory_bytes),
        // The first process of a namespace ignores the signal of the soft limit; the hard one kills.
        (libc::RLIMIT_CPU as u32, limits.cpu_seconds, limits.cpu_seconds + 1),
        same(libc::RLIMIT_NOFILE as u32, limits.open_files),
        same(libc::RLIMIT_FSIZE as u32, limits.file_bytes),
        same(libc::RLIMIT_CORE as u32, 0),
        same(libc::RLIMIT_NPROC as u32, threads),
        same(libc::RLIMIT_MEMLOCK as u32, 0),
        same(libc::RLIMIT_MSGQUEUE as u32, 0),
        same(libc::RLIMIT_SIGPENDING as u32, 64),
    ];
    all.into_iter().map(|(resource, soft, hard)| capped(resource, soft, hard)).collect()
}

/// Without a capability a hard limit can only fall.
fn capped(resource: u32, soft: u64, hard: u64) -> (u32, u64, u64) {
    let most = calls::hard_limit(resource).unwrap_or(u64::MAX);
    (resource, soft.min(most), hard.min(most))
}

/// Threads that a user has, as far as `/proc` shows them.
fn threads_of(uid: u32) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut count = 0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let is_process = entry.file_name().as_bytes().iter().all(u8::is_ascii_digit);
        if is_process && entry.metadata().is_ok_and(|metadata| metadata.uid() == uid) {
            count += std::fs::metadata(entry.path().join("task")).map_or(1, |task| task.nlink().saturating_sub(2));
        }
    }
    count
}

/// One user and one group exist in the namespace, under the numbers that the program acts as; never 0, which
/// `execve` would give capabilities.
fn write_maps(child: i32, identity: Identity) -> Result<(), (String, Errno)> {
    let own = calls::identity();
    let inside = change(identity).map_or(own, |change| (change.uid, change.gid));
    let outside = inside;
    let nonzero = |number: u32| if number == 0 { Identity::NOBODY } else { number };
    let write = |name: &str, content: String| {
        let path = format!("/proc/{child}/{name}");
        std::fs::write(&path, content).map_err(|error| (path, Errno::of(&error)))
    };
    if change(identity).is_none() {
        // Without the capability to change groups the kernel asks for it; who changes user leaves the groups before.
        write("setgroups", "deny".to_owned())?;
    }
    write("gid_map", format!("{} {} 1\n", nonzero(inside.1), outside.1))?;
    write("uid_map", format!("{} {} 1\n", nonzero(inside.0), outside.0))
}
