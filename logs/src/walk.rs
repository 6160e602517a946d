//! Files below a folder, in sorted order, without following links to folders.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fault::{Fault, RefusalCode};
use crate::input;
use crate::limits::MAX_FOLDER_DEPTH;

/// The walk: what is still to be visited, the next one last.
pub(crate) struct Walk {
    stack: Vec<(PathBuf, usize)>,
}

impl Walk {
    pub(crate) fn new(root: &Path) -> Self {
        Walk { stack: vec![(root.to_path_buf(), 0)] }
    }
}

impl Iterator for Walk {
    type Item = Result<PathBuf, (PathBuf, Fault)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (path, depth) = self.stack.pop()?;
            let is_folder =
                if depth == 0 { path.is_dir() } else { fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir()) };
            if !is_folder {
                if input::is_file(&path) || fs::symlink_metadata(&path).is_err() {
                    return Some(Ok(path));
                }
                continue;
            }
            if depth > MAX_FOLDER_DEPTH {
                let found = format!("more than {MAX_FOLDER_DEPTH} levels of folders");
                return Some(Err((path, Fault::file(RefusalCode::TooDeep, found, "a shallower folder"))));
            }
            match fs::read_dir(&path) {
                Ok(entries) => {
                    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
                    inside.sort();
                    self.stack.extend(inside.into_iter().rev().map(|path| (path, depth + 1)));
                }
                Err(error) => {
                    let fault = Fault::file(RefusalCode::Unreadable, error.to_string(), "a readable folder");
                    return Some(Err((path, fault)));
                }
            }
        }
    }
}
