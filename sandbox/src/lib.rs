//! Confinement of the programs that score (evaluators) and of the process that knows the answers (certifier), and the probes
//! that test it.
//!
//! ```no_run
//! use parthack_sandbox::{Bounds, Policy, detect, spawn};
//!
//! let tier = detect().highest.expect("at least tier 0");
//! let policy = Policy::new("/usr/bin/python3").arguments(["/home/me/judge/main.py"]).readable("/home/me/judge");
//! let finished = spawn(&policy, tier)?.run(b"{}\n", &Bounds::default())?;
//! println!("{:?} {}", finished.exit.end, String::from_utf8_lossy(&finished.output));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Tiers
//!
//! Four, each with all that the lower ones have. "Open" counts the probes of the module `probes` (Linux alone) that still succeed, "reads" those that
//! read the planted secret; of 81 on Linux 6.18 with Landlock 7, where 69 succeed unconfined for a user without rights and 80
//! for root.
//!
//! | tier | made of | open / reads, user without rights | open / reads, root that drops to another user |
//! |---|---|---|---|
//! | 3 | namespaces, Landlock, seccomp, limits, closed descriptors | 0 / 0 | 0 / 0 |
//! | 2 | Landlock, seccomp, limits, closed descriptors | 2 / 0 | 0 / 0 |
//! | 1 | seccomp, limits, closed descriptors | 19 / 8 | 2 / 0 |
//! | 0 | limits, closed descriptors | 54 / 13 | 21 / 0 |
//!
//! The two at tier 2 are the status of a file whose path is known, and opening the own standard input anew. The two at tier 1
//! are the arguments of the parent and of the certifier. `parthack-probe audit TIER` counts them anew on any host.
//!
//! **A tier is what was tried and seen**, never what a distribution is called: [`detect`] goes through the whole set-up and
//! looks from inside. A set-up that fails is a [`SetUpError`] with the step and the error; it is never counted as "blocked",
//! and [`spawn`] never starts a program at another tier than the one that was asked for; [`spawn_down_to`] may, and keeps the
//! reason.
//!
//! # What holds at tier 3
//!
//! - The program sees a read-only root with its own file, its loader and libraries, what the policy names, `/dev/null` and
//!   `/dev/urandom`; no `/proc`, nothing to write to but a sized scratch folder, if it has one.
//! - It is alone: no process but itself can be seen or signalled, it has no network interface that is up, no keys, no shared
//!   memory. It can start threads up to a limit, and no process.
//! - One `execve` is allowed, the one that starts it: it carries 192 random bits in registers that the call doesn't use,
//!   and the filter asks for them. So `#!` lines work, and later executions fail with `EACCES` without a supervisor.
//! - Memory, processor time, descriptors and file sizes end; the parent ends it by the clock or by the size of its output.
//! - Root starts it as user 65534. Mounts are copied before the change of user, so that a program below a closed folder such
//!   as `/root` still starts at tier 3; at lower tiers it must be reachable for that user.
//!
//! - A private path below a readable folder is covered by an empty folder or file. Landlock, at tier 2 too, then allows reading
//!   what lies beside it, entry by entry, as it was when the program was started.
//!
//! # What doesn't
//!
//! - At tier 2 the names in such a private folder can be listed, if its mode allows that: a right to list holds for all below.
//! - Side channels, and flaws of the kernel in what the filter lets pass.
//! - Below tier 3 the limit on threads counts the user's other threads too, so that 1024 more are allowed for.
//! - A hard link to a private file that was planted in a readable folder is that file. [`Policy::private`] refuses to start
//!   anything while a private file has a second link; keep private files encrypted as well.
//! - A user who isn't root keeps the supplementary groups.
//! - Access to one host by a relay: [`Network::Host`] is refused until there is one. [`Network::All`] lets a program connect to
//!   whatever the host reaches, itself included; it can't listen.
//!
//! # Cost
//!
//! Start and exit on two cores, the same as root and as another user within 0.2 ms (`cargo run -p parthack-sandbox --example
//! startup`). The first two rows are medians of 300 starts of an optimized build; the row of CPython is the median of 60 starts of
//! an unoptimized one, which adds its own milliseconds to every tier but the plain spawn:
//!
//! | | plain spawn | tier 0 | tier 1 | tier 2 | tier 3 |
//! |---|---|---|---|---|---|
//! | static program | 0.3 ms | 0.7 ms | 1.1 ms | 1.1 ms | 1.7 ms |
//! | dynamic program | 0.5 ms | 1.1 ms | 1.5 ms | 1.7 ms | 2.5 ms |
//! | CPython 3.11 | 12.0 ms | 14.1 ms | 14.4 ms | 14.4 ms | 15.6 ms |
//!
//! The quick probes take 0.44 s at tier 3, [`detect`] 6 ms.
//!
//! # Processes that confine themselves
//!
//! [`confine_self`] is what a process calls on itself once its files are open.
//!
//! # For callers with threads
//!
//! [`spawn`] may be called from any thread: the child is a copy of that thread alone, and until it executes its program it
//! makes raw system calls from memory that was laid out before, without allocation, lock or C library state. The kernel kills
//! the program when the thread that started it ends, so a worker must outlive what it starts.
//!
//! Architecture invariant: this crate knows neither the certifier nor evaluators; it starts programs and counts what holds.
//! `unsafe` is in the module `raw` alone.

mod busy;
mod ending;
pub mod error;
mod fall;
pub mod policy;
mod report;
mod tier;

#[cfg(target_os = "linux")]
mod bpf;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod detect;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod identity;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(unix)]
mod own;
#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(target_os = "linux")]
pub mod probes;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
mod spawn;

pub use busy::start_once_free;
#[cfg(target_os = "linux")]
pub use confined::Confined;
#[cfg(target_os = "linux")]
pub use detect::detect;
pub use ending::{Bounds, End, Exit, Finished, Stopped};
pub use error::{Errno, SetUpError, Step};
pub use fall::{Fallen, spawn_down_to};
#[cfg(unix)]
pub use own::{SelfConfinement, confine_self};
pub use policy::{Identity, Limits, Network, Policy, Scratch};
#[cfg(not(target_os = "linux"))]
pub use portable::{Confined, detect, spawn};
#[cfg(target_os = "linux")]
pub use program::find_program;
pub use report::{LayerReport, Report, TierReport};
#[cfg(target_os = "linux")]
pub use spawn::spawn;
pub use tier::{Layer, SealedUse, Tier};
