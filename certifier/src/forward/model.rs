//! A task as the second certifier reads it: maps over names.

use std::collections::BTreeMap;
use std::sync::Arc;

use parthack_env::canonical::Hash;
use parthack_env::names::{Actor, Operation};
use parthack_env::predicate::Predicate;
use parthack_env::spec::{PreconditionSpec, Recreate, ScriptSpec, Semantics, TaskSpec, Trigger};
use parthack_env::value::Literal;

use super::ModelFault;
use super::claims::Claim;
use super::data::{Datum, Field, Ids, raw};

/// Where in its life a thing is; the order is the one that tuples show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Absent,
    Live,
    Deleted,
}

impl Stage {
    pub(super) fn word(self) -> &'static str {
        match self {
            Stage::Absent => "absent",
            Stage::Live => "live",
            Stage::Deleted => "deleted",
        }
    }
}

/// An entity that can exist.
#[derive(Debug, Clone)]
pub(super) struct Thing {
    pub(super) stage: Stage,
    pub(super) incarnation: u32,
    /// Every field of its type, by name.
    pub(super) cells: BTreeMap<Arc<str>, Datum>,
    /// Hash of its canonical form, once somebody asked; dropped on every change.
    pub(super) leaf: Option<Hash>,
}

/// Type → id → thing, in the order of the state hash.
pub(super) type Things = BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<Thing>>>;

/// The types of a task.
#[derive(Debug, Clone)]
pub(super) struct ModelTypes {
    /// Imported tasks may name what does not exist.
    pub(super) lenient: bool,
    pub(super) ids: Ids,
    fields: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Field>>,
    reincarnates: BTreeMap<Arc<str>, bool>,
}

impl ModelTypes {
    pub(super) fn knows(&self, kind: &str) -> bool {
        self.fields.contains_key(kind)
    }

    pub(super) fn kind(&self, kind: &str) -> Option<Arc<str>> {
        self.fields.get_key_value(kind).map(|(kind, _)| Arc::clone(kind))
    }

    pub(super) fn thing(&self, kind: &str, id: &str) -> Option<(Arc<str>, Arc<str>)> {
        let (kind, ids) = self.ids.get_key_value(kind)?;
        ids.get_key_value(id).map(|(id, ())| (Arc::clone(kind), Arc::clone(id)))
    }

    pub(super) fn field(&self, kind: &str, field: &str) -> Option<(Arc<str>, &Field)> {
        self.fields.get(kind)?.get_key_value(field).map(|(name, field)| (Arc::clone(name), field))
    }

    pub(super) fn fields(&self, kind: &str) -> impl Iterator<Item = (&Arc<str>, &Field)> {
        self.fields.get(kind).into_iter().flatten()
    }

    pub(super) fn reincarnates(&self, kind: &str) -> bool {
        self.reincarnates.get(kind).copied().unwrap_or(false)
    }
}

/// A precondition.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) operation: Option<Operation>,
    pub(super) kind: Option<String>,
    pub(super) id: Option<String>,
    pub(super) actor: Option<Actor>,
    pub(super) field: Option<String>,
    /// With a value: what it is in each type that has the field; a type is missing where it cannot be.
    pub(super) value: Option<BTreeMap<Arc<str>, Datum>>,
    pub(super) requires: Vec<Claim>,
}

/// When another actor acts.
#[derive(Debug, Clone)]
pub(super) enum Cue {
    Start,
    After(u32),
    Spoken,
    Waited,
    Once(Claim),
}

/// Legal changes of a field: from, to.
type Graph = Vec<(Datum, Datum)>;

/// A whole task.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) types: ModelTypes,
    pub(super) release: bool,
    pub(super) initial: Things,
    pub(super) initial_goal: u32,
    pub(super) allowed: [Vec<Operation>; 4],
    pub(super) most_fields: Option<u32>,
    /// (type, field) → graphs of pairs; each graph must know the change.
    pub(super) graphs: BTreeMap<(Arc<str>, Arc<str>), Vec<Graph>>,
    pub(super) rules: Vec<Rule>,
    pub(super) cues: Vec<Cue>,
    pub(super) script: Vec<ScriptSpec>,
    /// Declared goal versions, and whether they must be offered.
    pub(super) goals: BTreeMap<u32, bool>,
    pub(super) goal: Vec<Claim>,
    pub(super) unnameable: Vec<(String, String)>,
    pub(super) task_id: String,
    pub(super) revision: String,
    /// Tuples of the goal predicates in the initial state.
    pub(super) initial_tuples: Vec<Vec<Datum>>,
}

