//! What `parthack doctor` says of the sandbox that users' own programs run in.

use parthack_sandbox::{SealedUse, Tier, detect};

use super::doctor::Finding;

/// The tier that holds here, then each layer; found by trying.
pub(super) fn findings() -> Vec<Finding> {
    let report = detect();
    let mut findings = vec![of_tier(report.highest)];
    findings.extend(report.layers.iter().map(|layer| {
        let says = layer.reason.replace('\n', "; ");
        Finding::of_plugins(format!("  layer {}", layer.layer), layer.holds, says)
    }));
    findings
}

fn of_tier(highest: Option<Tier>) -> Finding {
    let (works, says) = match highest {
        None => (false, "none: users' own programs can't be run".to_owned()),
        Some(tier) if tier.sealed_use() == SealedUse::OnlyAccepted => {
            (false, format!("{tier}: users' own programs are run with --accept-degraded alone"))
        }
        Some(tier) => (true, format!("{tier}: users' own programs are run at it")),
    };
    Finding::of_plugins("evaluator sandbox".to_owned(), works, says)
}
