//! Small inputs written by hand, in every shape that benchmarks write: Inspect, tau-bench, tau2-bench, OpenAI messages,
//! SWE-bench, task folders, and this project's own files.

mod support;

use parthack_logs::{FactSource, Kind, RefusalCode, TestList, Verdict, WarningCode};
use support::{Member, Scratch, gather, log_of, refusal_of, sketch, warned, zip};

const HEADER: &str = r#"{"version":2,"status":"success","eval":{"eval_id":"e","task":"quiz","model":"lab/m","packages":{"inspect_ai":"0.3"}}}"#;

fn inspect_sample(id: &str, rest: &str) -> String {
    format!(
        r#"{{"id":"{id}","epoch":1,"input":"q","target":"t","messages":[{{"role":"user","content":"q"}},{{"role":"assistant","content":"a"}}]{rest}}}"#
    )
}

#[test]
fn inspect_archives() {
    let long = inspect_sample("long", r#","scores":{"match":{"value":"C"}},"store":{"x":NaN,"y":-Infinity}"#);
    let referring = r#"{"id":7,"epoch":2,"messages":[
       {"role":"user","content":"attachment://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
       {"role":"assistant","content":[{"type":"reasoning","reasoning":"why"},{"type":"text","text":"see attachment://bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb."}],
        "tool_calls":[{"id":"c","function":"bash","arguments":{"cmd":"ls"},"type":"function"}]},
       {"role":"tool","tool_call_id":"c","function":"bash","content":"","error":{"type":"timeout","message":"timed out"}}],
      "attachments":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":"the long question"},"scores":{"a":{"value":"I"},"b":{"value":1}}}"#;
    let archive = zip(&[
        Member::new("samples/7_epoch_2.json", "superseded", 0),
        Member::new("samples/long_epoch_1.json", &long, 93),
        Member::new("samples/7_epoch_2.json", referring, 8),
        Member::new("header.json", HEADER, 0),
    ]);
    let scratch = Scratch::new();
    let gathered = gather(Kind::Inspect, &scratch.write("log.eval", archive));
    assert!(gathered.refusals.is_empty(), "{:?}", gathered.refusals);
    let log = gathered.logs.iter().find(|log| log.steps.len() > 2).expect("the sample with calls");
    assert_eq!(
        sketch(log),
        [
            "User: the long question",
            "thinks: why",
            "agent: see attachment://bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.",
            "Agent calls bash {\"cmd\":\"ls\"}",
            "error of 3: timed out",
        ]
    );
    assert_eq!(
        warned(log),
        [WarningCode::MemberRepeated, WarningCode::ScorersDisagree, WarningCode::AttachmentMissing]
    );
    assert_eq!(log.identity.task_key().as_deref(), Some("quiz/7"));
    assert_eq!(log.identity.run.as_ref().map(|fact| fact.value.as_str()), Some("e/7/2"));
    assert!(log.steps[0].at.file.ends_with("log.eval!samples/7_epoch_2.json"));
    let other = gathered.logs.iter().find(|log| log.steps.len() == 2).expect("the other");
    assert_eq!(other.outcome.verdict, Verdict::Pass);
}

#[test]
fn inspect_archives_that_are_wrong() {
    let sample = inspect_sample("s", "");
    let good = || vec![Member::new("header.json", HEADER, 8), Member::new("samples/s.json", &sample, 8)];
    let code = |members: &[Member]| refusal_of(Kind::Inspect, "x.eval", zip(members));
    let mut members = good();
    members[1].wrong_sum = true;
    let wrong = code(&members);
    assert_eq!(wrong.code, RefusalCode::BadArchive);
    assert!(wrong.file.ends_with("x.eval!samples/s.json"), "{wrong}");

    let mut members = good();
    members[1].bytes = vec![b' '; 64 << 20];
    members[1].size = Some(10);
    assert_eq!(code(&members).code, RefusalCode::BadArchive, "the recorded size is a lie");

    let mut members = good();
    members[1].bytes = vec![b'x'; 100];
    members[1].method = 0;
    members[1].size = Some(u32::MAX - 1);
    assert_eq!(code(&members).code, RefusalCode::TooLarge);
    members[1].size = Some(100 << 20);
    assert_eq!(code(&members).code, RefusalCode::ArchiveBomb);

    let mut members = good();
    members[1].method = 12;
    assert!(code(&members).found.contains("method"));
    assert_eq!(refusal_of(Kind::Inspect, "x.eval", "PK\x03\x04 and no more").code, RefusalCode::BadArchive);
    assert_eq!(refusal_of(Kind::Inspect, "x.eval", "").code, RefusalCode::BadArchive);
    assert_eq!(code(&[Member::new("samples/s.json", &sample, 8)]).code, RefusalCode::NotOfKind);
    assert_eq!(code(&[Member::new("header.json", HEADER, 8)]).code, RefusalCode::NothingInIt);

    let scratch = Scratch::new();
    let mut members = good();
    members.push(Member::new("samples/t.json", "{\"id\":\n", 8));
    let gathered = gather(Kind::Inspect, &scratch.write("x.eval", zip(&members)));
    assert_eq!((gathered.logs.len(), gathered.refusals.len()), (1, 1), "one bad sample stops no other");
    assert_eq!(gathered.refusals[0].place.to_string(), "line 2, column 1, at /id");

    let journal = [Member::new("_journal/start.json", HEADER, 0), Member::new("samples/s.json", &sample, 0)];
    let log = &gather(Kind::Inspect, &scratch.write("y.eval", zip(&journal))).logs[0];
    assert!(warned(log).contains(&WarningCode::RunUnfinished));
}

#[test]
fn inspect_json_and_its_scores() {
    for (scores, verdict) in [
        (r#"{"m":{"value":"C"}}"#, Verdict::Pass),
        (r#"{"m":{"value":"N"}}"#, Verdict::Fail),
        (r#"{"m":{"value":"P"}}"#, Verdict::None),
        (r#"{"m":{"value":true}}"#, Verdict::Pass),
        (r#"{"m":{"value":0.0}}"#, Verdict::Fail),
        (r#"{"m":{"value":NaN}}"#, Verdict::None),
        (r#"{"m":{"value":{"a":1}}}"#, Verdict::None),
        (r#"{"m":{"value":"C"},"tokens":{"value":812}}"#, Verdict::Pass),
    ] {
        let sample = inspect_sample("s", &format!(",\"scores\":{scores}"));
        let text = format!("{},\"samples\":[{sample}]}}", &HEADER[..HEADER.len() - 1]);
        let log = log_of(Kind::Inspect, "x.json", &text);
        assert_eq!(log.outcome.verdict, verdict, "{scores}");
    }
    let empty = refusal_of(Kind::Inspect, "x.json", HEADER);
    assert_eq!(empty.code, RefusalCode::NothingInIt);
    assert_eq!(refusal_of(Kind::Inspect, "x.json", "[1]").code, RefusalCode::NotOfKind);
}

#[test]
fn inspect_samples_without_messages_are_read_from_their_events() {
    let sample = r#"{"id":"s","epoch":1,"messages":[],"message_pool":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"q2"}],
      "events":[{"event":"model","input":[],"input_refs":[[0,1]],"output":{}},
       {"event":"model","input":[],"input_refs":[[0,2],2],"output":{"choices":[{"message":{"role":"assistant","content":"a2"}}]}},
       {"event":"span_begin","type":"scorers","name":"scorers"},{"event":"model","input":[{"role":"user","content":"grade"}],"output":{}}]}"#;
    let text =
        format!("{},\"samples\":[{sample}]}}", &HEADER[..HEADER.len() - 1]).replace("\"version\":2", "\"version\":4");
    let log = log_of(Kind::Inspect, "x.json", &text);
    assert_eq!(sketch(&log), ["User: q", "agent: a", "User: q2", "agent: a2"]);
    assert_eq!(log.steps[3].at.pointer, "/samples/0/events/1/output/choices/0/message/content");
    assert_eq!(warned(&log), [WarningCode::UnknownVersion]);
    let none =
        refusal_of(Kind::Inspect, "x.json", text.replace("\"messages\":[],", "").replace("\"events\"", "\"other\""));
    assert_eq!(none.place.to_string(), "/samples/0");
}

const TAU2_INFO: &str = r#""info":{"git_commit":"c","agent_info":{"implementation":"llm_agent","llm":"m"},"environment_info":{"domain_name":"telecom"}}"#;
const TAU2_TASK: &str = r#"{"id":"[x]","user_scenario":{"persona":null,"instructions":{"domain":"telecom","reason_for_call":"It is slow."}},"ticket":"Slow.",
  "evaluation_criteria":{"actions":[{"action_id":"toggle_0","requestor":"user","name":"toggle","arguments":{}}],
   "env_assertions":[{"func_name":"is_fast","arguments":{}}],"communicate_info":["12"],"nl_assertions":["was polite"],"reward_basis":["ENV_ASSERTION"]}}"#;
const TAU2_SIMULATION: &str = r#"{"id":"sim-1","task_id":"[x]","trial":0,"termination_reason":"user_stop",
  "reward_info":{"reward":1.0,"action_checks":[{"action":{"action_id":"toggle_0","name":"toggle","requestor":"user"},"action_match":true}]},
  "messages":[{"role":"assistant","content":"Hi"},{"role":"user","content":null,"tool_calls":[{"id":"u1","name":"toggle","arguments":{},"requestor":"user"}]},
   {"id":"u1","role":"tool","content":"on","requestor":"user"},
   {"role":"assistant","content":null,"tool_calls":[{"id":"a1","name":"look","arguments":{"x":1},"requestor":"assistant"},{"id":"a2","name":"look","arguments":{"x":2},"requestor":"assistant"}]},
   {"role":"tool","tool_messages":[{"id":"a2","role":"tool","content":"two","requestor":"assistant"},{"id":"a1","role":"tool","content":"one","requestor":"assistant","error":true}]},
   {"role":"user","content":"[stop]"}]}"#;

const TAU2_STEPS: [&str; 8] = [
    "agent: Hi",
    "User calls toggle {}",
    "output of 1: on",
    "Agent calls look {\"x\":1}",
    "Agent calls look {\"x\":2}",
    "output of 4: two",
    "error of 3: one",
    "User: [stop]",
];

#[test]
fn tau2_results_in_one_file() {
    let text = format!("{{{TAU2_INFO},\"tasks\":[{TAU2_TASK}],\"simulations\":[{TAU2_SIMULATION},7]}}");
    let scratch = Scratch::new();
    let gathered = gather(Kind::Tau2, &scratch.write("results.json", &text));
    let log = &gathered.logs[0];
    assert_eq!(sketch(log), TAU2_STEPS);
    assert!(warned(log).is_empty(), "action ids made from the action's name tell no task: {:?}", log.warnings);
    assert_eq!(log.identity.task_key().as_deref(), Some("telecom/[x]"));
    assert_eq!(log.outcome.verdict, Verdict::Pass);
    assert_eq!(gathered.refusals[0].place.to_string(), "/simulations/1", "one bad simulation stops no other");
    let task = &gathered.tasks[0];
    assert_eq!(task.instruction_text(), "It is slow.\n\nSlow.");
    let names: Vec<(&str, TestList)> = task.tests.iter().map(|test| (test.name.as_str(), test.list)).collect();
    assert_eq!(
        names,
        [
            ("toggle_0", TestList::Action),
            ("env_assertions_0:is_fast", TestList::EnvironmentAssertion),
            ("communicate_info_0", TestList::Communicate),
            ("nl_assertions_0", TestList::NaturalLanguageAssertion),
        ]
    );
    assert_eq!(task.tests[3].detail.as_deref(), Some("was polite"));
}

#[test]
fn tau2_results_with_a_file_a_simulation() {
    let scratch = Scratch::new();
    scratch.write("run/results.json", format!("{{{TAU2_INFO},\"tasks\":[{TAU2_TASK}]}}"));
    scratch.write("run/simulations/sim-1.json", TAU2_SIMULATION);
    let ticks = r#"{"id":"sim-2","task_id":"[x]","termination_reason":"user_stop","reward_info":null,"messages":null,"ticks":[
       {"tick_id":0,"timestamp":"t","agent_chunk":{"role":"assistant","content":"Hel","utterance_ids":["u1"]},"user_chunk":null},
       {"tick_id":1,"timestamp":"t","agent_chunk":{"role":"assistant","content":"lo.","utterance_ids":["u1"]},"user_chunk":{"role":"user","content":"Ye","is_audio":false}},
       {"tick_id":2,"timestamp":"t","user_chunk":{"role":"user","content":"s."},"agent_tool_calls":[{"id":"a","name":"look","arguments":{}}],
        "agent_tool_results":[{"id":"a","role":"tool","content":"seen","requestor":"assistant"}]},
       {"tick_id":3,"timestamp":"t","agent_chunk":{"role":"assistant","content":"AAAA","is_audio":true,"audio_script_gold":"Done."}}]}"#;
    scratch.write("run/simulations/sim-2.json", ticks);
    let gathered = gather(Kind::Tau2, scratch.path());
    assert!(gathered.refusals.is_empty(), "{:?}", gathered.refusals);
    assert_eq!((gathered.logs.len(), gathered.tasks.len()), (2, 1));
    assert_eq!(sketch(&gathered.logs[0]), TAU2_STEPS);
    assert_eq!(gathered.logs[0].identity.model.as_ref().map(|fact| fact.value.as_str()), Some("m"));
    assert_eq!(
        sketch(&gathered.logs[1]),
        ["agent: Hello.", "Agent calls look {}", "output of 1: seen", "agent: Done.", "User: Yes."]
    );
    assert_eq!(gathered.logs[1].steps[0].at.pointer, "/ticks/0/agent_chunk/content");
    assert_eq!(gathered.logs[1].outcome.verdict, Verdict::None);
}

#[test]
fn two_versions_of_a_task_are_both_kept_and_the_second_is_warned_of() {
    let scratch = Scratch::new();
    scratch.write("1.json", format!("[{TAU2_TASK}]"));
    scratch.write("2.json", format!("[{}]", TAU2_TASK.replace("was polite", "was brief")));
    scratch.write("3.json", format!("[{}]", TAU2_TASK.replace("\"ticket\":", "\"initial_state\":null,\"ticket\":")));
    let gathered = gather(Kind::Tau2, scratch.path());
    assert_eq!((gathered.tasks.len(), gathered.summary.duplicates), (2, 1));
    assert!(gathered.tasks[0].warnings.is_empty());
    assert_eq!(gathered.tasks[1].warnings[0].code, WarningCode::TaskDiffers);
}

#[test]
fn tau2_contradictions_about_the_task() {
    let simulation = |id: &str, action: &str| {
        format!(
            r#"{{"task_id":"{id}","reward_info":{{"reward":0,"action_checks":[{{"action":{{"action_id":"{action}","name":"f"}}}}]}},"messages":[{{"role":"assistant","content":"{id}{action}"}}]}}"#
        )
    };
    let rows = [("3", "3_0", "3", false), ("3", "4_0", "4", true), ("a", "b_0", "a", false), ("3", "f_1", "3", false)];
    for (id, action, expected, contradicted) in rows {
        let text = format!("{{{TAU2_INFO},\"tasks\":[],\"simulations\":[{}]}}", simulation(id, action));
        let log = log_of(Kind::Tau2, "results.json", &text);
        assert_eq!(log.identity.task.as_ref().map(|fact| fact.value.as_str()), Some(expected), "{id} {action}");
        assert_eq!(warned(&log).contains(&WarningCode::TaskIdContradicted), contradicted, "{id} {action}");
    }
}

#[test]
fn tau_results() {
    let text = r#"[{"task_id":3,"trial":1,"reward":1.0,"info":{"reward_info":{"reward":0.0}},"traj":[
       {"role":"system","content":"P"},{"role":"user","content":"Hello"},
       {"role":"assistant","content":"Thought:\nlook\nAction:\n{\"name\": \"get\", \"arguments\": {\"id\": 1}}"},
       {"role":"user","content":"API output: {}"},
       {"role":"assistant","content":"Action:\n{\"name\": \"respond\", \"arguments\": {\"content\": \"Bye\"}}"}]},
      {"task_id":4,"trial":0,"reward":0,"info":{"error":"boom"},"traj":[]},
      {"reward":1,"traj":[]}]"#;
    let scratch = Scratch::new();
    let gathered = gather(Kind::Tau, &scratch.write("retail/act-lab-m-0.0_range_0--1.json", text));
    let log = &gathered.logs[0];
    assert_eq!(sketch(log)[3..5], ["Agent calls get {\"id\":1}", "output of 3: {}"]);
    assert!(warned(log).contains(&WarningCode::RewardsDiffer));
    assert_eq!(log.identity.task_key().as_deref(), Some("retail/3"));
    let model = log.identity.model.as_ref().expect("a model");
    assert_eq!((model.value.as_str(), &model.source), ("lab-m", &FactSource::Path));
    assert!(warned(&gathered.logs[1]).contains(&WarningCode::HarnessError));
    assert!(warned(&gathered.logs[1]).contains(&WarningCode::AgentAbsent));
    assert_eq!(gathered.refusals[0].place.to_string(), "/2");
    assert_eq!(
        refusal_of(Kind::Tau, "x.json", r#"[{"task_id":1,"trial":0,"reward":1}]"#).code,
        RefusalCode::NothingInIt
    );
}

#[test]
fn openai_conversations() {
    let line = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"r"}],"task_id":"t","metadata":{"model":"m","reward":1}}"#;
    let list = r#"[{"role":"user","content":"q2"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"g","input":{"b":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"shown"}],"is_error":true}]}]"#;
    let scratch = Scratch::new();
    let path = scratch.write("c.jsonl", format!("{line}\n\n{list}\n{{\"x\":1}}\n{{\"messages\":[\n"));
    let gathered = gather(Kind::Openai, &path);
    assert_eq!(sketch(&gathered.logs[0]), ["User: q", "Agent calls f {}", "output of 1: r"]);
    assert_eq!(gathered.logs[0].outcome.verdict, Verdict::Pass);
    assert_eq!(sketch(&gathered.logs[1]), ["User: q2", "Agent calls g {\"b\":1}", "error of 1: shown"]);
    assert_eq!(gathered.logs[1].steps[0].at.line, Some(3));
    let places: Vec<String> = gathered.refusals.iter().map(|refusal| refusal.place.to_string()).collect();
    assert_eq!(places, ["line 4, column 1", "line 5, column 14, at /messages/0"]);

    let lines = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n";
    let log = log_of(Kind::Openai, "d.jsonl", lines);
    assert_eq!(sketch(&log), ["User: a", "agent: b"]);
    assert_eq!(log.steps[1].at.line, Some(2));
    let holed = refusal_of(Kind::Openai, "d.jsonl", format!("{lines}{{\"role\":7}}\n"));
    assert_eq!(holed.place.to_string(), "line 3, column 1, at /role");
    for text in [line.to_owned(), list.to_owned(), format!("[{line}]"), format!("[{list}]")] {
        log_of(Kind::Openai, "e.json", &text);
    }
    let exchange = r#"{"input":[{"role":"user","content":"q"}],"output":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}"#;
    assert_eq!(sketch(&log_of(Kind::Openai, "g.jsonl", exchange)), ["User: q", "Agent calls f {}", "agent: a"]);
    assert_eq!(refusal_of(Kind::Openai, "f.jsonl", " \n").code, RefusalCode::NothingInIt);
}

