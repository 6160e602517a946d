//! Leakage: every secret of every package, in every encoding, against every public byte. The scan runs inside the
//! certifier's process, which answers with places; of all secrets the suite's key alone is known here, if it is at hand.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parthack_certifier::leaks::Haystack;

use crate::audit::context::{Context, Listed, PRIVATE, entries_below, files_below, links_below, read};
use crate::audit::outcome::Outcome;
use crate::run::certifying::{Certify, Scan};
use crate::run::error::RunError;

/// Bytes of text in one question: even if each needs six for its escape, the line stays below the protocol's limit.
const PIECE: usize = 1 << 19;
/// Bytes that pieces of a file share, so that nothing stands between them: far more than the longest secret in the
/// longest encoding, separators included.
const OVERLAP: usize = 1 << 13;

/// The scan of one audit.
struct Scanning<'c> {
    certifier: &'c mut dyn Certify,
    /// What the certifier last said; its counts are the same every time.
    last: Option<Scan>,
    bytes: usize,
    time: Duration,
}

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    let Some(mut certifier) = context.certifier(outcome) else { return Ok(()) };
    let mut scanning = Scanning { certifier: certifier.as_mut(), last: None, bytes: 0, time: Duration::ZERO };
    for (name, target) in links_below(&context.folder.root, &[PRIVATE])? {
        // What it leads to is no part of the run, and may be private, here or where the run is published from.
        let found = format!("a symbolic link to {}", target.display());
        outcome.finds(name, found, "a file or folder of the run's own");
    }
    for (Listed { name, .. }, kind) in entries_below(&context.folder.root, &[PRIVATE])? {
        // Names of files are scanned with what they hold; those of folders with nothing in them stand nowhere else.
        if !kind.is_file() && !scanning.scan(&name, &format!("name of {name}"), outcome)? {
            outcome.not_run = Some("this certifier does not scan".to_owned());
            return Ok(());
        }
        if !kind.is_file() && !kind.is_dir() && !kind.is_symlink() {
            outcome.finds(name, "a pipe or a device", "a file or folder of the run's own");
        }
    }
    let key = context.job.suite_key.as_ref().map(|key| key.hex());
    if key.is_none() {
        outcome.notes.push("no suite key was at hand to be looked for".to_owned());
    }
    let mut no_text = Vec::new();
    let run = files_below(&context.folder.root, &[PRIVATE])?;
    let suite = files_below(&context.job.suite.folder, &[])?;
    let mut places = vec![("", run), ("suite: ", suite)];
    for folder in &context.job.recordings {
        places.push(("recordings: ", files_below(folder, &[])?));
    }
    for (origin, files) in places {
        for Listed { name, path } in files {
            let bytes = read(&path)?;
            let text = String::from_utf8_lossy(&bytes);
            let place = format!("{origin}{name}");
            if std::str::from_utf8(&bytes).is_err() {
                no_text.push(place.clone());
            }
            let encodings = key.as_ref().map(|key| Haystack::new(&bytes).find(key)).unwrap_or_default();
            for encoding in encodings {
                outcome.finds(place.as_str(), format!("the suite's key ({})", encoding.word()), "no secret");
            }
            outcome.counts(&format!("bytes: {}", kind_of(origin, &name)), bytes.len());
            outcome.checked += 1;
            // A name is as public as what it names.
            let known = scanning.scan(&name, &format!("name of {place}"), outcome)?;
            if !(known && scanning.scan(&text, &place, outcome)?) {
                outcome.not_run = Some("this certifier does not scan".to_owned());
                return Ok(());
            }
        }
    }
    if let Some(first) = no_text.first() {
        let others = match no_text.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        outcome
            .notes
            .push(format!("no text, so that what may be compressed in it was not looked into: {first}{others}"));
    }
    if let Some(scan) = &scanning.last {
        outcome.counts("secrets looked for", scan.secrets);
        outcome.counts("of them canaries", scan.canaries);
        outcome.counts("needles: secrets in their encodings", scan.needles);
        if scan.too_short > 0 {
            outcome.notes.push(format!("{} secrets are too short to be told from chance", scan.too_short));
        }
    }
    let seconds = scanning.time.as_secs_f64().max(f64::EPSILON);
    let (megabytes, rate) = (scanning.bytes as f64 / 1e6, scanning.bytes as f64 / 1e6 / seconds);
    outcome.talk.push(format!("scanned {megabytes:.1} MB in {seconds:.2} s, {rate:.0} MB/s"));
    Ok(())
}

impl Scanning<'_> {
    /// Scans a text in pieces; false if the certifier can't.
    fn scan(&mut self, text: &str, place: &str, outcome: &mut Outcome) -> Result<bool, RunError> {
        let mut seen = BTreeSet::new();
        let mut start = 0;
        loop {
            let end = boundary(text, (start + PIECE).min(text.len()));
            let begun = Instant::now();
            let Some(scan) = self.certifier.scan(&text[start..end])? else { return Ok(false) };
            self.time += begun.elapsed();
            self.bytes += end - start;
            for hit in &scan.hits {
                let what = format!("{} of {} ({})", hit.secret, hit.task, hit.encoding);
                if seen.insert(what.clone()) {
                    outcome.finds(format!("{place}, byte {}", start + hit.at), what, "no secret");
                }
            }
            if scan.found > scan.hits.len() {
                outcome.finds(place, format!("{} more secrets", scan.found - scan.hits.len()), "no secret");
            }
            self.last = Some(scan);
            if end == text.len() {
                return Ok(true);
            }
            start = boundary(text, end - OVERLAP);
        }
    }
}

/// The last place at or before an offset where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// What kind of public bytes a file holds.
fn kind_of<'n>(origin: &'n str, name: &'n str) -> &'n str {
    match (origin, name.split_once('/')) {
        ("suite: ", _) => "public tasks",
        ("recordings: ", _) => "recordings",
        (_, Some(("objects", rest))) => match rest.split_once('/') {
            Some(("exchanges", _)) => "prompts and responses",
            Some((kind, _)) => kind,
            None => "objects",
        },
        (_, Some((folder, _))) => folder,
        (_, None) => name,
    }
}
