//! Checklists and their file, `parthack.checklist/1`: candidates, and frozen ones (G §3.2).
//!
//! The reader is strict about form alone: types, unknown and repeated keys. Whether an item is grounded is what
//! [`crate::gates`] says, all faults at once; so an empty quote or a repeated id can be read.

use parthack_env::canonical::{Hash, canonical_bytes, canonical_bytes_without};
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use serde::{Deserialize, Serialize};

/// The name of the format.
pub const CHECKLIST_FORMAT: &str = "parthack.checklist/1";

/// How an item can be verified (G §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// A published verifier test covers it.
    Assertion,
    /// A deterministic check could be written but is absent.
    Generated,
    /// Judgment is unavoidable.
    Judge,
}

impl Route {
    /// All routes with their words.
    pub const WORDS: [(&'static str, Route); 3] =
        [("assertion", Route::Assertion), ("generated", Route::Generated), ("judge", Route::Judge)];

    /// `assertion`, `generated` or `judge`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Route::Assertion => "assertion",
            Route::Generated => "generated",
            Route::Judge => "judge",
        }
    }
}

/// The five categories by which coverage is audited. They do not guide synthesis (G §3.2), so an item may have none yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Understanding what is asked and what is given.
    Comprehension,
    /// Getting the data or the means.
    Acquisition,
    /// Working out values.
    Computation,
    /// Making the artifact.
    Construction,
    /// Checking the artifact, or keeping a constraint on it.
    Validation,
}

impl Category {
    /// All categories with their words.
    pub const WORDS: [(&'static str, Category); 5] = [
        ("comprehension", Category::Comprehension),
        ("acquisition", Category::Acquisition),
        ("computation", Category::Computation),
        ("construction", Category::Construction),
        ("validation", Category::Validation),
    ];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Category::Comprehension => "comprehension",
            Category::Acquisition => "acquisition",
            Category::Computation => "computation",
            Category::Construction => "construction",
            Category::Validation => "validation",
        }
    }
}

/// One requirement of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its id, such as `c1`.
    pub id: String,
    /// What must hold, in words.
    pub requirement: String,
    /// The words of the instruction that say so, verbatim.
    pub quote: String,
    /// How it can be verified.
    pub route: Route,
    /// The verifier's test that covers it; there on route `assertion` alone.
    pub verifier: Option<String>,
    /// For the audit alone.
    pub category: Option<Category>,
}

/// A checklist that nobody has frozen yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checklist {
    /// In the order of the file.
    pub items: Vec<Item>,
}

/// The generation that a checklist came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The attempt, from 1.
    pub attempt: u32,
    /// Hash of its record ([`crate::synthesis::Generation::hash`]).
    pub record: Hash,
}

/// A frozen checklist: nothing of it changes once a trajectory has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// The task's id.
    pub task: String,
    /// Hash of the instruction, as [`instruction_hash`] makes it.
    pub instruction: Hash,
    /// Hash of the verifier, as [`crate::verifier::Verifier::hash`] makes it.
    pub verifier: Hash,
    /// Where it came from; `None` for a checklist that a person wrote.
    pub generation: Option<Origin>,
    /// The items.
    pub checklist: Checklist,
}

/// What a checklist file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// A candidate, with the task that it says it is for.
    Candidate(Option<String>, Checklist),
    /// A frozen checklist whose hash is right.
    Frozen(Frozen),
}

impl Document {
    /// The items, frozen or not.
    #[must_use]
    pub fn checklist(&self) -> &Checklist {
        match self {
            Document::Candidate(_, checklist) => checklist,
            Document::Frozen(frozen) => &frozen.checklist,
        }
    }

    /// The task that it says it is for.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        match self {
            Document::Candidate(task, _) => task.as_deref(),
            Document::Frozen(frozen) => Some(&frozen.task),
        }
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// The first fault of form, with its JSON pointer; for a frozen checklist also a hash that is not its content's.
    pub fn read(bytes: &[u8]) -> Result<Document, InputError> {
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        root.object(&["format", "task", "items", "instruction", "verifier", "generation", "hash"])?;
        root.format(CHECKLIST_FORMAT)?;
        let task = root.optional("task").map(|cursor| cursor.text().map(str::to_owned)).transpose()?;
        let items = root.key("items")?.items()?.iter().map(read_item).collect::<Result<_, _>>()?;
        let checklist = Checklist { items };
        let frozen_keys = ["instruction", "verifier", "generation", "hash"];
        if frozen_keys.iter().all(|key| root.optional(key).is_none()) {
            return Ok(Document::Candidate(task, checklist));
        }
        let frozen = Frozen {
            task: root.key("task")?.text()?.to_owned(),
            instruction: read_hash(&root.key("instruction")?)?,
            verifier: read_hash(&root.key("verifier")?)?,
            generation: read_origin(&root.key("generation")?)?,
            checklist,
        };
        let told = root.key("hash")?;
        let hash = Hash::of("checklist", &canonical_bytes_without(&json, &["hash"]));
        if read_hash(&told)? != hash || hash != frozen.hash() {
            return Err(told
                .fault(format!("the hash of what the file says, {hash}"))
                .hint("a frozen checklist is not edited; change a copy, check it and freeze it anew"));
        }
        Ok(Document::Frozen(frozen))
    }
}