#[test]
fn swe_bench_instances() {
    let instance = |id: &str, fail: &str| {
        format!(
            r#"{{"instance_id":"{id}","repo":"a/b","base_commit":"c","problem_statement":"It fails.","patch":"SOLUTION","test_patch":"+def test_a()","FAIL_TO_PASS":{fail},"PASS_TO_PASS":"[]"}}"#
        )
    };
    let rows = [r#"["t::a","t::b"]"#, r#""[\"t::a\", \"t::b\"]""#, r#""['t::a', 't::b']""#];
    let scratch = Scratch::new();
    for (index, row) in rows.iter().enumerate() {
        let one = instance("a__b-1", row);
        for (name, text) in [
            ("one.json", one.clone()),
            ("list.json", format!("[{one}]")),
            ("map.json", format!("{{\"a__b-1\":{one}}}")),
            ("rows.jsonl", format!("{one}\n")),
        ] {
            let gathered = gather(Kind::SweBench, &scratch.write(&format!("{index}-{name}"), text));
            let task = &gathered.tasks[0];
            let names: Vec<&str> = task.tests.iter().map(|test| test.name.as_str()).collect();
            assert_eq!(names, ["t::a", "t::b"], "{name} {row}");
            assert!(task.tests.iter().all(|test| test.list == TestList::FailToPass));
            assert_eq!(task.facts["repo"], "a/b");
            let all = serde_json::to_string(task).expect("JSON");
            assert!(all.contains("test_a") && !all.contains("SOLUTION"), "the patch is never read");
        }
    }
    let gathered = gather(Kind::SweBench, scratch.path());
    assert_eq!((gathered.summary.tasks, gathered.summary.duplicates), (1, 11));
    let wrong = refusal_of(Kind::SweBench, "x.json", instance("x", "\"t::a\""));
    assert_eq!(wrong.place.to_string(), "/FAIL_TO_PASS");
}

#[test]
fn task_folders() {
    let scratch = Scratch::new();
    scratch.write("a/task.toml", "version = \"1.0\"\n[metadata]\ntags = [\"x\", \"y\"]\ndifficulty = \"hard\"\n");
    scratch.write("a/instruction.md", "Do it.\n");
    scratch.write("a/solution/solve.sh", "the solution");
    scratch.write("a/tests/test_outputs.py", "def test_a():\n    assert True\n");
    scratch.write("a/tests/data.bin", [0xff, 0x00]);
    scratch.write("a/tests/ctrf.json", r#"{"results":{"tests":[{"name":"test_a","status":"passed"}]}}"#);
    scratch.write("b/task.yaml", "instruction: |\n  Do that.\ndifficulty: easy\n");
    scratch.write("b/run-tests.sh", "pytest\n");
    scratch.write("b/test_names.json", r#"{"task":"b","tests":["T::x[1-2]"]}"#);
    scratch.write("c/task.toml", "version = \n");
    scratch.write("d/task.toml", "version = \"1\"\n");
    scratch.write("e/README.md", "no task");
    scratch.write("f/task.toml", "[task]\nname = \"org/f\"\n");
    scratch.write("f/steps/1-plan/instruction.md", "First.");
    scratch.write("f/steps/2-do/instruction.md", "Then.");
    scratch.write("f/steps/2-do/tests/test.sh", "test_x() { true; }\n");
    scratch.write("f/environment/skills/s/task.toml", "not = \"a task\"\n");
    let gathered = gather(Kind::HarborTasks, scratch.path());
    let [a, b, f] = &gathered.tasks[..] else { panic!("{} tasks", gathered.tasks.len()) };
    assert_eq!((a.id.as_str(), a.facts["metadata.tags"].as_str()), ("a", "x, y"));
    let files: Vec<(&str, bool)> = a.verifier.iter().map(|file| (file.path.as_str(), file.text.is_some())).collect();
    assert_eq!(files, [("tests/ctrf.json", true), ("tests/data.bin", false), ("tests/test_outputs.py", true)]);
    assert!(!serde_json::to_string(a).expect("JSON").contains("the solution"));
    assert_eq!((a.tests[0].name.as_str(), a.tests[0].list), ("test_a", TestList::Ctrf));
    assert_eq!((b.instruction_text().as_str(), b.tests[0].name.as_str()), ("Do that.\n", "T::x[1-2]"));
    assert_eq!((f.id.as_str(), f.instruction_text().as_str()), ("org/f", "First.\n\nThen."));
    assert_eq!(f.verifier[0].path, "steps/2-do/tests/test.sh");
    let codes: Vec<(RefusalCode, String)> =
        gathered.refusals.iter().map(|refusal| (refusal.code, refusal.place.to_string())).collect();
    assert_eq!(
        codes,
        [(RefusalCode::Syntax, "line 1, column 11".to_owned()), (RefusalCode::WrongShape, "the file".to_owned())]
    );
    let summary = gathered.summary;
    assert_eq!((summary.files, summary.files_companions, summary.files_passed_over), (17, 11, 1));
    let one = gather(Kind::HarborTasks, &scratch.path().join("a/instruction.md"));
    assert_eq!(one.tasks[0].facts["metadata.difficulty"], "hard", "any file of the folder leads to the task");
    assert_eq!(gather(Kind::HarborTasks, &scratch.path().join("e/README.md")).refusals[0].code, RefusalCode::NotOfKind);
}

#[test]
fn files_of_this_project() {
    use parthack_env::sample::{self, Dice};
    let (mut calls, mut outputs, mut refused) = (0, 0, 0);
    for seed in 0..20 {
        let task = sample::task(seed);
        let steps = sample::trajectory(&task, &mut Dice::new(seed), 10);
        let replay = parthack_env::replay::Replay::run(&task, &steps);
        let bytes = parthack_env::payload::payload(&replay);
        let log = log_of(Kind::Parthackbench, "p.json", &String::from_utf8(bytes).expect("UTF-8"));
        assert_eq!(log.identity.task.as_ref().map(|fact| fact.value.as_str()), Some(task.spec.id.as_str()));
        assert!(log.warnings.iter().all(|warning| warning.code == WarningCode::AgentAbsent), "{:?}", log.warnings);
        calls += log.tool_calls();
        outputs += log.tool_outputs();
        refused += sketch(&log).iter().filter(|step| step.starts_with("error of")).count();
    }
    assert!(calls > 50 && calls == outputs && refused > 0, "{calls} calls, {outputs} outputs, {refused} refused");
    let text = r#"{"format":"parthack.candidate/1","task_id":"D1","steps":[{"op":"say","to":"user","text":"hi"},{"op":"delete","type":"ticket","id":"t-1"}]}"#;
    let log = log_of(Kind::Parthackbench, "c.json", text);
    assert_eq!(sketch(&log), ["agent: hi", "Agent calls delete {\"id\":\"t-1\",\"type\":\"ticket\"}"]);
    let other = refusal_of(Kind::Parthackbench, "x.json", r#"{"format":"parthack.task/1"}"#);
    assert_eq!((other.code, other.found.as_str()), (RefusalCode::NotOfKind, "the format \"parthack.task/1\""));
}
