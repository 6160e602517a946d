//! Semantic judges in a process of their own (SPEC §15.6): a line of JSON asks for prompts, for the check of an answer, or for
//! a judgement; a line of JSON replies. The process gets public bytes and answers of models; it asks nobody itself.
//!
//! [`Remote`] is a judge whose payloads and answers are read elsewhere; [`serve`] is that elsewhere. Who carries the lines is
//! the caller's choice ([`Carrier`]).

use std::borrow::Cow;
use std::io::{BufRead, Write};
use std::sync::Arc;

use parthack_env::canonical::canonical_bytes;
use parthack_env::json::Json;
use parthack_gcpc::label::Label;
use parthack_model::answer::{Answer, NoAnswer, Token};
use parthack_model::prompt::Prompt;
use serde::{Deserialize, Serialize};

use super::{Checklist, ChecklistSource, Combined, Judge, Judgement, Setting, judge, no_verdict};
use crate::score::{ExactScore, NoVerdict};

/// Version of the protocol: the first line that [`serve`] writes.
pub const JUDGE_PROTOCOL: &str = "parthack.judge/1";

/// Carries one line to a process that serves judges, and its reply back.
pub trait Carrier: Send + Sync {
    /// The reply to a line, both without their line feeds. None if no process gives one; the carrier then remembers why, and
    /// its owner must look before it believes what a judge says.
    fn carry(&self, line: &[u8]) -> Option<Vec<u8>>;
}

