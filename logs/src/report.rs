//! Verdicts of the SWE-bench evaluation that lie beside a trajectory: `report.json` with `{"<instance>": {"resolved": …}}`.

use std::path::Path;

use crate::builder::Builder;
use crate::condition::of_bool;
use crate::input;
use crate::json;
use crate::log::{Provenance, WarningCode};
use crate::node::Node;

/// Notes the verdict for the log's task, where a report beside the file has one.
pub(crate) fn note(build: &mut Builder, trajectory: &Path) {
    let Some(task) = build.identity.task.as_ref().map(|task| task.value.clone()) else { return };
    let path = trajectory.with_file_name("report.json");
    if !input::is_file(&path) {
        return;
    }
    let file = input::shown(&path);
    let at = |pointer: &str| Provenance { file: file.clone(), line: None, pointer: pointer.to_owned() };
    let text = match input::read_text(&path) {
        Ok(text) => text,
        Err(fault) => return build.warn_at(WarningCode::CompanionUnreadable, Some(at("")), fault.found),
    };
    match json::parse(&text) {
        Err(fault) => build.warn_at(WarningCode::CompanionUnreadable, Some(at("")), fault.found),
        Ok((report, _)) => {
            let root = Node::new(&report, "");
            if let Some(instance) = root.get(&task)
                && let Some(resolved) = instance.bool("resolved")
            {
                build.add_file(&file);
                build.outcome = of_bool(resolved, at(&format!("{}/resolved", instance.pointer)));
            }
        }
    }
}
