//! Logs judged: every method's prompts asked, every judgement kept in the order of the logs (G §3.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use parthack_env::canonical::Hash;
use parthack_gcpc::baselines::{Baseline, question_id};
use parthack_gcpc::checklist::{Frozen, instruction_hash};
use parthack_gcpc::judging::evidence::Evidence;
use parthack_gcpc::judging::log::LogView;
use parthack_gcpc::judging::{self, Judged, Setting, ids_are_usable};
use parthack_gcpc::prompts;
use parthack_gcpc::records::{
    EvidenceSpan, JUDGEMENT_FORMAT, JudgedItem, Judgement, LogIdentity, QUESTIONS_FORMAT, Questions, Variant,
};
use parthack_model::answer::Answer;

use crate::gcpc::chain::Chain;
use crate::gcpc::folder::GcpcFolder;
use crate::gcpc::pipeline::{Pipeline, Role, role_hash};
use crate::gcpc::task::GcpcTask;
use crate::ledger::canonical_of;
use crate::run::error::RunError;

/// The id of the method that this is all about.
pub const GCPC: &str = "gcpc";

/// A way to score a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// The frozen checklist.
    Gcpc,
    /// What it is compared with.
    Baseline(Baseline),
}

impl Method {
    /// Its id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Method::Gcpc => GCPC,
            Method::Baseline(baseline) => baseline.id(),
        }
    }

    /// The one of an id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Method> {
        if id == GCPC { Some(Method::Gcpc) } else { Baseline::from_id(id).map(Method::Baseline) }
    }

    /// All ids, in the order of the tables.
    #[must_use]
    pub fn ids() -> Vec<&'static str> {
        std::iter::once(GCPC).chain(Baseline::ALL.map(Baseline::id)).collect()
    }
}

/// One thing to judge: a log, a method, a way of asking.
#[derive(Debug, Clone)]
pub struct Work {
    /// Whose log.
    pub identity: LogIdentity,
    /// The log as it is shown.
    pub view: LogView,
    /// The method.
    pub method: Method,
    /// How it is asked for.
    pub variant: Variant,
    /// The pass, from 1.
    pub pass: u32,
}

/// The judge's bench: everything that is the same for all logs.
#[derive(Debug)]
pub struct Bench<'b> {
    folder: &'b GcpcFolder,
    pipeline: &'b Pipeline,
    setting: Setting,
    tasks: BTreeMap<String, GcpcTask>,
    checklists: BTreeMap<String, Frozen>,
    /// Hashes of the frozen checklists, by task.
    hashes: BTreeMap<String, String>,
    /// The judge's name, and the hash of its configuration.
    judge: (String, String),
    questions: BTreeMap<(String, &'static str), Questions>,
    done: BTreeSet<String>,
    chain: Chain,
}

/// What became of the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Judgements made now.
    pub made: usize,
    /// Judgements that were there already.
    pub there: usize,
    /// Judgements made now that are without a verdict.
    pub without_verdict: usize,
}

