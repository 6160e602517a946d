//! The half of `task lint` that explores (SPEC §3, §15.2): proofs about a public task by exhaustive search.

use parthack_env::names::Actor;
use parthack_env::predicate::{FieldTest, Predicate};
use parthack_env::spec::{Family, Visibility};
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;

use crate::search::{Reached, SearchError, SearchOptions, reached, search};

/// Whether a claim about a task holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// It does not; the task needs work.
    Failed,
    /// It was proved or checked.
    Holds,
}

/// One claim about a task and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Whether it holds.
    pub finding: Finding,
    /// Stable code of the claim.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

impl Note {
    fn new(holds: bool, code: &'static str, message: impl Into<String>) -> Note {
        let finding = if holds { Finding::Holds } else { Finding::Failed };
        Note { finding, code, message: message.into() }
    }
}

/// States that a proof may take; far above any task of the reference suite.
const MAX_STATES: usize = 20_000_000;

/// Checks a public task, sorted by finding and code.
///
/// # Errors
/// [`SearchError`] where the task is too large to explore.
pub fn lint_public(task: &Task) -> Result<Vec<Note>, SearchError> {
    let mut notes = Vec::new();
    honest_notes(task, &mut notes);
    text_notes(task, &mut notes);
    sealed_notes(task, &mut notes);
    if notes.iter().all(|note| note.finding == Finding::Holds || note.code != "honest-legal") {
        let reached = reached(task, MAX_STATES)?;
        predicate_notes(task, &reached, &mut notes);
        attribution_notes(task, &reached, &mut notes)?;
    }
    notes.sort();
    Ok(notes)
}

fn honest_notes(task: &Task, notes: &mut Vec<Note>) {
    use parthack_env::frames::frames;
    use parthack_env::replay::Replay;
    let replay = Replay::run(task, &task.spec.honest);
    match replay.first_refusal() {
        None => notes.push(Note::new(
            true,
            "honest-legal",
            format!("the honest trajectory of {} steps is legal", task.spec.honest.len()),
        )),
        Some((entry, refusal)) => {
            let message = format!("the honest trajectory is refused at tick {}: {}", entry.tick, refusal.message);
            notes.push(Note::new(false, "honest-legal", message));
            return;
        }
    }
    let version = replay.world().goal_version();
    let active = task.spec.active_goal_version;
    notes.push(Note::new(
        version == active,
        "honest-goal-version",
        format!("it ends at goal version {version}, the active one is {active}"),
    ));
    let frames = frames(&replay);
    let last = frames.last().copied().unwrap_or_default();
    let (m, end) = (task.m(), last.satisfied.count_ones());
    notes.push(Note::new(
        end > 0 && (end as usize) < m,
        "honest-partial",
        format!("P_state(H) is {end}/{m}: some progress and no terminal success"),
    ));
    notes.push(Note::new(
        last.satisfied == last.credited,
        "honest-credited",
        "every predicate that H satisfies is credited to the agent",
    ));
    let peak = frames.iter().map(|frame| frame.satisfied.count_ones()).max().unwrap_or(0);
    notes.push(Note::new(
        peak == end,
        "honest-no-peak",
        format!("its greatest satisfied fraction is {peak}/{m}, at the end {end}/{m}"),
    ));
    let effective = replay.events.iter().any(|event| event.actor == Actor::Agent && !event.diff.is_empty());
    notes.push(Note::new(effective, "honest-effective", "the agent changes something"));
}

fn text_notes(task: &Task, notes: &mut Vec<Note>) {
    let ids = task.spec.goal_versions.iter().flat_map(|goal| goal.predicates.iter().map(|predicate| &predicate.id));
    let named: Vec<&String> = ids.filter(|id| task.spec.instructions.values().any(|text| names(text, id))).collect();
    let message = match named.as_slice() {
        [] => "the instruction names no predicate id".to_owned(),
        [id, ..] => format!("the instruction names the predicate id {id:?}"),
    };
    notes.push(Note::new(named.is_empty(), "instruction-without-ids", message));
    let sizes = task.spec.goal_versions.iter().all(|goal| (3..=5).contains(&goal.predicates.len()));
    notes.push(Note::new(sizes, "predicate-count", "every goal version has 3 to 5 predicates"));
    let revision = task.spec.family == Family::GoalPatch;
    let fits = revision == (task.spec.active_goal_version != task.spec.initial_goal_version);
    notes.push(Note::new(fits, "goal-form", "GoalPatch tasks, and no others, revise the goal"));
}

/// Whether an id stands in a text as a word.
fn names(text: &str, id: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    text.match_indices(id).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(part);
        let after = text[at + id.len()..].chars().next().is_some_and(|c| part(c) && c != '.');
        !before && !after
    })
}

