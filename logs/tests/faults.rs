//! Files that are wrong in ways that any format can be, folders, and what counts as a duplicate.

mod support;

use std::str::FromStr;

use parthack_logs::{Kind, RefusalCode, import, limits};
use support::{Scratch, gather, log_of, refusal_of, warned};

const GOOD: &str = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"id":"1"}"#;

#[test]
fn words_of_kinds() {
    for kind in Kind::ALL {
        assert_eq!(Kind::from_str(kind.word()), Ok(kind));
        assert_eq!(serde_json::to_string(&kind).expect("JSON"), format!("\"{kind}\""));
    }
    let unknown = Kind::from_str("tau3").expect_err("no kind");
    assert!(unknown.to_string().contains("\"tau3\"") && unknown.to_string().contains("mini-swe-agent"));
}

#[test]
fn every_kind_says_where_text_is_no_text_and_no_json() {
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::HarborTasks) {
        let refusal = refusal_of(kind, "x.json", b"{\"a\":\"\xff\"}");
        assert_eq!((refusal.code, refusal.place.to_string().as_str()), (RefusalCode::NotUtf8, "byte 6"), "{kind}");
        let refusal = refusal_of(kind, "x.json", "{\"a\":\n [1,}");
        assert_eq!(
            (refusal.code, refusal.place.to_string().as_str()),
            (RefusalCode::Syntax, "line 2, column 5, at /a/1"),
            "{kind}"
        );
        let refusal = refusal_of(kind, "x.json", format!("{{\"a\":{}", "[".repeat(limits::MAX_DEPTH + 9)));
        assert_eq!(refusal.code, RefusalCode::TooDeep, "{kind}");
        let refusal = refusal_of(kind, "x.json", "{\"hello\":1}");
        assert_eq!(refusal.code, RefusalCode::NotOfKind, "{kind}");
        assert!(refusal.found.contains("hello"), "{kind}: {refusal}");
        assert!(refusal_of(kind, "x.json", "").place.to_string().contains(['1', 'f']), "{kind}");
    }
}

#[test]
fn absurd_sizes_and_missing_files() {
    let scratch = Scratch::new();
    let path = scratch.write("huge.json", "");
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("opens");
    file.set_len(limits::MAX_FILE_BYTES + 1).expect("a sparse file");
    let gathered = gather(Kind::Atif, &path);
    assert_eq!(gathered.refusals[0].code, RefusalCode::TooLarge);
    let gathered = gather(Kind::Atif, &scratch.path().join("nowhere.json"));
    assert_eq!(gathered.refusals[0].code, RefusalCode::Unreadable);
    assert_eq!(gathered.summary.files_refused, 1);
}

#[test]
fn one_bad_file_stops_nothing_and_the_order_is_that_of_names() {
    let scratch = Scratch::new();
    scratch.write("b/2.jsonl", GOOD.replace('q', "second"));
    scratch.write("a.jsonl", GOOD.replace('q', "first"));
    scratch.write("b/1.jsonl", "{");
    scratch.write("b/3.txt", "passed over");
    scratch.write("c.jsonl", GOOD.replace('q', "third"));
    let gathered = gather(Kind::Openai, scratch.path());
    let first: Vec<&str> = gathered.logs.iter().map(|log| log.steps[0].content.text()).collect();
    assert_eq!(first, ["first", "second", "third"]);
    assert_eq!(gathered.refusals.len(), 1);
    let summary = &gathered.summary;
    assert_eq!((summary.files, summary.files_read, summary.files_refused, summary.files_passed_over), (5, 3, 1, 1));
    assert_eq!(summary.refused[0].place, "line 1, column 2");
    let again = gather(Kind::Openai, scratch.path()).summary;
    assert_eq!(serde_json::to_string(&again).expect("JSON"), serde_json::to_string(summary).expect("JSON"));
}

#[test]
fn a_line_that_cannot_be_read_costs_itself_alone() {
    let instance = |id: &str| {
        format!(
            r#"{{"instance_id":"{id}","problem_statement":"Fix it.","test_patch":"","FAIL_TO_PASS":[],"PASS_TO_PASS":[]}}"#
        )
    };
    for (kind, first, second) in
        [(Kind::Openai, GOOD.to_owned(), GOOD.replace('q', "another")), (Kind::SweBench, instance("a"), instance("b"))]
    {
        for name in ["x.jsonl", "x.json"] {
            let bytes = [first.as_bytes(), b"\n{\"a\":\"\xff\"}\n\n{\"a\":1,}\n", second.as_bytes(), b"\n"].concat();
            let scratch = Scratch::new();
            let gathered = gather(kind, &scratch.write(name, &bytes));
            assert_eq!(gathered.logs.len() + gathered.tasks.len(), 2, "{kind} {name}");
            let places: Vec<_> =
                gathered.refusals.iter().map(|refusal| (refusal.code, refusal.place.to_string())).collect();
            let (text, syntax) = (RefusalCode::NotUtf8, RefusalCode::Syntax);
            assert_eq!(places, [(text, "line 2, column 7".to_owned()), (syntax, "line 4, column 8".to_owned())]);
            assert_eq!(gathered.summary.files_read, 1);
        }
        // The first line is lost, and the others tell what the file is.
        let bytes = [b"\xff\n", first.as_bytes(), b"\n"].concat();
        let scratch = Scratch::new();
        let gathered = gather(kind, &scratch.write("x.jsonl", &bytes));
        assert_eq!((gathered.logs.len() + gathered.tasks.len(), gathered.refusals.len()), (1, 1), "{kind}");
    }
    let hole = b"{\"role\":\"user\",\"content\":\"q\"}\n\xff\n{\"role\":\"assistant\",\"content\":\"a\"}\n";
    let refusal = refusal_of(Kind::Openai, "x.jsonl", hole);
    assert_eq!((refusal.code, refusal.place.to_string().as_str()), (RefusalCode::NotUtf8, "line 2, column 1"));
}

