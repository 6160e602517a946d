//! The ids that `pytest.mark.parametrize` gives to a test.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::literal::{Module, Value, ascii};

/// More parameters of one test are not listed: it is open then.
const MOST_IDS: usize = 10_000;

/// The ids of one mark in order, or `None` where only running the code would tell.
pub(super) type Ids = Option<Vec<String>>;

/// Whether an expression is the call `pytest.mark.parametrize(…)`.
pub(super) fn is_parametrize(module: &Module<'_>, call: Node<'_>) -> bool {
    let function = call.child_by_field_name("function").map(|function| module.text(function)).unwrap_or_default();
    call.kind() == "call" && function.rsplit('.').next() == Some("parametrize")
}

/// All combinations of the marks' ids, joined by `-`: the first mark changes slowest.
pub(super) fn combine(marks: &[Ids]) -> Ids {
    let mut combined = vec![String::new()];
    for (index, ids) in marks.iter().enumerate() {
        let ids = ids.as_ref()?;
        if ids.is_empty() || combined.len().checked_mul(ids.len()).is_none_or(|count| count > MOST_IDS) {
            return None;
        }
        let join = |before: &String, id: &String| if index == 0 { id.clone() } else { format!("{before}-{id}") };
        combined = combined.iter().flat_map(|before| ids.iter().map(move |id| join(before, id))).collect();
    }
    Some(combined)
}

/// The ids of one mark.
pub(super) fn ids(module: &Module<'_>, call: Node<'_>) -> Ids {
    let arguments = Arguments::of(module, call)?;
    let names = arguments.get("argnames", 0)?;
    let (names, is_single) = match module.string(names) {
        Some(text) => {
            let names: Vec<String> =
                text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
            // With a comma, as in `"a,"`, values are tuples of one.
            let is_single = names.len() == 1 && !text.contains(',');
            (names, is_single)
        }
        None => {
            (module.elements(names)?.into_iter().map(|name| module.string(name)).collect::<Option<Vec<_>>>()?, false)
        }
    };
    let given = match arguments.get("ids", 3).map(|given| module.resolve(given)) {
        None => None,
        Some(given) if given.kind() == "none" => None,
        Some(given) => Some(module.elements(given)?),
    };
    let sets = arguments.get("argvalues", 1)?;
    let mut ids = Vec::new();
    if let Some(range) = range(module, sets) {
        ids.extend(range.map(|number| number.to_string()));
    } else {
        for (index, set) in module.elements(sets)?.into_iter().enumerate() {
            let own = given.as_ref().and_then(|given| given.get(index).copied());
            ids.push(id_of(module, set, own, index, &names, is_single)?);
        }
    }
    unique(&mut ids);
    Some(ids)
}

/// What `parameterized.expand` puts behind a method's name for each of its parameters: the number, padded to the width of the last one's, and
/// the first argument, if it is a string. `None` where only running the code would tell.
pub(super) fn expanded(module: &Module<'_>, call: Node<'_>) -> Ids {
    let arguments = Arguments::of(module, call)?;
    if arguments.positional.len() != 1 || !arguments.named.is_empty() {
        return None;
    }
    let sets = module.elements(arguments.get("input", 0)?)?;
    let width = sets.len().saturating_sub(1).to_string().len();
    let suffix = |(index, set): (usize, &Node<'_>)| {
        let resolved = module.resolve(*set);
        let first = match resolved.kind() {
            "tuple" | "list" => module.elements(resolved)?.first().copied(),
            "call" if is_param(module, resolved) => Arguments::of(module, resolved)?.positional.first().copied(),
            _ => Some(resolved),
        };
        let name = match first.map(|first| module.value(first)) {
            Some(Some(Value::Text(text))) => format!("_{}", safe_name(&text)),
            Some(None) => return None,
            _ => String::new(),
        };
        Some(format!("_{index:0width$}{name}"))
    };
    sets.iter().enumerate().map(suffix).collect()
}

/// Runs of other characters than letters, digits and underscores become one underscore.
fn safe_name(text: &str) -> String {
    let mut out = String::new();
    let mut is_gap = false;
    for character in text.chars() {
        let is_safe = character.is_ascii_alphanumeric() || character == '_';
        if is_safe || !is_gap {
            out.push(if is_safe { character } else { '_' });
        }
        is_gap = !is_safe;
    }
    out
}

