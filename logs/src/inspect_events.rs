//! The conversation of an Inspect sample that has events and no messages, as a run that was killed leaves it: what the model was
//! last asked, and what it answered.

use crate::node::Node;

/// The input of the last call of a model that was no scorer's, in full or by references into a pool, and its answer.
pub(crate) fn last_exchange<'j, 'a>(sample: &Node<'j, 'a>) -> Vec<Node<'j, 'a>> {
    let events = sample.get("events").or_else(|| sample.path(&["transcript", "events"]));
    let events = events.map(|events| events.list()).unwrap_or_default();
    let mut depth_of_scorer = 0usize;
    let mut last = None;
    for event in events {
        let is_scorer = matches!(event.text("type"), Some("scorer" | "scorers"));
        match (event.text("event").unwrap_or(""), event.text("action")) {
            ("span_begin", _) | ("step", Some("begin")) if is_scorer => depth_of_scorer += 1,
            ("step", Some("end")) if is_scorer => depth_of_scorer = depth_of_scorer.saturating_sub(1),
            ("model", _) if depth_of_scorer == 0 => last = Some(event),
            _ => {}
        }
    }
    let Some(event) = last else { return Vec::new() };
    let mut messages = event.get("input").map(|input| input.list()).unwrap_or_default();
    if messages.is_empty() {
        messages = referred(sample, &event);
    }
    let answer = event.path(&["output", "choices"]).and_then(|choices| choices.list().first()?.get("message"));
    messages.extend(answer);
    messages
}

/// Messages by references: single indices, or ranges `[start, end)`, into the pool of the sample.
fn referred<'j, 'a>(sample: &Node<'j, 'a>, event: &Node<'j, 'a>) -> Vec<Node<'j, 'a>> {
    let pool = sample.get("message_pool").or_else(|| sample.path(&["events_data", "messages"]));
    let pool = pool.map(|pool| pool.list()).unwrap_or_default();
    let index = |node: &Node<'_, '_>| node.scalar()?.parse::<usize>().ok();
    let mut messages = Vec::new();
    for reference in event.get("input_refs").map(|references| references.list()).unwrap_or_default() {
        let bounds: Vec<usize> = reference.list().iter().filter_map(index).collect();
        let range = match (bounds[..].as_ref(), index(&reference)) {
            ([start, end], _) => *start..*end,
            (_, Some(at)) => at..at.saturating_add(1),
            _ => continue,
        };
        // References that repeat the pool again and again cannot make more of it than it holds.
        if messages.len() <= pool.len() {
            messages.extend(pool.get(range).unwrap_or_default().iter().cloned());
        }
    }
    messages
}
