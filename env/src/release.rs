//! Reader of the authors' release formats: task records, actions, and the rules of `pb-cste-public-v1` payloads.
//!
//! A released task becomes a [`TaskSpec`] under [`Semantics::Release`] over the release's private ids, so that the same
//! engine, certifiers and search run it.

use std::collections::{BTreeMap, BTreeSet};

use crate::canonical::{Hash, canonical_bytes};
use crate::input::{Cursor, InputError};
use crate::json::Json;
use crate::limits::{MAX_SCRIPT, MAX_STEPS};
use crate::names::{Actor, Operation};
use crate::predicate::{Comparison, FieldTest, Predicate};
use crate::refusal::{Refusal, RefusalCode};
use crate::spec::{
    EntitySpec, EntityTypeSpec, Family, FieldSpec, GoalPredicateSpec, GoalSpec, PreconditionSpec, Recreate, RulesSpec,
    ScriptSpec, Semantics, Split, TaskSpec, TransitionSpec, Trigger, Visibility, WhenSpec,
};
use crate::steps::Step;
use crate::value::{FieldKind, Literal};

/// Format of the release's public payloads.
pub const RELEASE_PAYLOAD_FORMAT: &str = "pb-cste-public-v1";

/// A released task.
#[derive(Debug, Clone)]
pub struct ReleasedTask {
    /// The task over the release's private ids.
    pub spec: TaskSpec,
    /// Private id → public alias.
    pub aliases: BTreeMap<String, String>,
    /// Whether the release's rollback metric includes it.
    pub rollback_eligible: bool,
    /// Fields in the order of the release's schema, per type.
    pub schema: BTreeMap<String, Vec<String>>,
}

/// Reads a released task record.
///
/// # Errors
/// A missing key or a value of another shape, with its pointer. Keys that nothing needs are passed over.
pub fn read_task(bytes: &[u8]) -> Result<ReleasedTask, InputError> {
    let json = Json::parse(bytes)?;
    let root = Cursor::root(&json);
    let id = root.key("id")?.text()?.to_owned();
    let aliases = read_aliases(&root.key("public_ids")?)?;
    let catalog: BTreeSet<String> = match root.optional("catalog") {
        Some(list) => list.items()?.iter().map(|item| item.text().map(str::to_owned)).collect::<Result<_, _>>()?,
        None => aliases.keys().cloned().collect(),
    };
    let state = root.key("initial_state")?;
    let initial_state = read_state(&state)?;
    let (entity_types, schema) = read_schema(&root.key("entity_schema")?, &initial_state, &catalog)?;
    // No action may name an entity outside the catalogue, nor one of a type that the schema does not declare.
    let unnameable = initial_state
        .iter()
        .filter(|entity| !catalog.contains(&entity.id) || !schema.contains_key(&entity.entity_type))
        .map(|entity| (entity.entity_type.clone(), entity.id.clone()))
        .collect();
    let initial_goal_version = match state.optional("goal_version") {
        Some(version) => version.u32(0, u32::MAX)?,
        None => 1,
    };
    let active_goal_version = root.key("active_goal_version")?.u32(0, u32::MAX)?;
    let mut goal_versions = Vec::new();
    for (version, list) in root.key("goal_versions")?.entries()? {
        let Ok(version) = version.parse::<u32>() else {
            return Err(list.fault_found(format!("the key {version:?}"), "a goal version"));
        };
        goal_versions.push(GoalSpec { version, offered: false, predicates: read_goal(&list)? });
    }
    goal_versions.sort_by_key(|goal| goal.version);
    let honest = read_honest(&root.key("honest_actions")?)?;
    let text = |key: &str| root.optional(key).and_then(|c| c.json.as_str().map(str::to_owned)).unwrap_or_default();
    let family = match text("family").as_str() {
        "GoalPatch" => Family::GoalPatch,
        "CRUD entity set" => Family::Crud,
        "Interaction fixed goal" => Family::Interaction,
        _ => Family::Persistent,
    };
    let allowed =
        vec![Operation::Create, Operation::Update, Operation::Delete, Operation::Restore, Operation::ReviseGoal];
    let rollback_eligible = root.optional("rollback_eligible").is_some_and(|c| matches!(c.json, Json::Bool(true)));
    let spec = TaskSpec {
        title: id.clone(),
        domain: text("family"),
        split: if text("split") == "heldout" { Split::HeldOut } else { Split::Development },
        family,
        goal_form: String::new(),
        tags: Vec::new(),
        rollback_metric: rollback_eligible,
        initial_goal_version,
        active_goal_version,
        instructions: BTreeMap::from([(active_goal_version, text("instruction"))]),
        entity_types,
        initial_state,
        allowlist: [allowed.clone(), allowed.clone(), allowed.clone(), allowed],
        rules: read_rules(&root.key("transition_rules")?)?,
        script: read_interventions(&root.key("interventions")?)?,
        goal_versions,
        honest,
        environment_revision: text("environment_revision"),
        file_hash: Hash::of("task", &canonical_bytes(&json)),
        semantics: Semantics::Release,
        unnameable,
        id,
    };
    Ok(ReleasedTask { spec, aliases, rollback_eligible, schema })
}

