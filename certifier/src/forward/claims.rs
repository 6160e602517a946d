//! Predicates over named things: whether they hold, and the tuple of values that they read (SPEC §15.3).

use std::sync::Arc;

use parthack_env::predicate::{Comparison, FieldTest, Predicate};

use super::ModelFault;
use super::data::{Datum, raw};
use super::model::{Model, ModelTypes, Stage, Thing, Things};

/// A predicate over names, its expected values admitted.
#[derive(Debug, Clone)]
pub(super) enum Claim {
    There {
        kind: Arc<str>,
        id: Arc<str>,
        pin: Option<u32>,
    },
    NeverMade {
        kind: Arc<str>,
        id: Arc<str>,
    },
    Removed {
        kind: Arc<str>,
        id: Arc<str>,
        pin: Option<u32>,
    },
    Cell {
        kind: Arc<str>,
        id: Arc<str>,
        pin: Option<u32>,
        field: Arc<str>,
        probe: Probe,
    },
    Tally {
        kind: Arc<str>,
        filter: Vec<(Arc<str>, Probe)>,
        compare: Comparison,
        bound: u32,
    },
    Goal(u32),
    Every(Vec<Claim>),
    Some(Vec<Claim>),
    Unless(Box<Claim>),
    /// Names what cannot exist (imported tasks only).
    Void,
}

/// A test of one cell.
#[derive(Debug, Clone)]
pub(super) enum Probe {
    Among(Vec<Datum>),
    Least(i64),
    Most(i64),
    Holds(Datum),
}

impl Probe {
    fn passes(&self, datum: &Datum) -> bool {
        match self {
            Probe::Among(data) => data.iter().any(|expected| expected == datum),
            Probe::Least(bound) => matches!(datum, Datum::Whole(number) if number >= bound),
            Probe::Most(bound) => matches!(datum, Datum::Whole(number) if number <= bound),
            Probe::Holds(element) => matches!(datum, Datum::Many(items) if items.iter().any(|item| item == element)),
        }
    }
}

impl Claim {
    /// The claim of a predicate. Names that do not exist make it void in imported tasks and are a fault elsewhere.
    pub(super) fn new(types: &ModelTypes, predicate: &Predicate) -> Result<Claim, ModelFault> {
        let list = |of: &[Predicate]| of.iter().map(|part| Claim::new(types, part)).collect::<Result<Vec<_>, _>>();
        let named = |kind: &str, id: &str| types.thing(kind, id);
        let claim = match predicate {
            Predicate::Exists { entity_type, id, incarnation } => {
                named(entity_type, id).map(|(kind, id)| Claim::There { kind, id, pin: *incarnation })
            }
            Predicate::Absent { entity_type, id } => {
                named(entity_type, id).map(|(kind, id)| Claim::NeverMade { kind, id })
            }
            Predicate::Deleted { entity_type, id, incarnation } => {
                named(entity_type, id).map(|(kind, id)| Claim::Removed { kind, id, pin: *incarnation })
            }
            Predicate::Field { entity_type, id, field, incarnation, test, .. } => match named(entity_type, id) {
                None => None,
                Some((kind, id)) => probe(types, entity_type, field, test)?.map(|(field, probe)| Claim::Cell {
                    kind,
                    id,
                    pin: *incarnation,
                    field,
                    probe,
                }),
            },
            Predicate::Count { entity_type, filter, compare, count } => {
                let kind: Arc<str> = entity_type.as_str().into();
                if !types.knows(entity_type) {
                    types.lenient.then(|| Claim::Tally { kind, filter: Vec::new(), compare: *compare, bound: *count })
                } else {
                    let mut probes = Some(Vec::new());
                    for (field, test) in filter {
                        let found = probe(types, entity_type, field, test)?;
                        probes = probes.zip(found).map(|(mut probes, found)| {
                            probes.push(found);
                            probes
                        });
                    }
                    probes.map(|filter| Claim::Tally { kind, filter, compare: *compare, bound: *count })
                }
            }
            Predicate::GoalVersion(version) => Some(Claim::Goal(*version)),
            Predicate::All(of) => Some(Claim::Every(list(of)?)),
            Predicate::Any(of) => Some(Claim::Some(list(of)?)),
            Predicate::Not(of) => Some(Claim::Unless(Box::new(Claim::new(types, of)?))),
        };
        match claim {
            Some(claim) => Ok(claim),
            None if types.lenient => Ok(Claim::Void),
            None => Err(ModelFault("a predicate names what cannot exist".to_owned())),
        }
    }

    /// Whether it holds.
    pub(super) fn holds(&self, things: &Things, goal: u32) -> bool {
        let live = |kind: &str, id: &str, pin: &Option<u32>| {
            find(things, kind, id).filter(|thing| thing.stage == Stage::Live && fits(*pin, thing))
        };
        match self {
            Claim::There { kind, id, pin } => live(kind, id, pin).is_some(),
            Claim::NeverMade { kind, id } => find(things, kind, id).is_some_and(|thing| thing.stage == Stage::Absent),
            Claim::Removed { kind, id, pin } => {
                find(things, kind, id).is_some_and(|thing| thing.stage == Stage::Deleted && fits(*pin, thing))
            }
            Claim::Cell { kind, id, pin, field, probe } => {
                live(kind, id, pin).and_then(|thing| thing.cells.get(field)).is_some_and(|datum| probe.passes(datum))
            }
            Claim::Tally { kind, filter, compare, bound } => {
                let found = tally(things, kind, filter);
                match compare {
                    Comparison::AtLeast => found >= *bound,
                    Comparison::AtMost => found <= *bound,
                    Comparison::Equals => found == *bound,
                }
            }
            Claim::Goal(version) => goal == *version,
            Claim::Every(of) => !of.iter().any(|part| !part.holds(things, goal)),
            Claim::Some(of) => of.iter().any(|part| part.holds(things, goal)),
            Claim::Unless(of) => !of.holds(things, goal),
            Claim::Void => false,
        }
    }

