//! How a confined run ends: by itself, by a limit of the kernel, or by a bound that the parent keeps.

use std::time::Duration;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It returned this code.
    Code(i32),
    /// A signal ended it. 31 (`SIGSYS`) is the system call filter's.
    Signal(i32),
    /// It used up its processor time.
    CpuLimit,
}

/// The end of a process and what it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub end: End,
    /// Processor time.
    pub cpu_time: Duration,
    /// The most resident memory, in KiB.
    pub resident_kib: u64,
}

impl Exit {
    /// Did the process return 0?
    #[must_use]
    pub fn success(&self) -> bool {
        self.end == End::Code(0)
    }
}

/// Why the parent stopped a run, if it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It ran longer than allowed by the clock.
    WallClock,
    /// It wrote more than allowed on its standard output.
    Output,
    /// It wrote more than allowed on its standard error.
    Errors,
}

/// Bounds on a run that the parent sees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Time by the clock.
    pub wall: Duration,
    /// Bytes on standard output.
    pub output_bytes: usize,
    /// Bytes on standard error.
    pub error_bytes: usize,
}

impl Default for Bounds {
    /// 60 s, 16 MiB, 1 MiB.
    fn default() -> Self {
        Self { wall: Duration::from_secs(60), output_bytes: 16 << 20, error_bytes: 1 << 20 }
    }
}

/// A whole run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Why the parent stopped it, if it did.
    pub stopped: Option<Stopped>,
    /// What it wrote on standard output, up to the bound.
    pub output: Vec<u8>,
    /// What it wrote on standard error, up to the bound.
    pub errors: Vec<u8>,
}
