//! Tasks of any number from a secret seed, each with its private package, each proved before it is given out.
//!
//! Task i is a function of the seed, the request and i alone: the same bytes on any machine, whatever the number of
//! threads, and however many tasks are asked for. What the public may see is drawn from one tree of keys, every secret
//! from another (see [`Seed`]).
//!
//! Architecture invariant: this crate does no IO, reads no clock and knows no evaluator; it links the private side, and
//! nothing of the public side links it.
//!
//! ```
//! use parthack_generator::{Generator, Request, Seed};
//! let seed = Seed::from_bytes(b"a seed that nobody knows").expect("16 bytes or more");
//! let generator = Generator::new(Request { count: 2, ..Request::default() }).expect("a request that tasks can meet");
//! let tasks: Vec<_> = generator.tasks(&seed).collect::<Result<_, _>>().expect("tasks");
//! assert_eq!(tasks[1].id, "GEN-00002");
//! assert_eq!(tasks[1], generator.task(&seed, 1).expect("the same task again"));
//! ```

mod compose;
mod domain;
mod draft;
mod gates;
mod instruction;
mod language;
mod names;
mod package;
mod part;
mod parts;
mod plan;
mod prove;
mod request;
mod seed;
mod shape;
mod suite;
mod world;

use std::collections::BTreeMap;

use parthack_env::canonical::Hash;
use parthack_env::json::Json;
use parthack_env::spec::{environment_revision, file_hash};

pub use prove::{Refusal, prove};
pub use request::{BadRequest, FAMILIES, MAX_TASKS, Progress, Request, TagWish};
pub use seed::{MIN_SEED_BYTES, Seed, ShortSeed};
pub use suite::{SUITE_FORMAT, SuiteEntry, suite_manifest};

use compose::{Composed, Order, compose};
use request::Cell;

/// Drafts of one task before it is given up. About one draft in a hundred is refused, so that so many in a row never are.
pub const MAX_DRAFTS: u32 = 40;

/// A task that was proved.
#[derive(Clone, PartialEq, Eq)]
pub struct GeneratedTask {
    /// Its id, which names both files.
    pub id: String,
    /// The public file.
    pub public: String,
    /// The private package.
    pub private: String,
    /// What a suite says of it.
    pub entry: SuiteEntry,
    /// Its domain.
    pub domain: String,
    /// Instruction per goal version.
    pub instructions: BTreeMap<String, String>,
    /// Hash of the file without names, numbers and words.
    pub shape: Hash,
    /// Drafts that were refused before, in order.
    pub refused: Vec<Refusal>,
}

impl std::fmt::Debug for GeneratedTask {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("GeneratedTask").field("id", &self.id).field("hash", &self.entry.hash).finish_non_exhaustive()
    }
}

/// Why there is no task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// The request is for fewer tasks.
    #[error("task {index} of a request for {count}")]
    Index {
        /// From 0.
        index: usize,
        /// Tasks asked for.
        count: usize,
    },
    /// Every draft was refused.
    #[error("{id}: all of {MAX_DRAFTS} drafts were refused, the last one for {last}")]
    Exhausted {
        /// The task's id.
        id: String,
        /// Why the last one was.
        last: Refusal,
    },
    /// The serializer failed.
    #[error("{id}: {message}")]
    Write {
        /// The task's id.
        id: String,
        /// Its message.
        message: String,
    },
}

/// A checked request.
#[derive(Debug, Clone)]
pub struct Generator {
    request: Request,
    cells: Vec<Cell>,
}

