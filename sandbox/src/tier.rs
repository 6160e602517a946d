//! Tiers of confinement and the layers that they are made of.

use std::fmt;

/// One mechanism of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// User, mount, process, network, IPC, host name and control group namespaces, with a file system of their own.
    Namespaces,
    /// Landlock: only the files that the policy names can be opened.
    Landlock,
    /// A system call filter that refuses what it doesn't list.
    Seccomp,
    /// Limits on memory, processor time, descriptors, file size and threads.
    Limits,
    /// Every descriptor but the three standard ones is closed.
    Descriptors,
    /// The process runs as another user than the one that started it. Only root can do so; no tier asks for it.
    Identity,
}

impl Layer {
    /// All layers, outermost first.
    pub const ALL: [Self; 6] =
        [Self::Namespaces, Self::Landlock, Self::Seccomp, Self::Limits, Self::Descriptors, Self::Identity];

    /// The layer's stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Limits => "limits",
            Self::Descriptors => "descriptors",
            Self::Identity => "identity",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How much confinement a process gets. Ordered: a higher tier holds more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Limits and closed descriptors. Outside Linux: limits alone.
    Limited,
    /// Tier 0 and a system call filter.
    Filtered,
    /// Tier 1 and Landlock: what containers with a default profile leave.
    Landlocked,
    /// Tier 2 and namespaces.
    Full,
}

/// May a process at some tier be given payloads of sealed tasks?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedUse {
    /// Yes.
    Yes,
    /// Yes, and the report names the tier.
    Named,
    /// Only when the user has accepted degraded isolation.
    OnlyAccepted,
}

impl Tier {
    /// All tiers, highest first.
    pub const ALL: [Self; 4] = [Self::Full, Self::Landlocked, Self::Filtered, Self::Limited];

    /// The tier's number, 0 to 3.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Limited => 0,
            Self::Filtered => 1,
            Self::Landlocked => 2,
            Self::Full => 3,
        }
    }

    /// The tier with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.number() == number)
    }

    /// The layers that the tier asks for.
    #[must_use]
    pub const fn layers(self) -> &'static [Layer] {
        const LAYERS: [Layer; 5] =
            [Layer::Namespaces, Layer::Landlock, Layer::Seccomp, Layer::Limits, Layer::Descriptors];
        let (_, rest) = LAYERS.split_at(3 - self.number() as usize);
        rest
    }

    /// May sealed tasks run at this tier?
    #[must_use]
    pub const fn sealed_use(self) -> SealedUse {
        match self {
            Self::Full => SealedUse::Yes,
            Self::Landlocked => SealedUse::Named,
            Self::Filtered | Self::Limited => SealedUse::OnlyAccepted,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "tier {} (", self.number())?;
        for (index, layer) in self.layers().iter().enumerate() {
            write!(formatter, "{}{layer}", if index == 0 { "" } else { ", " })?;
        }
        formatter.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_tier_has_all_layers_of_the_lower() {
        assert_eq!(Tier::Full.layers().len(), 5);
        assert_eq!(Tier::Limited.layers(), [Layer::Limits, Layer::Descriptors]);
        for pair in Tier::ALL.windows(2) {
            let [high, low] = pair else { panic!("windows of two") };
            assert!(high > low && high.layers().ends_with(low.layers()));
            assert_eq!(Tier::from_number(high.number()), Some(*high));
        }
        assert_eq!(Tier::from_number(4), None);
        assert_eq!(Tier::Filtered.to_string(), "tier 1 (seccomp, limits, descriptors)");
    }
}
