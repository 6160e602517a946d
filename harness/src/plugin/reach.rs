//! Whether the user that a confined program runs as can reach it. Found out before any work is done.

use parthack_evaluators::plugin::Program;

use super::Confinement;
use crate::failure::Failure;

/// Checks that another user can enter the working folder and read the program's files.
///
/// # Errors
/// [`Failure::Absent`] with the path that is closed to that user, and how to open it.
#[cfg(unix)]
pub(super) fn check(program: &Program, confinement: &Confinement) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use parthack_sandbox::Tier;

    const ENTER: u32 = 0o1;
    const READ: u32 = 0o4;
    let Some(user) = confinement.runs_as else { return Ok(()) };
    // What is not there at all is found out elsewhere.
    let may = |path: &Path, right: u32| {
        std::fs::metadata(path).map_or(true, |found| {
            let shift = if found.uid() == user { 6 } else { 0 };
            found.mode() >> shift & right == right
        })
    };
    let closed = |path: &Path, rights: &str| {
        let message = format!("{} is closed to user {user}, whom programs of evaluators run as", path.display());
        Err(Failure::absent(message, format!("chmod {rights} {}, or keep the evaluator elsewhere", path.display())))
    };
    let folder = program.working_folder.as_path();
    // One with no file of the program in it is not shown to it, and it starts elsewhere.
    if super::own_files(program).any(|file| file.parent() == Some(folder)) {
        if !may(folder, ENTER) {
            return closed(folder, "o+rx");
        }
        // The full sandbox copies mounts before it changes the user, so that folders above need not be open.
        if confinement.highest < Tier::Full
            && let Some(path) = folder.ancestors().skip(1).find(|path| !may(path, ENTER))
        {
            return closed(path, "o+x");
        }
    }
    let file = super::own_files(program).find(|path| !may(path, READ));
    file.map_or(Ok(()), |path| closed(path, "o+r"))
}

/// Other systems change no user.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same as elsewhere")]
pub(super) fn check(_: &Program, _: &Confinement) -> Result<(), Failure> {
    Ok(())
}