fn id_of(
    module: &Module<'_>,
    set: Node<'_>,
    given: Option<Node<'_>>,
    index: usize,
    names: &[String],
    is_single: bool,
) -> Option<String> {
    let resolved = module.resolve(set);
    let mut values = None;
    if is_param(module, resolved) {
        let arguments = Arguments::of(module, resolved)?;
        if let Some(id) = arguments.named.get("id").filter(|id| id.kind() != "none") {
            return module.string(*id).map(|id| ascii(&id));
        }
        values = Some(arguments.positional);
    }
    if let Some(given) = given.map(|given| module.resolve(given)).filter(|given| given.kind() != "none") {
        return match module.value(given)? {
            Value::Text(text) => Some(ascii(&text)),
            Value::Word(word) => Some(word),
            Value::Named(_) | Value::Container => None,
        };
    }
    let values = match values {
        Some(values) => values,
        None if is_single => vec![resolved],
        None => module.elements(resolved)?,
    };
    if values.len() != names.len() {
        return None;
    }
    let parts = names.iter().zip(values).map(|(name, value)| match module.value(value)? {
        Value::Text(text) => Some(ascii(&text)),
        Value::Word(word) | Value::Named(word) => Some(word),
        Value::Container => Some(format!("{name}{index}")),
    });
    parts.collect::<Option<Vec<String>>>().map(|parts| parts.join("-"))
}

fn is_param(module: &Module<'_>, node: Node<'_>) -> bool {
    let function = node.child_by_field_name("function").map(|function| module.text(function)).unwrap_or_default();
    node.kind() == "call" && function.rsplit('.').next() == Some("param")
}

/// `range` with literal bounds.
fn range(module: &Module<'_>, node: Node<'_>) -> Option<std::ops::Range<i64>> {
    let node = module.resolve(node);
    if node.kind() != "call"
        || node.child_by_field_name("function").map(|function| module.text(function)) != Some("range")
    {
        return None;
    }
    let bounds = Arguments::of(module, node)?.positional;
    let bound = |node: &Node<'_>| module.text(*node).parse::<i64>().ok();
    let range = match bounds.as_slice() {
        [end] => 0..bound(end)?,
        [start, end] => bound(start)?..bound(end)?,
        _ => return None,
    };
    (range.end.saturating_sub(range.start) <= MOST_IDS as i64).then_some(range)
}

/// Ids that stand twice get a number, after `_` where they end in a digit, as pytest does it.
fn unique(ids: &mut [String]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids.iter() {
        *counts.entry(id.clone()).or_default() += 1;
    }
    let mut taken: BTreeSet<String> = ids.iter().cloned().collect();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids.iter_mut().filter(|id| counts.get(*id).is_some_and(|count| *count > 1)) {
        let separator = if id.ends_with(|last: char| last.is_ascii_digit()) { "_" } else { "" };
        let number = numbers.entry(id.clone()).or_default();
        let mut renamed = format!("{id}{separator}{number}");
        while taken.contains(&renamed) {
            *number += 1;
            renamed = format!("{id}{separator}{number}");
        }
        *number += 1;
        taken.insert(renamed.clone());
        *id = renamed;
    }
}

/// The arguments of a call without splats.
struct Arguments<'t> {
    positional: Vec<Node<'t>>,
    named: BTreeMap<&'t str, Node<'t>>,
}

impl<'t> Arguments<'t> {
    fn of(module: &Module<'t>, call: Node<'t>) -> Option<Arguments<'t>> {
        let list = call.child_by_field_name("arguments").filter(|list| list.kind() == "argument_list")?;
        let mut arguments = Arguments { positional: Vec::new(), named: BTreeMap::new() };
        for argument in list.named_children(&mut list.walk()) {
            match argument.kind() {
                "comment" => {}
                "list_splat" | "dictionary_splat" => return None,
                "keyword_argument" => {
                    let name = module.text(argument.child_by_field_name("name")?);
                    arguments.named.insert(name, argument.child_by_field_name("value")?);
                }
                _ => arguments.positional.push(argument),
            }
        }
        Some(arguments)
    }

    fn get(&self, name: &str, place: usize) -> Option<Node<'t>> {
        self.named.get(name).or_else(|| self.positional.get(place)).copied()
    }
}
