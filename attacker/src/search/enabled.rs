//! Which letters a state's cells admit, many letters at once.
//!
//! For each cell and each of its values there is a set of letters as bits: those whose guard on this cell admits the
//! value. The conjunction over the cells is the set of letters worth trying.

use super::layout::{Bits, Layout};
use super::model::Transition;

/// Sets of letters per cell and value.
#[derive(Debug)]
pub(super) struct Enabled {
    /// Words of one set.
    words: usize,
    /// Cells that some guard tests, and where their sets begin.
    cells: Vec<(Bits, usize)>,
    sets: Vec<u64>,
    /// All letters.
    all: Vec<u64>,
}

impl Enabled {
    pub(super) fn new<const W: usize>(transitions: &[Transition<W>], layout: &Layout) -> Enabled {
        let words = transitions.len().div_ceil(64);
        let mut all = vec![u64::MAX; words];
        if let (Some(last), rest @ 1..) = (all.last_mut(), transitions.len() % 64) {
            *last = (1 << rest) - 1;
        }
        // With a step counter an action without effect still lets a step pass.
        let idle_counts = layout.counter.mask != 0;
        let (mut cells, mut sets) = (Vec::new(), Vec::new());
        for bits in layout.guarded_cells() {
            let mut tested = false;
            let mut table = Vec::new();
            for value in 0..=bits.mask {
                let mut set = all.clone();
                for (letter, transition) in transitions.iter().enumerate() {
                    if !admits(transition, bits, value, idle_counts) {
                        set[letter / 64] &= !(1 << (letter % 64));
                        tested = true;
                    }
                }
                table.extend(set);
            }
            if tested {
                cells.push((bits, sets.len()));
                sets.extend(table);
            }
        }
        Enabled { words, cells, sets, all }
    }

    /// The letters that a state's cells admit.
    #[inline]
    pub(super) fn of(&self, state: &[u64], found: &mut Vec<u64>) {
        found.clear();
        found.extend_from_slice(&self.all);
        for (bits, start) in &self.cells {
            let at = start + usize::try_from(bits.get(state)).unwrap_or(0) * self.words;
            for (word, set) in found.iter_mut().zip(&self.sets[at..at + self.words]) {
                *word &= set;
            }
        }
    }
}

fn admits<const W: usize>(transition: &Transition<W>, bits: Bits, value: u64, idle_counts: bool) -> bool {
    let placed = value << bits.shift;
    let (mask, wanted) = transition.equal[bits.word];
    if (placed ^ wanted) & mask & bits.placed() != 0 {
        return false;
    }
    if transition.members.iter().any(|(of, set)| *of == bits && set >> value & 1 == 0) {
        return false;
    }
    // An action that writes this cell alone, and its present value, changes nothing.
    let alone = (0..W).all(|word| {
        let own = if word == bits.word { bits.placed() } else { 0 };
        transition.write[word].0 & !own == 0
    });
    let same = alone && transition.write[bits.word].0 == bits.placed() && transition.write[bits.word].1 == placed;
    idle_counts || !same || transition.has_side_effects()
}