impl<'b> Bench<'b> {
    /// Reads what a folder holds. Checklists must be frozen before any log is read.
    ///
    /// # Errors
    /// [`RunError`]; [`RunError::Usage`] if no checklist is frozen.
    pub fn open(folder: &'b GcpcFolder, pipeline: &'b Pipeline, setting: Setting) -> Result<Bench<'b>, RunError> {
        let judge = pipeline.role(Role::Judge)?;
        let checklists = folder.checklists()?;
        if checklists.is_empty() {
            let message = format!("{}: no frozen checklist", folder.as_run().root.display());
            return Err(RunError::usage(message, "parthack gcpc synthesize, then parthack gcpc freeze"));
        }
        if let Some(frozen) = checklists.values().find(|frozen| !ids_are_usable(&frozen.checklist)) {
            let message = format!("the checklist of {} has ids that can't be labels", frozen.task);
            return Err(RunError::usage(message, "parthack gcpc check says which"));
        }
        let (chain, there) = Chain::open::<Judgement>(&folder.judgements())?;
        Ok(Bench {
            folder,
            pipeline,
            setting,
            tasks: folder.tasks()?,
            hashes: checklists.iter().map(|(task, frozen)| (task.clone(), frozen.hash().hex())).collect(),
            checklists,
            judge: (judge.name(), role_hash(judge)),
            questions: BTreeMap::new(),
            done: there.iter().map(key_of).collect(),
            chain,
        })
    }

    /// The frozen checklists, by task.
    #[must_use]
    pub fn checklists(&self) -> &BTreeMap<String, Frozen> {
        &self.checklists
    }

    /// The tasks, by name.
    #[must_use]
    pub fn tasks(&self) -> &BTreeMap<String, GcpcTask> {
        &self.tasks
    }

    /// Makes the questions of a baseline for every task that has a checklist, before any log is read.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn prepare(&mut self, method: Method) -> Result<(), RunError> {
        let Method::Baseline(baseline) = method else { return Ok(()) };
        let (mut chain, there) = Chain::open::<Questions>(&self.folder.questions())?;
        let names: Vec<String> = self.checklists.keys().cloned().collect();
        for name in names {
            let Some(task) = self.tasks.get(&name) else {
                let message = format!("{name}: {} needs its instruction, which is not in the folder", baseline.id());
                return Err(RunError::usage(message, "parthack gcpc synthesize keeps it; or leave the method out"));
            };
            let instruction = instruction_hash(&task.instruction).hex();
            let earlier = there.iter().rev().find(|questions| {
                questions.task == name && questions.method == baseline.id() && questions.instruction == instruction
            });
            if let Some(questions) = earlier.filter(|questions| questions.no_answer.is_none()) {
                self.questions.insert((name, baseline.id()), questions.clone());
                continue;
            }
            let mut questions = Questions {
                format: QUESTIONS_FORMAT.to_owned(),
                task: name.clone(),
                method: baseline.id().to_owned(),
                instruction,
                questions: baseline.fixed_questions(),
                no_answer: None,
                exchanges: Vec::new(),
            };
            if let Some(prompt) = baseline.questions_prompt(&task.instruction) {
                let cell = format!("questions of {} for {name}", baseline.id());
                let (made, exchanges) =
                    self.pipeline.ask_for(&cell, self.pipeline.maker(), &prompt, 0, &Baseline::read_questions)?;
                questions.exchanges = exchanges;
                match made {
                    Ok(made) => questions.questions = made,
                    Err(reason) => questions.no_answer = Some(reason),
                }
                chain.append(&questions)?;
            }
            self.questions.insert((name, baseline.id()), questions);
        }
        Ok(())
    }

    /// Judges works with so many threads, and keeps the judgements in the order of the works.
    ///
    /// # Errors
    /// [`RunError`]; judgements before the one that failed are kept.
    pub fn judge(&mut self, works: &[Work], threads: usize) -> Result<Tally, RunError> {
        let blanks = works.iter().map(|work| (work, self.blank(work)));
        let new: Vec<(&Work, Judgement)> = blanks.filter(|(_, blank)| !self.done.contains(&key_of(blank))).collect();
        let mut tally = Tally { there: works.len() - new.len(), ..Tally::default() };
        let results: Vec<Mutex<Option<Result<Judgement, RunError>>>> = new.iter().map(|_| Mutex::default()).collect();
        let next = AtomicUsize::new(0);
        let bench = &*self;
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, new.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some((work, blank)) = new.get(index) else { break };
                        let result = bench.judgement(work, blank.clone());
                        if result.is_err() {
                            // The others would meet the same: what is under way ends, nothing is begun.
                            next.store(new.len(), Ordering::Relaxed);
                        }
                        if let Ok(mut slot) = results[index].lock() {
                            *slot = Some(result);
                        }
                    }
                });
            }
        });
        // What comes after a failure is left for the next start, so that the order of the ledger is the same whatever happened on the way.
        let (mut is_whole, mut failure) = (true, None);
        for slot in results {
            match slot.into_inner().ok().flatten() {
                Some(Ok(judgement)) if is_whole => {
                    self.chain.append(&judgement)?;
                    self.done.insert(key_of(&judgement));
                    tally.made += 1;
                    tally.without_verdict += usize::from(judgement.no_verdict.is_some());
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    is_whole = false;
                    failure.get_or_insert(error);
                }
                None => is_whole = false,
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(tally),
        }
    }

    fn setting_of(&self, variant: &Variant) -> Setting {
        Setting { forced: matches!(variant, Variant::Forced {}), ..self.setting }
    }

    /// The record of a work before anyone was asked.
    fn blank(&self, work: &Work) -> Judgement {
        let (judge, judge_hash) = &self.judge;
        let setting = self.setting_of(&work.variant);
        let budget = setting.budget;
        let chosen =
            (format!("{:?}", setting.asking), budget.window, budget.overlap, setting.forced, prompts::hash().hex());
        let checklist = match work.method {
            Method::Gcpc => self.hashes.get(&work.identity.task).cloned(),
            Method::Baseline(baseline) => {
                let questions = self.questions.get(&(work.identity.task.clone(), baseline.id()));
                let questions = questions.filter(|questions| !questions.questions.is_empty());
                questions.map(|questions| Hash::of("gcpc-questions", &canonical_of(&questions.questions)).hex())
            }
        };
        Judgement {
            format: JUDGEMENT_FORMAT.to_owned(),
            identity: work.identity.clone(),
            method: work.method.id().to_owned(),
            variant: work.variant.clone(),
            pass: work.pass,
            judge: judge.clone(),
            judge_hash: judge_hash.clone(),
            checklist,
            setting: Hash::of("gcpc-setting", &canonical_of(&chosen)).hex(),
            windows: 0,
            items: Vec::new(),
            score: None,
            no_verdict: None,
            exchanges: Vec::new(),
        }
    }

    fn judgement(&self, work: &Work, record: Judgement) -> Result<Judgement, RunError> {
        match work.method {
            Method::Gcpc => self.by_checklist(work, record),
            Method::Baseline(baseline) => self.by_baseline(work, baseline, record),
        }
    }

    fn by_checklist(&self, work: &Work, mut record: Judgement) -> Result<Judgement, RunError> {
        let Some(frozen) = self.checklists.get(&work.identity.task) else {
            record.no_verdict = Some("no frozen checklist of the task".to_owned());
            return Ok(record);
        };
        let (checklist, setting) = (&frozen.checklist, self.setting_of(&work.variant));
        let plan = judging::plan(checklist, &work.view, setting);
        record.windows = plan.windows;
        let mut answers = Vec::with_capacity(plan.asked.len());
        for (number, asked) in plan.asked.iter().enumerate() {
            let cell = cell_of(work, number, plan.asked.len());
            let check = |answer: &Answer| judging::read(checklist, asked, setting.forced, answer).map(|_| ());
            let answer = self.pipeline.ask(&cell, Role::Judge, &asked.prompt, work.pass - 1, &check)?;
            record.exchanges.extend(answer.exchanges);
            answers.push(answer.result);
        }
        match judging::judge(checklist, &work.view, setting, &plan, &answers) {
            Ok(judged) => record.items = items_of(frozen, &judged, &work.view),
            Err(unjudged) => record.no_verdict = Some(unjudged.to_string()),
        }
        if let Variant::Replacement { item, .. } = &work.variant {
            record.items.retain(|judged| judged.id == *item);
        }
        Ok(record)
    }

    fn by_baseline(&self, work: &Work, baseline: Baseline, mut record: Judgement) -> Result<Judgement, RunError> {
        let task = &work.identity.task;
        let questions = self.questions.get(&(task.clone(), baseline.id()));
        let (Some(task), Some(questions)) = (self.tasks.get(task), questions) else {
            record.no_verdict = Some("the task's instruction is not in the folder".to_owned());
            return Ok(record);
        };
        if let Some(reason) = &questions.no_answer {
            record.no_verdict = Some(format!("there are no questions for the task: {reason}"));
            return Ok(record);
        }
        let count = questions.questions.len();
        let prompt = baseline.prompt(&task.instruction, &questions.questions, &work.view, self.setting.budget.window);
        record.windows = 1;
        let read = |answer: &Answer| baseline.read(count, answer);
        let (scored, exchanges) =
            self.pipeline.ask_for(&cell_of(work, 0, 1), Role::Judge, &prompt, work.pass - 1, &read)?;
        record.exchanges = exchanges;
        match scored {
            Ok((labels, score)) => {
                record.score = Some(score.to_string());
                let item = |(index, label)| JudgedItem {
                    id: question_id(index),
                    route: None,
                    label,
                    evidence: Vec::new(),
                    contrary: Vec::new(),
                    unfounded: 0,
                };
                record.items = labels.into_iter().enumerate().map(item).collect();
            }
            Err(reason) => record.no_verdict = Some(reason),
        }
        Ok(record)
    }
}