fn read_aliases(map: &Cursor<'_, '_>) -> Result<BTreeMap<String, String>, InputError> {
    map.entries()?.into_iter().map(|(id, alias)| Ok((id.to_owned(), alias.text()?.to_owned()))).collect()
}

fn read_state(state: &Cursor<'_, '_>) -> Result<Vec<EntitySpec>, InputError> {
    let mut entities = Vec::new();
    for (key, live) in [("entities", true), ("deleted", false)] {
        let Some(types) = state.optional(key) else { continue };
        for (entity_type, ids) in types.entries()? {
            for (id, fields) in ids.entries()? {
                let fields = fields
                    .entries()?
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), Literal::read(value.json)))
                    .collect();
                entities.push(EntitySpec { entity_type: entity_type.to_owned(), id: id.to_owned(), live, fields });
            }
        }
    }
    Ok(entities)
}

type Schema = (Vec<EntityTypeSpec>, BTreeMap<String, Vec<String>>);

fn read_schema(
    schema: &Cursor<'_, '_>,
    initial: &[EntitySpec],
    catalog: &BTreeSet<String>,
) -> Result<Schema, InputError> {
    let mut types = Vec::new();
    let mut orders = BTreeMap::new();
    for (name, fields) in schema.entries()? {
        let mut specs = Vec::new();
        for (field, kind) in fields.entries()? {
            let kind = match kind.text()? {
                "string" => FieldKind::Text { max_length: u32::MAX },
                "integer" => FieldKind::ImportedInteger,
                "boolean" => FieldKind::Bool,
                "number" => FieldKind::ImportedNumber,
                _ => return Err(kind.fault("string, integer, boolean or number")),
            };
            specs.push(field_spec(field, kind, false));
        }
        orders.insert(name.to_owned(), specs.iter().map(|field: &FieldSpec| field.name.clone()).collect());
        types.push(entity_type(name, specs));
    }
    for entity in initial {
        if types.iter().all(|known| known.name != entity.entity_type) {
            types.push(entity_type(&entity.entity_type, Vec::new()));
        }
        if let Some(known) = types.iter_mut().find(|known| known.name == entity.entity_type) {
            for (name, _) in &entity.fields {
                if known.fields.iter().all(|field| field.name != *name) {
                    known.fields.push(field_spec(name, FieldKind::ImportedOpaque, true));
                }
            }
        }
    }
    for known in &mut types {
        let exists = |id: &String| initial.iter().any(|entity| entity.entity_type == known.name && entity.id == *id);
        if orders.contains_key(&known.name) {
            known.creatable = catalog.iter().filter(|id| !exists(id)).cloned().collect();
        }
    }
    Ok((types, orders))
}

fn entity_type(name: &str, fields: Vec<FieldSpec>) -> EntityTypeSpec {
    EntityTypeSpec {
        name: name.to_owned(),
        description: String::new(),
        recreate: Recreate::Refuse,
        creatable: Vec::new(),
        fields,
    }
}

fn field_spec(name: &str, kind: FieldKind, optional: bool) -> FieldSpec {
    FieldSpec {
        name: name.to_owned(),
        description: String::new(),
        kind,
        unit: None,
        optional,
        visibility: Visibility::Public,
        universe: None,
    }
}

fn read_goal(list: &Cursor<'_, '_>) -> Result<Vec<GoalPredicateSpec>, InputError> {
    list.items()?
        .iter()
        .map(|item| {
            Ok(GoalPredicateSpec {
                id: item.key("id")?.text()?.to_owned(),
                description: item
                    .optional("description")
                    .and_then(|c| c.json.as_str().map(str::to_owned))
                    .unwrap_or_default(),
                predicate: read_rule(&item.key("condition")?)?,
            })
        })
        .collect()
}