    /// Appends the tuple of values that it reads: all leaves, never cut short.
    pub(super) fn tuple(&self, things: &Things, goal: u32, out: &mut Vec<Datum>) {
        match self {
            Claim::There { kind, id, pin } => {
                let thing = find(things, kind, id).filter(|thing| thing.stage == Stage::Live);
                out.push(Datum::Flag(thing.is_some()));
                push_pin(*pin, thing, out);
            }
            Claim::NeverMade { kind, id } => push_stage(find(things, kind, id), out),
            Claim::Removed { kind, id, pin } => {
                let thing = find(things, kind, id);
                push_stage(thing, out);
                push_pin(*pin, thing, out);
            }
            Claim::Cell { kind, id, pin, field, .. } => {
                let thing = find(things, kind, id).filter(|thing| thing.stage == Stage::Live);
                out.push(thing.and_then(|thing| thing.cells.get(field)).cloned().unwrap_or(Datum::Gone));
                push_pin(*pin, thing, out);
            }
            Claim::Tally { kind, filter, .. } => out.push(Datum::Whole(i64::from(tally(things, kind, filter)))),
            Claim::Goal(_) => out.push(Datum::Whole(i64::from(goal))),
            Claim::Every(of) | Claim::Some(of) => of.iter().for_each(|part| part.tuple(things, goal, out)),
            Claim::Unless(of) => of.tuple(things, goal, out),
            Claim::Void => {}
        }
    }
}

fn find<'w>(things: &'w Things, kind: &str, id: &str) -> Option<&'w Thing> {
    things.get(kind)?.get(id).map(Arc::as_ref)
}

fn fits(pin: Option<u32>, thing: &Thing) -> bool {
    pin.is_none_or(|pin| pin == thing.incarnation)
}

fn push_pin(pin: Option<u32>, thing: Option<&Thing>, out: &mut Vec<Datum>) {
    if pin.is_some() {
        out.push(thing.map_or(Datum::Gone, |thing| Datum::Whole(i64::from(thing.incarnation))));
    }
}

fn push_stage(thing: Option<&Thing>, out: &mut Vec<Datum>) {
    out.push(Datum::Whole(thing.map_or(0, |thing| thing.stage as i64)));
}

fn tally(things: &Things, kind: &str, filter: &[(Arc<str>, Probe)]) -> u32 {
    let of_kind = things.get(kind).into_iter().flatten();
    let passing = of_kind.filter(|(_, thing)| {
        thing.stage == Stage::Live
            && filter.iter().all(|(field, probe)| thing.cells.get(field).is_some_and(|datum| probe.passes(datum)))
    });
    u32::try_from(passing.count()).unwrap_or(u32::MAX)
}

/// The probe of a field test; `None` when an imported task names a field that does not exist.
fn probe(
    types: &ModelTypes,
    kind: &str,
    field: &str,
    test: &FieldTest,
) -> Result<Option<(Arc<str>, Probe)>, ModelFault> {
    let Some((name, field)) = types.field(kind, field) else {
        return if types.lenient { Ok(None) } else { Err(ModelFault(format!("no field {field:?} in {kind}"))) };
    };
    let misfit = |_| ModelFault(format!("a value expected of {kind}.{name} is none of its values"));
    let probe = match test {
        FieldTest::Equals(literal) => match field.take(literal, &types.ids) {
            Ok(datum) => Probe::Among(vec![datum]),
            Err(_) if types.lenient => Probe::Among(vec![raw(literal)]),
            Err(fault) => return Err(misfit(fault)),
        },
        FieldTest::In(literals) => {
            let data = literals.iter().map(|literal| field.take(literal, &types.ids)).collect::<Result<Vec<_>, _>>();
            match data {
                Ok(data) => Probe::Among(data),
                Err(_) if types.lenient => Probe::Among(Vec::new()),
                Err(fault) => return Err(misfit(fault)),
            }
        }
        FieldTest::AtLeast(bound) => Probe::Least(*bound),
        FieldTest::AtMost(bound) => Probe::Most(*bound),
        FieldTest::Contains(literal) => Probe::Holds(field.take_element(literal, &types.ids).map_err(misfit)?),
    };
    Ok(Some((name, probe)))
}

impl Model {
    /// The tuples of all goal predicates, one list each.
    pub(super) fn tuples(&self, things: &Things, goal: u32) -> Vec<Vec<Datum>> {
        self.goal
            .iter()
            .map(|claim| {
                let mut tuple = Vec::new();
                claim.tuple(things, goal, &mut tuple);
                tuple
            })
            .collect()
    }
}