fn cell_of(work: &Work, number: usize, of: usize) -> String {
    let LogIdentity { task, log, .. } = &work.identity;
    let (method, variant, pass) = (work.method.id(), variant_word(&work.variant), work.pass);
    let part = if of > 1 { format!(", part {} of {of}", number + 1) } else { String::new() };
    format!("log {log:.12} of {task} by {method}, {variant}, pass {pass}{part}")
}

fn variant_word(variant: &Variant) -> String {
    match variant {
        Variant::Primary {} => "as it is".to_owned(),
        Variant::Forced {} => "without abstaining".to_owned(),
        Variant::Idle { idleness } => format!("idle agent ({idleness})"),
        Variant::WithoutEvidence {} => "without evidence".to_owned(),
        Variant::Replacement { item, .. } => format!("evidence of {item} replaced"),
    }
}

/// What makes two judgements the same: everything that was chosen, nothing that was answered.
fn key_of(record: &Judgement) -> String {
    let chosen = (
        &record.identity.log,
        &record.method,
        &record.variant,
        record.pass,
        &record.judge_hash,
        &record.checklist,
        &record.setting,
    );
    Hash::of("gcpc-judgement", &canonical_of(&chosen)).hex()
}

fn items_of(frozen: &Frozen, judged: &Judged, view: &LogView) -> Vec<JudgedItem> {
    let spans = |all: &[Evidence]| -> Vec<EvidenceSpan> {
        let span = |of: &Evidence| EvidenceSpan {
            span: view.label(of.place),
            step: view.spans().get(of.place).map_or(0, |span| span.index),
            start: of.start,
            end: of.end,
            text: of.text.clone(),
        };
        all.iter().map(span).collect()
    };
    let items = frozen.checklist.items.iter().zip(&judged.items);
    items
        .map(|(item, verdict)| JudgedItem {
            id: item.id.clone(),
            route: Some(item.route),
            label: verdict.label,
            evidence: spans(&verdict.evidence),
            contrary: spans(&verdict.contrary),
            unfounded: verdict.unfounded,
        })
        .collect()
}
