//! Proofs `parthack.proof/1`: what a search claims, in a file that anyone can check again.

use parthack_env::canonical::{Hash, push_key, push_number_entry, push_text_entry};
use parthack_env::frames::frames;
use parthack_env::input::{Cursor, InputError};
use parthack_env::json::Json;
use parthack_env::replay::Replay;
use parthack_env::spec::read_steps;
use parthack_env::steps::{Step, StepFault, push_steps};
use parthack_env::task::Task;
use parthack_evaluators::rules::Rule;
use parthack_evaluators::score::ExactScore;

use crate::reference::reference_optimum;
use crate::search::{Bound, SearchOutcome};

/// Format of proofs.
pub const PROOF_FORMAT: &str = "parthack.proof/1";

/// A claim about the best eligible score of a task under a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The task.
    pub task_id: String,
    /// Its environment revision.
    pub environment_revision: String,
    /// The target's id.
    pub target: String,
    /// The honest score, as a ratio.
    pub honest: String,
    /// The best score, as a ratio; none: no eligible trajectory but the honest one.
    pub best: Option<String>,
    /// Length of the shortest trajectory with the best score.
    pub length: Option<u32>,
    /// That trajectory.
    pub witness: Option<Vec<Step>>,
    /// Why nothing is better.
    pub bound: String,
    /// Digest of the closed set, where one was explored.
    pub digest: Option<Hash>,
    /// States explored.
    pub states: u64,
    /// Transitions generated.
    pub transitions: u64,
}

/// Why a proof does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofFault {
    /// It is about another task, or another revision of it.
    #[error("the proof is about {found}, not {expected}")]
    OtherTask {
        /// In the proof.
        found: String,
        /// The task at hand.
        expected: String,
    },
    /// The witness does not show what it should.
    #[error("the witness does not hold: {0}")]
    Witness(String),
    /// The check found another answer.
    #[error("the check finds {found}, the proof claims {claimed}")]
    Bound {
        /// What the check found.
        found: String,
        /// What the proof says.
        claimed: String,
    },
    /// The task is too large for the plain explorer.
    #[error("more than {0} states for the plain explorer; nothing was refuted")]
    TooLarge(usize),
}

impl Proof {
    /// The proof of a search's outcome.
    #[must_use]
    pub fn of(task: &Task, target: Rule, outcome: &SearchOutcome) -> Proof {
        Proof {
            task_id: task.spec.id.clone(),
            environment_revision: task.spec.environment_revision.clone(),
            target: target.id().to_owned(),
            honest: outcome.honest.to_string(),
            best: outcome.best.map(|best| best.to_string()),
            length: outcome.witness_length,
            witness: outcome.witness.clone(),
            bound: outcome.bound.word().to_owned(),
            digest: outcome.digest,
            states: outcome.statistics.states,
            transitions: outcome.statistics.transitions,
        }
    }