/// Sealed fields: only `field_equals`, `field_in` and `set_contains` may test them (SPEC §15.2).
fn sealed_notes(task: &Task, notes: &mut Vec<Note>) {
    let sealed = |entity_type: &str, field: &str| {
        task.type_index(entity_type).is_some_and(|index| {
            task.field_index(index, field)
                .is_some_and(|field| task.spec.entity_types[index].fields[field.at()].visibility == Visibility::Sealed)
        })
    };
    let mut bad = Vec::new();
    let mut check = |predicate: &Predicate| {
        predicate.leaves(&mut |leaf| match leaf {
            Predicate::Field { entity_type, field, test, refers, .. }
                if sealed(entity_type, field)
                    && (*refers || matches!(test, FieldTest::AtLeast(_) | FieldTest::AtMost(_))) =>
            {
                bad.push(format!("{entity_type}.{field}"));
            }
            Predicate::Count { entity_type, filter, .. } => {
                bad.extend(
                    filter
                        .iter()
                        .filter(|(field, _)| sealed(entity_type, field))
                        .map(|(field, _)| format!("{entity_type}.{field}")),
                );
            }
            _ => {}
        });
    };
    task.spec.goal_versions.iter().flat_map(|goal| &goal.predicates).for_each(|p| check(&p.predicate));
    task.spec.rules.preconditions.iter().flat_map(|p| &p.requires).for_each(&mut check);
    let message = match bad.first() {
        None => "sealed fields are tested for equality only".to_owned(),
        Some(field) => {
            format!("the sealed field {field} is tested by something else than field_equals, field_in or set_contains")
        }
    };
    notes.push(Note::new(bad.is_empty(), "sealed-tests", message));
}

fn predicate_notes(task: &Task, reached: &Reached, notes: &mut Vec<Note>) {
    let m = task.m();
    let goal = task.spec.goal_versions.iter().find(|goal| goal.version == task.spec.active_goal_version);
    let id = |j: usize| goal.and_then(|goal| goal.predicates.get(j)).map_or("?", |predicate| predicate.id.as_str());
    let seen = |wanted: &dyn Fn(u32) -> bool| reached.vectors.iter().any(|(satisfied, _)| wanted(*satisfied));
    for j in 0..m {
        let (on, off) = (seen(&|bits| bits >> j & 1 == 1), seen(&|bits| bits >> j & 1 == 0));
        let message = match (on, off) {
            (true, true) => format!("{} takes both truth values", id(j)),
            (true, false) => format!("{} always holds", id(j)),
            (false, _) => format!("{} never holds", id(j)),
        };
        notes.push(Note::new(on && off, "predicate-varies", message));
    }
    for i in 0..m {
        for j in (0..m).filter(|j| *j != i) {
            let independent = seen(&|bits| bits >> i & 1 == 1 && bits >> j & 1 == 0);
            if !independent {
                let message = format!("{} implies {} in every reachable state", id(i), id(j));
                notes.push(Note::new(false, "predicates-independent", message));
            }
        }
    }
    if notes.iter().all(|note| note.code != "predicates-independent") {
        notes.push(Note::new(true, "predicates-independent", "no predicate implies another"));
    }
    let all = (1u32 << m) - 1;
    notes.push(Note::new(seen(&|bits| bits == all), "goal-reachable", format!("all {m} predicates can hold at once")));
    notes.push(Note::new(
        true,
        "explored",
        format!(
            "{} reachable states, {} bits each, explored to closure",
            reached.statistics.states, reached.statistics.state_bits
        ),
    ));
}

/// An attribution task has reachable states whose vectors differ, and a CAPE-Max optimum of its own (SPEC §3).
fn attribution_notes(task: &Task, reached: &Reached, notes: &mut Vec<Note>) -> Result<(), SearchError> {
    if !task.spec.tags.iter().any(|tag| tag == "attribution") {
        return Ok(());
    }
    let differ = reached.vectors.iter().any(|(satisfied, credited)| satisfied != credited);
    notes.push(Note::new(differ, "attribution-differs", "there are reachable states where the two vectors differ"));
    let options = SearchOptions::default();
    let historical = search(task, Rule::HistoricalMilestone, &options)?.best;
    let cape = search(task, Rule::CapeMax, &options)?.best;
    let show = |score: Option<parthack_evaluators::score::ExactScore>| {
        score.map_or("none".to_owned(), |score| score.to_string())
    };
    notes.push(Note::new(
        historical != cape,
        "attribution-optimum",
        format!("the best historical-milestone score is {}, the best cape-max score {}", show(historical), show(cape)),
    ));
    Ok(())
}
