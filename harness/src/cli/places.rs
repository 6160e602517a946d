//! Flags that say where things are, shared by several commands.

use std::path::PathBuf;

use crate::locate::Places;

/// Where the suite is.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SuiteArgs {
    /// Suite folder, or the name of an installed suite [default: pb-cste-1]
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
}

/// Where the private side is.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SealedArgs {
    /// Folder of the suite's private packages [default: that of the suite, in sealed/ beside tasks/]
    #[arg(long, value_name = "DIR")]
    pub sealed: Option<PathBuf>,
    /// The certifier's program [default: beside this one]
    #[arg(long, value_name = "FILE")]
    pub certifier: Option<PathBuf>,
}

impl SuiteArgs {
    /// The places that these flags name.
    #[must_use]
    pub fn places(&self) -> Places {
        Places { suite: self.suite.clone(), ..Places::default() }
    }

    /// The places that these flags and those of the private side name.
    #[must_use]
    pub fn places_with(&self, sealed: &SealedArgs) -> Places {
        Places { suite: self.suite.clone(), sealed: sealed.sealed.clone(), certifier: sealed.certifier.clone() }
    }
}
