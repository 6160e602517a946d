//! Every importer takes some thousand mutated inputs without a panic, and ends each with what it found or with a refusal that
//! says where, what was found and what was expected.

mod support;

use parthack_logs::{Kind, Place};
use serde_json::Value;
use support::{Member, Scratch, gather, zip};

/// Mutated inputs of each seed.
const COUNT: usize = 500;

/// Numbers from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }
}

/// Flips, truncates, splices, repeats and inserts bytes.
fn mutate_bytes(dice: &mut Dice, bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=dice.below(4) {
        let (from, to) = (dice.below(out.len() + 1), dice.below(out.len() + 1));
        match dice.below(6) {
            0 if !out.is_empty() => {
                let at = dice.below(out.len());
                out[at] ^= 1 << dice.below(8);
            }
            1 => out.truncate(from),
            2 => {
                let piece = out[from.min(to)..from.max(to)].to_vec();
                let at = dice.below(out.len() + 1);
                out.splice(at..at, piece.into_iter().take(200));
            }
            3 => {
                out.drain(from.min(to)..from.max(to).min(from.min(to) + 40));
            }
            4 => {
                let words: [&[u8]; 8] = [b"NaN", b"\\ud800", b"[[[[", b"}", b"\"", b"\xff", b"null", b"\n"];
                let word = words[dice.below(words.len())];
                out.splice(from..from, word.iter().copied());
            }
            _ => out.insert(from, dice.below(256) as u8),
        }
    }
    out
}

/// Puts another value, or nothing, in the place of some value of a document.
fn mutate_value(dice: &mut Dice, value: &mut Value) {
    let deeper = dice.below(5) > 0;
    match value {
        Value::Array(items) if deeper && !items.is_empty() => {
            let at = dice.below(items.len());
            if dice.below(8) == 0 {
                let copy = items[at].clone();
                items.push(copy);
            } else {
                mutate_value(dice, &mut items[at]);
            }
        }
        Value::Object(entries) if deeper && !entries.is_empty() => {
            let at = dice.below(entries.len());
            let key = entries.keys().nth(at).cloned().unwrap_or_default();
            if dice.below(8) == 0 {
                entries.remove(&key);
            } else if let Some(inner) = entries.get_mut(&key) {
                mutate_value(dice, inner);
            }
        }
        other => {
            let texts =
                ["null", "true", "-1", "1e999", "\"\"", "\"text\"", "[]", "[[]]", "{}", "{\"type\":7}", "[\"é\",1]"];
            *other = serde_json::from_str(texts[dice.below(texts.len())]).unwrap_or(Value::Null);
        }
    }
}

/// Imports every mutation of a seed and gives how many gave something and how many were refused.
fn fuzz(kind: Kind, name: &str, seed: &[u8], seed_of_dice: u64) -> (usize, usize) {
    let scratch = Scratch::new();
    let original = gather(kind, &scratch.write(name, seed));
    assert!(original.refusals.is_empty(), "{name}: the seed itself is sound: {:?}", original.refusals);
    let document: Option<Value> = serde_json::from_slice(seed).ok();
    let mut dice = Dice(seed_of_dice);
    let (mut found, mut refused) = (0, 0);
    for round in 0..COUNT {
        let bytes = match &document {
            Some(document) if round % 2 == 0 => {
                let mut value = document.clone();
                for _ in 0..=dice.below(3) {
                    mutate_value(&mut dice, &mut value);
                }
                serde_json::to_vec(&value).unwrap_or_default()
            }
            _ => mutate_bytes(&mut dice, seed),
        };
        let gathered = gather(kind, &scratch.write(name, &bytes));
        found += usize::from(gathered.summary.files_read > 0);
        refused += usize::from(!gathered.refusals.is_empty());
        assert!(gathered.summary.files_read + gathered.summary.files_refused == 1, "{name} round {round}");
        for refusal in gathered.refusals {
            assert!(!refusal.found.is_empty() && !refusal.expected.is_empty(), "{name} round {round}: {refusal}");
            if let Place::Text { line, column, .. } = refusal.place {
                assert!(line > 0 && column > 0, "{name} round {round}");
            }
        }
        for log in gathered.logs {
            for (index, step) in log.steps.iter().enumerate() {
                if let parthack_logs::Content::ToolOutput { call: Some(call), .. } = step.content {
                    assert!(call < index, "{name} round {round}: an output answers an earlier step");
                }
            }
        }
    }
    assert!(found > COUNT / 20, "{name}: {found} of {COUNT} mutations gave something");
    assert!(refused > COUNT / 20, "{name}: {refused} of {COUNT} mutations were refused");
    (found, refused)
}

