//! Asks one question of a role's model and prints what came back:
//! `cargo run -p parthack-model --features client --example ask -- local/local [CASSETTE_FOLDER [replay]]`.

use std::process::ExitCode;

use parthack_model::client::{Call, Client, ClientOptions, ModelMode};
use parthack_model::error::ClientError;
use parthack_model::prompt::{AnswerForm, Prompt};
use parthack_model::role::RoleConfig;
use serde_json::json;

fn main() -> ExitCode {
    match ask() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn ask() -> Result<(), ClientError> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "local/local".to_owned());
    let cassettes = arguments.next().map(Into::into);
    let mode = match (&cassettes, arguments.next().as_deref()) {
        (None, _) => ModelMode::Live,
        (Some(_), Some("replay")) => ModelMode::Replay,
        (Some(_), _) => ModelMode::Record,
    };
    let client = Client::new(ClientOptions { cassettes, ..ClientOptions::new(mode) })?;
    let config = client.resolve_identity(&RoleConfig::named(&name)?)?;
    let prompt = Prompt {
        system: "You check claims against a log. Answer in JSON.".to_owned(),
        user: "Log: agent set /door/open to true. Claim: the door is open. Is the claim met?".to_owned(),
        form: AnswerForm {
            name: "verdict".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"met": {"enum": ["yes", "no"]}, "rationale": {"type": "string", "maxLength": 120}},
                "required": ["met", "rationale"],
                "additionalProperties": false,
            }),
            token_probabilities: true,
        },
        max_tokens: 96,
    };
    let call = Call { cell: "example/door", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
    let exchange = client.ask(&call, &|_| Ok(()))?;
    println!("identity: {:#?}", config.identity);
    println!("keys: {:?}, requests: {}, usage: {:?}", exchange.keys, exchange.requests, exchange.usage);
    match exchange.result {
        Ok(answer) => println!("answer: {}\ntokens: {}", answer.content, answer.tokens.len()),
        Err(reason) => println!("no answer: {reason}"),
    }
    Ok(())
}
