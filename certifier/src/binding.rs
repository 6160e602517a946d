//! A package bound to its public task: everything that must agree before anything is certified (SPEC §4).

use std::collections::BTreeSet;
use std::sync::Arc;

use parthack_env::canonical::Hash;
use parthack_env::input::InputError;
use parthack_env::predicate::{FieldTest, Predicate};
use parthack_env::spec::{TaskSpec, Trigger};
use parthack_env::steps::Step;
use parthack_env::task::Task;
use parthack_env::value::Literal;

use crate::leaks::contains;
use crate::mapping::{Mapping, MappingFault, field_of, sort_literals};
use crate::package::Package;

/// Why a package does not belong to a public task.
///
/// Messages name public things alone: no raw value and no private id stands in them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageFault {
    /// The package is another task's.
    #[error("the package is for the task {found:?}, not {expected:?}")]
    OtherTask {
        /// The package's task.
        found: String,
        /// The public file's.
        expected: String,
    },
    /// The public file is not the one that the package was sealed with.
    #[error("the public file has the hash {found}, and the package was made for {expected}")]
    PublicHash {
        /// The public file's.
        found: Hash,
        /// The package's.
        expected: Hash,
    },
    /// An entity that can exist has no private id.
    #[error("{entity} has no private id")]
    MissingPrivateId {
        /// `type/id`
        entity: String,
    },
    /// A private id of an entity that cannot exist.
    #[error("the private ids name {entity}, which cannot exist")]
    UnknownEntity {
        /// `type/id`
        entity: String,
    },
    /// A raw value that is no value of a sealed field.
    #[error("a sealed value of {entity_type}.{field} is no value of a sealed field")]
    SealedValue {
        /// Entity type.
        entity_type: String,
        /// Field.
        field: String,
    },
    /// A token that key and raw value do not give.
    #[error("the token {token} of {entity_type}.{field} is not what key and raw value give")]
    Token {
        /// Entity type.
        entity_type: String,
        /// Field.
        field: String,
        /// The token.
        token: String,
    },
    /// A token with two raw values, or a raw value with two tokens.
    #[error("the token {token} of {entity_type}.{field} stands twice in the package")]
    TokenTwice {
        /// Entity type.
        entity_type: String,
        /// Field.
        field: String,
        /// The token.
        token: String,
    },
    /// A token of the public file without a raw value.
    #[error(
        "the public file holds the token {token} of {entity_type}.{field}, and the package has no raw value for it"
    )]
    TokenWithoutValue {
        /// Entity type.
        entity_type: String,
        /// Field.
        field: String,
        /// The token.
        token: String,
    },
    /// A private predicate that is not its public twin.
    #[error("version {version}, predicate {predicate:?}: {what}")]
    Predicate {
        /// Goal version.
        version: u32,
        /// The public predicate's id (or the private one's, where there is no public one).
        predicate: String,
        /// What differs.
        what: String,
    },
    /// A canary that the public file holds.
    #[error("canary {index} stands in the public file")]
    Canary {
        /// From 0.
        index: usize,
    },
    /// Expected vectors of another length than the goal.
    #[error("{what} expects {found} components, and the active goal has {expected} predicates")]
    Length {
        /// `expected_honest`, or a hidden test.
        what: String,
        /// Components.
        found: usize,
        /// m.
        expected: usize,
    },
}

impl PackageFault {
    /// The stable code, as `task lint` prints it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            PackageFault::OtherTask { .. } => "package_task",
            PackageFault::PublicHash { .. } => "package_public_hash",
            PackageFault::MissingPrivateId { .. } => "package_private_id_missing",
            PackageFault::UnknownEntity { .. } => "package_private_id_unknown",
            PackageFault::SealedValue { .. } => "package_sealed_value",
            PackageFault::Token { .. } => "package_token_wrong",
            PackageFault::TokenTwice { .. } => "package_token_twice",
            PackageFault::TokenWithoutValue { .. } => "package_token_without_value",
            PackageFault::Predicate { .. } => "package_predicate_differs",
            PackageFault::Canary { .. } => "package_canary_public",
            PackageFault::Length { .. } => "package_expectation_length",
        }
    }
}

