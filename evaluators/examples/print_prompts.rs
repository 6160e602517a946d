//! Prints what a judge asks a model about a payload, as one JSON object.
//!
//! `cargo run -p parthack-evaluators --example print_prompts -- JUDGE MODE FIELDS ITEMS PAYLOAD [CHECKLIST]`, with MODE
//! `number`, `integer` or `logprobs`, FIELDS `verdict-first` or `rationale-first`, ITEMS `forward` or `reversed`, and
//! CHECKLIST a file with an item a line. With MODE `checklist` it prints the prompt that makes the checklist.

use std::process::ExitCode;

use parthack_env::json::Json;
use parthack_evaluators::judge::{
    self, AnswerMode, Checklist, ChecklistItem, ChecklistSource, FieldOrder, ItemOrder, Setting, show,
};
use parthack_model::canonical;
use parthack_model::prompt::Prompt;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match prompts(&arguments) {
        Ok(prompts) => {
            for prompt in prompts {
                let text = |value: &str| serde_json::Value::from(value).to_string();
                println!(
                    "{{\"system\":{},\"user\":{},\"max_tokens\":{},\"token_probabilities\":{},\"schema\":{}}}",
                    text(&prompt.system),
                    text(&prompt.user),
                    prompt.max_tokens,
                    prompt.form.token_probabilities,
                    canonical::schema(&prompt.form.schema),
                );
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("print_prompts: {error}");
            ExitCode::from(2)
        }
    }
}

fn prompts(arguments: &[String]) -> Result<Vec<Prompt>, String> {
    let [judge, mode, fields, items, payload, checklist @ ..] = arguments else {
        return Err("expected JUDGE MODE FIELDS ITEMS PAYLOAD [CHECKLIST]".to_owned());
    };
    let judge = judge::judge(judge).ok_or_else(|| format!("no judge {judge:?}"))?;
    let read = |path: &String| std::fs::read(path).map_err(|error| format!("{path}: {error}"));
    let payload = read(payload)?;
    if mode == "checklist" {
        let json = Json::parse(&payload).map_err(|error| error.to_string())?;
        let instruction = show::instructions(&json);
        let goal_schema = json.get("goal_schema").unwrap_or(&Json::Null);
        let source = ChecklistSource { instruction: &instruction, goal_schema };
        return Ok(judge.checklist_prompt(&source).into_iter().collect());
    }
    let setting = Setting {
        mode: AnswerMode::from_word(mode).ok_or_else(|| format!("no mode {mode:?}"))?,
        fields: if fields == "rationale-first" { FieldOrder::RationaleFirst } else { FieldOrder::VerdictFirst },
        items: if items == "reversed" { ItemOrder::Reversed } else { ItemOrder::Forward },
    };
    let list = match checklist.first() {
        Some(path) => {
            let text = String::from_utf8(read(path)?).map_err(|error| error.to_string())?;
            let item = |(number, text): (usize, &str)| ChecklistItem {
                id: format!("c{number}"),
                text: text.to_owned(),
                grounding: None,
            };
            Some(Checklist { items: (1..).zip(text.lines()).map(item).collect() })
        }
        None => None,
    };
    judge.plan(&payload, list.as_ref(), setting).map_err(|error| error.reason)
}
