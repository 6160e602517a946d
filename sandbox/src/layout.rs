//! The file system of a confined process: which paths are readable, and the steps that build a root from them alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::SetUpError;
use crate::policy::Scratch;

/// Links followed in one path, as in the kernel.
const MOST_LINKS: usize = 40;

/// What a readable path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    File,
    Device,
}

/// One readable path without links, and whether it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readable {
    pub(crate) kind: Kind,
    pub(crate) execute: bool,
}

/// The readable paths, the links that lead to them, and the folders above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) readable: BTreeMap<PathBuf, Readable>,
    links: BTreeMap<PathBuf, PathBuf>,
    folders: BTreeSet<PathBuf>,
}

/// One step of building the root; paths are relative to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder(CString),
    File(CString),
    Link {
        target: CString,
        at: CString,
    },
    /// Mounts the source of this index.
    Bind {
        source: usize,
        at: CString,
    },
    Scratch {
        at: CString,
        options: CString,
    },
}

impl Layout {
    /// Adds a path, following its links. A path that vanished or that is no file, folder or device is refused.
    pub(crate) fn add(&mut self, path: &Path, execute: bool) -> Result<(), SetUpError> {
        let fault = |found: String| SetUpError::Policy {
            path: path.to_path_buf(),
            found,
            expected: "an existing file or folder",
        };
        let mut here = PathBuf::from("/");
        let mut rest: Vec<PathBuf> = path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect();
        let mut links = 0;
        let mut kind = Kind::Folder;
        while let Some(part) = rest.pop() {
            match part.components().next() {
                Some(Component::RootDir) => here = PathBuf::from("/"),
                Some(Component::ParentDir) => {
                    here.pop();
                }
                Some(Component::Normal(name)) => {
                    let next = here.join(name);
                    let metadata = std::fs::symlink_metadata(&next).map_err(|error| fault(error.to_string()))?;
                    if metadata.is_symlink() {
                        links += 1;
                        if links > MOST_LINKS {
                            return Err(fault("too many links".to_owned()));
                        }
                        let target = std::fs::read_link(&next).map_err(|error| fault(error.to_string()))?;
                        rest.extend(target.components().rev().map(|part| PathBuf::from(part.as_os_str())));
                        self.folders.insert(here.clone());
                        self.links.insert(next, target);
                        continue;
                    }
                    self.folders.insert(here.clone());
                    kind = kind_of(&metadata).ok_or_else(|| fault("neither file, folder nor device".to_owned()))?;
                    here = next;
                }
                _ => {}
            }
        }
        if here.parent().is_none() {
            return Err(fault("the root folder".to_owned()));
        }
        let entry = self.readable.entry(here).or_insert(Readable { kind, execute: false });
        entry.execute |= execute;
        Ok(())
    }

    /// The mounts that cover all readable paths: those that no other one holds.
    pub(crate) fn sources(&self) -> Vec<(&Path, Kind)> {
        let mut sources: Vec<(&Path, Kind)> = Vec::new();
        for (path, readable) in &self.readable {
            let covered = sources.iter().any(|(above, kind)| *kind == Kind::Folder && path.starts_with(above));
            if !covered {
                sources.push((path, readable.kind));
            }
        }
        sources
    }

    /// The steps that build the root, in order.
    pub(crate) fn entries(&self, scratch: Option<&Scratch>) -> Result<Vec<Entry>, SetUpError> {
        let sources = self.sources();
        let covered = |path: &Path| sources.iter().any(|(source, _)| path.starts_with(source));
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        for (source, _) in &sources {
            folders.extend(source.ancestors().skip(1));
        }
        folders.extend(self.folders.iter().map(PathBuf::as_path));
        if let Some(scratch) = scratch {
            if covered(&scratch.path) || self.links.keys().any(|link| scratch.path.starts_with(link)) {
                return Err(SetUpError::Policy {
                    path: scratch.path.clone(),
                    found: "a scratch folder inside a readable path".to_owned(),
                    expected: "a path apart from all readable ones",
                });
            }
            folders.extend(scratch.path.ancestors());
        }
        let mut entries = Vec::new();
        for folder in folders.into_iter().filter(|folder| folder.parent().is_some() && !covered(folder)) {
            entries.push(Entry::Folder(inside(folder)?));
        }
        for (at, target) in self.links.iter().filter(|(at, _)| !covered(at)) {
            entries.push(Entry::Link { target: text(target)?, at: inside(at)? });
        }
        for (source, (path, kind)) in sources.iter().enumerate() {
            let at = inside(path)?;
            entries.push(match kind {
                Kind::Folder => Entry::Folder(at.clone()),
                Kind::File | Kind::Device => Entry::File(at.clone()),
            });
            entries.push(Entry::Bind { source, at });
        }
        if let Some(scratch) = scratch {
            let options = format!("mode=0700,size={},nr_inodes={}", scratch.bytes.max(4096), scratch.files.max(1) + 1);
            entries.push(Entry::Scratch { at: inside(&scratch.path)?, options: text(Path::new(&options))? });
        }
        Ok(entries)
    }
}