impl Model {
    pub(super) fn new<'p>(spec: &TaskSpec, goal: impl Iterator<Item = &'p Predicate>) -> Result<Model, ModelFault> {
        let release = spec.semantics == Semantics::Release;
        let types = read_types(spec, release);
        let mut graphs: BTreeMap<_, Vec<Graph>> = BTreeMap::new();
        for graph in &spec.rules.field_transitions {
            let Some((name, field)) = types.field(&graph.entity_type, &graph.field) else { continue };
            let mut pairs = Graph::new();
            for (from, to) in &graph.pairs {
                let to = admit(&types, field, to)?;
                // An imported field that was never set reads as null.
                if release && *from == Literal::Null {
                    pairs.push((Datum::Null, to.clone()));
                }
                pairs.push((admit(&types, field, from)?, to));
            }
            graphs.entry((graph.entity_type.as_str().into(), name)).or_default().push(pairs);
        }
        let cue = |entry: &ScriptSpec| {
            Ok(match &entry.trigger {
                Trigger::Start => Cue::Start,
                Trigger::AfterStep(count) => Cue::After(*count),
                Trigger::Message => Cue::Spoken,
                Trigger::Wait => Cue::Waited,
                Trigger::When(predicate) => Cue::Once(Claim::new(&types, predicate)?),
            })
        };
        let mut model = Model {
            release,
            initial: read_initial(spec, &types)?,
            initial_goal: spec.initial_goal_version,
            allowed: spec.allowlist.clone(),
            most_fields: spec.rules.max_update_fields,
            graphs,
            rules: spec.rules.preconditions.iter().map(|rule| read_rule(&types, rule)).collect::<Result<_, _>>()?,
            cues: spec.script.iter().map(cue).collect::<Result<_, ModelFault>>()?,
            script: spec.script.clone(),
            goals: spec.goal_versions.iter().map(|goal| (goal.version, goal.offered)).collect(),
            goal: goal.map(|predicate| Claim::new(&types, predicate)).collect::<Result<_, _>>()?,
            unnameable: spec.unnameable.iter().cloned().collect(),
            task_id: spec.id.clone(),
            revision: spec.environment_revision.clone(),
            initial_tuples: Vec::new(),
            types,
        };
        model.initial_tuples = model.tuples(&model.initial, model.initial_goal);
        Ok(model)
    }
}

fn read_types(spec: &TaskSpec, lenient: bool) -> ModelTypes {
    let mut types = ModelTypes { lenient, ids: Ids::new(), fields: BTreeMap::new(), reincarnates: BTreeMap::new() };
    for kind in &spec.entity_types {
        let name: Arc<str> = kind.name.as_str().into();
        let fields = kind.fields.iter().map(|field| (field.name.as_str().into(), Field::new(field))).collect();
        types.fields.insert(Arc::clone(&name), fields);
        types.reincarnates.insert(Arc::clone(&name), kind.recreate == Recreate::NewIncarnation);
        types.ids.insert(name, kind.creatable.iter().map(|id| (id.as_str().into(), ())).collect());
    }
    for entity in &spec.initial_state {
        if let Some(ids) = types.ids.get_mut(entity.entity_type.as_str()) {
            ids.insert(entity.id.as_str().into(), ());
        }
    }
    types
}

fn read_initial(spec: &TaskSpec, types: &ModelTypes) -> Result<Things, ModelFault> {
    let mut things = Things::new();
    for (kind, ids) in &types.ids {
        let empty: BTreeMap<Arc<str>, Datum> =
            types.fields(kind).map(|(name, _)| (Arc::clone(name), Datum::Null)).collect();
        let absent = Thing { stage: Stage::Absent, incarnation: 0, cells: empty, leaf: None };
        things.insert(Arc::clone(kind), ids.keys().map(|id| (Arc::clone(id), Arc::new(absent.clone()))).collect());
    }
    for entity in &spec.initial_state {
        let of_kind = things.get_mut(entity.entity_type.as_str());
        let Some(thing) = of_kind.and_then(|things| things.get_mut(entity.id.as_str())) else {
            return Err(ModelFault(format!("an initial entity of the unknown type {:?}", entity.entity_type)));
        };
        let thing = Arc::make_mut(thing);
        thing.stage = if entity.live { Stage::Live } else { Stage::Deleted };
        thing.incarnation = 1;
        for (field, literal) in &entity.fields {
            let Some((name, field)) = types.field(&entity.entity_type, field) else {
                return Err(ModelFault(format!("an initial value of the unknown field {field:?}")));
            };
            thing.cells.insert(name, admit(types, field, literal)?);
        }
    }
    for (kind, things) in &mut things {
        for (id, thing) in things {
            if thing.stage != Stage::Absent {
                let leaf = super::trace::leaf(kind, id, thing);
                Arc::make_mut(thing).leaf = Some(leaf);
            }
        }
    }
    Ok(things)
}

/// A value that a file gives outside steps and predicates.
fn admit(types: &ModelTypes, field: &Field, literal: &Literal) -> Result<Datum, ModelFault> {
    match field.take(literal, &types.ids) {
        Ok(datum) => Ok(datum),
        Err(_) if types.lenient => Ok(raw(literal)),
        Err(_) => Err(ModelFault("a value is none of its field's".to_owned())),
    }
}

fn read_rule(types: &ModelTypes, spec: &PreconditionSpec) -> Result<Rule, ModelFault> {
    let when = &spec.when;
    let value = when.value.as_ref().map(|literal| {
        let mut values = BTreeMap::new();
        for kind in types.ids.keys() {
            let field = when.field.as_ref().and_then(|field| types.field(kind, field));
            if let Some(datum) = field.and_then(|(_, field)| field.take(literal, &types.ids).ok()) {
                values.insert(Arc::clone(kind), datum);
            }
        }
        values
    });
    Ok(Rule {
        operation: when.operation,
        kind: when.entity_type.clone(),
        id: when.id.clone(),
        actor: when.actor,
        // Without a field, a value says nothing.
        value: value.filter(|_| when.field.is_some()),
        field: when.field.clone(),
        requires: spec.requires.iter().map(|predicate| Claim::new(types, predicate)).collect::<Result<_, _>>()?,
    })
}
