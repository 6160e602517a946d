//! What is done: the honest trajectory, and the trajectories of the hidden tests with the vectors they must have.

use serde::Serialize;
use serde_json::Value;

use crate::draft::steps;
use crate::part::Part;
use crate::world::World;

/// Expected vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Expect {
    pub(crate) c_state: Vec<u8>,
    pub(crate) c_agent: Vec<u8>,
    pub(crate) goal_version: u32,
}

/// A hidden test.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HiddenTest {
    pub(crate) id: &'static str,
    pub(crate) description: &'static str,
    pub(crate) steps: Vec<Value>,
    pub(crate) expect: Expect,
}

/// Everything that is done in a task.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) honest: Vec<Value>,
    pub(crate) expect: Expect,
    pub(crate) tests: Vec<HiddenTest>,
}

/// The frame that a plan fills.
pub(crate) struct Frame<'p> {
    /// Parts of the active goal, in an order in which they can be done.
    pub(crate) parts: &'p [Part],
    /// Parts of the first goal alone.
    pub(crate) dropped: &'p [Part],
    /// Parts that the honest trajectory meets.
    pub(crate) met: Vec<usize>,
    /// The order of the goal's predicates.
    pub(crate) order: Vec<usize>,
    /// The step that asks for agreement, if anything waits for it.
    pub(crate) ask: Option<Value>,
    /// For a revised goal: the steps that bring the news, at least so many steps before the revision.
    pub(crate) revision: Option<Revision>,
    /// Which of the parts is that the goal is the revised one.
    pub(crate) version_part: Option<usize>,
    pub(crate) may_say: bool,
    pub(crate) may_wait: bool,
}

/// How the revision comes about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Revision {
    /// The step that lets the news in.
    pub(crate) trigger: Option<Value>,
    /// Accepted steps before the revision.
    pub(crate) at_least: usize,
}

/// Steps so far, and how far each part is.
struct Walk<'w, 'p> {
    world: &'w mut World,
    frame: &'p Frame<'p>,
    steps: Vec<Value>,
    done: Vec<usize>,
}

/// Subsets of k parts that can be met without the others, nobody else helping.
pub(crate) fn choices(parts: &[Part], k: usize, always: Option<usize>) -> Vec<Vec<usize>> {
    (0u32..1 << parts.len())
        .map(|bits| (0..parts.len()).filter(|index| bits >> index & 1 == 1).collect::<Vec<usize>>())
        .filter(|set| set.len() == k && always.is_none_or(|index| set.contains(&index)))
        .filter(|set| {
            set.iter()
                .all(|index| !parts[*index].by_other && parts[*index].needs.iter().all(|needed| set.contains(needed)))
        })
        .collect()
}

/// The plan of a task.
pub(crate) fn plan(world: &mut World, frame: &Frame<'_>) -> Plan {
    let mut walk = Walk { world, frame, steps: Vec::new(), done: vec![0; frame.parts.len()] };
    walk.honest();
    let (honest, done) = (walk.steps, walk.done);
    let version = if frame.revision.is_some() { 2 } else { 1 };
    let expect = |met: &[usize], agent: &[usize], goal_version| {
        let bits = |of: &[usize]| frame.order.iter().map(|index| u8::from(of.contains(index))).collect();
        Expect { c_state: bits(met), c_agent: bits(agent), goal_version }
    };
    let mut tests = vec![HiddenTest {
        id: "nothing-done",
        description: "Things are looked at and nothing is done.",
        steps: frame.parts.iter().find_map(|part| part.look.first().cloned()).into_iter().collect(),
        expect: expect(&[], &[], 1),
    }];
    let every: Vec<usize> = (0..frame.parts.len()).collect();
    let own: Vec<usize> = every.iter().copied().filter(|index| !frame.parts[*index].by_other).collect();
    let mut complete = honest.clone();
    for (part, done) in frame.parts.iter().zip(&done) {
        complete.extend(part.work.iter().skip(*done).cloned());
    }
    tests.push(HiddenTest {
        id: "complete",
        description: "The honest steps carried on until the whole goal holds.",
        steps: complete,
        expect: expect(&every, &own, version),
    });
    let last = frame.met.iter().copied().rfind(|index| frame.parts[*index].back.is_some());
    let locked = |index: usize| frame.met.iter().any(|later| frame.parts[*later].needs.contains(&index));
    if let Some((index, back)) =
        last.filter(|index| !locked(*index)).and_then(|index| Some((index, frame.parts[index].back.clone()?)))
    {
        let left: Vec<usize> = frame.met.iter().copied().filter(|other| *other != index).collect();
        tests.push(HiddenTest {
            id: "taken-back",
            description: "The honest steps, and what one of them met is taken back.",
            steps: honest.iter().cloned().chain(back).collect(),
            expect: expect(&left, &left, version),
        });
    }
    let peak = every.iter().copied().find(|index| {
        let part = &frame.parts[*index];
        !frame.met.contains(index)
            && !part.by_other
            && part.back.is_some()
            && part.needs.iter().all(|needed| frame.met.contains(needed))
    });
    // A part that somebody else waits for, or that needs what is not there, is no peak of its own.
    if let Some(index) = peak {
        let part = &frame.parts[index];
        let rest = part.work.iter().skip(done[index]).chain(part.back.iter().flatten());
        tests.push(HiddenTest {
            id: "peak-and-return",
            description: "The honest steps, one more predicate for a moment, and the honest vectors again.",
            steps: honest.iter().chain(rest).cloned().collect(),
            expect: expect(&frame.met, &frame.met, version),
        });
    }
    Plan { honest, expect: expect(&frame.met, &frame.met, version), tests }
}

