//! What a run paid for answers of models, over all its starts: `spending.jsonl` in the run folder, outside every hash.
//!
//! A line is written as soon as an answer is there. A run that is killed may lose the lines of calls under way, never
//! those of calls whose answers it kept.

use std::fs::OpenOptions;
use std::io::Write;

use parthack_model::client::{Call, Exchange};
use parthack_model::price::{Cost, Usage};
use serde::{Deserialize, Serialize};

use crate::ledger::canonical_of;
use crate::run::error::RunError;
use crate::run::files::read_regular;
use crate::run::folder::RunFolder;

/// The file in the run folder.
const SPENDING: &str = "spending.jsonl";

/// One question that was paid for.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    cell: String,
    /// Pico-dollars; nothing where the price is not known.
    cost: Cost,
    model: String,
    requests: u32,
    role: String,
    usage: Usage,
}

/// What earlier starts of a run paid. Lines that a kill cut off count for nothing.
pub(crate) fn spent(folder: &RunFolder) -> Cost {
    let text =
        read_regular(folder.path(SPENDING)).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()).map(|line| line.cost).sum()
}

/// Notes what a question cost; one that came from a cassette cost nothing and is not noted.
///
/// # Errors
/// [`RunError::Storage`]: a run that can't keep count of what it spends must not go on spending.
pub(crate) fn note(folder: &RunFolder, call: &Call<'_>, exchange: &Exchange) -> Result<(), RunError> {
    if exchange.requests == 0 {
        return Ok(());
    }
    let line = Line {
        cell: call.cell.to_owned(),
        cost: exchange.cost.unwrap_or_default(),
        model: call.config.name(),
        requests: exchange.requests,
        role: call.role.to_owned(),
        usage: exchange.usage,
    };
    let mut bytes = canonical_of(&line);
    bytes.push(b'\n');
    let path = folder.path(SPENDING);
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(&bytes)).map_err(|source| RunError::storage("write", &path, source))
}
