//! One tier down where the host doesn't give the one that was asked for, and why.

use crate::{Confined, Policy, SetUpError, Tier, spawn};

/// A tier that was tried and not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallen {
    /// The tier.
    pub tier: Tier,
    /// Why it couldn't be set up.
    pub reason: SetUpError,
}

/// Starts a program at the highest tier from `highest` down to `lowest` that can be set up, and tells which were tried
/// before. [`Confined::tier`] tells the one that holds; a report must name it.
///
/// # Errors
///
/// As for [`spawn`], at the lowest tier; or at once where a lower tier wouldn't help, as when the program doesn't exist.
pub fn spawn_down_to(policy: &Policy, highest: Tier, lowest: Tier) -> Result<(Confined, Vec<Fallen>), SetUpError> {
    let mut fallen = Vec::new();
    let mut tier = highest;
    loop {
        match spawn(policy, tier) {
            Ok(confined) => return Ok((confined, fallen)),
            Err(reason) if reason.depends_on_host() && tier > lowest => fallen.push(Fallen { tier, reason }),
            Err(reason) => return Err(reason),
        }
        // There is one: the tier was above the lowest.
        tier = Tier::from_number(tier.number() - 1).unwrap_or(lowest);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_no_tier_can_help_is_an_error_at_once() {
        let error = spawn_down_to(&Policy::new("/no/such/program"), Tier::Full, Tier::Limited).expect_err("refused");
        assert!(!error.depends_on_host(), "{error}");
        let (confined, fallen) =
            spawn_down_to(&Policy::new("/bin/sh").arguments(["-c", ":"]), Tier::Filtered, Tier::Limited)
                .expect("started");
        assert_eq!(confined.tier(), if fallen.is_empty() { Tier::Filtered } else { Tier::Limited });
    }
}
