//! Probes of other processes and of new ones: the parent, a neighbour of the same user, the certifier.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::inside::Context;
use super::{Attempt, Failure, Probe};
use crate::Tier;
use crate::error::Errno;
use crate::raw::attempts::{self, Deed, Fork};

const REFUSED_BY_LANDLOCK: Tier = Tier::Landlocked;
const REFUSED_BY_FILTER: Tier = Tier::Filtered;
const ROOT: &str = "the user is root, before which nothing hides";
const TRACING: &str = "processes of one user may trace each other";
/// Signal 18 on all machines that this crate knows: continue, which does nothing to a process that runs.
const HARMLESS: i32 = libc::SIGCONT;

pub(super) static PROBES: &[Probe] = &[
    Probe::new("parent-root", "read a private file by the parent's root in /proc", REFUSED_BY_LANDLOCK, |context| {
        let secret = context.secret();
        Ok(fs::read(of(&context.parent()?, "root").join(secret.strip_prefix("/").unwrap_or(&secret)))?)
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("parent-cwd", "list the parent's working folder in /proc", REFUSED_BY_LANDLOCK, |context| {
        list(&of(&context.parent()?, "cwd"))
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("parent-environ", "read the parent's environment", REFUSED_BY_LANDLOCK, |context| {
        some(&of(&context.parent()?, "environ"))
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("parent-cmdline", "read the parent's arguments", REFUSED_BY_LANDLOCK, |context| {
        some(&of(&context.parent()?, "cmdline"))
    }),
    Probe::new("parent-fd", "list the parent's descriptors", REFUSED_BY_LANDLOCK, |context| {
        list(&of(&context.parent()?, "fd"))
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("parent-mem", "open the parent's memory", REFUSED_BY_LANDLOCK, |context| {
        Ok(File::open(of(&context.parent()?, "mem")).map(|_| Vec::new())?)
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("parent-maps", "read the parent's map of memory", REFUSED_BY_LANDLOCK, |context| {
        some(&of(&context.parent()?, "maps"))
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("parent-link", "read where the parent's working folder is", REFUSED_BY_LANDLOCK, |context| {
        Ok(fs::read_link(of(&context.parent()?, "cwd")).map(|_| Vec::new())?)
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("neighbour-environ", "read a secret from a neighbour's environment", REFUSED_BY_LANDLOCK, |context| {
        some(&of(context.get("NEIGHBOUR")?, "environ"))
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("neighbour-fd", "read a secret by a neighbour's open descriptor", REFUSED_BY_LANDLOCK, |context| {
        some(&of(context.get("NEIGHBOUR")?, "fd").join(context.get("NEIGHBOUR_DESCRIPTOR")?))
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("neighbour-mem", "read a secret from a neighbour's memory file", REFUSED_BY_LANDLOCK, |context| {
        memory_file(context, "NEIGHBOUR")
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("neighbour-memory", "read a secret by process_vm_readv", REFUSED_BY_FILTER, |context| {
        let address = context.number("NEIGHBOUR_ADDRESS")?;
        Ok(attempts::read_memory(context.number("NEIGHBOUR")? as i32, address, 64)?)
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("neighbour-descriptor", "take a neighbour's descriptor by pidfd_getfd", REFUSED_BY_FILTER, |context| {
        let wanted = context.number("NEIGHBOUR_DESCRIPTOR")? as i32;
        let file = attempts::steal_descriptor(context.number("NEIGHBOUR")? as i32, wanted)?;
        let mut bytes = vec![0; 64];
        let count = file.read_at(&mut bytes, 0)?;
        bytes.truncate(count);
        Ok(bytes)
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("neighbour-trace", "attach to a neighbour by ptrace", REFUSED_BY_FILTER, |context| {
        Ok(attempts::trace(context.number("NEIGHBOUR")? as i32).map(|()| Vec::new())?)
    })
    .dropped(Tier::Limited)
    .possible_where(TRACING),
    Probe::new("neighbour-limits", "ask for a neighbour's limits", REFUSED_BY_FILTER, |context| {
        Ok(attempts::limits_of(context.number("NEIGHBOUR")? as i32).map(|()| Vec::new())?)
    })
    .dropped(Tier::Limited),
    Probe::new("neighbour-signal-owner", "aim a descriptor's signals at a neighbour", REFUSED_BY_FILTER, |context| {
        let (read, _write) = crate::raw::calls::pipe()?;
        Ok(attempts::own_descriptor(&read.into(), context.number("NEIGHBOUR")? as i32).map(|()| Vec::new())?)
    }),
    Probe::new("certifier-root", "read a private file by the certifier's root in /proc", Tier::Limited, |context| {
        let secret = context.secret();
        Ok(fs::read(of(context.get("CERTIFIER")?, "root").join(secret.strip_prefix("/").unwrap_or(&secret)))?)
    })
    .possible_where(ROOT),
    Probe::new("certifier-cwd", "list the certifier's working folder in /proc", Tier::Limited, |context| {
        list(&of(context.get("CERTIFIER")?, "cwd"))
    })
    .possible_where(ROOT),
    Probe::new("certifier-environ", "read the certifier's environment", Tier::Limited, |context| {
        some(&of(context.get("CERTIFIER")?, "environ"))
    })
    .possible_where(ROOT),
    Probe::new("certifier-cmdline", "read the certifier's arguments", REFUSED_BY_LANDLOCK, |context| {
        some(&of(context.get("CERTIFIER")?, "cmdline"))
    }),
    Probe::new("certifier-fd", "list the certifier's descriptors", Tier::Limited, |context| {
        list(&of(context.get("CERTIFIER")?, "fd"))
    })
    .possible_where(ROOT),
    Probe::new("certifier-mem", "read the certifier's memory", Tier::Limited, |context| {
        memory_file(context, "CERTIFIER")
    })
    .possible_where(ROOT),
    Probe::new("certifier-maps", "read the certifier's map of memory", Tier::Limited, |context| {
        some(&of(context.get("CERTIFIER")?, "maps"))
    })
    .possible_where(ROOT),
    Probe::new("inherited-descriptor", "read a descriptor that the parent left open", Tier::Limited, |context| {
        Ok(attempts::read_descriptor(context.number("DESCRIPTOR")? as i32)?)
    }),
    Probe::new("reopen-stdin", "open its own standard input anew", Tier::Full, |_| {
        Ok(File::open("/proc/self/fd/0").map(|_| Vec::new())?)
    })
    .dropped(Tier::Limited),
    Probe::new("kill-parent", "signal the parent", REFUSED_BY_FILTER, |context| {
        let parent = context.parent()?.parse().map_err(|_| Failure::NotMade("no parent's number".into()))?;
        Ok(attempts::kill(parent, 0).map(|()| Vec::new())?)
    })
    .dropped(Tier::Limited),
    Probe::new("kill-certifier", "signal the certifier", REFUSED_BY_FILTER, |context| {
        Ok(attempts::kill(context.number("CERTIFIER")? as i32, HARMLESS).map(|()| Vec::new())?)
    })
    .dropped(Tier::Limited),
    Probe::new("exec-cat", "execute another program", REFUSED_BY_FILTER, |context| {
        execute("/bin/cat", [context.public().join("says-open")])
    }),
    Probe::new("exec-self", "execute its own program again", REFUSED_BY_FILTER, |context| {
        execute(context.get("PROGRAM")?, context.say_open())
    }),
    Probe::new("exec-loader", "execute its own program by the system's loader", REFUSED_BY_FILTER, |context| {
        let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
        let loader = loaders.into_iter().find(|loader| Path::new(loader).exists());
        let program = Path::new(context.get("PROGRAM")?).as_os_str().to_owned();
        execute(loader.unwrap_or("/lib/ld.so"), std::iter::once(program).chain(context.say_open()))
    })
    .possible_where("the program is a dynamic one and the loader has its usual place"),
    Probe::new("exec-memory", "execute a file without a name", REFUSED_BY_FILTER, |context| {
        let mut file = attempts::memory_file()?;
        file.write_all(&fs::read(context.get("PROGRAM")?)?)?;
        execute(format!("/proc/self/fd/{}", file.as_raw_fd()), context.say_open())
    })
    .possible_where("/proc is mounted"),
    Probe::new("fork", "start a further process", REFUSED_BY_FILTER, |_| forked(Fork::Clone)),
    Probe::new("fork-clone3", "start a further process by clone3", REFUSED_BY_FILTER, |_| forked(Fork::Clone3))
        .possible_where("the kernel and the container let clone3 pass"),
    Probe::new("fork-bomb", "start 64 processes", REFUSED_BY_FILTER, |_| {
        let (read, write) = crate::raw::calls::pipe()?;
        let children: Vec<_> = (0..64).map(|_| attempts::fork(Fork::Clone, Deed::WaitOn(read.as_raw_fd()))).collect();
        // A child has the writing end too, so that the bytes wake it up, not the end of the pipe.
        let mut write = File::from(write);
        write.write_all(&[0; 64])?;
        let count = children.iter().flatten().map(|child| attempts::wait_for(*child)).count();
        match children.into_iter().find_map(Result::err) {
            Some(errno) if count < 64 => Err(errno.into()),
            _ => Ok(Vec::new()),
        }
    })
    .possible_where("the user may have 64 more processes"),
    Probe::new("daemon", "leave a process behind in a session of its own", REFUSED_BY_FILTER, |_| {
        let (read, write) = crate::raw::calls::pipe()?;
        attempts::wait_for(attempts::fork(Fork::Clone, Deed::Daemon(write.as_raw_fd()))?);
        drop(write);
        let mut bytes = Vec::new();
        File::from(read).read_to_end(&mut bytes)?;
        if bytes.is_empty() { Err(Failure::NotMade("no word from the daemon".into())) } else { Ok(Vec::new()) }
    }),
];

fn of(process: &str, name: &str) -> std::path::PathBuf {
    Path::new("/proc").join(process).join(name)
}

fn list(path: &Path) -> Attempt {
    match fs::read_dir(path)?.next() {
        Some(Err(error)) => Err(error.into()),
        _ => Ok(Vec::new()),
    }
}

/// The beginning of a file; an empty one counts as refused, since `/proc` hides some content so.
fn some(path: &Path) -> Attempt {
    let mut bytes = vec![0; 1 << 16];
    let count = File::open(path)?.read(&mut bytes)?;
    bytes.truncate(count);
    if bytes.is_empty() { Err(Errno(libc::ENODATA).into()) } else { Ok(bytes) }
}

fn memory_file(context: &Context, whose: &str) -> Attempt {
    let address = context.number(&format!("{whose}_ADDRESS"))?;
    let file = File::open(of(context.get(whose)?, "mem"))?;
    let mut bytes = vec![0; 64];
    let count = file.read_at(&mut bytes, address)?;
    bytes.truncate(count);
    Ok(bytes)
}

fn forked(call: Fork) -> Attempt {
    attempts::wait_for(attempts::fork(call, Deed::Exit)?);
    Ok(Vec::new())
}

/// Comes back only when it fails; what is executed says that the way is open.
fn execute<A: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: impl IntoIterator<Item = A>) -> Attempt {
    Err(Command::new(program).args(arguments).exec().into())
}
