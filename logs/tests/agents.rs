//! Small inputs written by hand, in every shape that agent harnesses write: ATIF and Harbor trials, SWE-agent,
//! mini-swe-agent.

mod support;

use parthack_logs::{Condition, Kind, Origin, RefusalCode, Verdict, WarningCode};
use support::{Scratch, gather, log_of, refusal_of, sketch, warned};

const STEPS: &str = r#"[
 {"step_id":1,"source":"system","message":"You are an agent."},
 {"step_id":2,"source":"user","message":[{"type":"text","text":"Look"},{"type":"image","source":{"path":"a.png"}},{"type":"text","text":"here."}]},
 {"step_id":3,"source":"agent","message":"I look.","reasoning_content":"Where?","tool_calls":[
   {"tool_call_id":"b","function_name":"shell","arguments":{"command":"ls","n":1.50}},
   {"tool_call_id":"a","function_name":"read","arguments":{}}],
  "observation":{"results":[{"source_call_id":"a","content":"text of a"},{"source_call_id":"b","content":[{"type":"text","text":"a.txt"}]}]}},
 {"step_id":4,"source":"agent","message":"","observation":{"results":[{"content":"seen without a call"}]}}]"#;

fn atif(version: &str, rest: &str) -> String {
    format!(
        r#"{{"schema_version":"{version}","session_id":"s-1","agent":{{"name":"claude-code","version":"2","model_name":"m-1"}},"steps":{STEPS}{rest}}}"#
    )
}

