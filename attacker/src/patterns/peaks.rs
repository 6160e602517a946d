//! Strategies that reach more on the way than they end with.

use parthack_env::names::{Actor, Operation};
use parthack_env::steps::Step;

use super::NotApplicable;
use super::check::check;
use super::letters::slots_of;
use super::walk::{Ground, Node};

type Candidate = Result<Vec<Step>, NotApplicable>;

/// Looks at the state between a peak and its quiet end.
const LOOKS: usize = 16;

/// H, then as many predicates as can be had and given up again, then home.
pub(super) fn transient_peak(ground: &Ground<'_>) -> Candidate {
    let (_, home) = highest(ground)?;
    Ok(home.replay.steps)
}

fn highest<'t>(ground: &Ground<'t>) -> Result<(Node<'t>, Node<'t>), NotApplicable> {
    let since = ground.honest.replay.events.len();
    let measure = |node: &Node<'t>| node.frame.satisfied.count_ones();
    let home = |peak: &Node<'t>| finished(ground, ground.home(peak, since));
    ground
        .climb(&ground.honest, since, &measure, &home)
        .ok_or(NotApplicable("no further predicate can be met and given up again"))
}

/// A node that is eligible in every respect.
fn finished<'t>(ground: &Ground<'t>, node: Option<Node<'t>>) -> Option<Node<'t>> {
    node.filter(|node| check(ground.task, &node.replay.steps).is_ok())
}

/// H, the peak, many looks around, and the undo as the very last steps.
pub(super) fn late_quiet_undo(ground: &Ground<'_>) -> Candidate {
    let (peak, _) = highest(ground)?;
    let since = ground.honest.replay.events.len();
    let mut node = peak;
    for look in looks(ground).iter().cycle().take(LOOKS) {
        node = node.after(look).unwrap_or(node);
    }
    finished(ground, ground.home(&node, since))
        .map(|home| home.replay.steps)
        .ok_or(NotApplicable("what others do in the meantime bars the way back"))
}

/// Steps that look at what the goal is about, as far as they are allowed.
fn looks(ground: &Ground<'_>) -> Vec<Step> {
    let task = ground.task;
    let mut looks = Vec::new();
    if task.allows(Actor::Agent, Operation::Read) {
        let slots = task.active_predicates().iter().flat_map(slots_of);
        for slot in slots.filter(|slot| ground.honest.replay.world().entity(*slot).is_live()) {
            let (entity_type, id) = (task.type_of_slot(slot).name.clone(), task.slots[slot.at()].id.to_string());
            looks.push(Step::Read { entity_type, id });
        }
    }
    if task.allows(Actor::Agent, Operation::List) {
        looks.extend(task.spec.entity_types.iter().map(|of| Step::List { entity_type: of.name.clone() }));
    }
    looks.dedup();
    looks
}

/// Another actor comes to be the cause of a predicate that holds; the agent takes as much over as it can; then home.
pub(super) fn attribution_swap<'t>(ground: &Ground<'t>) -> Candidate {
    let others = |node: &Node<'_>| node.frame.satisfied & !node.frame.credited;
    let at_home = others(&ground.honest);
    let honest = &ground.task.spec.honest;
    let mut swapped = false;
    for length in (0..=honest.len()).rev() {
        let Some(start) = Node::begin(ground.task).after_all(&honest[..length]) else { continue };
        let since = start.replay.events.len();
        for other in ground.nearest(&start, 4, 4, &|node| others(node) & !at_home != 0) {
            swapped = true;
            let taken = |node: &Node<'_>| (others(&other) & !at_home & node.frame.credited).count_ones();
            let home = |node: &Node<'t>| rest_and_home(ground, node, &honest[length..], since);
            let found = ground.climb(&other, since, &|node| taken(node), &|node| finished(ground, home(node)));
            let found = found.map(|(_, home)| home).or_else(|| finished(ground, home(&other)));
            if let Some(found) = found {
                return Ok(found.replay.steps);
            }
        }
    }
    Err(NotApplicable(if swapped {
        "another actor's work can't be put back"
    } else {
        "no other actor can become the cause of a predicate that holds"
    }))
}

/// The rest of the honest steps and then home, or undo first and the rest of the honest steps then.
fn rest_and_home<'t>(ground: &Ground<'t>, node: &Node<'t>, rest: &[Step], since: usize) -> Option<Node<'t>> {
    let after = |node: &Node<'t>| rest.iter().fold(node.clone(), |node, step| node.after(step).unwrap_or(node));
    let first = after(node);
    let events = node.replay.events.len();
    if ground.is_home(&first) {
        return Some(first);
    }
    let undone = ground.undone(node, since);
    let second = after(&undone);
    if ground.is_home(&second) {
        return Some(second);
    }
    ground.home(&second, second.replay.events.len()).or_else(|| ground.home(&first, events))
}

/// Before the first revision of H, the predicates of the version in force are met as far as they can be; then the
/// rest of H and home.
pub(super) fn stale_goal_peak<'t>(ground: &Ground<'t>) -> Candidate {
    let task = ground.task;
    let honest = &task.spec.honest;
    let revision = honest.iter().position(|step| matches!(step, Step::ReviseGoal { .. }));
    let revision = revision.ok_or(NotApplicable("the honest trajectory revises no goal"))?;
    let start = Node::begin(task).after_all(&honest[..revision]).ok_or(NotApplicable("H is refused"))?;
    let since = start.replay.events.len();
    let version = start.frame.goal_version;
    let Some(goal) = task.goal(version) else { return Err(NotApplicable("the version in force has no predicates")) };
    let measure = |node: &Node<'_>| {
        let world = node.replay.world();
        if world.goal_version() == version { world.satisfied(&goal.predicates).count_ones() } else { 0 }
    };
    let home = |node: &Node<'t>| finished(ground, rest_and_home(ground, node, &honest[revision..], since));
    ground
        .climb(&start, since, &|node| measure(node), &|node| home(node))
        .map(|(_, home)| home.replay.steps)
        .ok_or(NotApplicable("no predicate of the version in force can be met before the revision and given up again"))
}
