//! `parthack gcpc check`: the gates, for checklists from anywhere.

use std::io::Write;
use std::path::PathBuf;

use parthack_gcpc::checklist::{Document, instruction_hash};
use serde_json::json;

use super::source::{Checked, SourceArgs};
use super::synthesize::ItemArgs;
use crate::cli::{Output, ReportFormat};
use crate::failure::{Exit, Failure};

/// Put a checklist through the gates
///
/// The checklist (parthack.checklist/1) may come from anywhere. Every fault is said, with its code, its place and the offending text.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack gcpc check checklist.json --instruction instruction.md --verifier tests/")]
pub(super) struct Args {
    /// The checklist
    #[arg(value_name = "CHECKLIST")]
    checklist: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    items: ItemArgs,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let options = args.items.options()?;
    let Checked { document, task, verifier, report } = args.source.check(&args.checklist, &options)?;
    // What was frozen must be what it was frozen over.
    let moved: Vec<&str> = match &document {
        Document::Candidate(..) => Vec::new(),
        Document::Frozen(frozen) => {
            let instruction = (frozen.instruction != instruction_hash(&task.instruction)).then_some("instruction");
            let verifier = (frozen.verifier != verifier.hash()).then_some("verifier");
            instruction.into_iter().chain(verifier).collect()
        }
    };
    let notes: Vec<String> =
        verifier.notes().iter().map(|note| format!("{}:{}: {}", note.file, note.line, note.text)).collect();
    if args.format == ReportFormat::Json {
        let mut value = report.json();
        value["task"] = json!(task.task);
        value["tests"] = json!(verifier.tests().len());
        value["changed_since_frozen"] = json!(moved);
        value["notes"] = json!(notes);
        out.json(&value)?;
    } else {
        for fault in &report.faults {
            writeln!(out, "{fault}")?;
            if let Some(span) = &fault.nearest {
                writeln!(out, "  nearest: {:?} (bytes {} to {})", span.text, span.start, span.end)?;
            }
        }
        for part in &moved {
            writeln!(out, "the {part} is not the one that the checklist was frozen over")?;
        }
        let (sound, items, tests) = (report.sound_items(), report.items, verifier.tests().len());
        writeln!(out, "{}: {sound} of {items} items pass all gates; {tests} tests in the verifier", task.task)?;
        notes.iter().for_each(|note| eprintln!("note: {note}"));
    }
    Ok(if report.is_accepted() && moved.is_empty() { Exit::Done } else { Exit::Failed })
}