impl Generator {
    /// Checks a request.
    ///
    /// # Errors
    /// [`BadRequest`].
    pub fn new(request: Request) -> Result<Generator, BadRequest> {
        let cells = request.cells()?;
        Ok(Generator { request, cells })
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Every task, in order.
    pub fn tasks<'g>(&'g self, seed: &'g Seed) -> impl Iterator<Item = Result<GeneratedTask, GenerateError>> + 'g {
        (0..self.request.count).map(|index| self.task(seed, index))
    }

    /// Task `index`, from 0; calls do not depend on each other.
    ///
    /// # Errors
    /// [`GenerateError`].
    pub fn task(&self, seed: &Seed, index: usize) -> Result<GeneratedTask, GenerateError> {
        if index >= self.request.count {
            return Err(GenerateError::Index { index, count: self.request.count });
        }
        let order = self.order(seed, index);
        let mut refused = Vec::new();
        for draft in 0..MAX_DRAFTS {
            match self.draft(seed, &order, draft)? {
                Ok(task) => return Ok(GeneratedTask { refused, ..task }),
                Err(refusal) => refused.push(refusal),
            }
        }
        let last = refused.pop().unwrap_or(Refusal::NoTrajectory);
        Err(GenerateError::Exhausted { id: order.id, last })
    }

    /// What task `index` is to be.
    fn order(&self, seed: &Seed, index: usize) -> Order {
        let (cell, id) = (self.cells[index % self.cells.len()], self.request.task_id(index));
        let mut draws = seed.draws(&format!("tags of {id}"));
        let mut wants = |wish: TagWish, offered: bool| {
            let drawn = draws.chance(1, 4);
            offered && (wish == TagWish::Always || (wish == TagWish::Drawn && drawn))
        };
        let attribution = wants(self.request.attribution, cell.offers_attribution());
        let rollback = wants(self.request.rollback, cell.offers_rollback());
        let both = self.request.attribution == TagWish::Always && self.request.rollback == TagWish::Always;
        // As in Table A.2, a task has one tag, unless both were asked for.
        let rollback = rollback && (!attribution || both || self.request.rollback == TagWish::Always);
        let attribution = attribution && (!rollback || self.request.attribution == TagWish::Always);
        Order { id, split: self.request.split, cell, attribution, rollback }
    }

    /// One draft of a task, proved.
    fn draft(&self, seed: &Seed, order: &Order, draft: u32) -> Result<Result<GeneratedTask, Refusal>, GenerateError> {
        let Cell { family, m, k } = order.cell;
        let tags = format!("{}{}", u8::from(order.attribution), u8::from(order.rollback));
        let purpose = format!("{} {} {} {k}/{m} {tags} draft {draft}", order.id, order.split.word(), family.word());
        let secrets = seed.secrets(&purpose);
        let Some(mut composed) = compose(order, seed.draws(&purpose), secrets.clone()) else {
            return Ok(Err(Refusal::NoTrajectory));
        };
        let failed =
            |error: serde_json::Error| GenerateError::Write { id: order.id.clone(), message: error.to_string() };
        let (public, hash) = match seal(&mut composed) {
            Ok(sealed) => sealed,
            Err(message) => return Err(GenerateError::Write { id: order.id.clone(), message }),
        };
        let private = package::package(&composed, &hash, &secrets).map_err(failed)?;
        let task = match prove(public.as_bytes(), private.as_bytes()) {
            Ok(task) => task,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let value = serde_json::from_str(&public).map_err(failed)?;
        let draft = composed.draft;
        Ok(Ok(GeneratedTask {
            id: draft.id.clone(),
            entry: SuiteEntry {
                id: draft.id,
                split: draft.split,
                family: draft.family,
                m: task.m(),
                p_state_honest: format!("{k}/{m}"),
                tags: draft.tags.iter().map(|tag| (*tag).to_owned()).collect(),
                rollback_metric: draft.rollback_metric,
                hash,
            },
            domain: draft.domain,
            instructions: draft.instructions,
            shape: shape::shape_hash(&value),
            public,
            private,
            refused: Vec::new(),
        }))
    }
}

/// Fills in the environment revision; the file's text and hash.
fn seal(composed: &mut Composed) -> Result<(String, String), String> {
    let print = |composed: &Composed| serde_json::to_string_pretty(&composed.draft).map_err(|error| error.to_string());
    let text = print(composed)?;
    let json = Json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    composed.draft.environment_revision = environment_revision(&json).hex();
    let mut text = print(composed)?;
    let json = Json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let hash = file_hash(&json).hex();
    text.push('\n');
    Ok((text, hash))
}
