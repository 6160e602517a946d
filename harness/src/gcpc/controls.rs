//! Controls of the instrument that ask models: idle agents, replaced evidence, falsified schemes (G §4.5).

use std::collections::BTreeMap;

use parthack_env::canonical::Hash;
use parthack_gcpc::controls::audit::{extraction_prompt, read_extraction, read_sorting, sorting_prompt};
use parthack_gcpc::controls::idle::{Idleness, log as idle_log, without_evidence};
use parthack_gcpc::controls::replacement::{self, falsified, replace};
use parthack_gcpc::controls::schema::{Variant as SchemeVariant, real};
use parthack_gcpc::judging::log::LogView;
use parthack_gcpc::label::Label;
use parthack_gcpc::records::{AUDIT_FORMAT, Audit, AuditedRequirement, Judgement, LogIdentity, Sorting, Variant};
use parthack_model::answer::Answer;

use crate::gcpc::chain::Chain;
use crate::gcpc::folder::GcpcFolder;
use crate::gcpc::judging::{Bench, GCPC, Method, Work};
use crate::gcpc::pipeline::Pipeline;
use crate::gcpc::task::GcpcTask;
use crate::ledger::canonical_of;
use crate::run::error::RunError;

/// The kind of a log that no agent made.
const MADE: &str = "control";

/// Logs of idle agents, three a task that has a checklist and an instruction.
#[must_use]
pub fn idle_works(bench: &Bench<'_>) -> Vec<Work> {
    let mut works = Vec::new();
    for (name, frozen) in bench.checklists() {
        let Some(task) = bench.tasks().get(name) else { continue };
        let requirements: Vec<&str> = frozen.checklist.items.iter().map(|item| item.requirement.as_str()).collect();
        for (word, idleness) in Idleness::ALL {
            let view = idle_log(&task.instruction, &requirements, idleness);
            let identity = LogIdentity {
                log: Hash::of("idle-log", &canonical_of(&(name, word, &task.instruction, &requirements))).hex(),
                kind: MADE.to_owned(),
                task: name.clone(),
                harness: None,
                harness_version: None,
                model: None,
                condition: "none-known".to_owned(),
                run: Some(word.to_owned()),
                outcome: None,
            };
            let variant = Variant::Idle { idleness: word.to_owned() };
            works.push(Work { identity, view, method: Method::Gcpc, variant, pass: 1 });
        }
    }
    works
}

/// A log without its tool outputs and file contents: what its agent says and calls is left, and proves nothing.
#[must_use]
pub fn work_without_evidence(identity: &LogIdentity, view: &LogView) -> Work {
    Work {
        identity: identity.clone(),
        view: without_evidence(view),
        method: Method::Gcpc,
        variant: Variant::WithoutEvidence {},
        pass: 1,
    }
}

/// The works of replaced evidence on one log: one for each item that its first judgement calls Yes for evidence that stands in the log.
///
/// # Errors
/// [`RunError`]: where a text can't be turned round by rule, a model is asked.
pub fn replacement_works(
    pipeline: &Pipeline,
    bench: &Bench<'_>,
    primary: &BTreeMap<String, Judgement>,
    identity: &LogIdentity,
    view: &LogView,
    seed: u64,
) -> Result<Vec<Work>, RunError> {
    let mut works = Vec::new();
    let (Some(judgement), Some(frozen)) = (primary.get(&identity.log), bench.checklists().get(&identity.task)) else {
        return Ok(works);
    };
    for judged in judgement.items.iter().filter(|item| item.label == Label::Yes && !item.evidence.is_empty()) {
        let old: Vec<&str> = judged.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
        let by_rule: Option<Vec<String>> = old.iter().map(|text| falsified(text, seed)).collect();
        let new = match by_rule {
            Some(new) => new,
            None => {
                let Some(item) = frozen.checklist.items.iter().find(|item| item.id == judged.id) else { continue };
                let prompt = replacement::prompt(&item.requirement, &old);
                let cell = format!("replacement of the evidence of {} in log {:.12}", item.id, identity.log);
                let read = |answer: &Answer| replacement::read(&old, answer);
                let (Ok(new), _) = pipeline.ask_for(&cell, pipeline.maker(), &prompt, 0, &read)? else { continue };
                new
            }
        };
        let pairs: Vec<(&str, &str)> = old.iter().copied().zip(new.iter().map(String::as_str)).collect();
        let Some(replaced) = replace(view, &pairs) else { continue };
        let pairs = pairs.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect();
        works.push(Work {
            identity: identity.clone(),
            view: replaced.log,
            method: Method::Gcpc,
            variant: Variant::Replacement { item: judged.id.clone(), pairs },
            pass: 1,
        });
    }
    Ok(works)
}

