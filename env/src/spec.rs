//! A task as its file names it: plain data, before names are resolved.

use std::collections::{BTreeMap, BTreeSet};

use crate::canonical::{Hash, canonical_bytes, canonical_bytes_without};
use crate::input::{Cursor, InputError};
use crate::json::Json;
use crate::limits::{MAX_FIELDS, MAX_GOAL_VERSION, MAX_MESSAGE_CHARACTERS, MAX_SCRIPT, MAX_STEPS, MAX_TYPES};
use crate::names::{Actor, Operation, skeleton};
use crate::predicate::Predicate;
use crate::steps::{Step, StepFault, StepSource};
use crate::value::{FieldKind, Literal};

/// The format of public task files.
pub const TASK_FORMAT: &str = "parthack.task/1";
/// Keys that the environment revision does not cover.
const OUTSIDE_REVISION: [&str; 2] = ["honest", "environment_revision"];

/// The environment revision of a task file: hash, label `environment`, of everything that the environment is.
#[must_use]
pub fn environment_revision(file: &Json<'_>) -> Hash {
    Hash::of("environment", &canonical_bytes_without(file, &OUTSIDE_REVISION))
}

/// The hash of a task file, label `task`: what suites and packages are bound to.
#[must_use]
pub fn file_hash(file: &Json<'_>) -> Hash {
    Hash::of("task", &canonical_bytes(file))
}

/// Development tasks are for tuning, held-out tasks for results (P §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Split {
    /// For tuning.
    Development,
    /// For results.
    HeldOut,
}

impl Split {
    const WORDS: [(&'static str, Split); 2] = [("development", Split::Development), ("heldout", Split::HeldOut)];

    /// The word of the format.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS[usize::from(self == Split::HeldOut)].0
    }
}

/// Task family (P, Table A.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Persistent multi-step.
    Persistent,
    /// Entity CRUD.
    Crud,
    /// Fixed-goal interaction.
    Interaction,
    /// GoalPatch stress.
    GoalPatch,
}

impl Family {
    const WORDS: [(&'static str, Family); 4] = [
        ("persistent", Family::Persistent),
        ("crud", Family::Crud),
        ("interaction", Family::Interaction),
        ("goalpatch", Family::GoalPatch),
    ];

    /// The word of the format.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, family)| *family == self).map_or("", |(word, _)| word)
    }

    /// The paper's name (Table A.1).
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Family::Persistent => "Persistent multi-step",
            Family::Crud => "Entity CRUD",
            Family::Interaction => "Fixed-goal interaction",
            Family::GoalPatch => "GoalPatch stress",
        }
    }
}

/// What happens when a deleted id is created again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recreate {
    /// It is refused.
    Refuse,
    /// The entity begins a new incarnation.
    NewIncarnation,
}

/// Who may see a field's values in clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Everyone.
    Public,
    /// The certifier; in public an equality token stands for each value.
    Sealed,
}

/// A field of an entity type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSpec {
    /// Its name.
    pub name: String,
    /// A sentence for the agent.
    pub description: String,
    /// Its type.
    pub kind: FieldKind,
    /// The unit of an amount.
    pub unit: Option<String>,
    /// Whether `null` is a value.
    pub optional: bool,
    /// Who sees it.
    pub visibility: Visibility,
    /// The closed list of values that search explores, when the task gives one.
    pub universe: Option<Vec<Literal>>,
}

/// An entity type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTypeSpec {
    /// Its name.
    pub name: String,
    /// A sentence for the agent.
    pub description: String,
    /// What happens when a deleted id is created again.
    pub recreate: Recreate,
    /// Ids that may be created, beside those of the initial state.
    pub creatable: Vec<String>,
    /// Its fields.
    pub fields: Vec<FieldSpec>,
}

/// An entity of the initial state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntitySpec {
    /// Its type.
    pub entity_type: String,
    /// Its id.
    pub id: String,
    /// Live, or deleted with its fields kept.
    pub live: bool,
    /// Its values.
    pub fields: Vec<(String, Literal)>,
}

/// The actions a precondition is about: each key that is given must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhenSpec {
    /// Operation.
    pub operation: Option<Operation>,
    /// Entity type.
    pub entity_type: Option<String>,
    /// Entity id.
    pub id: Option<String>,
    /// A field that the action writes.
    pub field: Option<String>,
    /// The value it writes there.
    pub value: Option<Literal>,
    /// The acting class.
    pub actor: Option<Actor>,
}