    /// Canonical bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        if let Some(best) = &self.best {
            push_text_entry(&mut out, "best", best);
        }
        push_text_entry(&mut out, "bound", &self.bound);
        if let Some(digest) = &self.digest {
            push_text_entry(&mut out, "digest", &digest.hex());
        }
        push_text_entry(&mut out, "environment_revision", &self.environment_revision);
        push_text_entry(&mut out, "format", PROOF_FORMAT);
        push_text_entry(&mut out, "honest", &self.honest);
        if let Some(length) = self.length {
            push_number_entry(&mut out, "length", u64::from(length));
        }
        push_number_entry(&mut out, "states", self.states);
        push_text_entry(&mut out, "target", &self.target);
        push_text_entry(&mut out, "task_id", &self.task_id);
        push_number_entry(&mut out, "transitions", self.transitions);
        if let Some(witness) = &self.witness {
            push_key(&mut out, "witness");
            push_steps(&mut out, witness);
        }
        out.push(b'}');
        out
    }

    /// Reads a proof.
    ///
    /// # Errors
    /// Anything but the format.
    pub fn read(bytes: &[u8]) -> Result<Proof, InputError> {
        let json = Json::parse(bytes)?;
        let root = Cursor::root(&json);
        root.object(&[
            "best",
            "bound",
            "digest",
            "environment_revision",
            "format",
            "honest",
            "length",
            "states",
            "target",
            "task_id",
            "transitions",
            "witness",
        ])?;
        root.format(PROOF_FORMAT)?;
        let text = |key: &str| root.key(key)?.text().map(str::to_owned);
        let count = |key: &str| root.key(key)?.integer(0, i64::MAX).map(i64::unsigned_abs);
        let digest = root.optional("digest").map(|digest| {
            Hash::from_hex(digest.json.as_str().unwrap_or_default())
                .ok_or_else(|| digest.fault("64 hexadecimal digits"))
        });
        let witness = root.optional("witness").map(|steps| read_steps(&steps).map_err(StepFault::into_error));
        Ok(Proof {
            task_id: text("task_id")?,
            environment_revision: text("environment_revision")?,
            target: text("target")?,
            honest: text("honest")?,
            best: root.optional("best").map(|best| best.text().map(str::to_owned)).transpose()?,
            length: root.optional("length").map(|length| length.u32(0, u32::MAX)).transpose()?,
            witness: witness.transpose()?,
            bound: text("bound")?,
            digest: digest.transpose()?,
            states: count("states")?,
            transitions: count("transitions")?,
        })
    }

    /// Checks the claim with the reference engine and the plain explorer: the witness replays to the claimed score and
    /// vectors, nothing shorter reaches it, and nothing of any length exceeds it.
    ///
    /// # Errors
    /// [`ProofFault`].
    pub fn check(&self, task: &Task, max_states: usize) -> Result<(), ProofFault> {
        let expected = format!("{} of revision {}", task.spec.id, task.spec.environment_revision);
        let found = format!("{} of revision {}", self.task_id, self.environment_revision);
        if found != expected {
            return Err(ProofFault::OtherTask { found, expected });
        }
        let Some(rule) = Rule::from_id(&self.target) else {
            return Err(ProofFault::Witness(format!("{:?} is no rule evaluator", self.target)));
        };
        let honest = Replay::run(task, &task.spec.honest);
        let honest_frames = frames(&honest);
        let m = u32::try_from(task.m()).unwrap_or(0);
        let honest_score = rule.score(m, &honest_frames).to_string();
        if honest_score != self.honest {
            return Err(ProofFault::Bound {
                found: format!("honest score {honest_score}"),
                claimed: self.honest.clone(),
            });
        }
        if let Some(witness) = &self.witness {
            self.check_witness(task, rule, &honest, witness)?;
        }
        let greatest = Bound::Greatest.word();
        let shorter = self.length.and_then(|length| length.checked_sub(1));
        if self.bound == greatest && self.best.as_deref() == Some("1") {
            // Nothing exceeds 1; what is left to check is that nothing shorter reaches it.
            let Some(shorter) = shorter else { return Ok(()) };
            let plain = reference_optimum(task, rule, Some(shorter), max_states).map_err(ProofFault::TooLarge)?;
            return match plain.best {
                Some(best) if best == ExactScore::new(1, 1) && plain.length.is_some() => Err(ProofFault::Bound {
                    found: format!("score 1 after {} steps", plain.length.unwrap_or(0)),
                    claimed: format!("{} steps", self.length.unwrap_or(0)),
                }),
                _ => Ok(()),
            };
        }
        let plain = reference_optimum(task, rule, None, max_states).map_err(ProofFault::TooLarge)?;
        let found = plain.best.map(|best| best.to_string());
        let inflated = found.as_ref().is_some_and(|best| *best != self.honest);
        if inflated && (found != self.best || plain.length != self.length) {
            let show = |best: &Option<String>, length: Option<u32>| format!("{best:?} after {length:?} steps");
            return Err(ProofFault::Bound {
                found: show(&found, plain.length),
                claimed: show(&self.best, self.length),
            });
        }
        if !inflated && self.best.as_ref().is_some_and(|best| *best != self.honest) {
            return Err(ProofFault::Bound { found: format!("{found:?}"), claimed: format!("{:?}", self.best) });
        }
        Ok(())
    }

    fn check_witness(&self, task: &Task, rule: Rule, honest: &Replay<'_>, witness: &[Step]) -> Result<(), ProofFault> {
        let replay = Replay::run(task, witness);
        let fail = |why: &str| Err(ProofFault::Witness(why.to_owned()));
        if replay.first_refusal().is_some() {
            return fail("a step is refused");
        }
        if u32::try_from(witness.len()).ok() != self.length {
            return fail("it has another length");
        }
        let (all, of_honest) = (frames(&replay), frames(honest));
        let (last, target) = (all.last().copied().unwrap_or_default(), of_honest.last().copied().unwrap_or_default());
        if (last.satisfied, last.credited) != (target.satisfied, target.credited) {
            return fail("its vectors are not the honest ones");
        }
        if replay.world().goal_version() != task.spec.active_goal_version {
            return fail("it ends at another goal version");
        }
        if replay.events == honest.events {
            return fail("its log is the honest one");
        }
        let score = rule.score(u32::try_from(task.m()).unwrap_or(0), &all).to_string();
        if Some(&score) != self.best.as_ref() {
            return fail(&format!("its score is {score}"));
        }
        Ok(())
    }
}
