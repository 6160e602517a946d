//! Clean reproduction: the run done again from its manifest in a folder of its own, and compared byte for byte. Nothing of
//! the run folder is used but the manifest, candidates of others, and recorded answers of models.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parthack_attacker::search::SearchOptions;
use parthack_evaluators::judge::AnswerMode;

use crate::audit::context::{Context, files_below, read};
use crate::audit::outcome::Outcome;
use crate::ledger::Ledger;
use crate::run::attackers::{Attacker, CandidateFile, FeedbackKind, ModelAttacker};
use crate::run::error::RunError;
use crate::run::folder::ObjectKind;
use crate::run::manifest::{Choices, FrozenAttacker, FrozenJudge, Manifest, Recorded, SemanticChoices};
use crate::run::models::{Models, Strict, archive_folder};
use crate::run::plugins::PluginScores;
use crate::run::verify::same;
use crate::run::{Job, read_ledger, run};

pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Result<(), RunError> {
    let Some(certifier) = context.certifier(outcome) else { return Ok(()) };
    let Some(choices) = choices(context, outcome)? else { return Ok(()) };
    let manifest = Manifest::freeze(&context.job.suite, &choices, &certifier.protocol())?;
    outcome.compare("manifest", "manifest.json", &context.manifest.hash().hex(), &manifest.hash().hex());
    if manifest != context.manifest {
        let (found, expected) = (&context.manifest.versions, &manifest.versions);
        if found != expected {
            outcome.notes.push(format!("the run was made by {found:?}; this program is {expected:?}"));
        }
        return Ok(());
    }
    let scratch = tempfile::Builder::new().prefix("parthack-reproduction-").tempdir();
    let temporary = std::env::temp_dir();
    let scratch = scratch.map_err(|error| RunError::storage("cannot create a folder in", &temporary, error))?;
    let models = match choices.semantic.is_some() || matches!(choices.attacker, Attacker::Llm(_)) {
        true => Models::Replay { folders: vec![archive_folder(&context.folder)], strict: Strict::default() },
        false => Models::None,
    };
    let stop = AtomicBool::new(false);
    let recorded = read_ledger(&context.folder, &context.manifest)?;
    let evaluators: BTreeSet<&str> = context.manifest.plugins().map(|(id, _)| id).collect();
    if !evaluators.is_empty() {
        let names: Vec<&str> = evaluators.iter().copied().collect();
        outcome.notes.push(format!("scores of {} are taken as the run recorded them", names.join(", ")));
    }
    let again = run(Job {
        suite: context.job.suite.clone(),
        choices,
        certifier,
        evaluator_program: context.job.evaluator_program.clone(),
        out: Some(scratch.path().join("run")),
        runs_root: temporary,
        resume: false,
        threads: context.job.threads,
        models,
        plugins: PluginScores::of_ledger(&recorded, &evaluators),
        stop: &stop,
        progress: Box::new(|_| {}),
    })?;
    let lost = ledgers(context, outcome, &again.ledger)?;
    if lost > 0 {
        let note =
            "cells whose answers were lost on the way are taken as the run recorded them, and tables are not compared";
        outcome.notes.push(format!("{lost} {note}"));
        return Ok(());
    }
    for folder in ["tables", "objects/payloads", "objects/trajectories"] {
        let (own, theirs) =
            (files_below(&context.folder.path(folder), &[])?, files_below(&again.folder.join(folder), &[])?);
        let own: BTreeMap<_, _> = own.into_iter().map(|file| (file.name, file.path)).collect();
        let theirs: BTreeMap<_, _> = theirs.into_iter().map(|file| (file.name, file.path)).collect();
        for name in own.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
            let place = format!("{folder}/{name}");
            outcome.checks(folder, 1);
            match (own.get(name), theirs.get(name)) {
                (Some(own), Some(theirs)) if read(own)? == read(theirs)? => {}
                (Some(_), Some(_)) => outcome.finds(place, "other bytes", "those of the run done again"),
                // Attempts of an earlier start of a killed run may have left objects that no record names.
                (Some(_), None) if folder != "tables" => outcome.counts("objects that no record names", 1),
                (Some(_), None) => outcome.finds(place, "a file", "none, as the run done again"),
                (None, _) => outcome.finds(place, "no file", "that of the run done again"),
            }
        }
    }
    Ok(())
}

