//! What is planted for the probes to find: a secret in files, in processes, behind sockets and in a keyring.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::audit::Host;
use super::inside::{PREFIX, WORDS};
use super::verdict::Verdict;
use crate::busy::start_once_free;
use crate::error::Errno;
use crate::raw::{attempts, calls};

/// Everything that is planted, and taken away when this is dropped.
pub(super) struct Fixture {
    pub(super) base: PathBuf,
    /// The host program, at a place that every user can reach.
    pub(super) program: PathBuf,
    values: BTreeMap<String, String>,
    key: Option<usize>,
    victims: Vec<Victim>,
    _inherited: OwnedFd,
    _sockets: (TcpListener, UdpSocket, UnixListener, UnixListener),
}

struct Victim {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Fixture {
    pub(super) fn plant(host: &Host) -> io::Result<Self> {
        let secret = calls::random()
            .map_err(|errno| io::Error::from_raw_os_error(errno.0))?
            .iter()
            .map(|number| format!("{number:016x}"))
            .collect::<String>();
        let base = new_folder()?;
        // From here on, whatever fails must leave nothing behind.
        Self::fill(host, &base, secret).inspect_err(|_| drop(fs::remove_dir_all(&base)))
    }

    fn fill(host: &Host, base: &Path, secret: String) -> io::Result<Self> {
        let (public, private, hidden) = (base.join("public"), base.join("private"), base.join("public/hidden"));
        DirBuilder::new().mode(0o755).create(&public)?;
        fs::set_permissions(&public, fs::Permissions::from_mode(0o755))?;
        for folder in [&private, &hidden, &base.join("scratch")] {
            DirBuilder::new().mode(0o700).create(folder)?;
        }
        for path in [private.join("secret"), private.join("expendable"), hidden.join("secret")] {
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(secret.as_bytes())?;
        }
        std::os::unix::fs::symlink("../private/secret", public.join("link"))?;
        fs::write(public.join("says-open"), Verdict::Open { read_secret: false }.line() + "\n")?;
        let program = reachable(&host.program, base)?;

        let tcp = TcpListener::bind(("127.0.0.1", 0))?;
        let udp = UdpSocket::bind(("127.0.0.1", 0))?;
        let unix = UnixListener::bind(public.join("socket"))?;
        fs::set_permissions(public.join("socket"), fs::Permissions::from_mode(0o777))?;
        let name = format!("parthack-probe-{secret}");
        let without_file = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        let inherited = calls::inheritable(&File::open(private.join("secret"))?)
            .map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
        // Where there are no keys, the probe says so itself.
        let key = attempts::add_key(&name, secret.as_bytes()).ok();

        let values = [
            ("BASE", base.display().to_string()),
            ("PROGRAM", program.display().to_string()),
            ("HOST_ARGUMENTS", host.arguments.join(&WORDS.to_string())),
            ("TCP_PORT", tcp.local_addr()?.port().to_string()),
            ("UDP_PORT", udp.local_addr()?.port().to_string()),
            ("ABSTRACT", name.clone()),
            ("KEY", name),
            ("DESCRIPTOR", inherited.as_raw_fd().to_string()),
            ("PARENT", std::process::id().to_string()),
        ];
        let mut fixture = Self {
            base: base.to_path_buf(),
            program,
            values: values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            key,
            victims: Vec::new(),
            _inherited: inherited,
            _sockets: (tcp, udp, unix, without_file),
        };
        for (role, name) in [("neighbour", "NEIGHBOUR"), ("certifier", "CERTIFIER")] {
            fixture.add_victim(host, role, name, &secret)?;
        }
        fixture.values.insert("SECRET".to_owned(), secret);
        Ok(fixture)
    }

    fn add_victim(&mut self, host: &Host, role: &str, name: &str, secret: &str) -> io::Result<()> {
        let mut command = Command::new(&host.program);
        command
            .args(&host.arguments)
            .arg(role)
            .env(format!("{PREFIX}SECRET"), secret)
            .env(format!("{PREFIX}BASE"), &self.base)
            .env_remove("RUST_BACKTRACE")
            .current_dir(self.base.join("private"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = start_once_free(|| command.spawn())?;
        let stdin = child.stdin.take();
        let output = child.stdout.take();
        self.values.insert(name.to_owned(), child.id().to_string());
        self.victims.push(Victim { child, stdin });
        let mut line = String::new();
        BufReader::new(output.ok_or_else(|| io::Error::other("no output"))?).read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let (Some(address), Some(descriptor)) = (words.next(), words.next()) else {
            return Err(io::Error::other(format!("the {role} of the probes ended without a word")));
        };
        self.values.insert(format!("{name}_ADDRESS"), address.to_owned());
        self.values.insert(format!("{name}_DESCRIPTOR"), descriptor.to_owned());
        Ok(())
    }

    pub(super) fn public(&self) -> PathBuf {
        self.base.join("public")
    }

    pub(super) fn private(&self) -> PathBuf {
        self.base.join("private")
    }

    /// A private folder below the public one.
    pub(super) fn hidden(&self) -> PathBuf {
        self.base.join("public/hidden")
    }

    /// The environment of a probe. Inside, the secret itself is known, so that a probe can tell what it has read.
    pub(super) fn environment(&self, scratch: Option<&Path>) -> BTreeMap<OsString, OsString> {
        let mut environment: BTreeMap<OsString, OsString> = self
            .values
            .iter()
            .map(|(name, value)| (OsString::from(format!("{PREFIX}{name}")), OsString::from(value)))
            .collect();
        if let Some(scratch) = scratch {
            environment.insert(format!("{PREFIX}SCRATCH").into(), scratch.into());
        }
        environment
    }

    /// Plants a hard link to the private file for the time of one probe.
    pub(super) fn with_hard_link<T>(&self, run: impl FnOnce() -> T) -> Result<T, Errno> {
        let link = self.public().join("hard-link");
        fs::hard_link(self.private().join("secret"), &link).map_err(|error| Errno::of(&error))?;
        let outcome = run();
        let _ = fs::remove_file(&link);
        Ok(outcome)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        for victim in &mut self.victims {
            drop(victim.stdin.take());
            let _ = victim.child.wait();
        }
        if let Some(key) = self.key {
            attempts::remove_key(key);
        }
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// A new folder, in a place that all users can pass if there is one.
fn new_folder() -> io::Result<PathBuf> {
    const TRIES: u32 = 1000;
    let places = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    let passable = places.iter().find(|place| place.is_dir() && all_may_pass(place)).unwrap_or(&places[0]);
    let parent = fs::canonicalize(passable)?;
    for index in 0..TRIES {
        let folder = parent.join(format!("parthack-audit-{}-{index}", std::process::id()));
        match DirBuilder::new().mode(0o755).create(&folder) {
            Ok(()) => {
                // Whatever the mask of this process takes away.
                fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
                return Ok(folder);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no free name for a folder of the audit"))
}

/// May every user pass this folder and all above it?
fn all_may_pass(folder: &Path) -> bool {
    folder.ancestors().all(|part| fs::metadata(part).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0))
}

/// The program itself if every user can reach it, or else a copy in a folder, whose mode is the caller's.
///
/// # Errors
///
/// The program can't be found, read or copied.
pub fn reachable(program: &Path, base: &Path) -> io::Result<PathBuf> {
    let program = fs::canonicalize(program)?;
    let readable = fs::metadata(&program)?.permissions().mode() & 0o005 == 0o005;
    let open = readable && program.parent().is_none_or(all_may_pass);
    if open {
        return Ok(program);
    }
    let copy = base.join("program");
    fs::copy(&program, &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    Ok(copy)
}