#[test]
fn the_condition_is_told_by_the_folder_that_is_imported_and_what_lies_below() {
    use parthack_logs::Condition::{NoneKnown, WithSkill, WithoutSkill};
    let scratch = Scratch::new();
    scratch.write("jobs/with-skills/x/run.jsonl", GOOD);
    scratch.write("jobs/with-skills/no-skills/run.jsonl", GOOD.replace('q', "nearer"));
    let of = |folder: &str| -> Vec<_> {
        let logs = gather(Kind::Openai, &scratch.path().join(folder)).logs;
        logs.iter().map(|log| (log.identity.condition, log.identity.condition_source.is_some())).collect()
    };
    let both = [(WithoutSkill, true), (WithSkill, true)];
    for folder in ["jobs", "jobs/with-skills", "jobs/with-skills/.", "jobs/with-skills/x/.."] {
        assert_eq!(of(folder), both, "{folder}");
    }
    assert_eq!(of("jobs/with-skills/x"), [(NoneKnown, false)], "what lies above was not imported");
    let stated = GOOD.replace("\"id\"", "\"condition\":\"without-skill\",\"id\"");
    let logs = gather(Kind::Openai, scratch.write("with-skill/run.jsonl", stated).parent().expect("a folder")).logs;
    assert_eq!(logs[0].identity.condition, WithoutSkill);
    assert!(warned(&logs[0]).contains(&parthack_logs::WarningCode::ConditionContradicted));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_not_followed() {
    let scratch = Scratch::new();
    scratch.write("a/1.jsonl", GOOD);
    std::os::unix::fs::symlink(scratch.path(), scratch.path().join("a/loop")).expect("a link");
    assert_eq!(gather(Kind::Openai, scratch.path()).summary.files, 1);
}

#[test]
fn what_is_a_duplicate() {
    let scratch = Scratch::new();
    let mut files = 0;
    let mut add = |text: String| {
        files += 1;
        scratch.write(&format!("{files}.jsonl"), text);
        let summary = gather(Kind::Openai, scratch.path()).summary;
        (summary.logs, summary.duplicates)
    };
    assert_eq!(add(GOOD.to_owned()), (1, 0));
    assert_eq!(add(GOOD.to_owned()), (1, 1), "a copy");
    assert_eq!(
        add(GOOD.replace("\"id\":\"1\"", "\"unknown\":0,\"id\":\"1\"")),
        (1, 2),
        "what is not read makes no difference"
    );
    assert_eq!(add(GOOD.replace("\"id\":\"1\"", "\"id\":\"2\"")), (2, 2), "another run of the same words");
    assert_eq!(add(GOOD.replace("\"a\"", "\"b\"")), (3, 2), "other words");
    assert_eq!(add(GOOD.replace("\"id\":\"1\"", "\"id\":\"1\",\"model\":\"m\"")), (4, 2), "another model");
    assert_eq!(add(GOOD.replace("\"id\":\"1\"", "\"id\":\"1\",\"reward\":1")), (5, 2), "another outcome");
}

#[test]
fn what_is_let_pass_is_warned_of() {
    use parthack_logs::WarningCode::{KeyRepeated, SurrogateReplaced};
    let text = r#"{"messages":[{"role":"user","content":"x","content":"y\udc80"},{"role":"assistant","content":"a"}]}"#;
    let log = log_of(Kind::Openai, "x.json", text);
    assert_eq!(log.steps[0].content.text(), "y\u{fffd}");
    assert_eq!(warned(&log), [KeyRepeated, SurrogateReplaced]);
    let marked = format!("\u{feff}{GOOD}");
    assert_eq!(log_of(Kind::Openai, "x.json", &marked).steps.len(), 2, "a byte order mark");
}

#[test]
fn warnings_and_steps_are_bounded() {
    let outputs = vec![r#"{"role":"tool","content":"x"}"#; 500].join(",");
    let log = log_of(Kind::Openai, "x.json", &format!("[{{\"role\":\"user\",\"content\":\"q\"}},{outputs}]"));
    assert_eq!(log.warnings.len(), limits::MAX_WARNINGS + 1);
    assert!(log.warnings[limits::MAX_WARNINGS].found.contains("401"), "{:?}", log.warnings.last());
}

#[test]
fn a_log_survives_its_own_json() {
    let log = log_of(Kind::Openai, "x.json", GOOD);
    let text = serde_json::to_string(&log).expect("JSON");
    let back: parthack_logs::Log = serde_json::from_str(&text).expect("the same type");
    assert_eq!(back, log);
    assert_eq!(back.content_hash(), log.content_hash());
}

#[test]
fn nothing_is_read_before_it_is_asked_for() {
    let scratch = Scratch::new();
    scratch.write("1.jsonl", GOOD);
    let mut run = import(Kind::Openai, scratch.path());
    scratch.write("1.jsonl", "{");
    assert!(run.next().is_some_and(|found| found.is_err()));
}
