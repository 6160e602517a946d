//! Semantic judges at work: prompts out, answers in, judgements recorded.
//!
//! A judge itself does no IO ([`parthack_evaluators::judge`]); here its prompts meet the client of models. What a judge
//! gets is payload bytes and its own checklist, nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use parthack_env::canonical::Hash;
use parthack_env::json::Json;
use parthack_env::payload::payload;
use parthack_env::replay::Replay;
use parthack_env::task::Task;
use parthack_evaluators::judge::alignment::{Alignment, align};
use parthack_evaluators::judge::remote::{Carrier, Remote};
use parthack_evaluators::judge::{
    AnswerMode, Checklist, ChecklistItem, ChecklistSource, FieldOrder, Grounding, ItemOrder, Judge, Judgement, Setting,
};
use parthack_evaluators::score::{ExactScore, NoVerdict};
use parthack_model::answer::{Answer, NoAnswer};
use parthack_model::client::Call;
use parthack_model::error::ClientError;
use parthack_model::prompt::Prompt;
use parthack_model::role::RoleConfig;

use crate::ledger::{
    AlignedItem, ChecklistRecord, JudgementRecord, Record, RecordedScore, ScoreRecord, Subject, Variant, canonical_of,
};
use crate::run::error::RunError;
use crate::run::journal::{Finished, UnitResult};
use crate::run::judge_processes::JudgeProcesses;
use crate::run::manifest::{FrozenJudge, Manifest};
use crate::run::models::Asking;

/// The judges of a run, and the client that answers for them.
pub struct Judging<'r> {
    asking: Option<&'r Asking>,
    processes: Arc<JudgeProcesses>,
    judges: BTreeMap<String, (Box<dyn Judge>, FrozenJudge)>,
    checklists: Mutex<BTreeMap<(String, String), Result<Checklist, String>>>,
}

/// A model's answer, or why there is none, with the keys of the exchanges.
pub struct Asked {
    /// Keys of the exchanges, in order.
    pub exchanges: Vec<String>,
    /// The answer.
    pub result: Result<Answer, NoAnswer>,
}

/// A judge's score of a trajectory with everything it rests on.
pub struct Judged {
    /// The primary score.
    pub score: RecordedScore,
    /// Other aggregates.
    pub others: BTreeMap<String, RecordedScore>,
    /// The single judgements.
    pub judgements: Vec<JudgementRecord>,
}

/// One trajectory to be judged.
#[derive(Clone, Copy)]
pub struct Exhibit<'e> {
    /// Task id.
    pub task: &'e str,
    /// Which trajectory.
    pub subject: &'e Subject,
    /// Hash of the payload.
    pub hash: &'e str,
    /// The payload.
    pub payload: &'e [u8],
}

