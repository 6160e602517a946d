//! Exact search against stateright 0.31: the same task, one thread each, rounds of both in turn, medians. Both must
//! count the same unique states and the same transitions.
//!
//! `cargo run --release --manifest-path benches/stateright/Cargo.toml [ROUNDS]`

use std::time::Instant;

use parthack_attacker::search::{SearchOptions, search};
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use stateright::{Checker, Model, Property};

#[path = "../../../attacker/benches/grid/mod.rs"]
mod grid;

const CELLS: usize = 8;
const VALUES: usize = 6;

/// The grid as stateright's model: the cells, and whether anything has happened yet.
struct Ring;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    cells: [u8; CELLS],
    acted: bool,
}

/// A cell and its new value.
#[derive(Debug, Clone, PartialEq)]
struct Turn {
    cell: u8,
    value: u8,
}

impl Model for Ring {
    type State = State;
    type Action = Turn;

    fn init_states(&self) -> Vec<State> {
        vec![State { cells: [0; CELLS], acted: false }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Turn>) {
        for cell in 0..CELLS {
            for value in [state.cells[cell] + 1, state.cells[cell] + VALUES as u8 - 1] {
                let value = value % VALUES as u8;
                if value != 1 || state.cells[(cell + CELLS - 1) % CELLS] != 2 {
                    actions.push(Turn { cell: cell as u8, value });
                }
            }
        }
    }

    fn next_state(&self, state: &State, action: Turn) -> Option<State> {
        let mut next = State { cells: state.cells, acted: true };
        next.cells[usize::from(action.cell)] = action.value;
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("in range", |_, state: &State| {
            state.cells.iter().all(|value| usize::from(*value) < VALUES)
        })]
    }
}

struct Count {
    seconds: f64,
    unique: u64,
    generated: u64,
}

fn ours(task: &Task) -> Count {
    let start = Instant::now();
    let options = SearchOptions { prove: true, ..SearchOptions::default() };
    let found = search(task, Rule::Csps, &options).expect("the search ends").statistics;
    Count { seconds: start.elapsed().as_secs_f64(), unique: found.states, generated: found.transitions }
}

fn theirs() -> Count {
    let start = Instant::now();
    let checker = Ring.checker().threads(1).spawn_bfs().join();
    let seconds = start.elapsed().as_secs_f64();
    // Its count of states includes the initial one, which no transition generates.
    Count { seconds, unique: checker.unique_state_count() as u64, generated: checker.state_count() as u64 - 1 }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(5usize).max(1);
    let task = grid::task(CELLS, VALUES);
    let (mut own, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (left, right) = (ours(&task), theirs());
        assert_eq!(left.unique, grid::states(CELLS, VALUES), "unique states");
        assert_eq!(left.unique, right.unique, "unique states");
        assert_eq!(left.generated, right.generated, "transitions");
        own.push(left);
        peer.push(right);
    }
    let (unique, generated) = (own[0].unique as f64, own[0].generated as f64);
    println!(
        "{CELLS} cells of {VALUES} values: {unique} unique states, {generated} transitions, {rounds} rounds, one thread each"
    );
    let mut medians = Vec::new();
    for (name, counts) in [("exact search", own), ("stateright 0.31", peer)] {
        let seconds = median(counts.iter().map(|count| count.seconds).collect());
        medians.push(seconds);
        println!(
            "{name:<16} {seconds:>8.3} s {:>8.2} M transitions/s {:>8.2} M states/s",
            generated / seconds / 1e6,
            unique / seconds / 1e6
        );
    }
    println!("ratio {:.1}", medians[1] / medians[0]);
}