/// Compares the ledgers; the number of cells whose answers were lost on the way.
fn ledgers(context: &Context<'_>, outcome: &mut Outcome, again: &Ledger) -> Result<usize, RunError> {
    let bytes = read(&context.folder.ledger())?;
    outcome.checks("bytes of the ledger", 1);
    if bytes == again.bytes() {
        outcome.checks("records of the ledger", again.lines.len());
        return Ok(0);
    }
    let found = read_ledger(&context.folder, &context.manifest)?;
    let expected: BTreeMap<_, _> = again.lines.iter().map(|line| (line.cell, &line.record)).collect();
    let (mut lost, before) = (0, outcome.findings.len());
    for line in &found.lines {
        outcome.checks("records of the ledger", 1);
        let place = format!("ledger.jsonl, {}", line.record.name());
        match expected.get(&line.cell) {
            Some(record) if **record == line.record => {}
            Some(record) if same(&line.record, record) => lost += 1,
            Some(_) => outcome.finds(place, "another record", "that of the run done again"),
            None => outcome.finds(place, "a record", "none, as the run done again"),
        }
    }
    let there: BTreeSet<_> = found.lines.iter().map(|line| line.cell).collect();
    for line in again.lines.iter().filter(|line| !there.contains(&line.cell)) {
        outcome.finds(format!("ledger.jsonl, {}", line.record.name()), "no record", "that of the run done again");
    }
    if lost == 0 && outcome.findings.len() == before {
        let what = if found.private == again.private { "other bytes" } else { "another hash of private records" };
        outcome.finds("ledger.jsonl", what, "that of the run done again");
    }
    Ok(lost)
}

/// What the user chose, from what was frozen; none, and the reason found, where an object is missing.
fn choices(context: &Context<'_>, outcome: &mut Outcome) -> Result<Option<Choices>, RunError> {
    let manifest = &context.manifest;
    let mut search = SearchOptions::default();
    let attacker = match &manifest.attacker {
        FrozenAttacker::Search { max_steps, max_states, prove, .. } => {
            search = SearchOptions { max_steps: *max_steps, max_states: *max_states, prove: *prove, ..search };
            Attacker::Search
        }
        FrozenAttacker::Patterns { .. } => Attacker::Patterns,
        FrozenAttacker::Llm { role, budget, feedback, .. } => {
            let feedback = FeedbackKind::from_word(feedback).unwrap_or_default();
            Attacker::Llm(Box::new(ModelAttacker { role: role.clone(), budget: *budget, feedback }))
        }
        FrozenAttacker::File { candidates } => {
            let mut files = Vec::new();
            for candidate in candidates {
                let bytes = context.folder.read_object(ObjectKind::Trajectory, &candidate.hash);
                let Some(bytes) = bytes else {
                    let place = format!("objects/trajectories/{}.json", candidate.hash);
                    outcome.finds(place, "missing, or not of its hash", format!("candidate {}", candidate.name));
                    return Ok(None);
                };
                files.push(CandidateFile { name: candidate.name.clone(), task: candidate.task.clone(), bytes });
            }
            Attacker::Files(Arc::new(files))
        }
    };
    let builtins = manifest.evaluators.iter().filter(|evaluator| evaluator.plugin.is_none());
    let ids = |list: Vec<&String>| Some(list.into_iter().cloned().collect::<Vec<String>>());
    Ok(Some(Choices {
        tasks: ids(manifest.tasks.iter().map(|task| &task.id).collect()),
        targets: ids(manifest.targets.iter().collect()),
        evaluators: ids(builtins.map(|evaluator| &evaluator.id).collect()),
        plugins: manifest.plugins().map(|(id, plugin)| (id.to_owned(), plugin.clone())).collect(),
        attacker,
        search,
        bootstrap: manifest.bootstrap_plan()?,
        semantic: semantic(manifest),
    }))
}

fn semantic(manifest: &Manifest) -> Option<SemanticChoices> {
    let judges: Vec<(&str, &FrozenJudge)> = manifest.judges().collect();
    let (_, first) = judges.first()?;
    Some(SemanticChoices {
        judge: Some(first.role.clone()),
        checklist: judges.iter().find_map(|(_, judge)| judge.checklist_role.clone()),
        answer_mode: AnswerMode::from_word(&first.answer_mode)?,
        probes: first.probes,
        recorded: Some(Recorded {
            tasks: judges.iter().map(|(id, judge)| ((*id).to_owned(), judge.tasks.iter().cloned().collect())).collect(),
        }),
    })
}
