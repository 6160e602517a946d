//! What files say about a run and a task in more than one way: verdicts, models, conditions, the order of steps, descriptions.

mod support;

use parthack_logs::{Condition, FactSource, Kind, Log, RefusalCode, Verdict, WarningCode};
use support::{Scratch, gather, log_of, warned};

const MESSAGES: &str = r#"[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]"#;

fn openai(fields: &str) -> Log {
    log_of(Kind::Openai, "x.jsonl", &format!(r#"{{"messages":{MESSAGES},{fields}}}"#))
}

fn model(log: &Log) -> Option<&str> {
    log.identity.model.as_ref().map(|fact| fact.value.as_str())
}

#[test]
fn a_plain_yes_or_no_is_a_verdict_and_anything_else_is_warned_of() {
    for (fields, verdict, is_warned) in [
        (r#""score":true"#, Verdict::Pass, false),
        (r#""reward":"False""#, Verdict::Fail, false),
        (r#""passed":1"#, Verdict::Pass, false),
        (r#""passed":0"#, Verdict::Fail, false),
        (r#""success":"true""#, Verdict::Pass, false),
        (r#""is_resolved":"no""#, Verdict::Fail, false),
        (r#""outcome":"Passed""#, Verdict::Pass, false),
        (r#""verdict":false"#, Verdict::Fail, false),
        (r#""passed":true,"score":0.7"#, Verdict::Pass, false),
        // A count of tests is no verdict.
        (r#""passed":1,"failed":4"#, Verdict::None, true),
        (r#""passed":3"#, Verdict::None, true),
        (r#""success":"partly""#, Verdict::None, true),
        (r#""score":0.5"#, Verdict::None, true),
        (r#""success":"partly","score":1"#, Verdict::Pass, true),
        (r#""passed":1,"total":1,"reward":1"#, Verdict::Pass, true),
        // What a run brought forth, and what was not said.
        (r#""result":"the answer is 4""#, Verdict::None, false),
        (r#""success":null,"score":{"a":1}"#, Verdict::None, false),
    ] {
        let log = openai(fields);
        let warns = warned(&log).contains(&WarningCode::RewardNotBinary);
        assert_eq!((log.outcome.verdict, warns), (verdict, is_warned), "{fields}: {:?}", log.outcome);
    }
}

#[test]
fn the_request_within_a_conversation_is_read() {
    for wrapped in [
        format!(r#"{{"body":{{"model":"m-1","messages":{MESSAGES},"metadata":{{"task_id":"t"}}}}}}"#),
        format!(r#"{{"request":{{"body":{{"model":"m-1","messages":{MESSAGES},"metadata":{{"task_id":"t"}}}}}}}}"#),
        format!(r#"{{"request":{{"model":"m-1","messages":{MESSAGES}}},"metadata":{{"task_id":"t"}}}}"#),
    ] {
        let log = log_of(Kind::Openai, "x.jsonl", &wrapped);
        assert_eq!((model(&log), log.identity.task_key().as_deref()), (Some("m-1"), Some("t")), "{wrapped}");
    }
    let both = format!(r#"{{"model":"outer","body":{{"model":"inner","messages":{MESSAGES}}}}}"#);
    assert_eq!(model(&log_of(Kind::Openai, "x.jsonl", &both)), Some("outer"));
}

#[test]
fn a_model_has_one_name_whichever_file_says_it() {
    let log = |trajectory: &str, config: Option<&str>, result: Option<&str>| {
        let scratch = Scratch::new();
        let steps = r#"[{"step_id":1,"source":"agent","message":"a"}]"#;
        let agent = format!(r#"{{"name":"x","version":"1","model_name":{trajectory}}}"#);
        let text = format!(r#"{{"schema_version":"ATIF-v1.4","session_id":"s","agent":{agent},"steps":{steps}}}"#);
        scratch.write("t/agent/trajectory.json", text);
        scratch.write("t/verifier/reward.txt", "1");
        if let Some(config) = config {
            scratch.write("t/config.json", format!(r#"{{"agent":{{"model_name":"{config}"}}}}"#));
        }
        if let Some(info) = result {
            scratch.write("t/result.json", format!(r#"{{"task_name":"t","agent_info":{{"model_info":{info}}}}}"#));
        }
        let mut gathered = gather(Kind::Atif, scratch.path());
        gathered.logs.remove(0)
    };
    let (name, both) = (r#"{"name":"gpt-5"}"#, r#"{"name":"gpt-5","provider":"openai"}"#);
    for (trajectory, config, result) in [
        ("null", None, Some(both)),
        ("null", Some("openai/gpt-5"), None),
        ("\"openai/gpt-5\"", None, None),
        ("\"gpt-5\"", Some("openai/gpt-5"), Some(both)),
        ("\"gpt-5\"", Some("gpt-5"), Some(both)),
        ("\"openai/gpt-5\"", None, Some(name)),
        ("\"gpt-5\"", Some("openai/gpt-5"), Some(name)),
        ("null", None, Some(r#"{"name":"openai/gpt-5","provider":"openai"}"#)),
    ] {
        let log = log(trajectory, config, result);
        assert_eq!(model(&log), Some("openai/gpt-5"), "{trajectory} {config:?} {result:?}");
        assert!(!warned(&log).contains(&WarningCode::ModelContradicted), "{trajectory} {config:?} {result:?}");
    }
    let other = log("null", Some("azure/gpt-5"), Some(both));
    assert_eq!(model(&other), Some("openai/gpt-5"), "the result is what was run");
    assert!(warned(&other).contains(&WarningCode::ModelContradicted), "two providers");
    let routed = log("null", Some("openrouter/lab/m"), Some(r#"{"name":"lab/m","provider":"openrouter"}"#));
    assert_eq!(model(&routed), Some("openrouter/lab/m"));
}

#[test]
fn every_condition_of_an_inspect_header_is_heard() {
    let log = |eval: &str| {
        let eval = format!(r#"{{"task":"q","model":"m/x","run_id":"r",{eval}}}"#);
        let sample = format!(r#"{{"id":1,"epoch":1,"messages":{MESSAGES},"scores":{{"a":{{"value":"C"}}}}}}"#);
        log_of(
            Kind::Inspect,
            "x.json",
            &format!(r#"{{"version":2,"status":"success","eval":{eval},"samples":[{sample}]}}"#),
        )
    };
    for (eval, condition, is_warned) in [
        (r#""metadata":{"condition":"with-skill"}"#, Condition::WithSkill, false),
        (r#""task_args":{"with_skills":false}"#, Condition::WithoutSkill, false),
        (r#""solver_args":{"skills":"no-skills"}"#, Condition::WithoutSkill, false),
        (
            r#""metadata":{"condition":"with-skill"},"task_args":{"condition":"with_skills"}"#,
            Condition::WithSkill,
            false,
        ),
        (r#""metadata":{"condition":"with-skill"},"task_args":{"condition":"no-skill"}"#, Condition::WithSkill, true),
        (r#""task_args":{"skills":"no-skills"},"tags":["with-skills"]"#, Condition::WithoutSkill, true),
    ] {
        let log = log(eval);
        assert_eq!(log.identity.condition, condition, "{eval}");
        assert_eq!(warned(&log).contains(&WarningCode::ConditionContradicted), is_warned, "{eval}");
        assert!(
            matches!(&log.identity.condition_source, Some(FactSource::Field(at)) if at.pointer.starts_with("/eval/"))
        );
    }
}

#[test]
fn steps_stand_in_the_order_of_their_list_or_of_their_numbers() {
    let scratch = Scratch::new();
    let step = |task: &str, step: &str| {
        scratch.write(&format!("{task}/steps/{step}/instruction.md"), step);
    };
    for name in ["alpha", "zeta", "extra"] {
        step("listed", name);
    }
    let list = "[[steps]]\nname = \"zeta\"\n[[steps]]\nname = \"alpha\"\n[[steps]]\nname = \"../listed\"\n";
    scratch.write("listed/task.toml", list);
    for name in ["step-1", "step-10", "step-2", "step-02b", "finally"] {
        step("numbered", name);
    }
    scratch.write("numbered/task.toml", "version = \"1\"\n");
    let gathered = gather(Kind::HarborTasks, scratch.path());
    let [listed, numbered] = &gathered.tasks[..] else { panic!("{:?}", gathered.refusals) };
    assert_eq!(listed.instruction_text(), "zeta\n\nalpha");
    let codes: Vec<WarningCode> = listed.warnings.iter().map(|warning| warning.code).collect();
    let (missing, unlisted) = (WarningCode::TaskPartMissing, WarningCode::TaskPartUnlisted);
    assert_eq!(codes, [missing, unlisted, missing], "a step without a folder, a folder that is no step, no verifier");
    assert_eq!(numbered.instruction_text(), "finally\n\nstep-1\n\nstep-2\n\nstep-02b\n\nstep-10");
}

#[test]
fn a_task_with_descriptions_has_its_base_description() {
    let scratch = Scratch::new();
    let both = "descriptions:\n  - key: hard\n    description: Do it blind.\n  - key: base\n    description: |-\n      Do it.\n\n      Well.\ndifficulty: easy\n";
    scratch.write("a/task.yaml", both);
    scratch.write("b/task.yaml", "descriptions:\n- key: only\n  description: Do that.\n");
    scratch.write("c/task.yaml", "descriptions:\n- {key: x, description: X.}\n- {key: y, description: Y.}\n");
    scratch.write("d/task.yaml", "descriptions:\n- {key: base, description: Not this.}\ninstruction: This.\n");
    scratch.write("e/task.yaml", "descriptions:\n- {key: base, difficulty: easy}\n");
    let gathered = gather(Kind::HarborTasks, scratch.path());
    let texts: Vec<String> = gathered.tasks.iter().map(parthack_logs::TaskSource::instruction_text).collect();
    assert_eq!(texts, ["Do it.\n\nWell.", "Do that.", "This."]);
    let a = &gathered.tasks[0];
    assert_eq!((a.facts["descriptions.hard"].as_str(), a.facts["difficulty"].as_str()), ("Do it blind.", "easy"));
    let at = &a.instruction[0].at;
    assert_eq!((at.line, at.pointer.as_str()), (Some(5), "/descriptions/1/description"));
    let refused: Vec<(RefusalCode, &str)> =
        gathered.refusals.iter().map(|refusal| (refusal.code, refusal.found.as_str())).collect();
    let shape = RefusalCode::WrongShape;
    assert_eq!(refused, [(shape, "the descriptions x, y"), (shape, "descriptions without a text")]);
}
