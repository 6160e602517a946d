//! The flags about evaluators of users' own.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parthack_certifier::sealing::folder::{KEY_FILE_VARIABLE, KEY_VARIABLE};
use parthack_evaluators::plugin::PluginOptions;

use crate::cli::run::this_program;
use crate::failure::Failure;
use crate::plugin::{Bounds, Conditions, Level};

/// Flags of commands that start evaluators of users' own.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Evaluators of your own")]
pub(super) struct PluginArgs {
    /// Seconds for one payload
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// MiB of memory for one process
    #[arg(long, default_value_t = 2048, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..=1_048_576))]
    memory: u64,
    /// Processes of an evaluator at once; results don't depend on it [default: all cores]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// The lowest tier of the sandbox to run at, 0 to 3 [default: 2]
    #[arg(long, value_name = "TIER")]
    require_sandbox: Option<u8>,
    /// Run also where the sandbox is weaker than sealed tasks need (tiers 0 and 1)
    #[arg(long)]
    accept_degraded: bool,
    /// Let programs reach the network, all that this host reaches, itself and what listens on it included; there is no switch for
    /// one host alone
    #[arg(long)]
    allow_network: bool,
    /// A further file or folder that programs may read, without what is private in it; may be given several times
    #[arg(long, value_name = "PATH")]
    allow_read: Vec<PathBuf>,
    /// A variable that programs get too, but for the suite's key; may be given several times
    #[arg(long, value_name = "NAME")]
    keep_env: Vec<OsString>,
}

impl PluginArgs {
    /// What programs are started under; `sealed` and the file of the suite's key are kept from them.
    ///
    /// # Errors
    /// A tier that isn't one, a path that can't be found, a variable with the suite's key.
    pub(super) fn conditions(&self, sealed: &Path, stop: Option<Arc<AtomicBool>>) -> Result<Conditions, Failure> {
        let defaults = PluginOptions::default();
        let readable = self.allow_read.iter().map(|path| {
            std::fs::canonicalize(path).map_err(|error| {
                Failure::environment(format!("--allow-read {}", path.display()), error, "name a path that exists")
            })
        });
        let options = PluginOptions {
            workers: super::run::threads(self.workers),
            timeout: Duration::from_secs(self.timeout),
            stop,
            ..defaults
        };
        // The clock bounds each answer; processor time bounds a process with threads, over all of its answers.
        let cpu_seconds = self.timeout.saturating_mul(options.session_payloads as u64).saturating_add(60);
        if let Some(name) = self.keep_env.iter().find(|name| name.to_string_lossy().starts_with(KEY_VARIABLE)) {
            let message = format!("--keep-env {}: the suite's key opens the answers", name.display());
            return Err(Failure::usage(message, "an evaluator gets payloads alone; name other variables"));
        }
        if let Some(name) = self.keep_env.iter().find(|name| name.is_empty() || name.to_string_lossy().contains('=')) {
            let message = format!("--keep-env {}: that is no name of a variable", name.display());
            let hint = "--keep-env takes names only; to set a variable, write exec:'env NAME=VALUE PROGRAM'";
            return Err(Failure::usage(message, hint));
        }
        let mut conditions = Conditions {
            level: Level::of(self.require_sandbox, self.accept_degraded)?,
            bounds: Bounds { memory_bytes: self.memory << 20, cpu_seconds },
            network: self.allow_network,
            keep: self.keep_env.iter().cloned().collect(),
            readable: readable.collect::<Result<_, _>>()?,
            private: vec![std::path::absolute(sealed).unwrap_or_else(|_| sealed.to_path_buf())],
            hidden: Vec::new(),
            probe: this_program()?,
            options,
            established: OnceCell::new(),
        };
        if let Some(file) = std::env::var_os(KEY_FILE_VARIABLE).filter(|file| !file.is_empty()) {
            conditions.hide(Path::new(&file));
        }
        Ok(conditions)
    }
}
