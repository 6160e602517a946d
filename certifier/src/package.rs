//! Private packages `parthack.private/1`: a strict reader (P §3.4, A.3; SPEC §4).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::{Cursor, InputError, MAX_FILE_BYTES};
use parthack_env::json::Json;
use parthack_env::limits::{MAX_GOAL_VERSION, MAX_PREDICATES};
use parthack_env::predicate::Predicate;
use parthack_env::spec::read_steps;
use parthack_env::steps::{Step, StepFault};
use parthack_env::value::Literal;

use crate::tokens::RedactionKey;
use crate::vectors::BitVector;

/// Format of private packages.
pub const PRIVATE_FORMAT: &str = "parthack.private/1";
/// Fewest canaries of a package (SPEC §4): 24 tasks then have at least 192, and the reference suite asks for 197.
pub const MIN_CANARIES: usize = 8;
/// Fewest characters of a canary: too long to occur by chance.
pub const MIN_CANARY_CHARACTERS: usize = 16;
/// Fewest hidden tests of a package.
pub const MIN_HIDDEN_TESTS: usize = 2;

/// The raw value of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedValue {
    /// Entity type.
    pub entity_type: String,
    /// Field.
    pub field: String,
    /// The raw value; for a set, of one element; for a reference, the private id.
    pub value: Literal,
    /// Its token.
    pub token: String,
}

/// A predicate over private ids and raw values.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivatePredicate {
    /// The same id as its public twin.
    pub id: String,
    /// The test.
    pub predicate: Predicate,
}

/// What a trajectory must be certified as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expectation {
    /// c_state.
    pub c_state: BitVector,
    /// c_agent.
    pub c_agent: BitVector,
    /// Goal version at the end.
    pub goal_version: u32,
}

/// A trajectory with its expected vectors.
#[derive(Clone, PartialEq, Eq)]
pub struct HiddenTest {
    /// Its id.
    pub id: String,
    /// A sentence.
    pub description: String,
    /// Public steps.
    pub steps: Vec<Step>,
    /// What they must be certified as.
    pub expect: Expectation,
}

/// A private package, not yet bound to its task.
///
/// Its `Debug` shows the task id and the commitment alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Package {
    /// The task.
    pub task_id: String,
    /// Hash (label `task`) of the public file.
    pub public_hash: Hash,
    /// Key of the tokens.
    pub redaction_key: RedactionKey,
    /// (type, public id) → private id.
    pub private_ids: BTreeMap<(String, String), String>,
    /// Raw values of the tokens.
    pub sealed_values: Vec<SealedValue>,
    /// Goal version → predicates, in order.
    pub predicates: BTreeMap<u32, Vec<PrivatePredicate>>,
    /// Trajectories with expected vectors.
    pub hidden_tests: Vec<HiddenTest>,
    /// What the honest trajectory must be certified as.
    pub expected_honest: Expectation,
    /// Strings that may stand nowhere else.
    pub canaries: Vec<String>,
    /// Hash (label `private`) of the canonical package.
    pub commitment: Hash,
}

impl fmt::Debug for Package {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Package")
            .field("task_id", &self.task_id)
            .field("commitment", &self.commitment)
            .finish_non_exhaustive()
    }
}

impl Package {
    /// Reads a private package.
    ///
    /// # Errors
    /// [`InputError`] with the pointer of the first fault: an unknown, missing or duplicate key, a value of another
    /// shape, too few canaries or hidden tests, an id twice.
    pub fn read(bytes: &[u8]) -> Result<Package, InputError> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let found = format!("{} bytes", bytes.len());
            return Err(InputError::at("", found, format!("at most {MAX_FILE_BYTES} bytes")));
        }
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        root.format(PRIVATE_FORMAT)?;
        root.object(&[
            "format",
            "task_id",
            "public_hash",
            "redaction_key",
            "private_ids",
            "sealed_values",
            "predicates",
            "hidden_tests",
            "expected_honest",
            "canaries",
        ])?;
        Ok(Package {
            task_id: root.key("task_id")?.identifier()?.to_owned(),
            public_hash: read_hash(&root.key("public_hash")?)?,
            redaction_key: read_hash(&root.key("redaction_key")?)?.0,
            private_ids: read_private_ids(&root.key("private_ids")?)?,
            sealed_values: read_sealed_values(&root.key("sealed_values")?)?,
            predicates: read_predicates(&root.key("predicates")?)?,
            hidden_tests: read_hidden_tests(&root.key("hidden_tests")?)?,
            expected_honest: read_expectation(&root.key("expected_honest")?)?,
            canaries: read_canaries(&root.key("canaries")?)?,
            commitment: Hash::of("private", &canonical_bytes(&json)),
        })
    }
}

pub(crate) fn read_hash(cursor: &Cursor<'_, '_>) -> Result<Hash, InputError> {
    Hash::from_hex(cursor.text()?).ok_or_else(|| cursor.fault_found("another text", "64 lower-case hexadecimal digits"))
}

