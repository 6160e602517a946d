//! What a run would ask of models, before it asks (SPEC §9: spend is estimated before a run).

use parthack_attacker::search::SearchOptions;
use parthack_env::candidate::Candidate;
use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_env::task::Task;
use parthack_evaluators::judge::{self, Checklist, ChecklistItem, Judge};
use parthack_model::accounting::Estimate;
use parthack_model::client::{Call, Client};
use parthack_model::prompt::Prompt;
use parthack_model::role::RoleConfig;

use crate::run::attackers::Attacker;
use crate::run::error::RunError;
use crate::run::judging::{settings, variants_of, with_checklist_source};
use crate::run::manifest::{FrozenJudge, Manifest};
use crate::run::suite::Suite;

/// A question that will be asked.
struct Planned<'m> {
    cell: String,
    role: &'static str,
    config: &'m RoleConfig,
    prompt: Prompt,
    repeat: u32,
}

/// What the questions of a run would take: of the whole run, whether part of it is done or not. Trajectories that don't
/// exist yet count as the honest one, every candidate that replays as one that is scored, and checklists as one of the length that the paper has (79 conditions over 18 tasks), so that the estimate errs by the difference.
///
/// # Errors
/// [`RunError`] for a cassette that can't be read, or a target without a public description.
pub fn estimate(
    suite: &Suite,
    manifest: &Manifest,
    attacker: &Attacker,
    client: &Client,
) -> Result<Estimate, RunError> {
    let mut planned = Vec::new();
    for (id, frozen) in manifest.judges() {
        let Some(judge) = judge::judge(id) else { continue };
        for task in &frozen.tasks {
            plan_judge(suite, (manifest, attacker), judge.as_ref(), frozen, task, &mut planned)?;
        }
    }
    if let Attacker::Llm(llm) = attacker {
        for entry in &manifest.tasks {
            let Some(task) = suite.task(&entry.id) else { continue };
            for target in &manifest.targets {
                for attempt in 1..=llm.budget {
                    let cell = format!("attempt {attempt} on {} against {target}", entry.id);
                    let prompt = llm.prompt(&task.task, target, attempt, Vec::new())?;
                    planned.push(Planned { cell, role: "attacker", config: &llm.role, prompt, repeat: 0 });
                }
            }
        }
    }
    let calls = planned.iter().map(|Planned { cell, role, config, prompt, repeat }| Call {
        cell,
        role,
        config,
        prompt,
        repeat: *repeat,
    });
    Ok(client.estimate(calls)?)
}

fn plan_judge<'m>(
    suite: &Suite,
    (manifest, attacker): (&Manifest, &Attacker),
    judge: &dyn Judge,
    frozen: &'m FrozenJudge,
    id: &str,
    planned: &mut Vec<Planned<'m>>,
) -> Result<(), RunError> {
    let Some(entry) = suite.task(id) else { return Ok(()) };
    let task = &entry.task;
    let mut checklist = None;
    if let Some(config) = &frozen.checklist_role {
        let cell = format!("checklist of {} for {id}", judge.id());
        let prompt = with_checklist_source(task, |source| Ok(judge.checklist_prompt(source)))?;
        planned.extend(prompt.map(|prompt| Planned { cell, role: "checklist", config, prompt, repeat: 0 }));
        let item = |number: usize| ChecklistItem {
            id: format!("c{}", number + 1),
            text: "A condition of the usual length, about one thing, one property and its value.".to_owned(),
            grounding: None,
        };
        checklist = Some(Checklist { items: (0..5).map(item).collect() });
    }
    let mut plan = |trajectory: usize, bytes: &[u8]| -> Result<(), RunError> {
        let probes = frozen.probes && trajectory == 0;
        for variant in variants_of(judge, probes) {
            let (setting, repeat) = settings(frozen, variant)?;
            let Ok(prompts) = judge.plan(bytes, checklist.as_ref(), setting) else { continue };
            for prompt in prompts {
                // The stand-ins are equal, and the real ones are not: a repeat index of its own keeps them apart.
                let repeat = repeat + 1000 * trajectory as u32;
                let cell = format!("judgement of {id} by {}, {variant}", judge.id());
                planned.push(Planned { cell, role: "judge", config: &frozen.role, prompt, repeat });
            }
        }
        Ok(())
    };
    let honest = payload(&Replay::run(task, &task.spec.honest));
    let attacked = manifest.targets.iter().any(|target| target == judge.id());
    // H, A_ref, the rollback of the set `least`, and the judge's own adversary.
    let stand_ins = 2 + usize::from(task.spec.rollback_metric) + usize::from(attacked);
    for trajectory in 0..stand_ins {
        plan(trajectory, &honest)?;
    }
    if attacked {
        // Each candidate against it may be eligible, and is scored then.
        let attempts = 1..=manifest.attempts(id, judge.id());
        for (number, attempt) in (stand_ins..).zip(attempts) {
            if let Some(bytes) = candidate_payload(attacker, task, judge.id(), attempt)? {
                plan(number, &bytes.unwrap_or_else(|| honest.clone()))?;
            }
        }
    }
    Ok(())
}

/// The payload of a candidate that replays: none where there is no such candidate, and none inside where a model makes it.
fn candidate_payload(
    attacker: &Attacker,
    task: &Task,
    target: &str,
    attempt: u32,
) -> Result<Option<Option<Vec<u8>>>, RunError> {
    if matches!(attacker, Attacker::Llm(_)) {
        return Ok(Some(None));
    }
    let generated = attacker.generate(task, target, attempt, &SearchOptions::default())?;
    let Some(bytes) = generated.candidate else { return Ok(None) };
    Ok(Candidate::admit(task, &bytes).ok().map(|(_, replay)| Some(payload(&replay))))
}
