//! What a confined program may have: a plain description, checked before anything is started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{SetUpError, Tier};

/// Limits on one process. Bytes and seconds as the names say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Address space and data, in bytes.
    pub memory_bytes: u64,
    /// Processor time in seconds; at one more the kernel kills. At least 1.
    pub cpu_seconds: u64,
    /// Open descriptors.
    pub open_files: u64,
    /// Size of any one file that is written, in bytes.
    pub file_bytes: u64,
    /// Further threads; 0 refuses them in the filter. Further processes are always refused from tier 1 on.
    /// Tier 3 enforces the number; below it the user's other threads count too, so that 1024 more are allowed for.
    pub threads: u64,
}

impl Default for Limits {
    /// 2 GiB, 60 s, 64 descriptors, 16 MiB a file, 32 threads.
    fn default() -> Self {
        Self { memory_bytes: 2 << 30, cpu_seconds: 60, open_files: 64, file_bytes: 16 << 20, threads: 32 }
    }
}

/// The user that the program runs as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Root becomes [`Identity::NOBODY`]; any other user stays.
    #[default]
    Automatic,
    /// Whoever starts it. As root this weakens every tier: files of root stay readable wherever a path leads to them.
    Keep,
    /// This user and group; only root can ask for it.
    Of {
        /// User number, not 0.
        uid: u32,
        /// Group number, not 0.
        gid: u32,
    },
}

impl Identity {
    /// The conventional user without rights.
    pub const NOBODY: u32 = 65_534;
}

/// What the program may reach over the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// One host through a relay.
    Host(String),
    /// Whatever the host reaches over IP: all or nothing, for lack of a relay. The files that names and certificates are
    /// looked up in become readable.
    All,
}

/// A writable folder in memory, gone when the process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Where the program finds it; absolute.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many files and folders it can hold.
    pub files: u64,
}

/// What one confined program is given. Everything that isn't named here is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The program: an absolute path to an executable file or to a script with a `#!` line.
    pub program: PathBuf,
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Its working folder: absolute and readable to it, or `/`.
    pub working_folder: PathBuf,
    /// Files and folders that it may read, absolute. The program itself, its interpreter, loader and the system's
    /// libraries are added.
    pub read_only: Vec<PathBuf>,
    /// Files and folders that it must not reach. A readable path in one is refused; where one lies below a readable folder,
    /// that folder is shown without it (from tier 2 on). A file in one that has more than one hard link is refused too.
    pub private: Vec<PathBuf>,
    /// As [`Policy::private`], for what another process may be writing: it may be absent, and links aren't counted.
    pub hidden: Vec<PathBuf>,
    /// A writable folder; tier 3 only.
    pub scratch: Option<Scratch>,
    /// The network.
    pub network: Network,
    /// Limits.
    pub limits: Limits,
    /// The user that it runs as.
    pub identity: Identity,
}