const MESSAGES: &str = r#"[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"q"},{"type":"image"}]},
  {"role":"assistant","content":"a","reasoning_content":"r","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
  {"role":"tool","tool_call_id":"1","name":"f","content":"o"},{"role":"assistant","content":"done"}]"#;

#[test]
fn atif() {
    let text = r#"{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"n","version":"1","model_name":"m"},"steps":[
      {"step_id":1,"source":"user","message":[{"type":"text","text":"go"}]},
      {"step_id":2,"source":"agent","message":"m","reasoning_content":"r","tool_calls":[{"tool_call_id":"a","function_name":"f","arguments":{"x":[1]}}],
       "observation":{"results":[{"source_call_id":"a","content":"o"}]}}],"extra":{"condition":"with-skills"},"continued_trajectory_ref":null}"#;
    fuzz(Kind::Atif, "trajectory.json", text.as_bytes(), 1);
}

#[test]
fn files_of_a_trial() {
    let trajectory = |text: &str, rest: &str| {
        format!(
            r#"{{"schema_version":"ATIF-v1.6","session_id":"s","agent":{{"name":"n","version":"1"}},"steps":[{{"step_id":1,"source":"agent","message":"{text}"}}]{rest}}}"#
        )
    };
    let companions = [
        ("config.json", r#"{"task":{"path":"tasks/x"},"agent":{"name":"n","model_name":"m","kwargs":{"condition":"with-skill"}}}"#.to_owned()),
        ("result.json", r#"{"task_name":"x","agent_info":{"name":"n","model_info":{"name":"m"}},"verifier_result":{"rewards":{"reward":1.0}},"exception_info":{"exception_type":"E"}}"#.to_owned()),
        ("verifier/reward.txt", "1.0".to_owned()),
        ("verifier/reward.json", r#"{"reward":1}"#.to_owned()),
        ("verifier/ctrf.json", r#"{"results":{"tests":[{"name":"t","status":"passed"}]}}"#.to_owned()),
        ("agent/trajectory.cont-1.json", trajectory("b", "")),
    ];
    let scratch = Scratch::new();
    scratch.write("agent/trajectory.json", trajectory("a", r#","continued_trajectory_ref":"trajectory.cont-1.json""#));
    for (name, text) in &companions {
        scratch.write(name, text);
    }
    let sound = gather(Kind::Atif, scratch.path());
    assert_eq!((sound.logs.len(), sound.refusals.len(), sound.logs[0].steps.len()), (1, 0, 2));
    let mut dice = Dice(20);
    let mut warned = 0;
    for round in 0..COUNT {
        let (name, text) = &companions[round % companions.len()];
        scratch.write(name, mutate_bytes(&mut dice, text.as_bytes()));
        let gathered = gather(Kind::Atif, scratch.path());
        assert_eq!(gathered.logs.len(), 1, "round {round}: a companion stops no log");
        assert!(gathered.refusals.iter().all(|refusal| refusal.file.ends_with("cont-1.json")), "round {round}");
        warned += usize::from(gathered.logs[0].warnings.len() > sound.logs[0].warnings.len());
        scratch.write(name, text);
    }
    assert!(warned > COUNT / 5, "{warned} of {COUNT} mutations were warned of");
}

#[test]
fn inspect_json() {
    let text = format!(
        r#"{{"version":2,"status":"success","eval":{{"eval_id":"e","task":"t","model":"m"}},"samples":[
         {{"id":1,"epoch":1,"messages":{MESSAGES},"scores":{{"m":{{"value":"C"}}}},"attachments":{{"aaaa":"x"}}}},
         {{"id":2,"epoch":1,"messages":[{{"role":"user","content":"attachment://aaaa"}}],"scores":{{}}}}]}}"#
    );
    fuzz(Kind::Inspect, "log.json", text.as_bytes(), 2);
}

#[test]
fn inspect_archive() {
    let header = r#"{"status":"success","eval":{"task":"t","model":"m"}}"#;
    let sample = format!(r#"{{"id":1,"epoch":1,"messages":{MESSAGES},"scores":{{"m":{{"value":1}}}}}}"#);
    let archive = zip(&[
        Member::new("header.json", header, 8),
        Member::new("samples/1_epoch_1.json", &sample, 93),
        Member::new("samples/2_epoch_1.json", &sample.replace("\"id\":1", "\"id\":2"), 8),
        Member::new("samples/3_epoch_1.json", &sample.replace("\"id\":1", "\"id\":3"), 0),
    ]);
    fuzz(Kind::Inspect, "log.eval", &archive, 3);
}

#[test]
fn swe_agent() {
    let text = format!(
        r#"{{"trajectory":[{{"action":"ls","observation":"a","response":"r","thought":"t","state":"{{}}","query":[]}}],"history":{MESSAGES},
         "info":{{"exit_status":"submitted"}},"replay_config":"{{\"agent\":{{\"model\":{{\"name\":\"m\"}}}}}}"}}"#
    );
    fuzz(Kind::SweAgent, "a__b-1.traj", text.as_bytes(), 4);
    fuzz(Kind::SweAgent, "a__b-1.traj", format!(r#"{{"history":{MESSAGES}}}"#).as_bytes(), 5);
}

#[test]
fn mini_swe_agent() {
    let text = format!(
        r#"{{"info":{{"exit_status":"Submitted","config":{{"model":{{"model_name":"m"}}}}}},"trajectory_format":"mini-swe-agent-1.1","messages":{}}}"#,
        MESSAGES.replace(
            "{\"role\":\"assistant\",\"content\":\"done\"}",
            r#"{"role":"assistant","content":"x\n```bash\nls\n```"},{"role":"user","content":"o"},{"object":"response","output":[{"type":"function_call","call_id":"z","name":"f","arguments":"{}"}]},{"type":"function_call_output","call_id":"z","output":"o"},{"role":"exit","content":"d"}"#
        )
    );
    fuzz(Kind::MiniSweAgent, "x.traj.json", text.as_bytes(), 6);
}

#[test]
fn tau2() {
    let simulation = r#"{"id":"s","task_id":"1","trial":0,"reward_info":{"reward":1.0,"action_checks":[{"action":{"action_id":"2_0","name":"f"}}]},
      "messages":[{"role":"assistant","content":"a","tool_calls":[{"id":"1","name":"f","arguments":{},"requestor":"assistant"}]},{"role":"tool","id":"1","content":"o","requestor":"assistant"}]}"#;
    let ticks = r#"{"id":"t","task_id":"1","ticks":[{"agent_chunk":{"content":"x","utterance_ids":["u"]},"user_tool_calls":[{"id":"1","name":"f","arguments":{}}],"user_tool_results":[{"role":"tool","id":"1","content":"o","requestor":"user"}]}]}"#;
    let task = r#"{"id":"1","user_scenario":{"instructions":{"domain":"d","reason_for_call":"r"}},"evaluation_criteria":{"actions":[{"action_id":"1_0","name":"f","arguments":{}}],"env_assertions":[{"func_name":"g"}],"nl_assertions":["x"]}}"#;
    let text = format!(
        r#"{{"info":{{"agent_info":{{"llm":"m"}},"environment_info":{{"domain_name":"d"}}}},"tasks":[{task}],"simulations":[{simulation},{ticks}]}}"#
    );
    fuzz(Kind::Tau2, "results.json", text.as_bytes(), 7);
    fuzz(Kind::Tau2, "sim.json", simulation.as_bytes(), 8);
    fuzz(Kind::Tau2, "tasks.json", format!("[{task}]").as_bytes(), 9);
}

#[test]
fn tau() {
    let text = format!(
        r#"[{{"task_id":1,"trial":0,"reward":1.0,"info":{{"reward_info":{{"reward":1.0}}}},"traj":{MESSAGES}}}]"#
    );
    fuzz(Kind::Tau, "results.json", text.as_bytes(), 10);
}

#[test]
fn openai() {
    let lines = format!("{{\"messages\":{0},\"reward\":1}}\n{0}\n", MESSAGES.replace('\n', ""));
    fuzz(Kind::Openai, "c.jsonl", lines.as_bytes(), 11);
    fuzz(Kind::Openai, "c.json", format!(r#"{{"messages":{MESSAGES},"metadata":{{"task":"t"}}}}"#).as_bytes(), 12);
    fuzz(
        Kind::Openai,
        "m.jsonl",
        b"{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n",
        13,
    );
}

#[test]
fn swe_bench() {
    let text = r#"[{"instance_id":"a","repo":"r","problem_statement":"p","test_patch":"t","FAIL_TO_PASS":"[\"x\"]","PASS_TO_PASS":["y"]}]"#;
    fuzz(Kind::SweBench, "i.json", text.as_bytes(), 14);
    let line = text.trim_start_matches('[').trim_end_matches(']').replace("\"[\\\"x\\\"]\"", "\"['x']\"");
    fuzz(Kind::SweBench, "i.jsonl", format!("{line}\n{}\n", line.replace("\"a\"", "\"b\"")).as_bytes(), 15);
}

#[test]
fn task_folders() {
    for (name, seed, number) in [
        ("task.toml", "version = \"1.0\"\n[metadata]\ntags = [\"a\", 1]\n[x.y]\nz = 1979-05-27\n", 16),
        ("test_names.json", r#"{"task":"t","tests":["a","b::c[1]"]}"#, 17),
    ] {
        let scratch = Scratch::new();
        scratch.write("instruction.md", "Do it.");
        scratch.write("task.toml", "version = \"1.0\"\n");
        let mut dice = Dice(number);
        let (mut found, mut refused) = (0, 0);
        for _ in 0..COUNT / 2 {
            scratch.write(name, mutate_bytes(&mut dice, seed.as_bytes()));
            let gathered = gather(Kind::HarborTasks, scratch.path());
            found += gathered.tasks.len();
            refused += gathered.refusals.len();
            assert_eq!(gathered.tasks.len() + gathered.refusals.len(), 1, "{name}");
        }
        assert!(found > 4 && refused > 4, "{name}: {found} found, {refused} refused");
    }
    let scratch = Scratch::new();
    let mut dice = Dice(18);
    for _ in 0..COUNT / 2 {
        let seed = b"instruction: |-\n  Do it.\ntags: [a, {b: c}]\nparser: 'x'\n# c\nlast: \"\\u00e9\"\n";
        scratch.write("task.yaml", mutate_bytes(&mut dice, seed));
        let gathered = gather(Kind::HarborTasks, scratch.path());
        assert_eq!(gathered.tasks.len() + gathered.refusals.len(), 1);
    }
}

#[test]
fn files_of_this_project() {
    let text = r#"{"format":"parthack.payload/1","task_id":"t","instruction":[{"goal_version":1,"text":"do"}],"transcript":[
      {"actor":"agent","event":0,"result":"applied","step":{"op":"delete","type":"x","id":"y"},"tick":0},
      {"actor":"user","result":"noted","step":{"op":"say","to":"agent","text":"hi"},"tick":1},
      {"actor":"agent","refusal":{"code":"c","message":"m"},"result":"refused","step":{"op":"read","type":"x","id":"y"},"tick":2}]}"#;
    fuzz(Kind::Parthackbench, "p.json", text.as_bytes(), 19);
}
