//! A program whose file is open for writing can't be executed (`ETXTBSY`), and a file that this process has written and closed
//! can still be open: in a child that another thread has just made and that hasn't executed its own program yet.

use std::io;
use std::thread::park_timeout;
use std::time::{Duration, Instant};

/// Such children close what they inherit within milliseconds; a file that stays open longer is being written by somebody.
const AT_MOST: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// Starts a program, again while its file is busy, for two seconds at most.
///
/// # Errors
///
/// The error of the last start.
pub fn start_once_free<T>(start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    while_busy(|error: &io::Error| error.kind() == io::ErrorKind::ExecutableFileBusy, start)
}

pub(crate) fn while_busy<T, E>(is_busy: impl Fn(&E) -> bool, mut start: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let begun = Instant::now();
    loop {
        match start() {
            Err(error) if is_busy(&error) && begun.elapsed() < AT_MOST => park_timeout(PAUSE),
            ended => return ended,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_that_is_being_written_starts_once_it_is_closed() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().expect("scratch");
        let path = folder.path().join("program");
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path).expect("made");
        file.write_all(b"#!/bin/sh\necho started\n").expect("written");
        let mut held = Some(file);
        let mut starts = 0;
        let output = start_once_free(|| {
            starts += 1;
            let output = Command::new(&path).output();
            // Some kernels let a file be executed that is open for writing.
            if starts == 3 || output.is_ok() {
                held = None;
            }
            output
        });
        assert_eq!(output.expect("started").stdout, b"started\n");
        assert!(starts == 1 || starts == 4, "{starts}");
        let other = start_once_free(|| Command::new(folder.path().join("absent")).output());
        assert_eq!(other.expect_err("no file").kind(), io::ErrorKind::NotFound);
    }
}