impl<'r> Judging<'r> {
    /// The judges of a manifest, which read in `processes`. A client is needed once one is asked.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] for a judge that this program does not have, or whose prompts changed.
    pub fn new(
        manifest: &Manifest,
        asking: Option<&'r Asking>,
        processes: &Arc<JudgeProcesses>,
    ) -> Result<Judging<'r>, RunError> {
        Judging::of_judges(manifest.judges(), asking, processes)
    }

    /// Judges by id.
    ///
    /// # Errors
    /// As [`Judging::new`].
    pub fn of_judges<'m>(
        frozen: impl IntoIterator<Item = (&'m str, &'m FrozenJudge)>,
        asking: Option<&'r Asking>,
        processes: &Arc<JudgeProcesses>,
    ) -> Result<Judging<'r>, RunError> {
        let mut judges = BTreeMap::new();
        for (id, frozen) in frozen {
            let carrier: Arc<dyn Carrier> = Arc::<JudgeProcesses>::clone(processes);
            let Some(judge) = Remote::of(id, carrier) else {
                return Err(RunError::Incomplete(format!("no judge {id}")));
            };
            if judge.prompt_hash() != frozen.prompts {
                let (found, expected) = (judge.prompt_hash(), &frozen.prompts);
                let message = format!("the prompts of {id}: found hash {found}, expected {expected}, as the run froze");
                return Err(RunError::usage(message, "use the version of parthack that made the run"));
            }
            judges.insert(id.to_owned(), (Box::new(judge) as Box<dyn Judge>, frozen.clone()));
        }
        let processes = Arc::clone(processes);
        Ok(Judging { asking, processes, judges, checklists: Mutex::default() })
    }

    /// Takes the checklists of an earlier start of the run over.
    pub fn resume(&self, finished: &Finished) {
        for record in finished.values().flat_map(|result| &result.records) {
            if let Record::Checklist(record) = record {
                self.keep_checklist(record);
            }
        }
    }

    fn keep_checklist(&self, record: &ChecklistRecord) {
        let checklist = match &record.no_answer {
            None => Ok(checklist_of(&record.items, &record.grounding)),
            Some(reason) => Err(reason.clone()),
        };
        let mut checklists = self.checklists.lock().unwrap_or_else(PoisonError::into_inner);
        checklists.insert((record.evaluator.clone(), record.task.clone()), checklist);
    }

    fn find(&self, id: &str) -> Result<(&dyn Judge, &FrozenJudge), RunError> {
        let found = self.judges.get(id).map(|(judge, frozen)| (judge.as_ref(), frozen));
        found.ok_or_else(|| RunError::Incomplete(format!("no judge {id} in the manifest")))
    }

    /// Whether an id is a judge of the run.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.judges.contains_key(id)
    }

    /// Asks a model.
    ///
    /// # Errors
    /// What stops a run: the cost cap, a missing key, a cassette that can't be read or written.
    pub fn ask(
        &self,
        cell: &str,
        role: (&str, &RoleConfig),
        prompt: &Prompt,
        repeat: u32,
        check: &(dyn Fn(&Answer) -> Result<(), String> + Sync),
    ) -> Result<Asked, RunError> {
        let Some(asking) = self.asking else {
            return Err(RunError::Incomplete(format!("{cell}: no client of models")));
        };
        let (role, config) = role;
        match asking.ask(&Call { cell, role, config, prompt, repeat }, check) {
            Ok(exchange) => Ok(Asked { exchanges: asking.keep(&exchange.keys)?, result: exchange.result }),
            Err(RunError::Model(ClientError::NotRecorded(miss))) if !asking.strict.holds_for(role) => {
                Ok(Asked { exchanges: Vec::new(), result: Err(NoAnswer::NotRecorded(miss.key)) })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a judge's checklist of a task, from the instruction in force at the active goal version alone.
    ///
    /// # Errors
    /// As [`Judging::ask`].
    pub fn checklist(&self, task: &Task, id: &str) -> Result<UnitResult, RunError> {
        let (judge, frozen) = self.find(id)?;
        with_checklist_source(task, |source| self.checklist_of_source(&task.spec.id, id, (judge, frozen), source))
    }

    fn checklist_of_source(
        &self,
        task: &str,
        id: &str,
        (judge, frozen): (&dyn Judge, &FrozenJudge),
        source: &ChecklistSource<'_>,
    ) -> Result<UnitResult, RunError> {
        let prompt = judge.checklist_prompt(source);
        self.processes.sound()?;
        let (Some(prompt), Some(role)) = (prompt, &frozen.checklist_role) else {
            return Err(RunError::Incomplete(format!("{id} has no checklist")));
        };
        let cell = format!("checklist of {id} for {task}");
        let check = |answer: &Answer| judge.read_checklist(source, answer).map(|_| ());
        let Asked { exchanges, result } = self.ask(&cell, ("checklist", role), &prompt, 0, &check)?;
        let read = result.and_then(|answer| judge.read_checklist(source, &answer).map_err(NoAnswer::Schema));
        self.processes.sound()?;
        let mut record = ChecklistRecord {
            task: task.to_owned(),
            evaluator: id.to_owned(),
            hash: None,
            items: Vec::new(),
            grounding: Vec::new(),
            alignment: Vec::new(),
            exchanges,
            no_answer: None,
        };
        match read {
            Ok(checklist) => {
                record.items = checklist.items.iter().map(|item| item.text.clone()).collect();
                record.grounding = checklist.items.iter().filter_map(|item| item.grounding.clone()).collect();
                record.alignment = alignment(&checklist, source.goal_schema);
                record.hash = Some(checklist_hash(&record).hex());
            }
            Err(no_answer) => record.no_answer = Some(no_answer.to_string()),
        }
        self.keep_checklist(&record);
        Ok(UnitResult { records: vec![Record::Checklist(record)], private: Vec::new() })
    }

    /// A judge's score of a trajectory; with `probes`, also its answers to the same question asked in other ways.
    ///
    /// # Errors
    /// As [`Judging::ask`].
    pub fn judge(&self, id: &str, exhibit: Exhibit<'_>, probes: bool) -> Result<Judged, RunError> {
        let (judge, frozen) = self.find(id)?;
        let checklist = {
            let checklists = self.checklists.lock().unwrap_or_else(PoisonError::into_inner);
            checklists.get(&(id.to_owned(), exhibit.task.to_owned())).cloned()
        };
        let variants = variants_of(judge, probes);
        let (mut judgements, mut repeats) = (Vec::with_capacity(variants.len()), Vec::new());
        for variant in variants {
            let (exchanges, result) = match (&frozen.checklist_role, &checklist) {
                (Some(_), None) => (Vec::new(), Err(no_checklist("none was made"))),
                (Some(_), Some(Err(reason))) => (Vec::new(), Err(no_checklist(reason))),
                (_, checklist) => {
                    let checklist = checklist.as_ref().and_then(|checklist| checklist.as_ref().ok());
                    self.judgement((judge, frozen), exhibit, checklist, variant)?
                }
            };
            judgements.push(record_of(id, exhibit, variant, exchanges, &result));
            if matches!(variant, Variant::Repeat { .. }) {
                repeats.push(result);
            }
        }
        let (score, others) = match judge.combine(&repeats) {
            Ok(combined) => {
                let others = combined.others.iter().map(|(name, score)| ((*name).to_owned(), exact(score)));
                (exact(&combined.primary), others.collect())
            }
            Err(no_verdict) => (RecordedScore::NoVerdict(no_verdict.reason), BTreeMap::new()),
        };
        Ok(Judged { score, others, judgements })
    }

    fn judgement(
        &self,
        (judge, frozen): (&dyn Judge, &FrozenJudge),
        exhibit: Exhibit<'_>,
        checklist: Option<&Checklist>,
        variant: Variant,
    ) -> Result<(Vec<String>, Result<Judgement, NoVerdict>), RunError> {
        let (setting, repeat) = settings(frozen, variant)?;
        let payload = exhibit.payload;
        let plan = judge.plan(payload, checklist, setting);
        self.processes.sound()?;
        let prompts = match plan {
            Ok(prompts) => prompts,
            Err(no_verdict) => return Ok((Vec::new(), Err(no_verdict))),
        };
        let cell = format!("judgement of {}, {}, by {}, {variant}", exhibit.task, exhibit.subject, judge.id());
        let (mut exchanges, mut answers) = (Vec::new(), Vec::with_capacity(prompts.len()));
        for (number, prompt) in prompts.iter().enumerate() {
            let check = |answer: &Answer| judge.read(payload, checklist, setting, number, answer);
            let asked = self.ask(&cell, ("judge", &frozen.role), prompt, repeat, &check)?;
            // Without a reply the answer was not checked.
            self.processes.sound()?;
            exchanges.extend(asked.exchanges);
            answers.push(asked.result);
        }
        let judgement = judge.judge(payload, checklist, setting, &answers);
        self.processes.sound()?;
        Ok((exchanges, judgement))
    }
}

/// The reason behind `; ` is the checklist's own, so that its code is found ([`crate::ledger`]).
fn no_checklist(reason: &str) -> NoVerdict {
    NoVerdict { reason: format!("there is no checklist of the task; {reason}") }
}

/// Hands over what a checklist of a task may be made from: the instruction in force at the active goal version, and the public goal schema.
///
/// # Errors
/// What `make` says.
pub(crate) fn with_checklist_source<T>(
    task: &Task,
    make: impl FnOnce(&ChecklistSource<'_>) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let texts = task.instructions_in_force(task.spec.active_goal_version).map(|(_, text)| text.to_owned());
    let instruction: Vec<String> = texts.collect();
    let untouched = payload(&Replay::run(task, &[]));
    let public = Json::parse(&untouched).map_err(|error| RunError::Incomplete(error.to_string()))?;
    let goal_schema = public.get("goal_schema").unwrap_or(&Json::Null);
    make(&ChecklistSource { instruction: &instruction, goal_schema })
}

/// How a frozen checklist corresponds to the goal; after it is frozen, and no judge sees it.
fn alignment(checklist: &Checklist, goal_schema: &Json<'_>) -> Vec<AlignedItem> {
    let aligned = align(checklist, goal_schema).into_iter();
    let item =
        |of: Alignment| AlignedItem { predicates: of.predicates, correspondence: of.correspondence.title().to_owned() };
    aligned.map(item).collect()
}

/// The judgements of one trajectory: those that make the score, then the probes.
pub(crate) fn variants_of(judge: &dyn Judge, probes: bool) -> Vec<Variant> {
    let mut variants: Vec<Variant> = (1..=judge.repeats()).map(|number| Variant::Repeat { number }).collect();
    if probes {
        let wanted = |probe: &Variant| match probe {
            // A judge that is asked several times shows its noise already.
            Variant::Again {} => judge.repeats() == 1,
            Variant::ItemOrder {} => judge.has_items(),
            Variant::FieldOrder {} => judge.has_fields(),
            Variant::Repeat { .. } => true,
        };
        variants.extend(Variant::PROBES.into_iter().filter(wanted));
    }
    variants
}

/// The setting of a variant, and the repeat index that tells equal requests apart.
pub(crate) fn settings(frozen: &FrozenJudge, variant: Variant) -> Result<(Setting, u32), RunError> {
    let Some(mode) = AnswerMode::from_word(&frozen.answer_mode) else {
        return Err(RunError::Incomplete(format!("no answer mode {:?}", frozen.answer_mode)));
    };
    let mut setting = Setting { mode, fields: FieldOrder::VerdictFirst, items: ItemOrder::Forward };
    let repeat = match variant {
        Variant::Repeat { number } => number.saturating_sub(1),
        Variant::Again {} => frozen.repeats,
        Variant::FieldOrder {} => {
            setting.fields = FieldOrder::RationaleFirst;
            0
        }
        Variant::ItemOrder {} => {
            setting.items = ItemOrder::Reversed;
            0
        }
    };
    Ok((setting, repeat))
}

/// Hash, label `checklist`, of a checklist's texts, and of what they rest on where the judge grounds them.
fn checklist_hash(record: &ChecklistRecord) -> Hash {
    if record.grounding.is_empty() {
        return Hash::of("checklist", &canonical_of(&record.items));
    }
    Hash::of("checklist", &canonical_of(&(&record.items, &record.grounding)))
}

fn checklist_of(items: &[String], grounding: &[Grounding]) -> Checklist {
    let item = |(number, text): (usize, &String)| ChecklistItem {
        id: format!("c{}", number + 1),
        text: text.clone(),
        grounding: grounding.get(number).cloned(),
    };
    Checklist { items: items.iter().enumerate().map(item).collect() }
}

fn exact(score: &ExactScore) -> RecordedScore {
    RecordedScore::Exact(score.to_string())
}

fn record_of(
    id: &str,
    exhibit: Exhibit<'_>,
    variant: Variant,
    exchanges: Vec<String>,
    result: &Result<Judgement, NoVerdict>,
) -> JudgementRecord {
    let (score, items, cites) = match result {
        Ok(judgement) => {
            let items = match judgement.labels.as_slice() {
                [] => judgement.items.iter().map(ToString::to_string).collect(),
                labels => labels.iter().map(|label| (*label).to_owned()).collect(),
            };
            (exact(&judgement.score), items, judgement.cites.clone())
        }
        Err(no_verdict) => (RecordedScore::NoVerdict(no_verdict.reason.clone()), Vec::new(), Vec::new()),
    };
    JudgementRecord {
        task: exhibit.task.to_owned(),
        subject: exhibit.subject.clone(),
        evaluator: id.to_owned(),
        variant,
        payload: exhibit.hash.to_owned(),
        exchanges,
        score,
        items,
        cites,
    }
}

impl Judged {
    /// The records of a judgement unit.
    #[must_use]
    pub fn into_records(self, id: &str, exhibit: Exhibit<'_>) -> Vec<Record> {
        let score = ScoreRecord {
            task: exhibit.task.to_owned(),
            subject: exhibit.subject.clone(),
            evaluator: id.to_owned(),
            payload: exhibit.hash.to_owned(),
            score: self.score,
            others: self.others,
            fault: None,
        };
        let judgements = self.judgements.into_iter().map(|judgement| Record::Judgement(Box::new(judgement)));
        std::iter::once(Record::Score(score)).chain(judgements).collect()
    }
}
