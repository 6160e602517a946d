//! The tier of the sandbox that programs of users' own run at: asked for, tried, probed.

use std::path::Path;

use parthack_sandbox::{SealedUse, Tier, detect};

use crate::failure::Failure;

/// The lowest tier that a run puts up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    lowest: Tier,
    /// Whether a tier was named, which then holds whatever else was accepted.
    is_named: bool,
}

impl Level {
    /// The lowest tier that may run sealed tasks without further words, a named tier, or any if that was accepted.
    ///
    /// # Errors
    /// A tier that isn't one, or one too low for sealed tasks that nobody accepted.
    pub fn of(asked: Option<u8>, accept_degraded: bool) -> Result<Level, Failure> {
        let lowest = match asked {
            None if accept_degraded => Tier::Limited,
            None => Tier::Landlocked,
            Some(number) => Tier::from_number(number)
                .ok_or_else(|| Failure::usage(format!("--require-sandbox: there is no tier {number}"), "0 to 3"))?,
        };
        if lowest.sealed_use() == SealedUse::OnlyAccepted && !accept_degraded {
            let message = format!("--require-sandbox {}: sealed tasks need at least tier 2", lowest.number());
            return Err(Failure::usage(message, "add --accept-degraded to run with less; reports will say so"));
        }
        Ok(Level { lowest, is_named: asked.is_some() })
    }

    /// What to do on a host that gives less.
    fn hint(self, found: Option<Tier>) -> String {
        const DOCTOR: &str = "parthack doctor shows what is missing";
        match found {
            // Nothing makes a sandbox of none.
            None => DOCTOR.to_owned(),
            Some(_) if !self.is_named => format!("{DOCTOR}; --accept-degraded runs with less, and says so"),
            Some(found) => {
                let number = found.number();
                let needs_more = found.sealed_use() == SealedUse::OnlyAccepted;
                let accepted = if needs_more { " --accept-degraded" } else { "" };
                format!("{DOCTOR}; --require-sandbox {number}{accepted} runs with what there is")
            }
        }
    }

    /// The lowest tier.
    #[must_use]
    pub fn lowest(self) -> Tier {
        self.lowest
    }
}

/// What this host gives, as seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// The highest tier that holds.
    pub highest: Tier,
    /// The lowest that is put up with.
    pub lowest: Tier,
    /// What probes inside the sandbox saw.
    pub probed: String,
    /// The user that programs run as, where it is another than the one who calls.
    pub runs_as: Option<u32>,
}

impl Confinement {
    /// Tries what the host gives and probes it from inside, with the network that programs get; `probe` is this program.
    ///
    /// # Errors
    /// Less than the level, or a probe that got through although the tier claims to stop it.
    pub fn establish(level: Level, network: bool, probe: &Path) -> Result<Confinement, Failure> {
        let report = detect();
        let reasons = || {
            let missing = report.layers.iter().filter(|layer| !layer.holds);
            let reasons: Vec<String> =
                missing.map(|layer| format!("{}: {}", layer.layer, layer.reason.replace('\n', "; "))).collect();
            reasons.join("; ")
        };
        match report.highest {
            Some(highest) if highest >= level.lowest => {
                let probed = probed(probe, highest, network)?;
                let runs_as = (report.runs_as != report.uid).then_some(report.runs_as);
                Ok(Confinement { highest, lowest: level.lowest, probed, runs_as })
            }
            found => {
                let hint = level.hint(found);
                let found = found.map_or_else(|| "none at all".to_owned(), |tier| tier.to_string());
                let reasons = reasons();
                let message =
                    format!("this host gives a sandbox of {found}, expected at least {}: {reasons}", level.lowest);
                Err(Failure::absent(message, hint))
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn probed(probe: &Path, tier: Tier, network: bool) -> Result<String, Failure> {
    use parthack_sandbox::probes::{Host, Selection, audit, audit_with_network};
    let host = Host { program: probe.to_path_buf(), arguments: vec![crate::audit::PROBE_COMMAND.to_owned()] };
    let (audit, left_out): (fn(&_, _, _) -> _, _) =
        if network { (audit_with_network, "; those of the network, which is open, left out") } else { (audit, "") };
    let results = audit(&host, tier, Selection::Quick)
        .map_err(|error| Failure::environment("cannot probe the sandbox", error, "see parthack doctor"))?;
    if let Some(open) = results.iter().find(|result| result.falls_short()) {
        let message = format!("the sandbox of {tier} does not hold: probe {} ({})", open.probe.id, open.probe.what);
        return Err(Failure::absent(
            format!("{message}: {}", open.verdict),
            "parthack audit shows all probes; please report it",
        ));
    }
    let blocked = results.iter().filter(|result| result.verdict.is_blocked()).count();
    Ok(format!("{blocked} of {} probes inside it were blocked{left_out}", results.len()))
}

#[cfg(not(target_os = "linux"))]
fn probed(_: &Path, _: Tier, _: bool) -> Result<String, Failure> {
    Ok("not probed on this system".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_sealed_tasks_need_must_be_accepted() {
        assert_eq!(Level::of(None, false).map(Level::lowest).ok(), Some(Tier::Landlocked));
        assert_eq!(Level::of(Some(3), false).map(Level::lowest).ok(), Some(Tier::Full));
        assert_eq!(Level::of(None, true).map(Level::lowest).ok(), Some(Tier::Limited));
        assert_eq!(Level::of(Some(1), true).map(Level::lowest).ok(), Some(Tier::Filtered));
        let hint = |asked, found| Level::of(asked, false).map(|level| level.hint(found)).unwrap_or_default();
        for (asked, found, expected) in [
            (Some(3), Some(Tier::Landlocked), "; --require-sandbox 2 runs with"),
            (Some(3), Some(Tier::Filtered), "; --require-sandbox 1 --accept-degraded runs with"),
            (None, Some(Tier::Filtered), "; --accept-degraded runs with less"),
        ] {
            assert!(hint(asked, found).contains(expected), "{}", hint(asked, found));
        }
        assert_eq!(hint(None, None), "parthack doctor shows what is missing");
        assert!(Level::of(Some(1), false).is_err() && Level::of(Some(4), true).is_err());
    }
}