/// A question to the process.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question<'q> {
    ask: Ask<'q>,
    judge: Cow<'q, str>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ask<'q> {
    ChecklistPrompt(Source<'q>),
    ReadChecklist(Source<'q>, SentAnswer<'q>),
    Plan(View<'q>),
    Read(View<'q>, usize, SentAnswer<'q>),
    Judge(View<'q>, Vec<Result<SentAnswer<'q>, NoAnswer>>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    ChecklistPrompt(Option<Prompt>),
    Checklist(Result<Checklist, String>),
    Prompts(Result<Vec<Prompt>, String>),
    Checked(Result<(), String>),
    Judged(Result<SentJudgement, String>),
    /// The question can't be read.
    Wrong(String),
}

/// What a checklist is made from; the goal schema as canonical JSON.
#[derive(Serialize, Deserialize)]
struct Source<'q> {
    goal_schema: Cow<'q, str>,
    instruction: Cow<'q, [String]>,
}

/// What a judgement looks at.
#[derive(Serialize, Deserialize)]
struct View<'q> {
    checklist: Option<Cow<'q, Checklist>>,
    payload: Cow<'q, str>,
    setting: Setting,
}

/// An answer; probabilities as the bits of their doubles, so that none is rounded on the way.
#[derive(Serialize, Deserialize)]
struct SentAnswer<'q>(Cow<'q, str>, Vec<SentToken<'q>>);

#[derive(Serialize, Deserialize)]
struct SentToken<'q>(Cow<'q, str>, u64, Vec<(Cow<'q, str>, u64)>);

impl<'q> SentAnswer<'q> {
    fn of(answer: &'q Answer) -> SentAnswer<'q> {
        let top = |token: &'q Token| token.top.iter().map(|(text, of)| (text.as_str().into(), of.to_bits())).collect();
        let token = |token: &'q Token| SentToken(token.text.as_str().into(), token.logprob.to_bits(), top(token));
        SentAnswer(answer.content.as_str().into(), answer.tokens.iter().map(token).collect())
    }

    fn answer(self) -> Answer {
        let top = |top: Vec<(Cow<'_, str>, u64)>| {
            top.into_iter().map(|(text, bits)| (text.into_owned(), f64::from_bits(bits))).collect()
        };
        let token = |SentToken(text, logprob, of)| Token {
            text: Cow::into_owned(text),
            logprob: f64::from_bits(logprob),
            top: top(of),
        };
        Answer { content: self.0.into_owned(), tokens: self.1.into_iter().map(token).collect() }
    }
}

#[derive(Serialize, Deserialize)]
struct SentJudgement {
    cites: Vec<String>,
    items: Vec<(u32, u32)>,
    labels: Vec<String>,
    score: (u32, u32),
}

impl SentJudgement {
    fn of(judgement: Judgement) -> SentJudgement {
        let pair = |score: &ExactScore| (score.numerator, score.denominator);
        SentJudgement {
            score: pair(&judgement.score),
            items: judgement.items.iter().map(pair).collect(),
            labels: judgement.labels.into_iter().map(str::to_owned).collect(),
            cites: judgement.cites,
        }
    }

    /// None if it says what no judge says.
    fn judgement(self) -> Option<Judgement> {
        let score = |(numerator, denominator): (u32, u32)| {
            let fits = denominator > 0 && numerator <= denominator;
            fits.then_some(ExactScore { numerator, denominator })
        };
        let label = |text: String| Label::WORDS.iter().map(|(word, _)| *word).find(|word| *word == text);
        Some(Judgement {
            score: score(self.score)?,
            items: self.items.into_iter().map(score).collect::<Option<_>>()?,
            labels: self.labels.into_iter().map(label).collect::<Option<_>>()?,
            cites: self.cites,
        })
    }
}

/// A judge that reads payloads and answers in a process of its own.
pub struct Remote {
    /// Its facts: ids, counts, hashes of prompts. Nothing is read by it.
    facts: Box<dyn Judge>,
    carrier: Arc<dyn Carrier>,
}

/// What stands in place of a verdict if no process replies: the owner of the carrier finds out why.
const NO_REPLY: &str = "the judge's process gave no reply";

impl Remote {
    /// The judge of an id; none if there is no such judge.
    #[must_use]
    pub fn of(id: &str, carrier: Arc<dyn Carrier>) -> Option<Remote> {
        Some(Remote { facts: judge(id)?, carrier })
    }

    fn ask(&self, ask: Ask<'_>) -> Option<Reply> {
        let line = serde_json::to_vec(&Question { ask, judge: self.facts.id().into() }).ok()?;
        serde_json::from_slice(&self.carrier.carry(&line)?).ok()
    }
}

fn source_of<'q>(source: &ChecklistSource<'q>) -> Source<'q> {
    let schema = String::from_utf8_lossy(&canonical_bytes(source.goal_schema)).into_owned();
    Source { goal_schema: schema.into(), instruction: source.instruction.into() }
}

fn view_of<'q>(payload: &'q [u8], checklist: Option<&'q Checklist>, setting: Setting) -> Result<View<'q>, NoVerdict> {
    let payload = std::str::from_utf8(payload).map_err(|error| no_verdict(format!("not a payload: {error}")))?;
    Ok(View { checklist: checklist.map(Cow::Borrowed), payload: payload.into(), setting })
}

impl Judge for Remote {
    fn id(&self) -> &'static str {
        self.facts.id()
    }

    fn repeats(&self) -> u32 {
        self.facts.repeats()
    }

    fn has_checklist(&self) -> bool {
        self.facts.has_checklist()
    }

    fn has_items(&self) -> bool {
        self.facts.has_items()
    }

    fn has_fields(&self) -> bool {
        self.facts.has_fields()
    }

    fn prompt_hash(&self) -> String {
        self.facts.prompt_hash()
    }

    fn checklist_prompt(&self, source: &ChecklistSource<'_>) -> Option<Prompt> {
        match self.ask(Ask::ChecklistPrompt(source_of(source)))? {
            Reply::ChecklistPrompt(prompt) => prompt,
            _ => None,
        }
    }

    fn read_checklist(&self, source: &ChecklistSource<'_>, answer: &Answer) -> Result<Checklist, String> {
        match self.ask(Ask::ReadChecklist(source_of(source), SentAnswer::of(answer))) {
            Some(Reply::Checklist(read)) => read,
            _ => Err(NO_REPLY.to_owned()),
        }
    }

    fn plan(&self, payload: &[u8], checklist: Option<&Checklist>, setting: Setting) -> Result<Vec<Prompt>, NoVerdict> {
        match self.ask(Ask::Plan(view_of(payload, checklist, setting)?)) {
            Some(Reply::Prompts(prompts)) => prompts.map_err(no_verdict),
            _ => Err(no_verdict(NO_REPLY.to_owned())),
        }
    }

    fn read(
        &self,
        payload: &[u8],
        checklist: Option<&Checklist>,
        setting: Setting,
        prompt: usize,
        answer: &Answer,
    ) -> Result<(), String> {
        let view = view_of(payload, checklist, setting).map_err(|no_verdict| no_verdict.reason)?;
        match self.ask(Ask::Read(view, prompt, SentAnswer::of(answer))) {
            Some(Reply::Checked(checked)) => checked,
            _ => Err(NO_REPLY.to_owned()),
        }
    }

    fn judge(
        &self,
        payload: &[u8],
        checklist: Option<&Checklist>,
        setting: Setting,
        answers: &[Result<Answer, NoAnswer>],
    ) -> Result<Judgement, NoVerdict> {
        let sent = answers.iter().map(|answer| answer.as_ref().map(SentAnswer::of).map_err(NoAnswer::clone)).collect();
        match self.ask(Ask::Judge(view_of(payload, checklist, setting)?, sent)) {
            Some(Reply::Judged(Ok(judgement))) => judgement
                .judgement()
                .ok_or_else(|| no_verdict("the judge's process says what no judge says".to_owned())),
            Some(Reply::Judged(Err(reason))) => Err(no_verdict(reason)),
            _ => Err(no_verdict(NO_REPLY.to_owned())),
        }
    }

    fn combine(&self, judgements: &[Result<Judgement, NoVerdict>]) -> Result<Combined, NoVerdict> {
        self.facts.combine(judgements)
    }
}

