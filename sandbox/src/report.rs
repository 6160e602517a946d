//! The report on what a host gives, and its lines.

use std::fmt;

use crate::{Layer, Tier};

/// Whether one layer holds, and what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerReport {
    /// The layer.
    pub layer: Layer,
    /// It was set up and seen to hold from inside.
    pub holds: bool,
    /// How, or why not.
    pub reason: String,
}

/// One tier: it was reached, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierReport {
    /// The tier.
    pub tier: Tier,
    /// Why it can't be reached; `None` if it can.
    pub failure: Option<String>,
}

/// What this host gives to this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Every layer.
    pub layers: Vec<LayerReport>,
    /// Every tier, highest first.
    pub tiers: Vec<TierReport>,
    /// The highest tier that holds; `None` if not even limits can be set.
    pub highest: Option<Tier>,
    /// The user that asked.
    pub uid: u32,
    /// The user that confined programs run as.
    pub runs_as: u32,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.highest {
            Some(tier) => writeln!(formatter, "isolation: {tier}")?,
            None => writeln!(formatter, "isolation: none")?,
        }
        for report in &self.layers {
            let mark = if report.holds { "holds" } else { "no   " };
            writeln!(formatter, "  {:<12} {mark}  {}", report.layer.name(), report.reason.replace('\n', "; "))?;
        }
        for report in self.tiers.iter() {
            if let Some(failure) = &report.failure {
                writeln!(
                    formatter,
                    "  tier {} can't be reached: {}",
                    report.tier.number(),
                    failure.replace('\n', "; ")
                )?;
            }
        }
        Ok(())
    }
}
