//! Bounds on what a plugin may take: time, bytes, restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::answer::MAX_ANSWER_BYTES;

/// How payloads are fed to a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Feeding {
    /// Many a process; if the first is not answered in time by a program without a hello, its input is ended and it has
    /// the same time again. A program that answers then is fed as by [`Feeding::One`] from then on.
    #[default]
    Auto,
    /// Many a process, always.
    Many,
    /// One a process, whose input then ends.
    One,
}

/// Bounds, and how many processes or connections work at once. The bounds are part of what a fault means, so that a run
/// records them.
#[derive(Debug, Clone)]
pub struct PluginOptions {
    /// Processes, or connections, at once. Results do not depend on it.
    pub workers: usize,
    /// The longest wait for one answer; a process's start counts into its first.
    pub timeout: Duration,
    /// The longest wait for a process to end when its input has ended or it was killed.
    pub end_grace: Duration,
    /// Bytes of one answer.
    pub answer_bytes: usize,
    /// Bytes behind the last answer that make a flood of surplus lines.
    pub surplus_bytes: usize,
    /// Bytes on standard error in one session.
    pub error_bytes: u64,
    /// Bytes of standard error that a fault keeps.
    pub tail_bytes: usize,
    /// Payloads of one session.
    pub session_payloads: usize,
    /// The most payloads that wait in one process, whatever its `batch` is.
    pub window: usize,
    /// How payloads are fed to a program.
    pub feeding: Feeding,
    /// Payloads in a row whose process failed, after which the plugin is given up.
    pub faults_in_a_row: u32,
    /// Payloads in all whose process failed, after which the plugin is given up.
    pub faults_in_all: u32,
    /// Set by the user's interrupt.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for PluginOptions {
    /// One worker, 60 s an answer, 5 s to end, 256 KiB an answer, 1 MiB of surplus, 16 MiB on standard error of which
    /// 4 KiB are kept, 64 payloads a session, a window of 64, 8 faults in a row and 200 in all.
    fn default() -> Self {
        PluginOptions {
            workers: 1,
            timeout: Duration::from_secs(60),
            end_grace: Duration::from_secs(5),
            answer_bytes: MAX_ANSWER_BYTES,
            surplus_bytes: 1 << 20,
            error_bytes: 16 << 20,
            tail_bytes: 4 << 10,
            session_payloads: 64,
            window: 64,
            feeding: Feeding::Auto,
            faults_in_a_row: 8,
            faults_in_all: 200,
            stop: None,
        }
    }
}

impl PluginOptions {
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}
