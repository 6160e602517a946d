//! Probes of files: reading the private one, changing what is there, writing where others look.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::inside::Context;
use super::{Attempt, Probe};
use crate::Tier;
use crate::raw::attempts;

const REFUSED_BY_LANDLOCK: Tier = Tier::Landlocked;
const REFUSED_BY_FILTER: Tier = Tier::Filtered;

pub(super) static PROBES: &[Probe] = &[
    Probe::new("file-absolute", "read a private file by its absolute path", REFUSED_BY_LANDLOCK, |context| {
        read(&context.secret())
    }),
    Probe::new("file-traversal", "read a private file by `..` from a public folder", REFUSED_BY_LANDLOCK, |context| {
        read(&context.public().join("../private/secret"))
    }),
    Probe::new(
        "file-planted-symlink",
        "read a private file by a link in a public folder",
        REFUSED_BY_LANDLOCK,
        |context| read(&context.public().join("link")),
    ),
    Probe::new("file-created-symlink", "link to a private file and read the link", REFUSED_BY_FILTER, |context| {
        in_writable(context, |at| {
            std::os::unix::fs::symlink(context.secret(), at)?;
            read(at)
        })
    })
    .dropped(REFUSED_BY_FILTER),
    Probe::new(
        "file-planted-hard-link",
        "read a private file by a hard link in a public folder",
        Tier::Limited,
        |context| read(&context.public().join("hard-link")),
    ),
    Probe::new("file-created-hard-link", "hard-link a private file and read the link", REFUSED_BY_FILTER, |context| {
        in_writable(context, |at| {
            fs::hard_link(context.secret(), at)?;
            read(at)
        })
    }),
    Probe::new(
        "file-below-public",
        "read a private file that lies below a public folder",
        REFUSED_BY_LANDLOCK,
        |context| read(&context.public().join("hidden/secret")),
    ),
    Probe::new("folder-list", "list a private folder", REFUSED_BY_LANDLOCK, |context| {
        Ok(fs::read_dir(context.private()).map(|_| Vec::new())?)
    }),
    Probe::new("file-status", "ask for the status of a private file", Tier::Full, |context| {
        Ok(fs::metadata(context.secret()).map(|_| Vec::new())?)
    })
    .dropped(Tier::Limited),
    Probe::new("file-mode", "change the mode of a private file", REFUSED_BY_FILTER, |context| {
        let mode = fs::Permissions::from_mode(0o600);
        Ok(fs::set_permissions(context.expendable(), mode).map(|()| Vec::new())?)
    }),
    Probe::new("file-truncate", "truncate a private file", REFUSED_BY_FILTER, |context| {
        Ok(OpenOptions::new().write(true).truncate(true).open(context.expendable()).map(|_| Vec::new())?)
    }),
    Probe::new("file-append", "append to a private file", REFUSED_BY_FILTER, |context| {
        let mut file = OpenOptions::new().append(true).open(context.expendable())?;
        Ok(file.write_all(b"x").map(|()| Vec::new())?)
    }),
    Probe::new("file-rename", "rename a private file", REFUSED_BY_FILTER, |context| {
        let other = context.private().join("renamed");
        fs::rename(context.expendable(), &other)?;
        Ok(fs::rename(&other, context.expendable()).map(|()| Vec::new())?)
    }),
    Probe::new("file-remove", "remove a private file", REFUSED_BY_FILTER, |context| {
        let content = fs::read(context.expendable()).unwrap_or_default();
        fs::remove_file(context.expendable())?;
        Ok(fs::write(context.expendable(), content).map(|()| Vec::new())?)
    }),
    Probe::new("write-public", "write into a public folder", REFUSED_BY_FILTER, |context| {
        write(&context.public().join("written"))
    }),
    Probe::new("write-tmp", "write into /tmp", REFUSED_BY_FILTER, |context| {
        write(&Path::new("/tmp").join(context.unique()))
    })
    .possible_where("/tmp can be written to"),
    Probe::new("write-dev-shm", "write into /dev/shm, where POSIX shared memory lies", REFUSED_BY_FILTER, |context| {
        write(&Path::new("/dev/shm").join(context.unique()))
    })
    .possible_where("/dev/shm exists"),
    Probe::new("file-by-handle", "open a private file by its inode", REFUSED_BY_FILTER, |context| {
        let public = fs::File::open(context.public())?;
        read_open(attempts::open_by_handle(&context.secret(), &public)?)
    })
    .possible_where("the user is root"),
];

fn read(path: &Path) -> Attempt {
    Ok(fs::read(path)?)
}

pub(super) fn read_open(mut file: fs::File) -> Attempt {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write(path: &Path) -> Attempt {
    // Opened anew, so that what is written lies there for others.
    fs::write(path, "x")?;
    let _ = fs::remove_file(path);
    Ok(Vec::new())
}

/// Tries something that needs a folder to write to: the scratch folder if there is one, then the public one.
fn in_writable(context: &Context, attempt: impl Fn(&Path) -> Attempt) -> Attempt {
    let mut last = None;
    for folder in context.scratch().into_iter().chain([context.public()]) {
        let at = folder.join("made");
        let outcome = attempt(&at);
        let _ = fs::remove_file(&at);
        if outcome.is_ok() {
            return outcome;
        }
        last = Some(outcome);
    }
    last.unwrap_or_else(|| Err(super::Failure::NotMade("no folder".into())))
}
