//! Full-duplex simulations of tau2: both sides speak in short chunks, a tick at a time.

use crate::builder::Builder;
use crate::fault::Fault;
use crate::log::{Requestor, Role, WarningCode};
use crate::messages;
use crate::node::Node;

/// One side's speech, gathered over ticks.
#[derive(Default)]
struct Speech {
    text: String,
    pointer: String,
    utterances: Vec<String>,
}

/// Joins the chunks of an utterance and reads the calls between them.
pub(crate) fn read(build: &mut Builder, ticks: &Node<'_, '_>) -> Result<(), Fault> {
    let mut agent = Speech::default();
    let mut user = Speech::default();
    for tick in ticks.need_items("a list of ticks")? {
        for (key, speech, is_agent) in [("agent_chunk", &mut agent, true), ("user_chunk", &mut user, false)] {
            if let Some(chunk) = tick.get(key) {
                hear(build, speech, &chunk, is_agent)?;
            }
            let (calls, results) = if is_agent {
                ("agent_tool_calls", "agent_tool_results")
            } else {
                ("user_tool_calls", "user_tool_results")
            };
            let acts: Vec<_> = tick.get(calls).map(|list| list.list()).unwrap_or_default();
            let answers: Vec<_> = tick.get(results).map(|list| list.list()).unwrap_or_default();
            if !acts.is_empty() || !answers.is_empty() {
                flush(build, speech, is_agent)?;
            }
            let requestor = if is_agent { Requestor::Agent } else { Requestor::User };
            for call in &acts {
                messages::call(build, call, requestor)?;
            }
            for answer in &answers {
                messages::message(build, answer)?;
            }
        }
    }
    flush(build, &mut agent, true)?;
    flush(build, &mut user, false)
}

fn hear(build: &mut Builder, speech: &mut Speech, chunk: &Node<'_, '_>, is_agent: bool) -> Result<(), Fault> {
    let is_audio = chunk.bool("is_audio") == Some(true);
    let words = if is_audio { chunk.get("audio_script_gold") } else { chunk.get("content") };
    let Some(words) = words else {
        if is_audio && !build.has_warning(WarningCode::PartNotText) {
            build.warn(WarningCode::PartNotText, &chunk.pointer, "audio without its script");
        }
        return Ok(());
    };
    let text = words.str().ok_or_else(|| words.fault("text"))?;
    if text.is_empty() {
        return Ok(());
    }
    let utterances: Vec<String> =
        chunk.get("utterance_ids").map(|ids| ids.list()).unwrap_or_default().iter().filter_map(Node::scalar).collect();
    let is_new = !speech.utterances.is_empty()
        && !utterances.is_empty()
        && utterances.iter().all(|id| !speech.utterances.contains(id));
    if is_new {
        flush(build, speech, is_agent)?;
    }
    if speech.text.is_empty() {
        speech.pointer.clone_from(&words.pointer);
    }
    speech.text.push_str(text);
    speech.utterances = utterances;
    Ok(())
}

fn flush(build: &mut Builder, speech: &mut Speech, is_agent: bool) -> Result<(), Fault> {
    let speech = std::mem::take(speech);
    if speech.text.trim().is_empty() {
        return Ok(());
    }
    if is_agent {
        build.agent_text(speech.text, &speech.pointer)
    } else {
        build.message(Role::User, speech.text, &speech.pointer)
    }
}
