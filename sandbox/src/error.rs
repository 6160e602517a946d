//! What can go wrong before a confined program runs: a set-up failure is an error, never "blocked".

use std::fmt;
use std::path::PathBuf;

use crate::Tier;

/// An error number of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// The number's conventional name, where this crate meets it.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        #[cfg(unix)]
        {
            names().iter().find(|(number, _)| *number == self.0).map(|(_, name)| *name)
        }
        #[cfg(not(unix))]
        None
    }

    /// The number inside an input/output error.
    #[must_use]
    pub fn of(error: &std::io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(0))
    }
}

#[cfg(unix)]
fn names() -> &'static [(i32, &'static str)] {
    macro_rules! table {
        ($($name:ident),*) => { &[$((libc::$name, stringify!($name))),*] };
    }
    table![
        EPERM,
        ENOENT,
        ESRCH,
        EINTR,
        EIO,
        ENXIO,
        E2BIG,
        ENOEXEC,
        EBADF,
        ECHILD,
        EAGAIN,
        ENOMEM,
        EACCES,
        EFAULT,
        EBUSY,
        EEXIST,
        EXDEV,
        ENODEV,
        ENOTDIR,
        EISDIR,
        EINVAL,
        ENFILE,
        EMFILE,
        ENOTTY,
        EFBIG,
        ENOSPC,
        ESPIPE,
        EROFS,
        EMLINK,
        EPIPE,
        ENAMETOOLONG,
        ENOSYS,
        ELOOP,
        EAFNOSUPPORT,
        EPROTONOSUPPORT,
        ENETUNREACH,
        ECONNREFUSED,
        EOPNOTSUPP,
        EDQUOT,
        EADDRNOTAVAIL,
        ENETDOWN,
        ESOCKTNOSUPPORT,
        ENOTEMPTY,
        ETXTBSY,
        EUSERS
    ]
}

impl fmt::Display for Errno {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => formatter.write_str(name),
            None => write!(formatter, "error number {}", self.0),
        }
    }
}

macro_rules! steps {
    ($($(#[$meta:meta])* $name:ident => $text:literal),* $(,)?) => {
        /// A step of the set-up, in the order in which they are taken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Step { $($(#[$meta])* #[doc = $text] $name),* }

        impl Step {
            #[cfg(target_os = "linux")]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name),*];
        }

        impl fmt::Display for Step {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self { $(Self::$name => $text),* })
            }
        }
    };
}

steps! {
    Prepare => "preparing pipes",
    Ruleset => "making a Landlock ruleset",
    Filter => "building the system call filter",
    Clone => "creating the process",
    Maps => "writing the user and group maps",
    Go => "waiting for the parent",
    ParentDeath => "asking for a signal on the parent's death",
    Session => "starting a session",
    Descriptors => "placing the standard descriptors",
    Sources => "opening what is to be mounted",
    BoundingSet => "emptying the capability bounding set",
    Groups => "leaving the supplementary groups",
    Group => "changing the group",
    User => "changing the user",
    PrivateMounts => "making the mounts private",
    Root => "mounting the new root",
    Entry => "making a mount point in the new root",
    Bind => "mounting a readable path",
    Hide => "covering a private path",
    Scratch => "mounting the scratch folder",
    Pivot => "changing the root",
    ReadOnly => "making the new root read-only",
    Keyring => "joining a new session keyring",
    Capabilities => "dropping the capabilities",
    Close => "closing descriptors",
    Limits => "setting limits",
    WorkingFolder => "entering the working folder",
    NoNewPrivileges => "giving up new privileges",
    Rule => "adding the scratch folder to the Landlock ruleset",
    Landlock => "entering Landlock",
    Seccomp => "installing the system call filter",
    Execute => "executing the program",
    Threads => "looking for other threads",
    Dump => "becoming non-dumpable",
}

impl Step {
    /// Does a failure here come from what the host allows, so that one tier down may work?
    #[must_use]
    pub const fn depends_on_host(self) -> bool {
        !matches!(self, Self::Prepare | Self::Execute | Self::WorkingFolder | Self::Go | Self::Threads)
    }
}

/// Why a process was not started, or did not confine itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetUpError {
    /// A step failed.
    #[error("{tier}: {step} failed: {errno}{}{}", subject.as_deref().map_or(String::new(), |subject| format!(" ({subject})")),
        hint(*step, *errno))]
    Step {
        /// The tier that was asked for.
        tier: Tier,
        /// The step.
        step: Step,
        /// What the system answered.
        errno: Errno,
        /// The path or other thing that the step was about.
        subject: Option<String>,
    },
    /// The policy contradicts itself or the file system.
    #[error("policy: {path}: {found}; expected {expected}", path = path.display())]
    Policy {
        /// The path in question.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The policy asks for something that the tier can't give.
    #[error("{tier} can't give {what}; it needs {needs}")]
    NotAtThisTier {
        /// The tier that was asked for.
        tier: Tier,
        /// What the policy asks for.
        what: &'static str,
        /// What would be needed.
        needs: &'static str,
    },
    /// A private file has more than one name, so that a public folder may hold it too.
    #[error("private file {path} has {links} hard links; expected 1, since a link in a readable folder would give it away\nhint: copy it and delete the links", path = path.display())]
    LinkedPrivateFile {
        /// The file.
        path: PathBuf,
        /// Its link count.
        links: u64,
    },
}

impl SetUpError {
    /// Does the failure come from what the host allows, so that a lower tier may work?
    #[must_use]
    pub const fn depends_on_host(&self) -> bool {
        match self {
            Self::Step { step, .. } => step.depends_on_host(),
            Self::NotAtThisTier { .. } | Self::Policy { .. } | Self::LinkedPrivateFile { .. } => false,
        }
    }
}

fn hint(step: Step, errno: Errno) -> &'static str {
    #[cfg(unix)]
    {
        let denied = errno.0 == libc::EPERM || errno.0 == libc::EACCES;
        match step {
            Step::Clone | Step::Maps | Step::PrivateMounts | Step::Root if denied => {
                "\nhint: user namespaces are restricted here (container profile, AppArmor, or a sysctl)"
            }
            Step::Clone if errno.0 == libc::ENOSPC || errno.0 == libc::EUSERS => {
                "\nhint: user.max_user_namespaces leaves no room"
            }
            Step::Execute | Step::WorkingFolder | Step::Sources if denied => {
                "\nhint: the user that the program runs as must be able to reach it; when started as root that is another user"
            }
            Step::Execute if errno.0 == libc::ENOENT => {
                "\nhint: the program's interpreter or loader isn't among the readable paths"
            }
            _ => "",
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (step, errno);
        ""
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_was_tried_and_what_came_back() {
        let error = SetUpError::Step {
            tier: Tier::Full,
            step: Step::Clone,
            errno: Errno(libc::EPERM),
            subject: Some("user namespace".into()),
        };
        let text = error.to_string();
        assert!(text.starts_with("tier 3 (namespaces, landlock, seccomp, limits, descriptors): creating the process failed: EPERM (user namespace)\nhint: "), "{text}");
        assert!(error.depends_on_host());
        assert_eq!(Errno(99_999).to_string(), "error number 99999");
    }
}