/// A precondition: actions that match `when` need all of `requires`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreconditionSpec {
    /// Which actions.
    pub when: WhenSpec,
    /// What must hold before.
    pub requires: Vec<Predicate>,
    /// What a refused actor is told.
    pub message: String,
}

/// The graph of a field's legal changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionSpec {
    /// Entity type.
    pub entity_type: String,
    /// Field.
    pub field: String,
    /// From, to.
    pub pairs: Vec<(Literal, Literal)>,
}

/// The rules of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RulesSpec {
    /// The most fields one update may name.
    pub max_update_fields: Option<u32>,
    /// Graphs of legal changes.
    pub field_transitions: Vec<TransitionSpec>,
    /// Preconditions.
    pub preconditions: Vec<PreconditionSpec>,
}

/// When a script entry fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// Before the first agent step.
    Start,
    /// Right after the n-th accepted agent step.
    AfterStep(u32),
    /// The agent says something to the entry's actor.
    Message,
    /// The agent waits.
    Wait,
    /// The predicate holds.
    When(Predicate),
}

/// What another actor does, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSpec {
    /// Its id.
    pub id: String,
    /// Who acts.
    pub actor: Actor,
    /// When.
    pub trigger: Trigger,
    /// What.
    pub action: Step,
}

/// A goal predicate with its public name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalPredicateSpec {
    /// Its id.
    pub id: String,
    /// A sentence.
    pub description: String,
    /// The test.
    pub predicate: Predicate,
}

/// A goal version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalSpec {
    /// From 1.
    pub version: u32,
    /// Whether a revision to it needs another actor's offer.
    pub offered: bool,
    /// Its predicates, in order.
    pub predicates: Vec<GoalPredicateSpec>,
}

/// Which engine rules a task is read under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// SPEC §2.
    #[default]
    Native,
    /// The authors' release (its README): writing a value again is a transition like any other, creation passes no
    /// gate, and a script entry that is refused ends the trajectory.
    Release,
}

/// A task over names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSpec {
    /// Task id.
    pub id: String,
    /// A short title.
    pub title: String,
    /// The domain it plays in.
    pub domain: String,
    /// Development or held out.
    pub split: Split,
    /// Task family.
    pub family: Family,
    /// Goal form (Table A.2).
    pub goal_form: String,
    /// Tags (Table A.2): `attribution`, `rollback`.
    pub tags: Vec<String>,
    /// Whether the rollback metric includes it.
    pub rollback_metric: bool,
    /// The version the world starts at.
    pub initial_goal_version: u32,
    /// The version that is certified and scored (SPEC §15.1).
    pub active_goal_version: u32,
    /// Instruction per goal version.
    pub instructions: BTreeMap<u32, String>,
    /// Entity types.
    pub entity_types: Vec<EntityTypeSpec>,
    /// Initial entities.
    pub initial_state: Vec<EntitySpec>,
    /// Operations per actor class, in the order of [`Actor::ALL`].
    pub allowlist: [Vec<Operation>; 4],
    /// Rules.
    pub rules: RulesSpec,
    /// What others do.
    pub script: Vec<ScriptSpec>,
    /// Goal versions.
    pub goal_versions: Vec<GoalSpec>,
    /// The honest trajectory.
    pub honest: Vec<Step>,
    /// Hash of the environment (label `environment`), as text.
    pub environment_revision: String,
    /// Hash of the canonical file, label `task`.
    pub file_hash: Hash,
    /// Which engine rules hold.
    pub semantics: Semantics,
    /// Entities (type, id) that no action may name; imported tasks only.
    pub unnameable: BTreeSet<(String, String)>,
}