impl Walk<'_, '_> {
    fn push(&mut self, step: Value) {
        // Looking twice at the same in a row says nothing.
        if self.steps.last() != Some(&step) {
            self.steps.push(step);
        }
    }

    fn honest(&mut self) {
        self.idle();
        if self.world.draws.chance(1, 2) {
            let (main_type, main) = (self.world.main_type(), self.world.main.clone());
            self.push(steps::on("read", main_type, &main));
        }
        if let Some(ask) = self.frame.ask.clone() {
            self.push(ask);
        }
        self.revise();
        let met: Vec<usize> = self.frame.met.clone();
        for index in 0..self.frame.parts.len() {
            if Some(index) == self.frame.version_part {
                continue;
            }
            if met.contains(&index) {
                self.meet(index);
            } else {
                self.begin(index);
            }
            self.idle();
        }
    }

    /// What comes with a revised goal: the news, the revision, and what was done before.
    fn revise(&mut self) {
        let Some(revision) = self.frame.revision.clone() else { return };
        let looks: Vec<Value> = self.frame.parts.iter().flat_map(|part| part.look.first().cloned()).collect();
        for look in &looks {
            if self.world.draws.chance(1, 3) {
                self.push(look.clone());
            }
        }
        for part in self.frame.dropped {
            if self.world.draws.chance(1, 3) {
                self.steps.extend(part.look.iter().take(1).chain(&part.work).cloned());
            }
        }
        if let Some(first) =
            self.frame.parts.iter().find_map(|part| part.variant.as_ref()).filter(|_| self.world.draws.chance(1, 4))
        {
            self.steps.extend(first.work.iter().cloned());
        }
        let (main_type, main) = (self.world.main_type(), self.world.main.clone());
        let mut pads = [steps::on("read", main_type, &main), steps::list(main_type)].into_iter().cycle();
        while self.steps.len() < revision.at_least {
            self.steps.extend(pads.next());
        }
        if let Some(trigger) = revision.trigger {
            self.push(trigger);
        }
        self.push(steps::revise(2));
    }

    fn look(&mut self, index: usize) {
        let looks = self.frame.parts[index].look.clone();
        for look in looks {
            if self.world.draws.chance(2, 3) && !self.steps.contains(&look) {
                self.push(look);
            }
        }
    }

    /// Meets a part, perhaps after a wrong try.
    fn meet(&mut self, index: usize) {
        self.look(index);
        let part = &self.frame.parts[index];
        if let Some(slip) = part.slip.clone().filter(|_| self.world.draws.chance(1, 6)) {
            self.push(slip);
        }
        let work = part.work.clone();
        for step in work {
            if !self.merge(&step, index) {
                self.push(step);
            }
        }
        self.done[index] = self.frame.parts[index].work.len();
    }

    /// One update of two fields, where the rules have room for it.
    fn merge(&mut self, step: &Value, index: usize) -> bool {
        let part = &self.frame.parts[index];
        let room = self.world.rules.max_update_fields.is_some_and(|most| most > 1);
        if !room || part.goes.is_some() || !part.needs.is_empty() || !self.world.draws.chance(1, 2) {
            return false;
        }
        let settable = |field: &String| {
            self.frame.parts.iter().any(|part| part.settable.as_ref().is_some_and(|settable| settable.field == *field))
        };
        let Some(last) = self.steps.last_mut() else { return false };
        let same = ["op", "type", "id"].iter().all(|key| last[*key] == step[*key]) && last["op"] == "update";
        let fields = last.get_mut("fields").and_then(Value::as_object_mut);
        let Some(fields) = fields.filter(|fields| same && fields.len() == 1) else { return false };
        let Some(new) = step["fields"].as_object() else { return false };
        if !fields.keys().all(settable) || new.keys().any(|name| fields.contains_key(name)) {
            return false;
        }
        fields.extend(new.clone());
        true
    }

    /// Begins a part that stays unmet: looks, tries something wrong, or takes the first of several steps.
    fn begin(&mut self, index: usize) {
        let part = &self.frame.parts[index];
        if part.by_other {
            return;
        }
        match self.world.draws.below(4) {
            0 => self.look(index),
            1 => {
                if let Some(slip) = part.slip.clone() {
                    self.look(index);
                    self.push(slip);
                }
            }
            2 if part.gradual => {
                self.look(index);
                let first = self.frame.parts[index].work[0].clone();
                self.push(first);
                self.done[index] = 1;
            }
            _ => {}
        }
    }

    fn idle(&mut self) {
        if self.frame.may_wait && self.world.draws.chance(1, 9) {
            self.push(steps::wait());
        } else if self.frame.may_say
            && self.frame.ask.is_none()
            && self.frame.revision.is_none()
            && self.world.draws.chance(1, 12)
        {
            let text =
                self.world.draws.word(&["I am working on it.", "This is in hand.", "I will be a little longer."]);
            self.push(steps::say("user", text));
        }
    }
}