impl From<MappingFault> for PackageFault {
    fn from(fault: MappingFault) -> PackageFault {
        match fault {
            MappingFault::NoPrivateId { entity } => PackageFault::MissingPrivateId { entity },
            MappingFault::NoSuchEntity { entity } => PackageFault::UnknownEntity { entity },
            MappingFault::NotSealed { entity_type, field } => PackageFault::SealedValue { entity_type, field },
            MappingFault::TokenDiffers { entity_type, field, token } => {
                PackageFault::Token { entity_type, field, token }
            }
            MappingFault::Twice { entity_type, field, token } => PackageFault::TokenTwice { entity_type, field, token },
        }
    }
}

/// Why a private task could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The public file.
    #[error("the public task file cannot be read")]
    Public(#[source] InputError),
    /// The package.
    #[error("the private package cannot be read")]
    Private(#[source] InputError),
    /// They do not belong together.
    #[error("the package does not fit its public task")]
    Fault(#[source] PackageFault),
}

/// A package bound to its public task.
///
/// Invariant: ids and tokens map one to one, and every private predicate is the public one under that mapping.
#[derive(Clone)]
pub struct PrivateTask {
    /// The public task.
    pub task: Arc<Task>,
    /// The package.
    pub package: Package,
    /// Bytes of the public file, for leak checks.
    pub public_bytes: Arc<[u8]>,
    pub(crate) mapping: Mapping,
}

impl PrivateTask {
    /// Reads both files and binds them.
    ///
    /// # Errors
    /// [`OpenError`]: a file that cannot be read, or the first [`PackageFault`].
    pub fn open(public: &[u8], private: &[u8]) -> Result<PrivateTask, OpenError> {
        let task = Task::read(public).map_err(OpenError::Public)?;
        let package = Package::read(private).map_err(OpenError::Private)?;
        PrivateTask::bind(Arc::new(task), public, package).map_err(OpenError::Fault)
    }

    /// Binds a package to its task; `public` are the bytes of the public file.
    ///
    /// # Errors
    /// The first fault, in the order of [`PackageFault`].
    pub fn bind(task: Arc<Task>, public: &[u8], package: Package) -> Result<PrivateTask, PackageFault> {
        let spec = &task.spec;
        if package.task_id != spec.id {
            return Err(PackageFault::OtherTask { found: package.task_id.clone(), expected: spec.id.clone() });
        }
        if package.public_hash != spec.file_hash {
            return Err(PackageFault::PublicHash { found: spec.file_hash, expected: package.public_hash });
        }
        let mapping = Mapping::new(spec, &package)?;
        check_tokens(spec, &mapping)?;
        check_predicates(spec, &package, &mapping)?;
        for (index, canary) in package.canaries.iter().enumerate() {
            if contains(public, canary.as_bytes()) {
                return Err(PackageFault::Canary { index });
            }
        }
        let expected = task.m();
        let tests = package.hidden_tests.iter().map(|test| (format!("hidden test {:?}", test.id), test.expect));
        for (what, expect) in tests.chain([("expected_honest".to_owned(), package.expected_honest)]) {
            for found in [expect.c_state.len(), expect.c_agent.len()] {
                if found != expected {
                    return Err(PackageFault::Length { what, found, expected });
                }
            }
        }
        Ok(PrivateTask { task, package, public_bytes: public.into(), mapping })
    }

    /// The private predicates of the active goal version, in order.
    pub fn active_predicates(&self) -> impl Iterator<Item = &Predicate> {
        let version = self.task.spec.active_goal_version;
        self.package.predicates.get(&version).into_iter().flatten().map(|predicate| &predicate.predicate)
    }
}

fn check_tokens(spec: &TaskSpec, mapping: &Mapping) -> Result<(), PackageFault> {
    for (entity_type, field, token) in public_tokens(spec) {
        if !mapping.raw_values(&entity_type, &field).contains_key(&token) {
            return Err(PackageFault::TokenWithoutValue { entity_type, field, token });
        }
    }
    Ok(())
}

/// Every (type, field, token) of the public file.
pub(crate) fn public_tokens(spec: &TaskSpec) -> BTreeSet<(String, String, String)> {
    let mut found = Tokens { spec, found: BTreeSet::new() };
    for entity in &spec.initial_state {
        found.fields(&entity.entity_type, &entity.fields);
    }
    for entity_type in &spec.entity_types {
        for field in &entity_type.fields {
            field.universe.iter().flatten().for_each(|value| found.literal(&entity_type.name, &field.name, value));
        }
    }
    for entry in &spec.script {
        if let Step::Create { entity_type, fields, .. } | Step::Update { entity_type, fields, .. } = &entry.action {
            found.fields(entity_type, fields);
        }
        if let Trigger::When(predicate) = &entry.trigger {
            found.predicate(predicate);
        }
    }
    for precondition in &spec.rules.preconditions {
        precondition.requires.iter().for_each(|predicate| found.predicate(predicate));
        if let (Some(field), Some(value)) = (&precondition.when.field, &precondition.when.value) {
            for entity_type in &spec.entity_types {
                if precondition.when.entity_type.as_ref().is_none_or(|named| *named == entity_type.name) {
                    found.literal(&entity_type.name, field, value);
                }
            }
        }
    }
    for transition in &spec.rules.field_transitions {
        for (from, to) in &transition.pairs {
            found.literal(&transition.entity_type, &transition.field, from);
            found.literal(&transition.entity_type, &transition.field, to);
        }
    }
    for goal in &spec.goal_versions {
        goal.predicates.iter().for_each(|predicate| found.predicate(&predicate.predicate));
    }
    found.found
}

struct Tokens<'s> {
    spec: &'s TaskSpec,
    found: BTreeSet<(String, String, String)>,
}

impl Tokens<'_> {
    fn fields(&mut self, entity_type: &str, fields: &[(String, Literal)]) {
        for (field, value) in fields {
            self.literal(entity_type, field, value);
        }
    }

    fn literal(&mut self, entity_type: &str, field: &str, literal: &Literal) {
        match literal {
            Literal::Token(token) if field_of(self.spec, entity_type, field).is_some() => {
                self.found.insert((entity_type.to_owned(), field.to_owned(), token.clone()));
            }
            Literal::List(items) => items.iter().for_each(|item| self.literal(entity_type, field, item)),
            _ => {}
        }
    }

    fn test(&mut self, entity_type: &str, field: &str, test: &FieldTest) {
        match test {
            FieldTest::Equals(value) | FieldTest::Contains(value) => self.literal(entity_type, field, value),
            FieldTest::In(values) => values.iter().for_each(|value| self.literal(entity_type, field, value)),
            FieldTest::AtLeast(_) | FieldTest::AtMost(_) => {}
        }
    }

    fn predicate(&mut self, predicate: &Predicate) {
        predicate.leaves(&mut |leaf| match leaf {
            Predicate::Field { entity_type, field, test, .. } => self.test(entity_type, field, test),
            Predicate::Count { entity_type, filter, .. } => {
                filter.iter().for_each(|(field, test)| self.test(entity_type, field, test));
            }
            _ => {}
        });
    }
}