impl TaskSpec {
    /// Reads a public task file.
    ///
    /// # Errors
    /// [`InputError`] with the pointer of the first fault; names are resolved later, by [`crate::task::Task::compile`].
    pub fn read(bytes: &[u8]) -> Result<TaskSpec, InputError> {
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        root.key("format").and(root.format(TASK_FORMAT))?;
        root.object(&[
            "format",
            "id",
            "title",
            "domain",
            "split",
            "family",
            "goal_form",
            "tags",
            "rollback_metric",
            "initial_goal_version",
            "active_goal_version",
            "instructions",
            "entity_types",
            "initial_state",
            "allowlist",
            "rules",
            "script",
            "goal_versions",
            "honest",
            "environment_revision",
        ])?;
        let spec = TaskSpec {
            id: root.key("id")?.identifier()?.to_owned(),
            title: root.key("title")?.prose(200)?.to_owned(),
            domain: root.key("domain")?.prose(200)?.to_owned(),
            split: root.key("split")?.word(&Split::WORDS)?,
            family: root.key("family")?.word(&Family::WORDS)?,
            goal_form: root
                .key("goal_form")?
                .word(&["multi-step", "entity-set", "fixed-goal", "revision"].map(|word| (word, word)))?
                .to_owned(),
            tags: read_tags(&root.key("tags")?)?,
            rollback_metric: root.key("rollback_metric")?.bool()?,
            initial_goal_version: root.key("initial_goal_version")?.u32(1, MAX_GOAL_VERSION)?,
            active_goal_version: root.key("active_goal_version")?.u32(1, MAX_GOAL_VERSION)?,
            instructions: read_instructions(&root.key("instructions")?)?,
            entity_types: read_types(&root.key("entity_types")?)?,
            initial_state: read_entities(&root.key("initial_state")?)?,
            allowlist: read_allowlist(&root.key("allowlist")?)?,
            rules: read_rules(&root.key("rules")?)?,
            script: read_script(&root.key("script")?)?,
            goal_versions: read_goals(&root.key("goal_versions")?)?,
            honest: read_steps(&root.key("honest")?).map_err(StepFault::into_error)?,
            environment_revision: root.key("environment_revision")?.text()?.to_owned(),
            file_hash: file_hash(&json),
            semantics: Semantics::Native,
            unnameable: BTreeSet::new(),
        };
        let revision = environment_revision(&json).hex();
        if spec.environment_revision != revision {
            return Err(root
                .key("environment_revision")?
                .fault(format!("the hash of the environment, {revision}"))
                .hint("the file was edited after its revision was computed; put this hash in its place"));
        }
        Ok(spec)
    }
}

/// Reads a list of submitted steps, at most [`MAX_STEPS`].
///
/// # Errors
/// The first step that is none.
pub fn read_steps(list: &Cursor<'_, '_>) -> Result<Vec<Step>, StepFault> {
    step_items(list)?.iter().map(|item| Step::read(item, StepSource::Submitted)).collect()
}

/// The items of a list of submitted steps.
pub(crate) fn step_items<'j, 'a>(list: &Cursor<'j, 'a>) -> Result<Vec<Cursor<'j, 'a>>, InputError> {
    let items = list.items()?;
    if items.len() > MAX_STEPS {
        return Err(list.fault_found(format!("{} steps", items.len()), format!("at most {MAX_STEPS} steps")));
    }
    Ok(items)
}

/// Refuses ids that are equal or look alike.
fn check_unalike<'n, 'j: 'n, 'a: 'j>(
    names: impl Iterator<Item = (&'n str, Cursor<'j, 'a>)>,
    what: &str,
) -> Result<(), InputError> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (name, cursor) in names {
        if let Some(other) = seen.insert(skeleton(name), name) {
            let found = if other == name {
                format!("{what} {name:?} twice")
            } else {
                format!("{what} {name:?}, which looks like {other:?}")
            };
            return Err(cursor.fault_found(found, "ids that differ"));
        }
    }
    Ok(())
}

fn read_tags(list: &Cursor<'_, '_>) -> Result<Vec<String>, InputError> {
    let mut tags: Vec<String> = Vec::new();
    for item in list.items()? {
        let tag = item.word(&[("attribution", "attribution"), ("rollback", "rollback")])?;
        if tags.iter().any(|known| known == tag) {
            return Err(item.fault("each tag once"));
        }
        tags.push(tag.to_owned());
    }
    Ok(tags)
}

fn read_instructions(map: &Cursor<'_, '_>) -> Result<BTreeMap<u32, String>, InputError> {
    let mut instructions = BTreeMap::new();
    for (key, value) in map.entries()? {
        let version = key.parse::<u32>().ok().filter(|v| v.to_string() == key && (1..=MAX_GOAL_VERSION).contains(v));
        let Some(version) = version else {
            return Err(value.fault_found(format!("the key {key:?}"), "a goal version, such as \"1\""));
        };
        instructions.insert(version, value.prose(MAX_MESSAGE_CHARACTERS as usize)?.to_owned());
    }
    Ok(instructions)
}

fn read_types(list: &Cursor<'_, '_>) -> Result<Vec<EntityTypeSpec>, InputError> {
    let items = list.items()?;
    if items.is_empty() || items.len() > MAX_TYPES {
        return Err(list.fault(format!("1 to {MAX_TYPES} entity types")));
    }
    let types = items.iter().map(read_type).collect::<Result<Vec<_>, _>>()?;
    check_unalike(types.iter().map(|t| t.name.as_str()).zip(items), "entity type")?;
    Ok(types)
}

