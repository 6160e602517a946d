//! Reading files within limits, and going through their parts one at a time.

use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parthack_env::input::push_index;

use crate::fault::{Fault, RefusalCode};
use crate::json::{self, Notes};
use crate::limits::MAX_FILE_BYTES;
use crate::log::Log;
use crate::node::Node;
use crate::task::TaskSource;

/// What an importer found.
pub(crate) enum Found {
    Log(Box<Log>),
    Task(Box<TaskSource>),
}

/// What a file holds, one at a time.
pub(crate) type Items = Box<dyn Iterator<Item = Result<Found, Fault>>>;

/// A path as it is shown.
pub(crate) fn shown(path: &Path) -> Arc<str> {
    Arc::from(path.to_string_lossy().as_ref())
}

/// The bytes of a file.
pub(crate) fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Fault> {
    let unreadable = |error: std::io::Error| Fault::file(RefusalCode::Unreadable, error.to_string(), "a readable file");
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?;
    if !size.is_file() {
        return Err(Fault::file(RefusalCode::Unreadable, "something that is no regular file", "a file"));
    }
    let too_large =
        |size: u64| Fault::file(RefusalCode::TooLarge, format!("{size} bytes"), format!("at most {limit} bytes"));
    if size.len() > limit {
        return Err(too_large(size.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size.len()).unwrap_or(0));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    let read = bytes.len() as u64;
    if read > limit { Err(too_large(read)) } else { Ok(bytes) }
}

/// The text of a file, without a byte order mark.
pub(crate) fn read_text(path: &Path) -> Result<String, Fault> {
    into_text(read_bytes(path, MAX_FILE_BYTES)?)
}

/// Bytes as text, without a byte order mark.
pub(crate) fn into_text(bytes: Vec<u8>) -> Result<String, Fault> {
    json::text_of(&bytes)?;
    let mut text = String::from_utf8(bytes)
        .map_err(|_| Fault::file(RefusalCode::NotUtf8, "bytes that are no UTF-8", "UTF-8 text"))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// One thing.
pub(crate) fn one(found: Found) -> Items {
    Box::new(std::iter::once(Ok(found)))
}

/// Several parts of a document, each read when its turn comes.
pub(crate) fn each(
    text: Arc<str>,
    ranges: Vec<Range<usize>>,
    pointer: &str,
    mut read: impl FnMut(&Node<'_, '_>, Notes) -> Result<Found, Fault> + 'static,
) -> Items {
    let base = pointer.to_owned();
    Box::new(ranges.into_iter().enumerate().map(move |(index, range)| {
        let mut pointer = base.clone();
        push_index(&mut pointer, index);
        let (value, notes) = json::parse_part(&text, range, &pointer)?;
        read(&Node::new(&value, pointer), notes)
    }))
}

/// Whether a file is there.
pub(crate) fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file())
}

/// The last part of a path as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The first bytes of a file.
pub(crate) fn first_bytes(path: &Path, count: u64) -> std::io::Result<Vec<u8>> {
    if !is_file(path) {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}