fn check_predicates(spec: &TaskSpec, package: &Package, mapping: &Mapping) -> Result<(), PackageFault> {
    let fault = |version: u32, predicate: &str, what: String| {
        Err(PackageFault::Predicate { version, predicate: predicate.to_owned(), what })
    };
    if let Some(version) = package.predicates.keys().find(|v| spec.goal_versions.iter().all(|g| g.version != **v)) {
        return fault(*version, "", "the public file has no such goal version".to_owned());
    }
    for goal in &spec.goal_versions {
        let private = package.predicates.get(&goal.version).map(Vec::as_slice).unwrap_or_default();
        for (index, public) in goal.predicates.iter().enumerate() {
            let Some(twin) = private.get(index) else {
                return fault(goal.version, &public.id, "the package has no such predicate".to_owned());
            };
            if twin.id != public.id {
                return fault(goal.version, &public.id, format!("the package has {:?} in its place", twin.id));
            }
            match mapping.to_public(spec, &twin.predicate) {
                Err(what) => return fault(goal.version, &public.id, format!("it names {what}")),
                Ok(mapped) => {
                    if let Some(what) = difference(&normal(&public.predicate), &normal(&mapped), "") {
                        return fault(goal.version, &public.id, what);
                    }
                }
            }
        }
        if let Some(extra) = private.get(goal.predicates.len()) {
            return fault(goal.version, &extra.id, "the public file has no such predicate".to_owned());
        }
    }
    Ok(())
}

