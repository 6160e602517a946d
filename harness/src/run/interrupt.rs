//! A clean stop: the first Ctrl-C lets units under way end, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::run::error::RunError;

/// A flag that the first SIGINT or SIGTERM sets; the second ends the process at once with 130.
///
/// # Errors
/// [`RunError::Usage`] if the process has another handler already.
pub fn stop_on_signal() -> Result<Arc<AtomicBool>, RunError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let installed = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            // The journal tolerates an end at any moment.
            std::process::exit(130);
        }
    });
    match installed {
        Ok(()) => Ok(stop),
        Err(error) => Err(RunError::usage(format!("cannot listen for signals: {error}"), "run one job a process")),
    }
}