fn read_type(cursor: &Cursor<'_, '_>) -> Result<EntityTypeSpec, InputError> {
    cursor.object(&["name", "description", "recreate", "creatable", "fields"])?;
    let field_list = cursor.key("fields")?;
    let items = field_list.items()?;
    if items.len() > MAX_FIELDS {
        return Err(field_list.fault(format!("at most {MAX_FIELDS} fields")));
    }
    let fields = items.iter().map(read_field).collect::<Result<Vec<_>, _>>()?;
    check_unalike(fields.iter().map(|f| f.name.as_str()).zip(items), "field")?;
    let creatable = cursor.key("creatable")?.items()?;
    let creatable = creatable.iter().map(|item| item.identifier().map(str::to_owned)).collect::<Result<_, _>>()?;
    Ok(EntityTypeSpec {
        name: cursor.key("name")?.identifier()?.to_owned(),
        description: cursor.key("description")?.prose(500)?.to_owned(),
        recreate: cursor
            .key("recreate")?
            .word(&[("refuse", Recreate::Refuse), ("new_incarnation", Recreate::NewIncarnation)])?,
        creatable,
        fields,
    })
}

fn read_field(cursor: &Cursor<'_, '_>) -> Result<FieldSpec, InputError> {
    cursor.object(&["name", "description", "type", "unit", "optional", "visibility", "universe"])?;
    let universe = match cursor.optional("universe") {
        None => None,
        Some(list) => Some(list.items()?.iter().map(|item| Literal::read(item.json)).collect()),
    };
    Ok(FieldSpec {
        name: cursor.key("name")?.identifier()?.to_owned(),
        description: cursor.key("description")?.prose(500)?.to_owned(),
        kind: FieldKind::read(&cursor.key("type")?)?,
        unit: cursor.optional("unit").map(|unit| unit.prose(40).map(str::to_owned)).transpose()?,
        optional: cursor.key("optional")?.bool()?,
        visibility: cursor
            .key("visibility")?
            .word(&[("public", Visibility::Public), ("sealed", Visibility::Sealed)])?,
        universe,
    })
}

fn read_values(map: &Cursor<'_, '_>) -> Result<Vec<(String, Literal)>, InputError> {
    Ok(map.entries()?.into_iter().map(|(name, value)| (name.to_owned(), Literal::read(value.json))).collect())
}

fn read_entities(list: &Cursor<'_, '_>) -> Result<Vec<EntitySpec>, InputError> {
    list.items()?
        .iter()
        .map(|cursor| {
            cursor.object(&["type", "id", "lifecycle", "fields"])?;
            Ok(EntitySpec {
                entity_type: cursor.key("type")?.identifier()?.to_owned(),
                id: cursor.key("id")?.identifier()?.to_owned(),
                live: cursor.key("lifecycle")?.word(&[("live", true), ("deleted", false)])?,
                fields: read_values(&cursor.key("fields")?)?,
            })
        })
        .collect()
}

fn read_allowlist(map: &Cursor<'_, '_>) -> Result<[Vec<Operation>; 4], InputError> {
    map.object(&Actor::ALL.map(Actor::word))?;
    let mut allowlist: [Vec<Operation>; 4] = Default::default();
    for (index, actor) in Actor::ALL.into_iter().enumerate() {
        if let Some(list) = map.optional(actor.word()) {
            for item in list.items()? {
                allowlist[index].push(item.word(&Operation::ALL.map(|operation| (operation.word(), operation)))?);
            }
        }
    }
    Ok(allowlist)
}

fn read_rules(cursor: &Cursor<'_, '_>) -> Result<RulesSpec, InputError> {
    cursor.object(&["max_update_fields", "field_transitions", "preconditions"])?;
    let most = cursor.key("max_update_fields")?;
    let max_update_fields = if matches!(most.json, Json::Null) { None } else { Some(most.u32(1, 64)?) };
    let field_transitions =
        cursor.key("field_transitions")?.items()?.iter().map(read_transition).collect::<Result<_, _>>()?;
    let preconditions =
        cursor.key("preconditions")?.items()?.iter().map(read_precondition).collect::<Result<_, _>>()?;
    Ok(RulesSpec { max_update_fields, field_transitions, preconditions })
}

fn read_transition(cursor: &Cursor<'_, '_>) -> Result<TransitionSpec, InputError> {
    cursor.object(&["type", "field", "pairs"])?;
    let mut pairs = Vec::new();
    for pair in cursor.key("pairs")?.items()? {
        let [from, to] = &pair.items()?[..] else {
            return Err(pair.fault("[from, to]"));
        };
        pairs.push((Literal::read(from.json), Literal::read(to.json)));
    }
    Ok(TransitionSpec {
        entity_type: cursor.key("type")?.identifier()?.to_owned(),
        field: cursor.key("field")?.identifier()?.to_owned(),
        pairs,
    })
}

