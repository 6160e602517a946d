//! The file system of a confined process: which paths are readable, and the steps that build a root from them alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
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

/// What a rule of Landlock allows beneath a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// To read, and to list if it is a folder.
    Reading(Readable),
    /// To list, and nothing else: the rule holds in private folders below too, whose names alone it gives away.
    Listing,
}

/// The readable paths, the links that lead to them, and the folders above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) readable: BTreeMap<PathBuf, Readable>,
    /// Paths without links that stay closed although they may lie below a readable folder; none in another.
    pub(crate) concealed: Vec<PathBuf>,
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
    /// Covers a folder with an empty one.
    HideFolder(CString),
    /// Covers a file with the empty one at [`COVER`].
    HideFile(CString),
}

/// An empty file in the new root, which hidden files are covered with.
pub(crate) const COVER: &CStr = c".hidden";

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

    /// The rules of Landlock. A folder with something private in it gets one for each entry beside that: rights hold for all
    /// that is beneath, and can't be taken back further down. What appears in such a folder later has no rule.
    pub(crate) fn rules(&self) -> Vec<(PathBuf, Allowed)> {
        let mut rules = Vec::new();
        let mut pending: Vec<(PathBuf, Readable)> =
            self.readable.iter().rev().map(|(path, readable)| (path.clone(), *readable)).collect();
        while let Some((path, readable)) = pending.pop() {
            let is_whole = !self.concealed.iter().any(|private| private.starts_with(&path));
            if is_whole {
                rules.push((path, Allowed::Reading(readable)));
                continue;
            }
            if self.concealed.contains(&path) {
                continue;
            }
            // What can't be listed here can't be read by the program either.
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            let mut beside: Vec<(PathBuf, Readable)> = entries
                .filter_map(|entry| {
                    // Links have no rights of their own; where they lead to has, or hasn't.
                    let kind = match kind_of(&entry.metadata().ok()?)? {
                        // Devices are for reading and writing where they are named, for reading here.
                        Kind::Device => Kind::File,
                        kind => kind,
                    };
                    Some((entry.path(), Readable { kind, ..readable }))
                })
                .collect();
            beside.sort_by(|left, right| right.0.cmp(&left.0));
            pending.extend(beside);
            rules.push((path, Allowed::Listing));
        }
        rules
    }

    /// What covers private paths below mounted folders.
    fn covers(&self, sources: &[(&Path, Kind)]) -> Result<Vec<Entry>, SetUpError> {
        let mut entries = Vec::new();
        for path in &self.concealed {
            let is_shown = sources.iter().any(|(source, kind)| *kind == Kind::Folder && path.starts_with(source));
            let Some(metadata) = is_shown.then(|| std::fs::symlink_metadata(path).ok()).flatten() else { continue };
            let at = inside(path)?;
            entries.push(if metadata.is_dir() { Entry::HideFolder(at) } else { Entry::HideFile(at) });
        }
        if entries.iter().any(|entry| matches!(entry, Entry::HideFile(_))) {
            entries.insert(0, Entry::File(COVER.to_owned()));
        }
        Ok(entries)
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
        entries.extend(self.covers(&sources)?);
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
                Entry::HideFolder(at) => format!("hide folder {}", short(at)),
                Entry::HideFile(at) => format!("hide file {}", short(at)),
            })
            .filter(|line| line.contains('~') || line.starts_with("scratch") || line.ends_with(".hidden"))
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
    fn private_paths_are_covered_and_what_is_beside_them_gets_rules() {
        let folder = tempfile::tempdir().expect("scratch");
        let base = std::fs::canonicalize(folder.path()).expect("real");
        std::fs::create_dir_all(base.join("judge/runs/first/private")).expect("made");
        std::fs::create_dir_all(base.join("judge/data/deep")).expect("made");
        for name in ["judge/main.py", "judge/key", "judge/runs/first/ledger"] {
            std::fs::write(base.join(name), "").expect("written");
        }
        // A rule for where it leads would open what is private.
        std::os::unix::fs::symlink("runs/first/private", base.join("judge/link")).expect("linked");
        let mut layout = Layout::default();
        layout.add(&base.join("judge"), false).expect("added");
        let whole = (Kind::Folder, base.join("judge"));
        let rules: Vec<_> = layout.rules();
        assert_eq!(
            rules,
            [(whole.1.clone(), Allowed::Reading(Readable { kind: whole.0, execute: false }))],
            "nothing private, one rule"
        );
        layout.concealed = vec![base.join("elsewhere"), base.join("judge/key"), base.join("judge/runs/first/private")];
        let rules: Vec<String> = layout
            .rules()
            .into_iter()
            .map(|(path, allowed)| {
                let path = path.strip_prefix(&base).expect("below").display().to_string();
                match allowed {
                    Allowed::Reading(readable) => format!("read {path} {:?}", readable.kind),
                    Allowed::Listing => format!("list {path}"),
                }
            })
            .collect();
        assert_eq!(
            rules,
            [
                "list judge",
                "read judge/data Folder",
                "read judge/main.py File",
                "list judge/runs",
                "list judge/runs/first",
                "read judge/runs/first/ledger File",
            ]
        );
        let entries = names(&layout.entries(None).expect("built"), &base);
        let after = entries.iter().position(|line| line.starts_with("bind")).expect("bound");
        assert_eq!(
            entries[after + 1..],
            ["file .hidden", "hide file ~/judge/key", "hide folder ~/judge/runs/first/private"]
        );
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