/// The first judgement of each log by its checklist as it is, by one judge.
#[must_use]
pub fn primary_judgements(judgements: Vec<Judgement>, judge: &str) -> BTreeMap<String, Judgement> {
    let is_primary = |of: &Judgement| {
        of.method == GCPC
            && of.pass == 1
            && of.judge == judge
            && of.variant == Variant::Primary {}
            && of.no_verdict.is_none()
    };
    judgements.into_iter().filter(is_primary).map(|of| (of.identity.log.clone(), of)).collect()
}

/// Audits every task of a folder that has no audit yet.
///
/// # Errors
/// [`RunError`].
pub fn audits(folder: &GcpcFolder, pipeline: &Pipeline, seed: u64) -> Result<(), RunError> {
    let (mut chain, there) = Chain::open::<Audit>(&folder.audits())?;
    let is_there = |task: &str| there.iter().any(|audit| audit.task == task && audit.no_answer.is_none());
    for task in folder.tasks()?.values().filter(|task| !is_there(&task.task)) {
        chain.append(&audit(pipeline, task, seed)?)?;
    }
    Ok(())
}

/// The coverage of a task's stated requirements by the real scheme and its three falsifications.
fn audit(pipeline: &Pipeline, task: &GcpcTask, seed: u64) -> Result<Audit, RunError> {
    let role = pipeline.maker();
    let mut audit = Audit {
        format: AUDIT_FORMAT.to_owned(),
        task: task.task.clone(),
        requirements: Vec::new(),
        no_answer: None,
        sortings: Vec::new(),
        exchanges: Vec::new(),
    };
    let read = |answer: &Answer| read_extraction(&task.instruction, answer);
    let cell = format!("requirements of {}", task.task);
    let (extracted, exchanges) = pipeline.ask_for(&cell, role, &extraction_prompt(&task.instruction), 0, &read)?;
    audit.exchanges.extend(exchanges);
    match extracted {
        Err(reason) => audit.no_answer = Some(reason),
        Ok(requirements) => {
            let stated: Vec<&str> = requirements.iter().filter(|of| of.is_stated).map(|of| of.text.as_str()).collect();
            for (word, variant) in SchemeVariant::ALL.into_iter().filter(|_| !stated.is_empty()) {
                let scheme = real().variant(variant, seed);
                let cell = format!("requirements of {} sorted by the {word} scheme", task.task);
                let read = |answer: &Answer| read_sorting(&scheme, stated.len(), answer);
                let (sorted, exchanges) = pipeline.ask_for(&cell, role, &sorting_prompt(&scheme, &stated), 0, &read)?;
                audit.exchanges.extend(exchanges);
                let name = |place: Option<usize>| {
                    place.and_then(|place| scheme.categories.get(place)).map(|category| category.name.clone())
                };
                let (categories, no_answer) = match sorted {
                    Ok(places) => (places.into_iter().map(name).collect(), None),
                    Err(reason) => (Vec::new(), Some(reason)),
                };
                audit.sortings.push(Sorting { scheme: word.to_owned(), categories, no_answer });
            }
            audit.requirements = requirements
                .into_iter()
                .map(|of| AuditedRequirement { quote: of.quote, text: of.text, is_stated: of.is_stated })
                .collect();
        }
    }
    Ok(audit)
}
