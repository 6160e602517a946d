//! The plugin protocol `parthack.evaluator/1` from the evaluator's side: one payload a line in, one answer a line out.
//! Built-in evaluators run behind it in a process of their own (SPEC §15.6), like anyone's.

use std::io::{BufRead, Write};

use parthack_env::canonical::{push_key, push_string};

use crate::registry::{Builtin, score_builtins};
use crate::score::Verdict;

/// Version of the protocol.
pub const EVALUATOR_PROTOCOL: &str = "parthack.evaluator/1";
/// Bytes of the longest line either side accepts.
pub const MAX_LINE: usize = 8 << 20;

/// Answers payload lines until the input ends. With one evaluator an answer is `{"score":…,"exact":…}`; with several it is
/// `{"scores":[…]}` in the order of the evaluators.
///
/// # Errors
/// The input or the output fails.
pub fn serve(evaluators: &[Builtin], input: &mut dyn BufRead, output: &mut dyn Write) -> std::io::Result<()> {
    let ids: Vec<String> = evaluators.iter().map(|evaluator| format!("\"{}\"", evaluator.id())).collect();
    writeln!(output, "{{\"evaluators\":[{}],\"protocol\":\"{EVALUATOR_PROTOCOL}\"}}", ids.join(","))?;
    output.flush()?;
    let mut line = Vec::new();
    let mut answer = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return output.flush();
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        if line.is_empty() || is_hello(&line) {
            continue;
        }
        answer.clear();
        let verdicts = score_builtins(evaluators, &line);
        if let [verdict] = verdicts.as_slice() {
            push_verdict(&mut answer, verdict);
        } else {
            answer.extend_from_slice(b"{\"scores\":[");
            for (index, verdict) in verdicts.iter().enumerate() {
                if index > 0 {
                    answer.push(b',');
                }
                push_verdict(&mut answer, verdict);
            }
            answer.extend_from_slice(b"]}");
        }
        answer.push(b'\n');
        output.write_all(&answer)?;
        output.flush()?;
    }
}

fn is_hello(line: &[u8]) -> bool {
    line.starts_with(b"{\"protocol\":")
}

fn push_verdict(out: &mut Vec<u8>, verdict: &Verdict) {
    out.push(b'{');
    match verdict {
        Verdict::Score { value, exact } => {
            if let Some(exact) = exact {
                push_key(out, "exact");
                push_string(out, &exact.to_string());
            }
            push_key(out, "score");
            out.extend_from_slice(value.to_string().as_bytes());
        }
        Verdict::NoVerdict(no_verdict) => {
            push_key(out, "no_verdict");
            push_string(out, &no_verdict.reason);
        }
    }
    out.push(b'}');
}