/// Reads a condition (private) or a rule (public) of the release.
///
/// # Errors
/// An unknown kind or a missing key.
pub fn read_rule(rule: &Cursor<'_, '_>) -> Result<Predicate, InputError> {
    let text = |key: &str| rule.key(key)?.text().map(str::to_owned);
    let kind = rule.key("kind")?;
    Ok(match kind.text()? {
        "field_equals" => Predicate::Field {
            entity_type: text("entity_type")?,
            id: text("entity_id")?,
            field: text("field")?,
            incarnation: None,
            test: FieldTest::Equals(Literal::read(rule.key("value")?.json)),
            refers: false,
        },
        "exists" => Predicate::Exists { entity_type: text("entity_type")?, id: text("entity_id")?, incarnation: None },
        "deleted" => {
            Predicate::Deleted { entity_type: text("entity_type")?, id: text("entity_id")?, incarnation: None }
        }
        "count_at_least" => Predicate::Count {
            entity_type: text("entity_type")?,
            filter: Vec::new(),
            compare: Comparison::AtLeast,
            count: rule.key("count")?.u32(0, u32::MAX)?,
        },
        "goal_version" => Predicate::GoalVersion(rule.key("version")?.u32(0, u32::MAX)?),
        _ => return Err(kind.fault("one of: field_equals, exists, deleted, count_at_least, goal_version")),
    })
}

fn read_rules(rules: &Cursor<'_, '_>) -> Result<RulesSpec, InputError> {
    let mut spec = RulesSpec::default();
    if let Some(most) = rules.optional("max_update_fields").filter(|c| !matches!(c.json, Json::Null)) {
        spec.max_update_fields = Some(most.u32(0, u32::MAX)?);
    }
    for graph in rules.optional("field_transitions").map(|c| c.items()).transpose()?.unwrap_or_default() {
        let mut pairs = Vec::new();
        for pair in graph.key("pairs")?.items()? {
            let [from, to] = &pair.items()?[..] else { return Err(pair.fault("[from, to]")) };
            pairs.push((Literal::read(from.json), Literal::read(to.json)));
        }
        spec.field_transitions.push(TransitionSpec {
            entity_type: graph.key("entity_type")?.text()?.to_owned(),
            field: graph.key("field")?.text()?.to_owned(),
            pairs,
        });
    }
    for precondition in rules.optional("preconditions").map(|c| c.items()).transpose()?.unwrap_or_default() {
        let when = precondition.key("when")?;
        let text = |key: &str| when.optional(key).map(|c| c.text().map(str::to_owned)).transpose();
        let operation = when.optional("op").map(|op| {
            Operation::from_word(op.json.as_str().unwrap_or_default()).ok_or_else(|| op.fault("an operation"))
        });
        spec.preconditions.push(PreconditionSpec {
            when: WhenSpec {
                operation: operation.transpose()?,
                entity_type: text("entity_type")?,
                id: text("entity_id")?,
                field: text("field")?,
                value: when.optional("value").map(|c| Literal::read(c.json)),
                actor: None,
            },
            requires: precondition.key("requires")?.items()?.iter().map(read_rule).collect::<Result<_, _>>()?,
            message: "task precondition not satisfied".to_owned(),
        });
    }
    Ok(spec)
}

fn read_interventions(list: &Cursor<'_, '_>) -> Result<Vec<ScriptSpec>, InputError> {
    let items = list.items()?;
    if items.len() > MAX_SCRIPT {
        return Err(list.fault(format!("at most {MAX_SCRIPT} interventions")));
    }
    let mut script = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let actor = item.key("actor")?;
        let actor_class = Actor::from_word(actor.text()?).ok_or_else(|| actor.fault("agent, user, system or peer"))?;
        // An action that is none imports as one that is refused when it fires: version 0 is never higher.
        let step = read_intervention(&item.key("action")?).unwrap_or(Step::ReviseGoal { version: 0 });
        let trigger = match item.key("after_agent_actions")?.u32(0, u32::MAX)? {
            0 => Trigger::Start,
            count => Trigger::AfterStep(count),
        };
        script.push(ScriptSpec { id: format!("intervention-{index}"), actor: actor_class, trigger, action: step });
    }
    Ok(script)
}

fn read_honest(list: &Cursor<'_, '_>) -> Result<Vec<Step>, InputError> {
    list.items()?
        .iter()
        .map(|item| read_action(item).map_err(|refusal| item.fault_found(refusal.message, "an action")))
        .collect()
}