fn read_private_ids(map: &Cursor<'_, '_>) -> Result<BTreeMap<(String, String), String>, InputError> {
    let mut ids = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (key, value) in map.entries()? {
        let Some((entity_type, id)) = key.split_once('/') else {
            return Err(value.fault_found(format!("the key {key:?}"), "a key \"type/id\""));
        };
        let private = value.identifier()?;
        if !seen.insert(private) {
            return Err(value.fault_found("a private id for the second time", "each private id once"));
        }
        ids.insert((entity_type.to_owned(), id.to_owned()), private.to_owned());
    }
    Ok(ids)
}

fn read_sealed_values(list: &Cursor<'_, '_>) -> Result<Vec<SealedValue>, InputError> {
    list.items()?
        .iter()
        .map(|cursor| {
            cursor.object(&["type", "field", "value", "token"])?;
            Ok(SealedValue {
                entity_type: cursor.key("type")?.identifier()?.to_owned(),
                field: cursor.key("field")?.identifier()?.to_owned(),
                value: Literal::read(cursor.key("value")?.json),
                token: cursor.key("token")?.identifier()?.to_owned(),
            })
        })
        .collect()
}

fn read_predicates(map: &Cursor<'_, '_>) -> Result<BTreeMap<u32, Vec<PrivatePredicate>>, InputError> {
    let mut goals = BTreeMap::new();
    for (key, list) in map.entries()? {
        let version = key.parse::<u32>().ok().filter(|v| v.to_string() == key && (1..=MAX_GOAL_VERSION).contains(v));
        let Some(version) = version else {
            return Err(list.fault_found(format!("the key {key:?}"), "a goal version, such as \"1\""));
        };
        let items = list.items()?;
        if items.is_empty() || items.len() > MAX_PREDICATES {
            return Err(list.fault(format!("1 to {MAX_PREDICATES} predicates")));
        }
        let mut predicates = Vec::new();
        for item in &items {
            item.object(&["id", "predicate"])?;
            predicates.push(PrivatePredicate {
                id: item.key("id")?.identifier()?.to_owned(),
                predicate: Predicate::read(&item.key("predicate")?)?,
            });
        }
        goals.insert(version, predicates);
    }
    Ok(goals)
}

fn read_hidden_tests(list: &Cursor<'_, '_>) -> Result<Vec<HiddenTest>, InputError> {
    let items = list.items()?;
    if items.len() < MIN_HIDDEN_TESTS {
        return Err(list.fault(format!("at least {MIN_HIDDEN_TESTS} hidden tests")));
    }
    let mut seen = BTreeSet::new();
    let mut tests = Vec::new();
    for item in &items {
        item.object(&["id", "description", "steps", "expect"])?;
        let id = item.key("id")?;
        if !seen.insert(id.identifier()?) {
            return Err(id.fault("each hidden test's id once"));
        }
        tests.push(HiddenTest {
            id: id.identifier()?.to_owned(),
            description: item.key("description")?.prose(500)?.to_owned(),
            steps: read_steps(&item.key("steps")?).map_err(StepFault::into_error)?,
            expect: read_expectation(&item.key("expect")?)?,
        });
    }
    Ok(tests)
}

fn read_expectation(cursor: &Cursor<'_, '_>) -> Result<Expectation, InputError> {
    cursor.object(&["c_state", "c_agent", "goal_version"])?;
    Ok(Expectation {
        c_state: read_vector(&cursor.key("c_state")?)?,
        c_agent: read_vector(&cursor.key("c_agent")?)?,
        goal_version: cursor.key("goal_version")?.u32(1, MAX_GOAL_VERSION)?,
    })
}

fn read_vector(list: &Cursor<'_, '_>) -> Result<BitVector, InputError> {
    let items = list.items()?;
    let bits =
        items.iter().map(|item| Ok(u8::from(item.integer(0, 1)? == 1))).collect::<Result<Vec<_>, InputError>>()?;
    BitVector::from_list(&bits).ok_or_else(|| list.fault(format!("at most {MAX_PREDICATES} components")))
}

fn read_canaries(list: &Cursor<'_, '_>) -> Result<Vec<String>, InputError> {
    let items = list.items()?;
    if items.len() < MIN_CANARIES {
        return Err(list.fault(format!("at least {MIN_CANARIES} canaries")));
    }
    let mut canaries: Vec<String> = Vec::new();
    for item in &items {
        let canary = item.prose(200)?;
        if canary.chars().count() < MIN_CANARY_CHARACTERS {
            return Err(item.fault_found("a shorter text", format!("at least {MIN_CANARY_CHARACTERS} characters")));
        }
        if canaries.iter().any(|known| known == canary) {
            return Err(item.fault_found("a canary for the second time", "each canary once"));
        }
        canaries.push(canary.to_owned());
    }
    Ok(canaries)
}
