//! The judges and what makes each of them.

use super::checklist::Maker;
use super::reading::Scale;
use super::semantic::{Items, Reads, Spec};

const UNIT_OR_PERCENT: Option<(Scale, Scale)> = Some((Scale::Unit, Scale::Percent));

/// All judges, in the order of the tables.
pub(super) static SPECS: [Spec; 8] = [
    // P §4.1: the semantic judge with the public schema.
    Spec {
        id: "llm-judge",
        title: "LLM Judge",
        decomposition: "public schema",
        repeats: 1,
        reads: Reads::Payload,
        items: Items::Goal,
        scales: UNIT_OR_PERCENT,
        field: "verdicts",
        prompt: include_str!("prompts/llm-judge.txt"),
        checklist: None,
    },
    // P §4.1, A.4: the judge with an independent decomposition.
    Spec {
        id: "idj",
        title: "IDJ",
        decomposition: "independent checklist",
        repeats: 3,
        reads: Reads::Projection,
        items: Items::Checklist,
        scales: UNIT_OR_PERCENT,
        field: "verdicts",
        prompt: include_str!("prompts/idj.txt"),
        checklist: Some(Maker { prompt: include_str!("prompts/idj-checklist.txt"), least: 3, most: 8 }),
    },
    // G §4: one score from 0 to 10 for the whole.
    Spec {
        id: "holistic",
        title: "Holistic",
        decomposition: "none",
        repeats: 1,
        reads: Reads::Projection,
        items: Items::Whole(include_str!("prompts/holistic-question.txt")),
        scales: Some((Scale::Ten, Scale::WholeTen)),
        field: "answers",
        prompt: include_str!("prompts/holistic.txt"),
        checklist: None,
    },
    // G §4: five questions, the same for all tasks.
    Spec {
        id: "generic-checklist",
        title: "Generic Checklist",
        decomposition: "fixed questions",
        repeats: 1,
        reads: Reads::Projection,
        items: Items::Fixed(include_str!("prompts/generic-questions.txt")),
        scales: None,
        field: "answers",
        prompt: include_str!("prompts/generic-checklist.txt"),
        checklist: None,
    },
    // G §4: questions made from the instruction (Cook et al., 2024), about a response.
    Spec {
        id: "tick",
        title: "TICK",
        decomposition: "generated questions",
        repeats: 1,
        reads: Reads::Projection,
        items: Items::Checklist,
        scales: None,
        field: "answers",
        prompt: include_str!("prompts/tick.txt"),
        checklist: Some(Maker { prompt: include_str!("prompts/tick-checklist.txt"), least: 2, most: 8 }),
    },
    // G §4: the same about an agent execution trajectory, and nothing else changed.
    Spec {
        id: "tick-trajectory",
        title: "TICK (trajectory)",
        decomposition: "generated questions",
        repeats: 1,
        reads: Reads::Projection,
        items: Items::Checklist,
        scales: None,
        field: "answers",
        prompt: include_str!("prompts/tick-trajectory.txt"),
        checklist: Some(Maker { prompt: include_str!("prompts/tick-trajectory-checklist.txt"), least: 2, most: 8 }),
    },
    // Lee et al., 2025: aspects split into boolean questions; the share of yes.
    Spec {
        id: "checkeval",
        title: "CheckEval",
        decomposition: "fixed questions",
        repeats: 1,
        reads: Reads::Projection,
        items: Items::Fixed(include_str!("prompts/checkeval-questions.txt")),
        scales: None,
        field: "answers",
        prompt: include_str!("prompts/checkeval.txt"),
        checklist: None,
    },
    // Wei et al., 2025: questions for a small grader; the mean of P(yes) where there are probabilities.
    Spec {
        id: "rocketeval",
        title: "RocketEval",
        decomposition: "generated questions",
        repeats: 1,
        reads: Reads::Projection,
        items: Items::Checklist,
        scales: None,
        field: "answers",
        prompt: include_str!("prompts/rocketeval.txt"),
        checklist: Some(Maker { prompt: include_str!("prompts/rocketeval-checklist.txt"), least: 3, most: 10 }),
    },
];
