//! The audit: every probe inside the real sandbox; and the control: every probe without it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::fixture::Fixture;
use super::verdict::{How, Verdict};
use super::{Probe, all};
use crate::busy::start_once_free;
use crate::ending::{Bounds, End, Finished, Stopped};
use crate::identity::automatic;
use crate::policy::{Limits, Network, Policy, Scratch};
use crate::{SetUpError, Tier, spawn};

/// A program that hands the arguments after its own to [`super::probe_main`].
#[derive(Clone, Debug)]
pub struct Host {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its own arguments, which come first.
    pub arguments: Vec<String>,
}

/// Which probes to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Those that take a few milliseconds each: before every scoring run.
    Quick,
    /// All.
    All,
}

impl Selection {
    fn probes(self) -> impl Iterator<Item = &'static Probe> {
        all().filter(move |probe| self == Self::All || !probe.slow)
    }
}

/// What came of one probe.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The probe.
    pub probe: &'static Probe,
    /// What came of it.
    pub verdict: Verdict,
    /// It is claimed to be blocked at the tier of the audit, for the user that it ran as.
    pub claimed: bool,
}

impl ProbeResult {
    /// Does the result fall short of what is claimed? So does one that could not be set up.
    #[must_use]
    pub fn falls_short(&self) -> bool {
        self.claimed && !self.verdict.is_blocked()
    }
}

/// Runs probes inside the sandbox at this tier.
///
/// # Errors
///
/// What the probes look for can't be planted. A probe that can't be started is a [`Verdict::NotSetUp`].
pub fn audit(host: &Host, tier: Tier, selection: Selection) -> io::Result<Vec<ProbeResult>> {
    audit_with(host, tier, selection, &Network::None)
}

/// The same with the network open, without the probes of it: they show nothing then.
///
/// # Errors
///
/// As for [`audit`].
pub fn audit_with_network(host: &Host, tier: Tier, selection: Selection) -> io::Result<Vec<ProbeResult>> {
    audit_with(host, tier, selection, &Network::All)
}

fn audit_with(host: &Host, tier: Tier, selection: Selection, network: &Network) -> io::Result<Vec<ProbeResult>> {
    let dropped = automatic().is_ok();
    let run = |fixture: &Fixture, probe: &'static Probe| {
        let policy = Policy { network: network.clone(), ..policy(fixture, host, tier, probe) };
        confined(&policy, tier, probe)
    };
    let probes = selection.probes().filter(|probe| *network == Network::None || !probe.is_of_network());
    results(host, probes, run, |probe| probe.claimed(tier, dropped))
}

/// Runs the same probes without a sandbox, as the user that asks: which of them can succeed here.
///
/// # Errors
///
/// What the probes look for can't be planted.
pub fn control(host: &Host, selection: Selection) -> io::Result<Vec<ProbeResult>> {
    results(host, selection.probes(), |fixture, probe| unconfined(fixture, host, probe), |_| false)
}

/// Plants what the probes look for and runs each of them.
fn results(
    host: &Host,
    probes: impl Iterator<Item = &'static Probe>,
    run: impl Fn(&Fixture, &'static Probe) -> Verdict,
    claimed: impl Fn(&Probe) -> bool,
) -> io::Result<Vec<ProbeResult>> {
    let fixture = Fixture::plant(host)?;
    let results = probes.map(|probe| {
        let run = || run(&fixture, probe);
        let verdict = if probe.id == "file-planted-hard-link" {
            fixture.with_hard_link(run).unwrap_or_else(|errno| Verdict::NotSetUp(format!("no hard link: {errno}")))
        } else {
            run()
        };
        ProbeResult { probe, verdict, claimed: claimed(probe) }
    });
    Ok(results.collect())
}

/// The policy that probes run under: that of an evaluator, with limits that show soon.
fn policy(fixture: &Fixture, host: &Host, tier: Tier, probe: &Probe) -> Policy {
    let scratch = (tier == Tier::Full).then(|| Scratch { path: "/scratch".into(), bytes: 1 << 20, files: 32 });
    Policy {
        arguments: host.arguments.iter().map(String::as_str).chain(["run", probe.id]).map(Into::into).collect(),
        environment: fixture.environment(scratch.as_ref().map(|scratch| scratch.path.as_path())),
        read_only: vec![fixture.public()],
        private: vec![fixture.private()],
        hidden: if tier < Tier::Landlocked { Vec::new() } else { vec![fixture.hidden()] },
        limits: Limits { memory_bytes: 1 << 30, cpu_seconds: 1, open_files: 64, file_bytes: 1 << 20, threads: 16 },
        scratch,
        ..Policy::new(&fixture.program)
    }
}

fn bounds(probe: &Probe) -> Bounds {
    let wall = match probe.id {
        "hang" => 200,
        // Room for a busy host: the processor time is what must end it.
        "cpu-loop" => 30_000,
        _ => 10_000,
    };
    Bounds { wall: Duration::from_millis(wall), output_bytes: 1 << 18, error_bytes: 1 << 18 }
}

fn confined(policy: &Policy, tier: Tier, probe: &Probe) -> Verdict {
    let started = match spawn(policy, tier) {
        Ok(started) => started,
        Err(SetUpError::LinkedPrivateFile { path, .. }) => {
            return Verdict::Blocked(How::Refused(format!("{} has several links", path.display())));
        }
        Err(error) => return Verdict::NotSetUp(error.to_string()),
    };
    match started.run(b"", &bounds(probe)) {
        Ok(finished) => judge(&finished, probe),
        Err(error) => Verdict::NotSetUp(error.to_string()),
    }
}

fn judge(finished: &Finished, probe: &Probe) -> Verdict {
    match (finished.stopped, finished.exit.end) {
        (Some(Stopped::WallClock), _) => Verdict::Blocked(How::Limit("wall clock")),
        (Some(Stopped::Output), _) => Verdict::Blocked(How::Limit("bytes on standard output")),
        (Some(Stopped::Errors), _) => Verdict::Blocked(How::Limit("bytes on standard error")),
        (None, End::CpuLimit) => Verdict::Blocked(How::Limit("processor time")),
        (None, end) => Verdict::read(&finished.output).unwrap_or_else(|| match end {
            // The filter's own signal, and that of a file that has grown too large.
            End::Signal(number) if number == libc::SIGSYS || number == libc::SIGXFSZ => {
                Verdict::Blocked(How::Signal(number))
            }
            end => Verdict::NotSetUp(format!(
                "{} ended with {end:?} and no verdict: {}",
                probe.id,
                String::from_utf8_lossy(&finished.errors).trim()
            )),
        }),
    }
}

fn unconfined(fixture: &Fixture, host: &Host, probe: &Probe) -> Verdict {
    let scratch = fixture.base.join("scratch");
    let mut command = Command::new(&host.program);
    command
        .args(&host.arguments)
        .args(["run", probe.id])
        .env_clear()
        .envs(fixture.environment(Some(Path::new(&scratch))))
        .stdin(Stdio::null());
    match start_once_free(|| command.output()) {
        Ok(output) => Verdict::read(&output.stdout)
            .unwrap_or_else(|| Verdict::NotSetUp(format!("ended without a verdict: {}", output.status))),
        Err(error) => Verdict::NotSetUp(error.to_string()),
    }
}