impl Policy {
    /// A policy for a program that reads nothing but itself and writes to its pipes.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            working_folder: PathBuf::from("/"),
            read_only: Vec::new(),
            private: Vec::new(),
            hidden: Vec::new(),
            scratch: None,
            network: Network::None,
            limits: Limits::default(),
            identity: Identity::Automatic,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<I: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = I>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Adds a readable file or folder.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.read_only.push(path.into());
        self
    }

    /// Adds the folder of the program and of each argument that is an existing file (SPEC §15.15), relative ones from
    /// `base`. Folders that many share (`/`, `/usr/bin`, `/tmp`, a home folder, …) are not added, only the file.
    #[must_use]
    pub fn readable_arguments(mut self, base: &Path) -> Self {
        let named: Vec<PathBuf> = std::iter::once(self.program.as_os_str())
            .chain(self.arguments.iter().map(OsString::as_os_str))
            .map(|argument| base.join(argument))
            .filter(|path| path.is_file())
            .collect();
        for path in named {
            self.read_with_neighbours(&path);
        }
        self
    }

    /// Adds a file with its folder, and tells whether the folder was added: one that many share is not, only the file. A link
    /// brings the file that it leads to, and its neighbours, too.
    pub fn read_with_neighbours(&mut self, file: &Path) -> bool {
        let folder = file.parent().filter(|folder| !is_shared(folder));
        self.read_only.push(folder.unwrap_or(file).to_path_buf());
        if file.is_symlink()
            && let Ok(target) = std::fs::canonicalize(file)
        {
            let beside = target.parent().filter(|folder| !is_shared(folder)).unwrap_or(&target);
            self.read_only.extend([file.to_path_buf(), beside.to_path_buf()]);
        }
        folder.is_some()
    }

    /// What is private or hidden and there, without links, each once, and none in another.
    ///
    /// # Errors
    ///
    /// A private path that isn't there.
    pub(crate) fn concealed(&self) -> Result<Vec<PathBuf>, SetUpError> {
        let private: Vec<PathBuf> = self.private.iter().map(|path| real(path)).collect::<Result<_, _>>()?;
        let hidden = self.hidden.iter().filter_map(|path| std::fs::canonicalize(path).ok());
        let mut all: Vec<PathBuf> = private.into_iter().chain(hidden).collect();
        // A folder stands before what is in it.
        all.sort();
        all.dedup_by(|next, last| next.starts_with(last));
        Ok(all)
    }

    /// Checks what can be checked without starting anything.
    ///
    /// # Errors
    ///
    /// A relative or missing path, a readable root folder, a readable path in a private one, a private file with several
    /// links, or something that the tier can't give.
    pub fn check(&self, tier: Tier) -> Result<(), SetUpError> {
        if let Network::Host(_) = self.network {
            return Err(SetUpError::NotAtThisTier {
                tier,
                what: "access to one host",
                needs: "a relay, which this version doesn't have",
            });
        }
        if self.scratch.is_some() && tier < Tier::Full {
            return Err(SetUpError::NotAtThisTier { tier, what: "a scratch folder", needs: "namespaces (tier 3)" });
        }
        let others = self.read_only.iter().chain(&self.private).chain(&self.hidden);
        for path in [&self.program, &self.working_folder].into_iter().chain(others) {
            if !path.is_absolute() {
                return Err(fault(path, "a relative path", "an absolute path"));
            }
        }
        if let Some(scratch) = &self.scratch
            && (!scratch.path.is_absolute() || scratch.path.parent().is_none())
        {
            return Err(fault(&scratch.path, "no place for a scratch folder", "an absolute path below the root"));
        }
        if let Identity::Of { uid: 0, .. } | Identity::Of { gid: 0, .. } = self.identity {
            return Err(fault(&self.program, "an identity of root", "a user and a group other than 0"));
        }
        if self.limits.cpu_seconds == 0 || self.limits.open_files < 4 {
            return Err(fault(&self.program, "limits too small to start", "at least 1 s and 4 descriptors"));
        }
        for path in &self.read_only {
            let real = real(path)?;
            if real.parent().is_none() {
                return Err(fault(path, "the root folder", "a folder that holds what the program needs"));
            }
        }
        self.check_private(tier)
    }

    fn check_private(&self, tier: Tier) -> Result<(), SetUpError> {
        self.private.iter().try_for_each(|private| refuse_links(&real(private)?))?;
        self.keep_apart(self.read_only.iter().chain([&self.program]).map(PathBuf::as_path), tier)
    }

    /// Refuses paths in a private one, and folders with a private one in them where the tier can't show them without it.
    pub(crate) fn keep_apart<'a>(&self, paths: impl Iterator<Item = &'a Path>, tier: Tier) -> Result<(), SetUpError> {
        let concealed = self.concealed()?;
        if concealed.is_empty() {
            return Ok(());
        }
        for path in paths {
            let shown = real(path)?;
            if let Some(private) = concealed.iter().find(|private| shown.starts_with(private)) {
                let found = format!("readable, but in the private {}", private.display());
                return Err(fault(path, &found, "readable paths outside of private ones"));
            }
            if tier < Tier::Landlocked && concealed.iter().any(|private| private.starts_with(&shown)) {
                let what = "a readable folder without the private ones in it";
                return Err(SetUpError::NotAtThisTier { tier, what, needs: "Landlock (tier 2)" });
            }
        }
        Ok(())
    }
}

/// Is it a folder that many programs share (`/`, `/usr/bin`, `/tmp`, a home folder, …)? A file in one says nothing about its
/// neighbours.
#[must_use]
pub fn is_shared(folder: &Path) -> bool {
    const SHARED: [&str; 12] = [
        "/",
        "/bin",
        "/sbin",
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/tmp",
        "/var/tmp",
        "/etc",
        "/dev",
        "/root",
        "/home",
    ];
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    SHARED.iter().any(|shared| real == Path::new(shared)) || real.parent() == Some(Path::new("/home"))
}

fn fault(path: &Path, found: &str, expected: &'static str) -> SetUpError {
    SetUpError::Policy { path: path.to_path_buf(), found: found.to_owned(), expected }
}

pub(crate) fn real(path: &Path) -> Result<PathBuf, SetUpError> {
    std::fs::canonicalize(path).map_err(|error| fault(path, &error.to_string(), "an existing path"))
}

