//! Private access: the sandbox's own probes, run inside the tier that programs get on this host, beside the same probes
//! without it; as root also as a user without rights. And what the certifier's confinement kills.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::audit::context::Context;
use crate::audit::outcome::Outcome;
use crate::run::error::RunError;

/// The hidden command by which this program is a probe.
pub const COMMAND: &str = "__probe";

/// How the sandbox is probed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probing {
    /// A program that answers to [`COMMAND`]: this one.
    pub program: PathBuf,
    /// The tier to set up, instead of the highest that holds here. Claims are always those of the highest.
    pub tier: Option<u8>,
}

/// Serves as a probe if the command line asks for it: the code to exit with.
#[must_use]
pub fn serve(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    if arguments.nth(1).is_none_or(|command| command != COMMAND) {
        return None;
    }
    Some(serve_probe(&arguments.collect::<Vec<_>>()))
}

#[cfg(target_os = "linux")]
pub(super) use linux::audit;
#[cfg(target_os = "linux")]
use linux::serve_probe;

#[cfg(not(target_os = "linux"))]
fn serve_probe(_: &[OsString]) -> u8 {
    crate::failure::Exit::Environment.code()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn audit(_: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    outcome.not_run =
        Some("the probes try ways out of a Linux sandbox; on this system there is tier 0 alone".to_owned());
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::path::Path;
    use std::process::{Command, Stdio};

    use parthack_sandbox::probes::{
        Host, How, Possible, ProbeResult, Selection, Verdict, audit as probe, control, probe_main, reachable,
    };
    use parthack_sandbox::{Identity, Tier, detect, start_once_free};
    use serde::{Deserialize, Serialize};

    use super::{COMMAND, Context, Outcome, RunError};
    use crate::run::error::RunError as Fault;

    /// What the confined certifier must not live through.
    const DEEDS: [&str; 8] = ["open", "socket", "fork", "thread", "exec", "trace", "code", "kill"];
    /// The signal of a system call filter.
    const SIGSYS: i32 = 31;

    /// What one user saw.
    #[derive(Debug, Serialize, Deserialize)]
    struct Seen {
        /// The highest tier that holds.
        highest: Option<u8>,
        /// The user of the probes.
        runs_as: u32,
        /// What can't be had here, and why.
        missing: Vec<String>,
        probes: Vec<Tried>,
        deeds: Vec<Deed>,
    }

    /// A probe, confined and not.
    #[derive(Debug, Serialize, Deserialize)]
    struct Tried {
        id: String,
        what: String,
        /// The tier from which on it is claimed to be blocked.
        from: u8,
        /// Claimed to be blocked at the highest tier.
        claimed: bool,
        blocked: bool,
        /// What came of it, with the mechanism.
        says: String,
        /// Whether it succeeds without a sandbox, and must.
        open_without: bool,
        must_be_open_without: bool,
    }

    /// What the confined certifier was told to do.
    #[derive(Debug, Serialize, Deserialize)]
    struct Deed {
        name: String,
        killed: bool,
        says: String,
    }

    /// `report [TIER]`: all quick probes as this user, as JSON; else one part of a probe.
    pub(super) fn serve_probe(arguments: &[OsString]) -> u8 {
        let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let (["report", rest @ ..], Ok(program)) = (words.as_slice(), std::env::current_exe()) else {
            return probe_main(arguments);
        };
        let tier = rest.first().and_then(|number| number.parse().ok()).and_then(Tier::from_number);
        match see(&program, tier) {
            Ok(seen) => {
                let text = serde_json::to_vec(&seen).unwrap_or_default();
                u8::from(std::io::stdout().lock().write_all(&text).is_err())
            }
            Err(error) => {
                eprintln!("{error}");
                4
            }
        }
    }

    fn see(program: &Path, tier: Option<Tier>) -> std::io::Result<Seen> {
        let report = detect();
        let missing = report.layers.iter().filter(|layer| !layer.holds);
        let mut seen = Seen {
            highest: report.highest.map(Tier::number),
            runs_as: report.runs_as,
            missing: missing.map(|layer| format!("{}: {}", layer.layer, layer.reason.replace('\n', "; "))).collect(),
            probes: Vec::new(),
            deeds: Vec::new(),
        };
        let Some(highest) = report.highest else { return Ok(seen) };
        let dropped = report.runs_as != report.uid;
        let host = Host { program: program.to_path_buf(), arguments: vec![COMMAND.to_owned()] };
        let confined = probe(&host, tier.unwrap_or(highest), Selection::Quick)?;
        let without = control(&host, Selection::Quick)?;
        for (ProbeResult { probe, verdict, .. }, free) in confined.iter().zip(&without) {
            seen.probes.push(Tried {
                id: probe.id.to_owned(),
                what: probe.what.to_owned(),
                from: if dropped { probe.claim.dropped } else { probe.claim.unprivileged }.number(),
                claimed: probe.claimed(highest, dropped),
                blocked: verdict.is_blocked(),
                says: says(verdict),
                open_without: free.verdict.is_open(),
                must_be_open_without: probe.possible == Possible::Always,
            });
        }
        seen.deeds = DEEDS.iter().map(|name| deed(program, name)).collect::<std::io::Result<_>>()?;
        Ok(seen)
    }

    /// What came of a probe, without the name of a folder that differs from run to run.
    fn says(verdict: &Verdict) -> String {
        match verdict {
            Verdict::Blocked(How::Refused(_)) => {
                "blocked (refused before the start: a private file has two links)".to_owned()
            }
            verdict => verdict.to_string(),
        }
    }

    /// A process that confines itself as the certifier does, and then tries something.
    fn deed(program: &Path, name: &str) -> std::io::Result<Deed> {
        let mut command = Command::new(program);
        command.args([COMMAND, "certifier-deed", name]).stdin(Stdio::null()).stderr(Stdio::null());
        let status = command.stdout(Stdio::null()).status()?;
        Ok(Deed { name: name.to_owned(), killed: status.signal() == Some(SIGSYS), says: status.to_string() })
    }

    pub(in crate::audit) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
        let probing = &context.job.probing;
        let own = std::fs::metadata("/proc/self").map(|own| own.uid());
        let scratch = tempfile::Builder::new().prefix("parthack-probe-").tempdir();
        let scratch =
            scratch.map_err(|error| Fault::storage("cannot create a folder in", &std::env::temp_dir(), error))?;
        let mut users = vec![("the user of this audit", None)];
        if own.is_ok_and(|uid| uid == 0) {
            users.push(("a user without rights", Some(Identity::NOBODY)));
        } else {
            outcome.notes.push("not root: the probes ran as this user alone".to_owned());
        }
        for (who, uid) in users {
            let program = match uid {
                None => probing.program.clone(),
                Some(_) => passable(scratch.path())
                    .and_then(|()| reachable(&probing.program, scratch.path()))
                    .map_err(|error| Fault::storage("cannot copy", &probing.program, error))?,
            };
            match ask(&program, probing.tier, uid) {
                Ok(seen) => judge(&seen, who, outcome),
                Err(why) => outcome.finds(format!("probes as {who}"), why, "a report"),
            }
        }
        Ok(())
    }

    fn passable(folder: &Path) -> std::io::Result<()> {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
    }

    fn ask(program: &Path, tier: Option<u8>, uid: Option<u32>) -> Result<Seen, String> {
        let mut command = Command::new(program);
        command.args([COMMAND, "report"]).args(tier.map(|tier| tier.to_string())).current_dir("/").stdin(Stdio::null());
        if let Some(uid) = uid {
            command.uid(uid).gid(uid);
        }
        let output = start_once_free(|| command.output()).map_err(|error| error.to_string())?;
        let errors = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{}: {error}: {}", output.status, errors.trim()))
    }

    fn judge(seen: &Seen, who: &str, outcome: &mut Outcome) {
        let Some(highest) = seen.highest else {
            outcome.finds(format!("sandbox as {who}"), "no tier at all", "at least tier 1");
            return;
        };
        let tier = Tier::from_number(highest).map_or_else(|| highest.to_string(), |tier| tier.to_string());
        outcome.notes.push(format!("{who}: {tier}; probes run as user {}", seen.runs_as));
        seen.missing.iter().for_each(|missing| outcome.notes.push(format!("{who}: {missing}")));
        let mut mechanisms = std::collections::BTreeMap::<&str, usize>::new();
        for tried in &seen.probes {
            outcome.checks(&format!("probes inside the sandbox as {who}"), 1);
            let place = format!("probe {} ({}) as {who}", tried.id, tried.what);
            if tried.claimed && !tried.blocked {
                outcome.finds(place.as_str(), tried.says.as_str(), format!("blocked at tier {highest}"));
            }
            outcome.details.push(format!("{place}: {}, claimed from tier {}", tried.says, tried.from));
            if tried.blocked {
                *mechanisms.entry(&tried.says).or_default() += 1;
            } else if !tried.claimed {
                outcome.counts(&format!("probes open as {who}, and not claimed to be blocked"), 1);
            }
            if tried.must_be_open_without && !tried.open_without {
                outcome.finds(place, "no success without a sandbox either", "success, or the probe shows nothing");
            }
            outcome
                .counts(&format!("probes that succeed without the sandbox as {who}"), usize::from(tried.open_without));
        }
        for (says, number) in mechanisms {
            outcome.counts(&format!("as {who}: {says}"), number);
        }
        for deed in &seen.deeds {
            outcome.checks(&format!("deeds of a confined certifier as {who}"), 1);
            outcome.details.push(format!("confined certifier, {}, as {who}: {}", deed.name, deed.says));
            if !deed.killed {
                let place = format!("confined certifier, {}, as {who}", deed.name);
                outcome.finds(place, deed.says.as_str(), format!("an end by signal {SIGSYS}"));
            }
        }
    }
}
