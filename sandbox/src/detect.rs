//! Which layers and tiers this host gives: found out by going through the whole set-up, and by looking from inside.

use crate::identity::automatic;
use crate::policy::{Identity, Policy};
use crate::raw::child::held;
use crate::raw::{calls, landlock};
use crate::report::{LayerReport, Report, TierReport};
use crate::spawn::rehearse;
use crate::{Layer, SetUpError, Tier};

/// Tries every tier, from the highest down. Takes a few milliseconds, and starts and ends four small processes.
#[must_use]
pub fn detect() -> Report {
    let (uid, _) = calls::identity();
    let runs_as = if automatic().is_ok() { Identity::NOBODY } else { uid };
    // The rehearsal executes nothing; the name only fills the plan.
    let policy = Policy::new("/");
    let trials: Vec<(Tier, Result<u32, SetUpError>)> =
        Tier::ALL.into_iter().map(|tier| (tier, rehearse(&policy, tier))).collect();
    let layers = Layer::ALL.into_iter().map(|layer| layer_report(layer, uid, runs_as, &trials)).collect();
    let tiers: Vec<TierReport> =
        trials.iter().map(|(tier, trial)| TierReport { tier: *tier, failure: failure(*tier, trial) }).collect();
    let highest = tiers.iter().find(|report| report.failure.is_none()).map(|report| report.tier);
    Report { layers, tiers, highest, uid, runs_as }
}

const fn bit(layer: Layer) -> u32 {
    match layer {
        Layer::Namespaces => held::NAMESPACES,
        Layer::Landlock => held::LANDLOCK,
        Layer::Seccomp => held::SECCOMP,
        Layer::Limits => held::LIMITS,
        Layer::Descriptors => held::DESCRIPTORS,
        Layer::Identity => held::NO_CAPABILITIES,
    }
}

fn failure(tier: Tier, trial: &Result<u32, SetUpError>) -> Option<String> {
    match trial {
        Err(error) => Some(error.to_string()),
        Ok(found) => {
            let missing: Vec<&str> = tier
                .layers()
                .iter()
                .copied()
                .filter(|layer| found & bit(*layer) == 0)
                .map(Layer::name)
                .chain((found & held::NO_CAPABILITIES == 0).then_some("dropped capabilities"))
                .collect();
            (!missing.is_empty()).then(|| format!("set up, but from inside not seen to hold: {}", missing.join(", ")))
        }
    }
}

fn layer_report(layer: Layer, uid: u32, runs_as: u32, trials: &[(Tier, Result<u32, SetUpError>)]) -> LayerReport {
    if layer == Layer::Identity {
        let (holds, reason) = match automatic() {
            Ok(()) => (true, format!("user {uid} starts programs as user {runs_as}")),
            Err(reason) => (false, format!("{reason}; they run as user {uid}")),
        };
        return LayerReport { layer, holds, reason };
    }
    let asking = trials.iter().filter(|(tier, _)| tier.layers().contains(&layer));
    let mut reason = "no tier could be set up".to_owned();
    for (tier, trial) in asking {
        match trial {
            Ok(found) if found & bit(layer) != 0 => {
                let detail = match (layer, landlock::version()) {
                    (Layer::Landlock, Ok(version)) => format!(", version {version}"),
                    _ => String::new(),
                };
                return LayerReport { layer, holds: true, reason: format!("seen from inside {tier}{detail}") };
            }
            Ok(_) => reason = format!("set up at {tier}, but from inside not seen to hold"),
            Err(error) => reason = error.to_string(),
        }
    }
    LayerReport { layer, holds: false, reason }
}