#[cfg(unix)]
fn refuse_links(path: &Path) -> Result<(), SetUpError> {
    use std::os::unix::fs::MetadataExt;
    let unreadable =
        |error: std::io::Error| fault(path, &error.to_string(), "a private path whose links can be counted");
    let metadata = std::fs::symlink_metadata(path).map_err(unreadable)?;
    if metadata.is_file() && metadata.nlink() > 1 {
        return Err(SetUpError::LinkedPrivateFile { path: path.to_path_buf(), links: metadata.nlink() });
    }
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            refuse_links(&entry.map_err(unreadable)?.path())?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_links(_: &Path) -> Result<(), SetUpError> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn refusal(policy: &Policy, tier: Tier) -> String {
        policy.check(tier).expect_err("refused").to_string()
    }

    #[test]
    fn refusals() {
        let folder = tempfile::tempdir().expect("scratch");
        let private = folder.path().join("sealed");
        std::fs::create_dir(&private).expect("made");
        std::fs::write(private.join("key"), "k").expect("written");
        let program = std::env::current_exe().expect("own path");
        let fine = Policy::new(&program);
        assert_eq!(fine.check(Tier::Full), Ok(()));

        assert!(refusal(&Policy::new("judge"), Tier::Full).contains("a relative path"));
        assert!(refusal(&fine.clone().readable("/"), Tier::Full).contains("the root folder"));
        assert!(refusal(&fine.clone().readable("/no/such/thing"), Tier::Full).contains("an existing path"));
        let network = Policy { network: Network::Host("example.org".into()), ..fine.clone() };
        assert!(refusal(&network, Tier::Full).contains("relay"));
        let scratch = Policy { scratch: Some(Scratch { path: "/scratch".into(), bytes: 1, files: 1 }), ..fine.clone() };
        assert_eq!(scratch.check(Tier::Full), Ok(()));
        assert!(refusal(&scratch, Tier::Landlocked).contains("tier 3"));
        assert!(
            refusal(&Policy { identity: Identity::Of { uid: 0, gid: 1 }, ..fine.clone() }, Tier::Full).contains("root")
        );

        let guarded = Policy { private: vec![private.clone()], ..fine.clone() };
        assert_eq!(guarded.check(Tier::Full), Ok(()));
        let hiding = Policy { hidden: vec![private.clone(), "/no/such/thing".into()], ..fine.clone() };
        assert_eq!(hiding.check(Tier::Full), Ok(()));
        for policy in [&guarded, &hiding] {
            for readable in [private.clone(), private.join("key")] {
                assert!(refusal(&policy.clone().readable(readable), Tier::Full).contains("in the private"));
            }
            let above = policy.clone().readable(folder.path());
            assert_eq!((above.check(Tier::Full), above.check(Tier::Landlocked)), (Ok(()), Ok(())));
            assert!(refusal(&above, Tier::Filtered).contains("Landlock (tier 2)"));
        }
        std::fs::hard_link(private.join("key"), folder.path().join("innocent")).expect("linked");
        assert!(matches!(guarded.check(Tier::Limited), Err(SetUpError::LinkedPrivateFile { links: 2, .. })));
    }

    #[test]
    fn arguments_that_are_files_bring_their_folder() {
        let folder = tempfile::tempdir().expect("scratch");
        let inner = folder.path().join("judge");
        std::fs::create_dir(&inner).expect("made");
        std::fs::write(inner.join("main.py"), "").expect("written");
        let policy = Policy::new("/usr/bin/env")
            .arguments(["judge/main.py", "--flag", "/bin/sh"])
            .readable_arguments(folder.path());
        // Systems differ in which of their programs are links.
        let (folders, files): (Vec<_>, Vec<_>) = policy.read_only.iter().partition(|path| path.is_dir());
        assert_eq!(folders, [&inner]);
        assert!(files.iter().any(|file| file.ends_with("env")) && files.contains(&&PathBuf::from("/bin/sh")));

        let link = folder.path().join("link.py");
        std::os::unix::fs::symlink("judge/main.py", &link).expect("linked");
        let mut policy = Policy::new("/usr/bin/env");
        assert!(policy.read_with_neighbours(&link));
        let real = std::fs::canonicalize(&inner).expect("real");
        assert_eq!(policy.read_only, [folder.path().to_path_buf(), link, real]);
    }

    #[test]
    fn what_is_concealed_is_there_and_named_once() {
        let folder = tempfile::tempdir().expect("scratch");
        let base = std::fs::canonicalize(folder.path()).expect("real");
        std::fs::create_dir_all(base.join("a/b")).expect("made");
        std::fs::create_dir(base.join("a-b")).expect("made");
        std::os::unix::fs::symlink("a/b", base.join("link")).expect("linked");
        let policy = Policy {
            private: vec![base.join("link"), base.join("a-b")],
            hidden: vec![base.join("a"), base.join("absent")],
            ..Policy::new("/bin/sh")
        };
        assert_eq!(policy.concealed(), Ok(vec![base.join("a"), base.join("a-b")]));
        assert!(Policy { private: vec![base.join("absent")], ..policy }.concealed().is_err());
    }
}