/// The same predicate with the lists of sets in one order.
fn normal(predicate: &Predicate) -> Predicate {
    let literal = |value: &Literal| match value {
        Literal::List(items) => {
            let mut items = items.clone();
            sort_literals(&mut items);
            Literal::List(items)
        }
        other => other.clone(),
    };
    let test = |test: &FieldTest| match test {
        FieldTest::Equals(value) => FieldTest::Equals(literal(value)),
        FieldTest::In(values) => FieldTest::In(values.iter().map(literal).collect()),
        other => other.clone(),
    };
    let mut out = predicate.clone();
    match &mut out {
        Predicate::Field { test: t, .. } => *t = test(t),
        Predicate::Count { filter, .. } => filter.iter_mut().for_each(|(_, t)| *t = test(t)),
        Predicate::All(of) | Predicate::Any(of) => of.iter_mut().for_each(|part| *part = normal(part)),
        Predicate::Not(of) => **of = normal(of),
        _ => {}
    }
    out
}

/// The first part in which a private predicate, in public words, is not the public one. It names the part, no value.
fn difference(public: &Predicate, private: &Predicate, at: &str) -> Option<String> {
    let differs = |part: &str| Some(format!("{part}{at} differs from the public predicate's"));
    match (public, private) {
        (
            Predicate::Field { entity_type, id, field, incarnation, test, refers },
            Predicate::Field {
                entity_type: other_type,
                id: other_id,
                field: other_field,
                incarnation: other_incarnation,
                test: other_test,
                refers: other_refers,
            },
        ) => match () {
            () if entity_type != other_type || id != other_id => differs("the entity"),
            () if field != other_field => differs("the field"),
            () if incarnation != other_incarnation => differs("the incarnation"),
            () if std::mem::discriminant(test) != std::mem::discriminant(other_test) || refers != other_refers => {
                differs("the kind")
            }
            () if test != other_test => differs("the expected value"),
            () => None,
        },
        (Predicate::All(left), Predicate::All(right)) | (Predicate::Any(left), Predicate::Any(right)) => {
            if left.len() != right.len() {
                return differs("the number of parts");
            }
            (0..left.len()).find_map(|index| difference(&left[index], &right[index], &format!("{at} at /of/{index}")))
        }
        (Predicate::Not(left), Predicate::Not(right)) => difference(left, right, &format!("{at} at /of")),
        (
            Predicate::Count { entity_type, filter, compare, count },
            Predicate::Count {
                entity_type: other_type,
                filter: other_filter,
                compare: other_compare,
                count: other_count,
            },
        ) => match () {
            () if entity_type != other_type => differs("the entity type"),
            () if filter != other_filter => differs("the filter"),
            () if compare != other_compare => differs("the comparison"),
            () if count != other_count => differs("the count"),
            () => None,
        },
        (left, right) if std::mem::discriminant(left) != std::mem::discriminant(right) => differs("the kind"),
        (left, right) if left != right => differs("the entity, incarnation or version"),
        _ => None,
    }
}
