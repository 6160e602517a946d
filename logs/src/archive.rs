//! ZIP archives: members stored, deflated or compressed by Zstandard (method 93), read one at a time and within limits.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use flate2::read::DeflateDecoder;
use ruzstd::decoding::StreamingDecoder;
use zip::{CompressionMethod, ZipArchive};

use crate::fault::{Fault, RefusalCode};
use crate::input;
use crate::limits::{EXPANSION_FREE_BYTES, MAX_ARCHIVE_BYTES, MAX_EXPANSION, MAX_MEMBER_BYTES, MAX_MEMBERS};

/// An archive whose members are read by name.
pub(crate) struct Archive<R> {
    zip: ZipArchive<R>,
    /// Index by name; of members with the same name, the last.
    members: BTreeMap<String, usize>,
    /// Bytes that were expanded so far.
    expanded: u64,
}

/// Opens an archive on disk.
pub(crate) fn open(path: &Path) -> Result<Archive<BufReader<File>>, Fault> {
    let unreadable = |error: std::io::Error| Fault::file(RefusalCode::Unreadable, error.to_string(), "a readable file");
    let file = File::open(path).map_err(unreadable)?;
    let data = file.metadata().map_err(unreadable)?;
    if !data.is_file() {
        return Err(Fault::file(RefusalCode::Unreadable, "something that is no regular file", "a file"));
    }
    if data.len() > MAX_ARCHIVE_BYTES {
        let found = format!("{} bytes", data.len());
        return Err(Fault::file(RefusalCode::TooLarge, found, format!("at most {MAX_ARCHIVE_BYTES} bytes")));
    }
    Archive::new(BufReader::new(file))
}

fn damaged(found: impl std::fmt::Display) -> Fault {
    Fault::file(RefusalCode::BadArchive, found.to_string(), "a sound ZIP archive")
}

impl<R: Read + Seek> Archive<R> {
    pub(crate) fn new(reader: R) -> Result<Self, Fault> {
        let zip = ZipArchive::new(reader).map_err(damaged)?;
        if zip.len() > MAX_MEMBERS {
            let found = format!("{} members", zip.len());
            return Err(Fault::file(RefusalCode::TooLarge, found, format!("at most {MAX_MEMBERS} members")));
        }
        let names = zip.file_names().enumerate().map(|(index, name)| Ok((name?.into_owned(), index)));
        let members = names.collect::<Result<_, zip::result::ZipError>>().map_err(damaged)?;
        Ok(Archive { zip, members, expanded: 0 })
    }

    /// Whether a name occurs more than once.
    pub(crate) fn has_repeated_names(&self) -> bool {
        self.zip.has_duplicate_names()
    }

    /// Names of the members, in their order in the archive.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<(usize, &String)> = self.members.iter().map(|(name, index)| (*index, name)).collect();
        names.sort();
        names.into_iter().map(|(_, name)| name.clone()).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// The text of a member.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, Fault> {
        let bytes = self.bytes(name).map_err(|fault| fault.in_member(name))?;
        input::into_text(bytes).map_err(|fault| fault.in_member(name))
    }

    fn bytes(&mut self, name: &str) -> Result<Vec<u8>, Fault> {
        let index = *self.members.get(name).ok_or_else(|| damaged("no such member"))?;
        let member = self.zip.by_index_raw(index).map_err(damaged)?;
        if member.encrypted() {
            return Err(damaged("an encrypted member"));
        }
        let (declared, stored, sum, method) =
            (member.size(), member.compressed_size(), member.crc32(), member.compression());
        let limit = limit_of(stored);
        if declared > limit {
            return Err(bomb(declared, stored));
        }
        let room = MAX_ARCHIVE_BYTES.saturating_sub(self.expanded);
        let bytes = match method {
            CompressionMethod::Stored => collect(member, limit, stored)?,
            CompressionMethod::DEFLATE => collect(DeflateDecoder::new(member), limit, stored)?,
            CompressionMethod::ZSTD => {
                let decoder = StreamingDecoder::new(member).map_err(|error| damaged(format!("zstd: {error}")))?;
                collect(decoder, limit, stored)?
            }
            other => {
                return Err(damaged(format!(
                    "the compression method {other:?}, which is none of stored, deflate, zstd"
                )));
            }
        };
        let size = bytes.len() as u64;
        if size > room {
            let found = format!("more than {MAX_ARCHIVE_BYTES} bytes in all");
            return Err(Fault::file(RefusalCode::ArchiveBomb, found, "an archive that expands to less"));
        }
        self.expanded += size;
        if size != declared || crc32fast::hash(&bytes) != sum {
            let found = format!("{size} bytes that do not have the recorded size and checksum");
            return Err(damaged(found));
        }
        Ok(bytes)
    }
}

fn limit_of(stored: u64) -> u64 {
    MAX_MEMBER_BYTES.min(stored.saturating_mul(MAX_EXPANSION).max(EXPANSION_FREE_BYTES))
}

fn bomb(size: u64, stored: u64) -> Fault {
    let code = if size > MAX_MEMBER_BYTES { RefusalCode::TooLarge } else { RefusalCode::ArchiveBomb };
    let expected = format!("at most {MAX_MEMBER_BYTES} bytes, and at most {MAX_EXPANSION} for a stored byte");
    Fault::file(code, format!("{size} bytes or more out of {stored}"), expected)
}

fn collect(reader: impl Read, limit: u64, stored: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| damaged(format!("a member that does not decompress: {error}")))?;
    let size = bytes.len() as u64;
    if size > limit { Err(bomb(size, stored)) } else { Ok(bytes) }
}