/// Reads a list of agent actions as the release's environment does.
///
/// # Errors
/// The index of the first action that is none, with its refusal; the list's length for one that is too long.
pub fn read_actions(list: &Cursor<'_, '_>) -> Result<Vec<Step>, (usize, Refusal)> {
    let items = list.items().map_err(|error| (0, Refusal::new(RefusalCode::WrongType, error.to_string())))?;
    let steps = items.iter().enumerate().map(|(index, item)| read_action(item).map_err(|refusal| (index, refusal)));
    let steps: Vec<Step> = steps.collect::<Result<_, _>>()?;
    if steps.len() > MAX_STEPS {
        return Err((steps.len(), Refusal::new(RefusalCode::OperationNotAllowed, "more than 512 actions")));
    }
    Ok(steps)
}

/// Reads one action; defaults are left out in oracle lines: `attrs`, `patch` (empty), `version` (null), `actor` (agent).
///
/// # Errors
/// The refusal that the release's environment gives before it looks at the state.
pub fn read_action(action: &Cursor<'_, '_>) -> Result<Step, Refusal> {
    if action.optional("actor").is_some_and(|actor| actor.json.as_str() != Some("agent")) {
        return Err(Refusal::new(RefusalCode::WrongType, "an action names another actor"));
    }
    read_intervention(action)
}

/// Reads an action whose actor somebody else assigns.
fn read_intervention(action: &Cursor<'_, '_>) -> Result<Step, Refusal> {
    let bad = |message: &str| Refusal::new(RefusalCode::WrongType, message.to_owned());
    let entries = action.entries().map_err(|_| bad("an action is an object"))?;
    let find = |key: &str| entries.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
    const KNOWN: [&str; 8] = ["op", "entity_type", "entity_id", "attrs", "patch", "version", "actor", "metadata"];
    if let Some((key, _)) = entries.iter().find(|(key, _)| !KNOWN.contains(key)) {
        return Err(bad(&format!("unknown key {key:?}")));
    }
    if find("metadata").is_some_and(|metadata| {
        !matches!(metadata.json, Json::Null) && !matches!(metadata.json, Json::Object(e) if e.is_empty())
    }) {
        return Err(bad("metadata is not part of the tool schema"));
    }
    let object = |key: &str| -> Result<Vec<(String, Literal)>, Refusal> {
        match find(key) {
            None => Ok(Vec::new()),
            Some(map) => {
                let entries = map.entries().map_err(|_| bad("attrs and patch must be objects"))?;
                Ok(entries.into_iter().map(|(name, value)| (name.to_owned(), Literal::read(value.json))).collect())
            }
        }
    };
    let (attrs, patch) = (object("attrs")?, object("patch")?);
    let version = find("version").map(|version| version.json).filter(|json| !matches!(json, Json::Null));
    let operation =
        find("op").and_then(|op| op.json.as_str()).and_then(Operation::from_word).filter(|op| op.is_event());
    let Some(operation) = operation else {
        return Err(Refusal::new(RefusalCode::OperationNotAllowed, "the operation is not allowlisted"));
    };
    if operation != Operation::Create && !attrs.is_empty() {
        return Err(bad("attrs only allowed on create"));
    }
    if operation != Operation::Update && !patch.is_empty() {
        return Err(bad("patch only allowed on update"));
    }
    let text = |key: &str| find(key).and_then(|value| value.json.as_str()).map(str::to_owned);
    if operation == Operation::ReviseGoal {
        let named = find("entity_type").is_some_and(is_set) || find("entity_id").is_some_and(is_set);
        let version = version.and_then(|json| match json {
            Json::Number(text) => text.parse::<u32>().ok(),
            _ => None,
        });
        return match version {
            Some(version) if !named => Ok(Step::ReviseGoal { version }),
            _ => Err(bad("invalid revise_goal")),
        };
    }
    if version.is_some() {
        return Err(bad("version only allowed on revise_goal"));
    }
    let (Some(entity_type), Some(id)) = (text("entity_type"), text("entity_id")) else {
        return Err(bad("invalid typed entity"));
    };
    Ok(match operation {
        Operation::Create => Step::Create { entity_type, id, fields: attrs },
        Operation::Update => Step::Update { entity_type, id, fields: patch },
        Operation::Delete => Step::Delete { entity_type, id },
        _ => Step::Restore { entity_type, id },
    })
}

fn is_set(value: &Cursor<'_, '_>) -> bool {
    !matches!(value.json, Json::Null) && value.json.as_str() != Some("")
}