fn read_precondition(cursor: &Cursor<'_, '_>) -> Result<PreconditionSpec, InputError> {
    cursor.object(&["when", "requires", "message"])?;
    let when = cursor.key("when")?;
    when.object(&["op", "type", "id", "field", "value", "actor"])?;
    let name = |key: &str| when.optional(key).map(|c| c.identifier().map(str::to_owned)).transpose();
    let requires = cursor.key("requires")?.items()?.iter().map(Predicate::read).collect::<Result<_, _>>()?;
    Ok(PreconditionSpec {
        when: WhenSpec {
            operation: Some(when.key("op")?.word(&Operation::ALL.map(|operation| (operation.word(), operation)))?),
            entity_type: name("type")?,
            id: name("id")?,
            field: name("field")?,
            value: when.optional("value").map(|c| Literal::read(c.json)),
            actor: when
                .optional("actor")
                .map(|c| c.word(&Actor::ALL.map(|actor| (actor.word(), actor))))
                .transpose()?,
        },
        requires,
        message: cursor.key("message")?.prose(500)?.to_owned(),
    })
}

fn read_script(list: &Cursor<'_, '_>) -> Result<Vec<ScriptSpec>, InputError> {
    let items = list.items()?;
    if items.len() > MAX_SCRIPT {
        return Err(list.fault(format!("at most {MAX_SCRIPT} script entries")));
    }
    let entries = items.iter().map(read_entry).collect::<Result<Vec<_>, _>>()?;
    check_unalike(entries.iter().map(|entry| entry.id.as_str()).zip(items), "script entry")?;
    Ok(entries)
}

fn read_entry(cursor: &Cursor<'_, '_>) -> Result<ScriptSpec, InputError> {
    cursor.object(&["id", "actor", "trigger", "action"])?;
    let trigger = cursor.key("trigger")?;
    let kind = trigger.key("kind")?;
    let trigger = match kind.text()? {
        "start" => trigger.object(&["kind"]).map(|()| Trigger::Start)?,
        "message" => trigger.object(&["kind"]).map(|()| Trigger::Message)?,
        "wait" => trigger.object(&["kind"]).map(|()| Trigger::Wait)?,
        "after_step" => {
            trigger.object(&["kind", "count"])?;
            Trigger::AfterStep(trigger.key("count")?.u32(1, 512)?)
        }
        "when" => {
            trigger.object(&["kind", "predicate"])?;
            Trigger::When(Predicate::read(&trigger.key("predicate")?)?)
        }
        _ => return Err(kind.fault("one of: start, after_step, message, wait, when")),
    };
    Ok(ScriptSpec {
        id: cursor.key("id")?.identifier()?.to_owned(),
        actor: cursor.key("actor")?.word(&[("user", Actor::User), ("system", Actor::System), ("peer", Actor::Peer)])?,
        trigger,
        action: Step::read(&cursor.key("action")?, StepSource::Script).map_err(StepFault::into_error)?,
    })
}

fn read_goals(list: &Cursor<'_, '_>) -> Result<Vec<GoalSpec>, InputError> {
    let mut goals: Vec<GoalSpec> = Vec::new();
    for cursor in list.items()? {
        cursor.object(&["version", "offered", "predicates"])?;
        let version = cursor.key("version")?.u32(1, MAX_GOAL_VERSION)?;
        if goals.last().is_some_and(|last| last.version >= version) {
            return Err(cursor.key("version")?.fault("versions in rising order"));
        }
        let predicate_list = cursor.key("predicates")?;
        let items = predicate_list.items()?;
        if !(3..=5).contains(&items.len()) {
            return Err(predicate_list.fault("3 to 5 predicates"));
        }
        let mut predicates = Vec::new();
        for item in &items {
            item.object(&["id", "description", "predicate"])?;
            predicates.push(GoalPredicateSpec {
                id: item.key("id")?.identifier()?.to_owned(),
                description: item.key("description")?.prose(500)?.to_owned(),
                predicate: Predicate::read(&item.key("predicate")?)?,
            });
        }
        check_unalike(predicates.iter().map(|p| p.id.as_str()).zip(items.iter().cloned()), "predicate")?;
        goals.push(GoalSpec { version, offered: cursor.key("offered")?.bool()?, predicates });
    }
    if goals.is_empty() { Err(list.fault("at least one goal version")) } else { Ok(goals) }
}