impl Checklist {
    /// The bytes of a candidate's file.
    #[must_use]
    pub fn write(&self, task: Option<&str>) -> Vec<u8> {
        let mut entries = vec![text_entry("format", CHECKLIST_FORMAT), ("items".into(), self.json())];
        entries.extend(task.map(|task| text_entry("task", task)));
        canonical_bytes(&Json::Object(entries))
    }

    fn json(&self) -> Json<'_> {
        Json::Array(self.items.iter().map(item_json).collect())
    }
}

impl Frozen {
    /// Hash, label `checklist`, of the canonical bytes of everything but the hash.
    #[must_use]
    pub fn hash(&self) -> Hash {
        Hash::of("checklist", &canonical_bytes(&Json::Object(self.entries())))
    }

    /// The bytes of its file.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut entries = self.entries();
        entries.push(hash_entry("hash", self.hash()));
        canonical_bytes(&Json::Object(entries))
    }

    fn entries(&self) -> Vec<(std::borrow::Cow<'_, str>, Json<'_>)> {
        let generation = self.generation.map_or(Json::Null, |origin| {
            let attempt = Json::Number(origin.attempt.to_string().into());
            Json::Object(vec![("attempt".into(), attempt), hash_entry("record", origin.record)])
        });
        vec![
            text_entry("format", CHECKLIST_FORMAT),
            text_entry("task", &self.task),
            hash_entry("instruction", self.instruction),
            hash_entry("verifier", self.verifier),
            ("generation".into(), generation),
            ("items".into(), self.checklist.json()),
        ]
    }
}

/// Hash, label `instruction`, of an instruction's bytes as they stand.
#[must_use]
pub fn instruction_hash(instruction: &str) -> Hash {
    Hash::of("instruction", instruction.as_bytes())
}

fn read_item(cursor: &Cursor<'_, '_>) -> Result<Item, InputError> {
    cursor.object(&["id", "requirement", "quote", "route", "verifier", "category"])?;
    let text = |key| cursor.key(key)?.text().map(str::to_owned);
    let present = |key| cursor.optional(key).filter(|value| *value.json != Json::Null);
    Ok(Item {
        id: text("id")?,
        requirement: text("requirement")?,
        quote: text("quote")?,
        route: cursor.key("route")?.word(&Route::WORDS)?,
        verifier: present("verifier").map(|value| value.text().map(str::to_owned)).transpose()?,
        category: present("category").map(|value| value.word(&Category::WORDS)).transpose()?,
    })
}

fn read_hash(cursor: &Cursor<'_, '_>) -> Result<Hash, InputError> {
    Hash::from_hex(cursor.text()?).ok_or_else(|| cursor.fault("64 lower-case hexadecimal digits"))
}

fn read_origin(cursor: &Cursor<'_, '_>) -> Result<Option<Origin>, InputError> {
    if *cursor.json == Json::Null {
        return Ok(None);
    }
    cursor.object(&["attempt", "record"])?;
    Ok(Some(Origin { attempt: cursor.key("attempt")?.u32(1, u32::MAX)?, record: read_hash(&cursor.key("record")?)? }))
}

fn item_json(item: &Item) -> Json<'_> {
    let mut entries = vec![
        text_entry("id", &item.id),
        text_entry("requirement", &item.requirement),
        text_entry("quote", &item.quote),
        text_entry("route", item.route.word()),
    ];
    entries.extend(item.verifier.as_deref().map(|test| text_entry("verifier", test)));
    entries.extend(item.category.map(|category| text_entry("category", category.word())));
    Json::Object(entries)
}

fn text_entry<'a>(key: &'a str, text: &'a str) -> (std::borrow::Cow<'a, str>, Json<'a>) {
    (key.into(), Json::String(text.into()))
}

fn hash_entry<'a>(key: &'a str, hash: Hash) -> (std::borrow::Cow<'a, str>, Json<'a>) {
    (key.into(), Json::String(hash.hex().into()))
}
