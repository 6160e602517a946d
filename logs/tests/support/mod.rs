//! What the tests share: scratch folders, imports gathered in lists, and a ZIP writer that can write wrong archives.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};

use parthack_logs::{Content, Imported, Kind, Log, Refusal, Summary, TaskSource, WarningCode, import};
use tempfile::TempDir;

/// A scratch folder.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(TempDir::new().expect("a scratch folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, bytes).expect("a file");
        path
    }
}

/// Everything that an import gave.
pub(crate) struct Gathered {
    pub(crate) logs: Vec<Log>,
    pub(crate) tasks: Vec<TaskSource>,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) summary: Summary,
}

pub(crate) fn gather(kind: Kind, path: &Path) -> Gathered {
    let mut run = import(kind, path);
    let (mut logs, mut tasks, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for found in run.by_ref() {
        match found {
            Ok(Imported::Log(log)) => logs.push(*log),
            Ok(Imported::Task(task)) => tasks.push(*task),
            Err(refusal) => refusals.push(refusal),
        }
    }
    Gathered { logs, tasks, refusals, summary: run.summary() }
}

/// The only log of a text that is written under a name.
pub(crate) fn log_of(kind: Kind, name: &str, text: &str) -> Log {
    let scratch = Scratch::new();
    let gathered = gather(kind, &scratch.write(name, text));
    assert!(gathered.refusals.is_empty(), "{:?}", gathered.refusals);
    let [log] = &gathered.logs[..] else { panic!("{} logs", gathered.logs.len()) };
    log.clone()
}

/// The only refusal of a text that is written under a name.
pub(crate) fn refusal_of(kind: Kind, name: &str, bytes: impl AsRef<[u8]>) -> Refusal {
    let scratch = Scratch::new();
    let gathered = gather(kind, &scratch.write(name, bytes));
    let [refusal] = &gathered.refusals[..] else { panic!("{} refusals", gathered.refusals.len()) };
    assert!(gathered.logs.is_empty() && gathered.tasks.is_empty());
    refusal.clone()
}

/// A log's steps, one a line: a letter for the kind, the text, and the index of the call that an output answers.
pub(crate) fn sketch(log: &Log) -> Vec<String> {
    log.steps
        .iter()
        .map(|step| match &step.content {
            Content::Message { role, text } => format!("{role:?}: {text}"),
            Content::AgentText { text } => format!("agent: {text}"),
            Content::Reasoning { text } => format!("thinks: {text}"),
            Content::ToolCall { name, arguments, requestor, .. } => format!("{requestor:?} calls {name} {arguments}"),
            Content::ToolOutput { call, text, error, .. } => {
                let call = call.map_or("-".to_owned(), |call| call.to_string());
                format!("{}{call}: {text}", if *error { "error of " } else { "output of " })
            }
        })
        .collect()
}

pub(crate) fn warned(log: &Log) -> Vec<WarningCode> {
    log.warnings.iter().map(|warning| warning.code).collect()
}

/// A member of an archive.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) method: u16,
    /// Written in place of the true size.
    pub(crate) size: Option<u32>,
    /// Whether the checksum is wrong.
    pub(crate) wrong_sum: bool,
}

impl Member {
    pub(crate) fn new(name: &'static str, text: &str, method: u16) -> Member {
        Member { name, bytes: text.as_bytes().to_vec(), method, size: None, wrong_sum: false }
    }
}

fn compress(member: &Member) -> Vec<u8> {
    match member.method {
        8 => {
            let mut encoder = flate2::read::DeflateEncoder::new(&member.bytes[..], flate2::Compression::default());
            let mut out = Vec::new();
            std::io::copy(&mut encoder, &mut out).expect("deflates");
            out
        }
        93 => ruzstd::encoding::compress_to_vec(&member.bytes[..], ruzstd::encoding::CompressionLevel::Fastest),
        _ => member.bytes.clone(),
    }
}

/// An archive, as the format description says, names repeated if they are given so.
pub(crate) fn zip(members: &[Member]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let stored = compress(member);
        let sum = crc32fast::hash(&member.bytes) ^ u32::from(member.wrong_sum);
        let size = member.size.unwrap_or(member.bytes.len() as u32);
        let offset = out.len() as u32;
        let mut common = Vec::new();
        for half in [20u16, 0, member.method, 0, 0x21] {
            common.extend(half.to_le_bytes());
        }
        for word in [sum, stored.len() as u32, size] {
            common.extend(word.to_le_bytes());
        }
        common.extend((member.name.len() as u16).to_le_bytes());
        common.extend(0u16.to_le_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(member.name.as_bytes());
        out.extend(&stored);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0u8; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(member.name.as_bytes());
    }
    let start = out.len() as u32;
    let count = members.len() as u16;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend(0u16.to_le_bytes());
    out
}