#[test]
fn atif_of_every_version() {
    for minor in 0..=7 {
        let log = log_of(Kind::Atif, "trajectory.json", &atif(&format!("ATIF-v1.{minor}"), ""));
        assert_eq!(
            sketch(&log),
            [
                "System: You are an agent.",
                "User: Look\n[image]\nhere.",
                "thinks: Where?",
                "agent: I look.",
                "Agent calls shell {\"command\":\"ls\",\"n\":1.50}",
                "Agent calls read {}",
                "output of 5: text of a",
                "output of 4: a.txt",
                "output of -: seen without a call",
            ]
        );
        assert_eq!(warned(&log), [WarningCode::PartNotText]);
        assert_eq!(log.steps[6].at.pointer, "/steps/2/observation/results/0/content");
        assert_eq!(log.identity.harness.as_ref().map(|fact| fact.value.as_str()), Some("claude-code"));
        assert_eq!(log.outcome.verdict, Verdict::None);
    }
    let newer = log_of(Kind::Atif, "trajectory.json", &atif("ATIF-v1.12", ""));
    assert!(warned(&newer).contains(&WarningCode::UnknownVersion));
    for version in ["1.4", "atif-v1.2", "ATIF-1.0"] {
        assert_eq!(log_of(Kind::Atif, "t.json", &atif(version, "")).steps.len(), 9, "{version}");
    }
    for version in ["ATIF-v2.0", "2.0", "ATIF-vx"] {
        let other = refusal_of(Kind::Atif, "t.json", atif(version, ""));
        assert_eq!(
            (other.code, other.place.to_string().as_str()),
            (RefusalCode::UnsupportedVersion, "/schema_version")
        );
    }
    assert_eq!(refusal_of(Kind::Atif, "t.json", r#"{"schema_version":"1.4"}"#).code, RefusalCode::NotOfKind);
    assert_eq!(refusal_of(Kind::Atif, "t.json", r#"{"steps":[]}"#).code, RefusalCode::NotOfKind);
    let hole = refusal_of(
        Kind::Atif,
        "t.json",
        r#"{"schema_version":"ATIF-v1.2","steps":[{"source":"user","message":"x"},{"message":"y"}]}"#,
    );
    assert_eq!(hole.place.to_string(), "/steps/1");
    assert!(hole.found.contains("message") && hole.expected.contains("source"), "{hole}");
}

#[test]
fn misnumbered_steps_and_broken_links_are_warned_of() {
    let text = r#"{"schema_version":"ATIF-v1.4","session_id":"s","agent":{"name":"x","version":"1"},"steps":[
      {"step_id":1,"source":"agent","message":"a","tool_calls":[{"tool_call_id":"1","function_name":"f","arguments":"not json"}],
       "observation":{"results":[{"source_call_id":"9","content":"?"}]}},
      {"step_id":3,"source":"robot","message":"b"}]}"#;
    let codes = warned(&log_of(Kind::Atif, "t.json", text));
    for code in [
        WarningCode::ArgumentsNotJson,
        WarningCode::OutputWithoutCall,
        WarningCode::StepsMisnumbered,
        WarningCode::UnknownRole,
    ] {
        assert!(codes.contains(&code), "{code:?} in {codes:?}");
    }
}

fn trial(scratch: &Scratch, name: &str, result: &str) {
    scratch.write(&format!("{name}/agent/trajectory.json"), atif("ATIF-v1.6", ""));
    scratch.write(
        &format!("{name}/config.json"),
        r#"{"task":{"path":"datasets/tasks-no-skills/fix-it"},"trial_name":"fix-it__x","agent":{"name":"claude-code","model_name":"lab/m-1"}}"#,
    );
    scratch.write(&format!("{name}/result.json"), result);
}

#[test]
fn a_harbor_trial_folder_is_one_log() {
    let scratch = Scratch::new();
    let result = r#"{"id":"u","task_name":"fix-it","trial_name":"fix-it__x","source":"skillsbench",
      "agent_info":{"name":"claude-code","version":"2.1","model_info":{"name":"m-1","provider":"lab"}},
      "verifier_result":{"rewards":{"reward":1.0}},"exception_info":null}"#;
    trial(&scratch, "job/fix-it__x", result);
    scratch.write("job/fix-it__x/verifier/reward.txt", "1\n");
    scratch.write("job/fix-it__x/verifier/reward.json", r#"{"reward":1.0,"extra":3}"#);
    scratch.write(
        "job/fix-it__x/verifier/ctrf.json",
        r#"{"results":{"tests":[{"name":"test_a","status":"passed"},{"name":"test_b","status":"failed"}]}}"#,
    );
    scratch.write("job/result.json", r#"{"n_total_trials":1,"stats":{}}"#);
    let gathered = gather(Kind::Atif, scratch.path());
    assert!(gathered.refusals.is_empty(), "{:?}", gathered.refusals);
    let log = &gathered.logs[0];
    assert_eq!(log.outcome.verdict, Verdict::Pass);
    assert_eq!(log.identity.task_key().as_deref(), Some("skillsbench/fix-it"));
    assert_eq!(log.identity.run.as_ref().map(|fact| fact.value.as_str()), Some("fix-it__x"));
    assert_eq!(log.identity.condition, Condition::WithoutSkill);
    assert!(warned(log).contains(&WarningCode::TestsContradictReward));
    assert!(!warned(log).contains(&WarningCode::ModelContradicted), "a provider's prefix is no contradiction");
    assert_eq!(log.files.len(), 6, "{:?}", log.files);
    let summary = gathered.summary;
    assert_eq!((summary.files, summary.files_read, summary.files_companions), (7, 1, 6));
}

#[test]
fn what_a_trial_without_a_reward_says() {
    let scratch = Scratch::new();
    let outcome = |of: &str| {
        let log = gather(Kind::Atif, &scratch.path().join(of)).logs.remove(0);
        let warned = warned(&log).contains(&WarningCode::TestsWithoutReward);
        (log.outcome.verdict, log.outcome.reason.unwrap_or_default(), warned)
    };
    trial(&scratch, "a", r#"{"task_name":"fix-it","trial_name":"a"}"#);
    assert_eq!(outcome("a"), (Verdict::None, "the trial has no reward".to_owned(), false));
    scratch.write("a/verifier/reward.json", r#"{"correctness":1,"style":0.5}"#);
    assert_eq!(outcome("a"), (Verdict::None, "several rewards, none named reward".to_owned(), false));
    trial(&scratch, "b", r#"{"task_name":"fix-it","trial_name":"b","verifier_result":{"rewards":{"x":1,"y":0}}}"#);
    assert_eq!(outcome("b").1, "several rewards, none named reward");
    trial(&scratch, "c", r#"{"task_name":"fix-it","trial_name":"c"}"#);
    scratch.write(
        "c/verifier/ctrf.json",
        r#"{"results":{"tests":[{"name":"test_a","status":"passed"},{"name":"test_b","status":"failed"}]}}"#,
    );
    assert_eq!(outcome("c"), (Verdict::None, "the trial has no reward; 1 tests passed and 1 failed".to_owned(), true));
}

#[test]
fn a_trial_without_a_trajectory_is_refused_once() {
    let scratch = Scratch::new();
    for name in ["config.json", "verifier/reward.txt"] {
        scratch.write(&format!("job/t/{name}"), "{}");
    }
    scratch.write("job/t/result.json", r#"{"task_name":"fix-it"}"#);
    scratch.write("job/result.json", r#"{"n_total_trials":1}"#);
    let gathered = gather(Kind::Atif, scratch.path());
    let refused: Vec<_> =
        gathered.refusals.iter().map(|refusal| (refusal.code, refusal.file.ends_with("t/result.json"))).collect();
    assert_eq!(refused, [(RefusalCode::NothingInIt, true)], "{:?}", gathered.refusals);
    assert_eq!((gathered.summary.files, gathered.summary.files_companions), (4, 3));
}

#[test]
fn rewards_that_differ_are_warned_of() {
    let scratch = Scratch::new();
    trial(&scratch, "t", r#"{"task_name":"fix-it","trial_name":"t"}"#);
    scratch.write("t/verifier/reward.txt", "0");
    scratch.write("t/verifier/reward.json", r#"{"reward":1}"#);
    let log = &gather(Kind::Atif, scratch.path()).logs[0];
    assert_eq!(log.outcome.verdict, Verdict::None, "{:?}", log.outcome);
    assert!(warned(log).contains(&WarningCode::RewardsDiffer));

    trial(&scratch, "t", r#"{"task_name":"fix-it","trial_name":"t","verifier_result":{"rewards":{"reward":1}}}"#);
    let log = &gather(Kind::Atif, scratch.path()).logs[0];
    assert_eq!(log.outcome.verdict, Verdict::Pass, "the harness's own record decides");
    assert!(warned(log).contains(&WarningCode::RewardsDiffer));

    scratch.write("t/verifier/reward.txt", "0.5");
    scratch.write("t/verifier/reward.json", "{");
    trial(&scratch, "t", r#"{"task_name":"fix-it","trial_name":"t"}"#);
    let log = &gather(Kind::Atif, scratch.path()).logs[0];
    assert_eq!(log.outcome.verdict, Verdict::None);
    assert!(warned(log).contains(&WarningCode::RewardNotBinary));
    assert!(warned(log).contains(&WarningCode::CompanionUnreadable));
}

#[test]
fn a_trial_without_a_trajectory_is_refused() {
    let scratch = Scratch::new();
    scratch.write("t/result.json", r#"{"task_name":"fix-it","exception_info":{"exception_type":"Timeout"}}"#);
    scratch.write("t/agent/setup.txt", "");
    let gathered = gather(Kind::Atif, scratch.path());
    assert_eq!(gathered.refusals[0].code, RefusalCode::NothingInIt);
    assert_eq!(gathered.summary.files_refused, 1);
}

#[test]
fn continuations_are_joined_and_copies_marked() {
    let scratch = Scratch::new();
    let step = |id: usize, source: &str, text: &str, rest: &str| {
        format!(r#"{{"step_id":{id},"source":"{source}","message":"{text}"{rest}}}"#)
    };
    let document = |steps: &[String], rest: &str| {
        format!(
            r#"{{"schema_version":"ATIF-v1.5","session_id":"s","agent":{{"name":"t","version":"1"}},"steps":[{}]{rest}}}"#,
            steps.join(",")
        )
    };
    let head = [step(1, "user", "go", ""), step(2, "agent", "one", "")];
    let head_text = document(&head, r#","continued_trajectory_ref":"trajectory.cont-1.json""#);
    scratch.write("agent/trajectory.json", head_text);
    let second = [step(1, "user", "go", ""), step(2, "user", "summary", ""), step(3, "agent", "two", "")];
    scratch.write("agent/trajectory.cont-1.json", document(&second, ""));
    let third = [step(1, "user", "old", r#","is_copied_context":true"#), step(2, "agent", "three", "")];
    scratch.write("agent/trajectory.cont-2.json", document(&third, ""));
    scratch.write("agent/trajectory.summarization-1-summary.json", document(&head, ""));
    let gathered = gather(Kind::Atif, scratch.path());
    assert_eq!((gathered.logs.len(), gathered.summary.files_companions), (1, 3));
    let log = &gathered.logs[0];
    assert_eq!(
        sketch(log),
        ["User: go", "agent: one", "User: go", "User: summary", "agent: two", "User: old", "agent: three"]
    );
    let copied: Vec<usize> = (0..7).filter(|step| log.steps[*step].origin == Origin::Copied).collect();
    assert_eq!(copied, [2, 5]);
    assert!(log.steps[4].at.file.ends_with("trajectory.cont-1.json"));
    assert_eq!(log.files.len(), 3);

    scratch.write("other/x.trajectory.json", document(&[step(1, "agent", "x", "")], ""));
    scratch.write("other/x.trajectory.summarization-1-answers.json", document(&head, ""));
    scratch.write("other/x.trajectory.variant.json", document(&[step(1, "agent", "y", "")], ""));
    let others = gather(Kind::Atif, &scratch.path().join("other")).summary;
    assert_eq!((others.logs, others.files_companions), (2, 1), "a sub-agent's is no run, a variant is");

    scratch.write("agent/trajectory.cont-1.json", "{\"schema_version\":");
    let gathered = gather(Kind::Atif, &scratch.path().join("agent"));
    assert!(warned(&gathered.logs[0]).contains(&WarningCode::ContinuationMissing));
    assert!(gathered.refusals[0].file.ends_with("trajectory.cont-1.json"), "{}", gathered.refusals[0]);

    let looped = document(&head, r#","continued_trajectory_ref":"../../x/trajectory.json""#);
    let log = log_of(Kind::Atif, "trajectory.json", &looped);
    assert!(warned(&log).contains(&WarningCode::ContinuationMissing), "a reference stays in its folder");
}

#[test]
fn swe_agent_turns() {
    let text = r#"{"environment":"main","trajectory":[
      {"action":"ls","observation":"a.txt\n","response":"r","thought":"List.","state":{},"thinking_blocks":[{"thinking":"hm"}],
       "tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}],"tool_call_ids":["c1"]},
      {"action":"","observation":"Your command was malformed.","response":"oops","thought":"oops"},
      {"action":"submit\n","observation":"","response":"x","thought":""}],
     "history":[{"role":"system","content":"S","agent":"main"},
      {"role":"user","content":"demo","is_demo":true},{"role":"user","content":[{"type":"text","text":"Fix."}]},
      {"role":"assistant","content":"r","action":"ls"}],
     "info":{"exit_status":"submitted","swe_agent_version":"1.1.0"},
     "replay_config":"{\"agent\":{\"model\":{\"name\":\"lab/m\"}},\"problem_statement\":{\"id\":\"repo__x-1\"}}"}"#;
    let log = log_of(Kind::SweAgent, "whatever.traj", text);
    assert_eq!(
        sketch(&log),
        [
            "System: S",
            "User: demo",
            "User: Fix.",
            "thinks: hm",
            "agent: List.",
            "Agent calls bash {\"command\":\"ls\"}",
            "output of 5: a.txt\n",
            "agent: oops",
            "Environment: Your command was malformed.",
            "Agent calls shell {\"command\":\"submit\\n\"}",
            "output of 9: ",
        ]
    );
    assert_eq!(log.steps[1].origin, Origin::Demonstration);
    assert_eq!(log.identity.task.as_ref().map(|fact| fact.value.as_str()), Some("repo__x-1"));
    assert_eq!(log.identity.model.as_ref().map(|fact| fact.value.as_str()), Some("lab/m"));
}

#[test]
fn swe_agent_history_alone() {
    let text = r#"{"history":[{"role":"system","content":"S"},{"role":"assistant","content":"Look.\n```\nls\n```","thought":"Look.","action":"ls"},
      {"role":"user","content":"a.txt"},{"role":"assistant","content":"Bye."}]}"#;
    let log = log_of(Kind::SweAgent, "demo__x-1.traj", text);
    assert_eq!(
        sketch(&log),
        [
            "System: S",
            "agent: Look.\n```\nls\n```",
            "Agent calls shell {\"command\":\"ls\"}",
            "output of 2: a.txt",
            "agent: Bye."
        ]
    );
    assert_eq!(refusal_of(Kind::SweAgent, "x.traj", r#"{"info":{}}"#).code, RefusalCode::NotOfKind);
    assert_eq!(
        refusal_of(Kind::SweAgent, "x.traj", r#"{"trajectory":[],"history":[]}"#).code,
        RefusalCode::NothingInIt
    );
    let fault =
        refusal_of(Kind::SweAgent, "x.traj", r#"{"trajectory":[{"action":"ls","observation":"x"},7],"history":[]}"#);
    assert_eq!((fault.place.to_string().as_str(), fault.found.as_str()), ("/trajectory/1", "the number 7"));
}

#[test]
fn mini_swe_agent_version_1() {
    let text = r#"{"info":{"exit_status":"Submitted","submission":"d","model_stats":{},"mini_version":"1.14","config":{"model":{"model_name":"lab/m"}}},
      "messages":[{"role":"system","content":"S"},{"role":"user","content":"Fix."},
       {"role":"assistant","content":"THOUGHT: look\n```bash\nls -l\n```"},{"role":"user","content":"<returncode>0</returncode>\n<output>\na.txt\n</output>"},
       {"role":"assistant","content":"no block"},{"role":"user","content":"Exactly one block, please."}],
      "trajectory_format":"mini-swe-agent-1"}"#;
    let scratch = Scratch::new();
    let path = scratch.write("django__x-1/django__x-1.traj.json", text);
    let log = &gather(Kind::MiniSweAgent, &path).logs[0];
    assert_eq!(
        sketch(log),
        [
            "System: S",
            "User: Fix.",
            "agent: THOUGHT: look\n```bash\nls -l\n```",
            "Agent calls bash {\"command\":\"ls -l\"}",
            "output of 3: <returncode>0</returncode>\n<output>\na.txt\n</output>",
            "agent: no block",
            "User: Exactly one block, please.",
        ]
    );
    assert_eq!(log.outcome.verdict, Verdict::None);
    scratch.write("django__x-1/report.json", r#"{"django__x-1":{"resolved":true}}"#);
    let gathered = gather(Kind::MiniSweAgent, scratch.path());
    assert_eq!(gathered.logs[0].outcome.verdict, Verdict::Pass, "the report beside it has the verdict");
    assert_eq!((gathered.summary.files_read, gathered.summary.files_companions), (1, 1));
}

#[test]
fn mini_swe_agent_version_2() {
    let text = r#"{"info":{"exit_status":"Submitted"},"trajectory_format":"mini-swe-agent-1.1","instance_id":"x-2","messages":[
       {"role":"user","content":"Fix."},
       {"role":"assistant","content":"Both.","tool_calls":[
         {"id":"1","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{"id":"2","function":{"name":"bash","arguments":"{\"command\":\"pwd\"}"}}],
        "extra":{"actions":[{"command":"ls","tool_call_id":"1"},{"command":"pwd","tool_call_id":"2"}]}},
       {"role":"tool","tool_call_id":"2","content":"/testbed"},{"role":"tool","tool_call_id":"1","content":"a.txt"},
       {"role":"assistant","content":"One more.","extra":{"actions":[{"command":"id"}]}},{"role":"user","content":"root","extra":{"raw_output":"root"}},
       {"object":"response","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"why"}]},
         {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Third."}]},
         {"type":"function_call","call_id":"z","name":"bash","arguments":"{\"command\":\"w\"}"}]},
       {"type":"function_call_output","call_id":"z","output":"none"},
       {"role":"exit","content":"diff","extra":{"exit_status":"Submitted"}}]}"#;
    let log = log_of(Kind::MiniSweAgent, "t.traj.json", text);
    assert_eq!(
        sketch(&log)[1..],
        [
            "agent: Both.",
            "Agent calls bash {\"command\":\"ls\"}",
            "Agent calls bash {\"command\":\"pwd\"}",
            "output of 3: /testbed",
            "output of 2: a.txt",
            "agent: One more.",
            "Agent calls bash {\"command\":\"id\"}",
            "output of 7: root",
            "thinks: why",
            "agent: Third.",
            "Agent calls bash {\"command\":\"w\"}",
            "output of 11: none",
            "Environment: diff",
        ]
    );
    assert!(warned(&log).is_empty(), "{:?}", log.warnings);
    let bad =
        refusal_of(Kind::MiniSweAgent, "x.traj.json", r#"{"trajectory_format":"mini-swe-agent-1","messages":{}}"#);
    assert_eq!(bad.place.to_string(), "/messages");
}

#[test]
fn conditions_come_from_fields_and_folders_and_contradictions_are_told() {
    let scratch = Scratch::new();
    let text = atif("ATIF-v1.6", r#","extra":{"condition":"with-skills"}"#);
    scratch.write("self-generated/t.json", &text);
    scratch.write("with_skills/u.json", atif("ATIF-v1.6", "").replace("s-1", "s-2"));
    let logs = gather(Kind::Atif, scratch.path()).logs;
    assert_eq!(logs[0].identity.condition, Condition::WithSkill, "a field counts before a folder");
    assert!(warned(&logs[0]).contains(&WarningCode::ConditionContradicted));
    assert_eq!(logs[1].identity.condition, Condition::WithSkill);
}