fn kind_of(metadata: &std::fs::Metadata) -> Option<Kind> {
    use std::os::unix::fs::FileTypeExt as _;
    let file_type = metadata.file_type();
    match () {
        () if file_type.is_dir() => Some(Kind::Folder),
        () if file_type.is_file() => Some(Kind::File),
        () if file_type.is_char_device() => Some(Kind::Device),
        () => None,
    }
}

/// A path as the kernel takes it.
pub(crate) fn text(path: &Path) -> Result<CString, SetUpError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| SetUpError::Policy {
        path: path.to_path_buf(),
        found: "a zero byte".to_owned(),
        expected: "text without zero bytes",
    })
}

fn inside(path: &Path) -> Result<CString, SetUpError> {
    text(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(entries: &[Entry], base: &Path) -> Vec<String> {
        let base = base.strip_prefix("/").expect("absolute").to_string_lossy().into_owned();
        let short = |text: &CString| text.to_string_lossy().replace(&base, "~");
        entries
            .iter()
            .map(|entry| match entry {
                Entry::Folder(at) => format!("folder {}", short(at)),
                Entry::File(at) => format!("file {}", short(at)),
                Entry::Link { target, at } => format!("link {} -> {}", short(at), short(target)),
                Entry::Bind { source, at } => format!("bind {source} {}", short(at)),
                Entry::Scratch { at, options } => format!("scratch {} {}", short(at), short(options)),
            })
            .filter(|line| line.contains('~') || line.starts_with("scratch"))
            .collect()
    }

    #[test]
    fn links_are_made_again_and_nested_paths_are_mounted_once() {
        let folder = tempfile::tempdir().expect("scratch");
        let base = std::fs::canonicalize(folder.path()).expect("real");
        std::fs::create_dir_all(base.join("usr/lib/inner")).expect("made");
        std::fs::write(base.join("usr/lib/inner/file"), "").expect("written");
        std::fs::write(base.join("tool"), "").expect("written");
        std::os::unix::fs::symlink("usr/lib", base.join("lib")).expect("linked");
        let mut layout = Layout::default();
        layout.add(&base.join("lib/inner/file"), true).expect("added");
        layout.add(&base.join("lib"), false).expect("added");
        layout.add(&base.join("usr/../tool"), true).expect("added");
        let scratch = Scratch { path: "/scratch".into(), bytes: 8192, files: 3 };
        let entries = layout.entries(Some(&scratch)).expect("built");
        assert_eq!(
            names(&entries, &base),
            [
                "folder ~",
                "folder ~/usr",
                "link ~/lib -> usr/lib",
                "file ~/tool",
                "bind 0 ~/tool",
                "folder ~/usr/lib",
                "bind 1 ~/usr/lib",
                "scratch scratch mode=0700,size=8192,nr_inodes=4",
            ]
        );
        assert_eq!(
            layout.readable.get(&base.join("usr/lib/inner/file")),
            Some(&Readable { kind: Kind::File, execute: true })
        );
        let inner = Scratch { path: base.join("usr/lib/x"), ..scratch };
        assert!(layout.entries(Some(&inner)).is_err());
    }

    #[test]
    fn refusals() {
        let folder = tempfile::tempdir().expect("scratch");
        std::os::unix::fs::symlink("loop", folder.path().join("loop")).expect("linked");
        let mut layout = Layout::default();
        for path in [Path::new("/"), Path::new("/usr/.."), Path::new("/no/such"), &folder.path().join("loop")] {
            assert!(layout.add(path, false).is_err(), "{}", path.display());
        }
    }
}