/// Replies to lines until the input ends.
///
/// # Errors
/// The input or the output fails.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write) -> std::io::Result<()> {
    writeln!(output, "{{\"protocol\":\"{JUDGE_PROTOCOL}\"}}")?;
    output.flush()?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return output.flush();
        }
        let reply = match serde_json::from_slice::<Question<'_>>(&line) {
            Ok(question) => reply(question),
            Err(error) => Reply::Wrong(error.to_string()),
        };
        serde_json::to_writer(&mut *output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
}

fn reply(question: Question<'_>) -> Reply {
    let Some(judge) = judge(&question.judge) else {
        return Reply::Wrong(format!("there is no judge {:?}", question.judge));
    };
    match question.ask {
        Ask::ChecklistPrompt(source) => match with_source(&source, |source| judge.checklist_prompt(source)) {
            Ok(prompt) => Reply::ChecklistPrompt(prompt),
            Err(wrong) => Reply::Wrong(wrong),
        },
        Ask::ReadChecklist(source, answer) => {
            let answer = answer.answer();
            match with_source(&source, |source| judge.read_checklist(source, &answer)) {
                Ok(read) => Reply::Checklist(read),
                Err(wrong) => Reply::Wrong(wrong),
            }
        }
        Ask::Plan(view) => Reply::Prompts(
            judge.plan(view.payload.as_bytes(), view.checklist.as_deref(), view.setting).map_err(|error| error.reason),
        ),
        Ask::Read(view, prompt, answer) => {
            let (payload, checklist) = (view.payload.as_bytes(), view.checklist.as_deref());
            Reply::Checked(judge.read(payload, checklist, view.setting, prompt, &answer.answer()))
        }
        Ask::Judge(view, answers) => {
            let answers: Vec<_> = answers.into_iter().map(|answer| answer.map(SentAnswer::answer)).collect();
            let judged = judge.judge(view.payload.as_bytes(), view.checklist.as_deref(), view.setting, &answers);
            Reply::Judged(judged.map(SentJudgement::of).map_err(|no_verdict| no_verdict.reason))
        }
    }
}

fn with_source<T>(source: &Source<'_>, then: impl FnOnce(&ChecklistSource<'_>) -> T) -> Result<T, String> {
    let goal_schema = Json::parse(source.goal_schema.as_bytes()).map_err(|error| error.to_string())?;
    Ok(then(&ChecklistSource { instruction: &source.instruction, goal_schema: &goal_schema }))
}
