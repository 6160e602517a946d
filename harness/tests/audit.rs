//! Audits pass on a clean run, and each catches the failures that are planted for it.

mod audit_support;
mod cli_support;
mod loopback;

use std::fs;
use std::path::Path;

use audit_support::{Audited, Planted, base64, clean_run, secrets, suite_key};
use cli_support::{certifier, command, finish, parthack, works};
use loopback::Loopback;
use parthack::audit::{Audit, AuditVerdict};
use parthack::ledger::{AttemptRecord, PrivateRecord, Record, RecordedScore};
use parthack_env::canonical::Hash;
use serde_json::{Value, json};

/// All audits but those that take seconds.
const QUICK: [Audit; 7] = [
    Audit::SerializerSchema,
    Audit::Leakage,
    Audit::NoVerdict,
    Audit::SamePayload,
    Audit::Certifier,
    Audit::MutationControls,
    Audit::Counts,
];

#[test]
fn a_clean_run_passes_every_audit() {
    let report = Audited::new(clean_run()).run(&Audit::ALL);
    for result in &report.results {
        let why = format!("{}: {:?} {:#?}", result.audit.id(), result.verdict, result.outcome.findings);
        assert_eq!(result.verdict, AuditVerdict::Pass, "{why}");
        assert!(result.outcome.checked > 0, "{} looked at nothing", result.audit.id());
    }
    assert_eq!(report.results.len(), Audit::ALL.len());
    let count = |audit: Audit, kind: &str| {
        let result = report.results.iter().find(|result| result.audit == audit).expect("an audit");
        let of_kind = result.outcome.counts.iter().filter(|(name, _)| name.starts_with(kind));
        of_kind.map(|(_, number)| *number).sum::<u64>()
    };
    assert!(count(Audit::Leakage, "of them canaries") >= 8);
    assert!(count(Audit::NoVerdict, "scores without a recording") > 0, "the run has cells without a score");
    for purpose in ["calls: judgement", "calls: probe", "calls: checklist"] {
        assert!(count(Audit::Requests, purpose) > 0, "{purpose}");
    }
    assert!(count(Audit::PrivateAccess, "probes inside the sandbox") >= 50);
}

#[test]
fn schemas_catch_what_no_reader_looks_at() {
    let planted = Planted::new();
    // A payload with a word too many, under its own hash everywhere.
    let old = planted.first_of("objects/payloads");
    let mut payload: Value = serde_json::from_slice(&fs::read(&old).expect("a payload")).expect("JSON");
    payload["verdict"] = json!("eligible");
    let bytes = parthack_env::canonical::canonical_bytes(
        &parthack_env::json::Json::parse(payload.to_string().as_bytes()).expect("JSON"),
    );
    let (was, now) = (stem(&old), Hash::of("payload", &bytes).hex());
    fs::remove_file(&old).expect("removed");
    fs::write(planted.path(&format!("objects/payloads/{now}.json")), bytes).expect("written");
    planted.forge(|records| {
        for record in records {
            let text = serde_json::to_string(record).expect("JSON").replace(&was, &now);
            *record = serde_json::from_str(&text).expect("a record");
        }
    });
    planted.catch(&QUICK, Audit::SerializerSchema, "objects/payloads", "verdict");

    let planted = Planted::new();
    planted.edit_json("tables/tables.json", |tables| tables["tables"][0]["surprise"] = json!(1));
    planted.catch(&QUICK, Audit::SerializerSchema, "tables/tables.json", "surprise");

    let planted = Planted::new();
    planted.edit_text("journal/000001.jsonl", |text| text.replacen("\"kind\":\"honest\"", "\"kind\":\"honesty\"", 1));
    planted.catch(&QUICK, Audit::SerializerSchema, "journal/000001.jsonl, line", "");

    let planted = Planted::new();
    planted.edit_text("complete.json", |text| text.replacen("\":\"", "\": \"", 1));
    planted.catch(&QUICK, Audit::SerializerSchema, "complete.json", "other bytes");
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// One canary in each kind of place, each a different one, so that every place answers for itself.
#[test]
fn leaks_are_found_in_every_kind_of_place() {
    let planted = Planted::new();
    let canaries = secrets().canaries;
    let mut expected = Vec::new();
    let mut canary = |place: &str| {
        let index = expected.len();
        expected.push((place.to_owned(), index));
        canaries[index].clone()
    };
    let exchange = planted.first_below("objects/exchanges");
    let append = |place: &str, text: &str| {
        let path = planted.path(place);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let mut bytes = fs::read(&path).unwrap_or_default();
        bytes.extend_from_slice(text.as_bytes());
        fs::write(path, bytes).expect("written");
    };
    planted.edit_manifest({
        let text = canary("manifest.json");
        move |manifest| manifest.evaluators[0].title.push_str(&text)
    });
    for place in [
        "journal/000001.jsonl",
        "ledger.jsonl",
        "complete.json",
        "tables/tables.txt",
        "telemetry.jsonl",
        "spending.jsonl",
        "report.html",
        "audit.json",
        "stdout.log",
        ".lock",
        "objects/payloads/aa.json",
        "objects/trajectories/aa.json",
        "objects/exchanges/aa/bb.json",
    ] {
        let text = canary(place);
        append(place, &format!("\nwords before {text} and after\n"));
    }
    // Within the prompt and the answer of a recorded exchange.
    let (prompt, answer) = (canary(&exchange), canary(&exchange));
    planted.edit_json(&exchange, |exchange| {
        exchange["request"]["messages"][0]["content"] = json!(format!("You are {prompt}."));
        exchange["response"]["content"] = json!(format!("{{\"score\": 1, \"why\": \"{answer}\"}}"));
    });
    let text = canary("name of tables/");
    fs::write(planted.path(&format!("tables/{text}.md")), b"").expect("written");
    let text = canary("name of objects/");
    fs::create_dir(planted.path(&format!("objects/{text}"))).expect("a folder");
    let text = canary("suite: PH-D01.json");
    let suite = planted.copy_suite();
    let task = fs::read_to_string(suite.join("PH-D01.json")).expect("a task");
    fs::write(suite.join("PH-D01.json"), format!("{task}\n{text}\n")).expect("written");
    let text = canary("recordings: exchanges/aa/cc.json");
    let recordings = planted.path("private/recordings");
    fs::create_dir_all(recordings.join("exchanges/aa")).expect("a folder");
    fs::write(recordings.join("exchanges/aa/cc.json"), json!({ "content": text }).to_string()).expect("written");

    let mut audited = Audited::new(&planted.folder);
    audited.suite_bytes = Some(suite);
    audited.recordings = vec![recordings];
    let findings = audited.findings(Audit::Leakage);
    for (place, index) in &expected {
        let what = format!("{} (plain)", secrets().names[*index]);
        let found = findings.iter().filter(|finding| finding.place.contains(place) && finding.found == what).count();
        assert_eq!(found, 1, "{place}, {what}: {findings:#?}");
    }
    assert_eq!(findings.len(), expected.len(), "{findings:#?}");
    let shown = format!("{findings:?}");
    let named = |canary: &str| ["tables", "objects"].iter().any(|folder| shown.contains(&format!("{folder}/{canary}")));
    assert!(!canaries.iter().any(|canary| shown.contains(canary.as_str()) && !named(canary)));
}

/// Every encoding, in a file of its own; and every kind of secret.
#[test]
fn leaks_are_found_in_every_encoding() {
    let planted = Planted::new();
    let secrets = secrets();
    let secret = secrets.canaries[0].as_str();
    let hex = |separator: &str| secret.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(separator);
    let shifted = |lead: &str| base64(format!("{lead}{secret} and more").as_bytes());
    let escaped: String = secret.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let (head, tail) = secret.split_at(secret.len() / 2);
    let cases = [
        ("plain", secret.to_owned(), "plain"),
        ("upper-case", secret.to_uppercase(), "plain"),
        ("lower-case", secret.to_lowercase(), "plain"),
        ("reversed", secret.chars().rev().collect(), "reversed"),
        ("hexadecimal", hex(""), "hexadecimal"),
        ("hexadecimal-upper", hex("").to_uppercase(), "hexadecimal"),
        ("hexadecimal-colons", hex(":"), "hexadecimal, split"),
        ("base64-0", shifted(""), "base64"),
        ("base64-1", shifted("x"), "base64"),
        ("base64-2", shifted("xy"), "base64"),
        ("base64-url", base64(format!("\u{3ff}?>{secret}").as_bytes()).replace('+', "-").replace('/', "_"), "base64"),
        (
            "base64-lines",
            shifted("").as_bytes().chunks(16).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\r\n"),
            "base64, split",
        ),
        ("percent", percent, "plain, escaped"),
        ("json-escapes", format!("{{\"text\":\"{escaped}\"}}"), "plain, escaped"),
        ("json-in-json", json!(json!(format!("{head}\n{tail}")).to_string()).to_string(), "plain, escaped"),
        ("lines", format!("{head}\n    {tail}"), "plain, split"),
        ("separators", secret.chars().map(|c| format!("{c} ")).collect(), "plain, split"),
        ("utf-16", secret.chars().map(|c| format!("{c}\0")).collect(), "plain, split"),
        (
            "separators-not-ascii",
            secret.chars().zip("\u{200b}\u{a0}·—\u{ad}".chars().cycle()).flat_map(|(c, s)| [c, s]).collect(),
            "plain, split",
        ),
        ("digits", secret.rsplit('-').next().expect("digits").to_owned(), "plain"),
        ("list", json!([head, tail]).to_string(), "plain, split"),
        ("private-id", secrets.private_id.clone(), "plain"),
        ("redaction-key", secrets.redaction_key.clone(), "plain"),
        ("sealed-text", secrets.sealed_text.clone(), "plain"),
    ];
    for (name, text, _) in &cases {
        fs::write(planted.path(&format!("{name}.log")), format!("before {text} after")).expect("written");
    }
    // One that lies across the border of two pieces of a long file.
    let long = format!("{}{secret}{}", "x".repeat((1 << 19) - 9), "x".repeat(1 << 19));
    fs::write(planted.path("long.log"), long).expect("written");
    let findings = Audited::new(&planted.folder).findings(Audit::Leakage);
    for (name, _, expected) in &cases {
        let found: Vec<&str> = (findings.iter())
            .filter(|finding| finding.place.starts_with(&format!("{name}.log,")))
            .map(|finding| finding.found.as_str())
            .collect();
        // What is percent-encoded is hexadecimal with separators too.
        assert!(found.iter().any(|found| found.ends_with(&format!("({expected})"))), "{name}: {found:?}");
        let secret = |at: usize| found[at].split(" (").next();
        assert!((0..found.len()).all(|at| secret(at) == secret(0)), "{name}: {found:?}");
    }
    assert!(findings.iter().any(|finding| finding.place == format!("long.log, byte {}", (1 << 19) - 9)));
    let of_a_case = |place: &str| cases.iter().any(|(name, ..)| place.starts_with(&format!("{name}.log,")));
    assert!(findings.iter().all(|f| of_a_case(&f.place) || f.place.starts_with("long.log")), "{findings:#?}");
}

#[test]
fn the_suites_key_and_links_out_of_the_run_are_found() {
    let planted = Planted::new();
    let key = suite_key();
    fs::write(planted.path("stdout.log"), format!("key {key}\n")).expect("written");
    fs::write(planted.path("tables/more.md"), base64(key.as_bytes())).expect("written");
    let findings = planted.findings(Audit::Leakage);
    let found = |place: &str, what: &str| findings.iter().any(|f| f.place == place && f.found.contains(what));
    assert!(found("stdout.log", "the suite's key (plain)"), "{findings:#?}");
    assert!(found("tables/more.md", "the suite's key (base64)"), "{findings:#?}");
    assert!(!format!("{findings:?}").contains(&key));

    // A link to a folder of plain packages, one to a file, one to nothing.
    #[cfg(unix)]
    {
        let planted = Planted::new();
        let elsewhere = tempfile::tempdir().expect("a folder");
        fs::write(elsewhere.path().join("PH-D01.json"), secrets().canaries[0].as_str()).expect("written");
        let links = ["packages", "tables/one.json", "objects/gone"];
        for (name, target) in links.into_iter().zip(["", "PH-D01.json", "absent"]) {
            std::os::unix::fs::symlink(elsewhere.path().join(target), planted.path(name)).expect("linked");
        }
        let findings = planted.findings(Audit::Leakage);
        for name in links {
            let named = findings.iter().any(|f| f.place == name && f.found.starts_with("a symbolic link to"));
            assert!(named, "{name}: {findings:#?}");
        }
    }
}

/// A pipe would keep a reader waiting for ever.
#[cfg(unix)]
#[test]
fn pipes_are_no_input() {
    let program = certifier().display().to_string();
    let piped = |name: &str| {
        let planted = Planted::new();
        fs::remove_file(planted.path(name)).expect("removed");
        assert!(std::process::Command::new("mkfifo").arg(planted.path(name)).status().expect("mkfifo").success());
        planted
    };
    for name in ["manifest.json", "ledger.jsonl"] {
        let planted = piped(name);
        let run = planted.folder.display().to_string();
        for call in [&["tables", &run][..], &["verify", &run, "--certifier", &program], &["audit", &run]] {
            let done = parthack(call);
            let said = done.code == 3 && done.err.contains(&format!("{name}: the file: found a folder, a pipe"));
            assert!(said && !done.err.contains("--resume"), "{call:?}: {} {}", done.code, done.err);
        }
    }
    for name in ["complete.json", "tables/tables.json"] {
        let planted = piped(name);
        let run = planted.folder.display().to_string();
        let done = parthack(&["verify", &run, "--certifier", &program]);
        assert!(done.code == 1 && done.out.contains(name), "{}{}", done.out, done.err);
        planted.catch(&[Audit::SerializerSchema, Audit::SamePayload], Audit::SerializerSchema, name, "a pipe");
        planted.catch(&[Audit::Leakage], Audit::Leakage, name, "a pipe or a device");
    }
}

#[test]
fn folders_that_are_missing_are_findings() {
    for name in ["journal", "objects/trajectories"] {
        let planted = Planted::new();
        fs::remove_dir_all(planted.path(name)).expect("removed");
        let chosen = [Audit::SerializerSchema, Audit::NoVerdict, Audit::Leakage];
        planted.catch(&chosen, Audit::SerializerSchema, name, "no folder");
    }
}

#[test]
fn what_may_be_compressed_is_noted() {
    let planted = Planted::new();
    for name in ["tables/tables.gz", "telemetry.zst"] {
        fs::write(planted.path(name), b"\x1f\x8b\x08\x00\xff\xfe").expect("written");
    }
    let report = Audited::new(&planted.folder).run(&[Audit::Leakage]);
    let notes = &report.results[0].outcome.notes;
    assert!(report.passed() && notes.iter().any(|note| note.contains("tables/tables.gz and 1 more")), "{notes:?}");
}

#[test]
fn a_missing_verdict_that_became_a_zero() {
    let planted = Planted::new();
    planted.forge(|records| {
        let missing = records.iter_mut().find_map(|record| match record {
            Record::Score(score) if score.score.score().is_none() => Some(score),
            _ => None,
        });
        missing.expect("a cell without a verdict").score = RecordedScore::Exact("0".to_owned());
        let missing = records.iter().filter(|r| matches!(r, Record::Score(s) if s.score.score().is_none())).count();
        for record in records {
            if let Record::Audit(audit) = record
                && audit.name == "no-verdict"
            {
                audit.faults = missing as u64;
            }
        }
    });
    planted.catch(&QUICK, Audit::NoVerdict, "score", "a score although 0 of");

    // The same cell in the table alone: the pair has no verdict, and the table says that none is missing.
    let planted = Planted::new();
    planted.edit_json("tables/tables.json", |tables| {
        let row = row_of(tables, "B.2", "csps");
        row["no_verdict"] = json!(1);
        row["conditional_asr"]["n"] = json!(row["conditional_asr"]["n"].as_u64().expect("a denominator") - 1);
    });
    planted.catch(&QUICK, Audit::NoVerdict, "table B.2, csps", "1");

    let planted = Planted::new();
    planted.edit_text("ledger.jsonl", |text| text.replacen("{\"exact\":", "{\"no_verdict\":\"why\",\"exact\":", 1));
    let findings = planted.findings(Audit::NoVerdict);
    assert!(findings.iter().any(|finding| finding.found.contains("[\"exact\", \"no_verdict\"]")), "{findings:#?}");
}

fn row_of<'t>(tables: &'t mut Value, id: &str, evaluator: &str) -> &'t mut Value {
    let tables = tables["tables"].as_array_mut().expect("tables");
    let table = tables.iter_mut().find(|table| table["id"] == id).expect(id);
    let rows = table["rows"].as_array_mut().expect("rows");
    let named = |row: &&mut Value| row["evaluator"] == evaluator || row["target"] == evaluator;
    rows.iter_mut().find(named).expect(evaluator)
}

#[test]
fn a_score_of_other_bytes() {
    let planted = Planted::new();
    planted.forge(|records| {
        let others: Vec<String> = (records.iter())
            .filter_map(|r| if let Record::Honest(r) = r { Some(r.payload.clone()) } else { None })
            .collect();
        let score = records.iter_mut().find_map(|record| match record {
            Record::Score(score) if score.evaluator == "csps" => Some(score),
            _ => None,
        });
        let score = score.expect("a score");
        score.payload = others.into_iter().find(|other| *other != score.payload).expect("another payload");
    });
    planted.catch(&QUICK, Audit::SamePayload, "csps", "");

    let planted = Planted::new();
    let mut bytes = fs::read(planted.first_of("objects/payloads")).expect("a payload");
    bytes.push(b' ');
    fs::write(planted.first_of("objects/payloads"), bytes).expect("written");
    let findings = planted.findings(Audit::SamePayload);
    assert!(findings.iter().any(|f| f.expected.contains("the hash of the bytes there")), "{findings:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_that_holds_less_than_is_claimed() {
    let mut audited = Audited::new(clean_run());
    audited.tier = Some(0);
    let findings = audited.findings(Audit::PrivateAccess);
    let open =
        |id: &str| findings.iter().any(|f| f.place.starts_with(&format!("probe {id} ")) && f.found.contains("open"));
    for id in ["write-tmp", "parent-cmdline", "fork"] {
        assert!(open(id), "{id}: {findings:#?}");
    }
    // A program that runs no probe is no evidence.
    audited.tier = None;
    audited.program = "/bin/true".into();
    let findings = audited.findings(Audit::PrivateAccess);
    assert!(findings.iter().all(|finding| finding.expected == "a report") && !findings.is_empty(), "{findings:#?}");
}

#[test]
fn requests_that_were_not_made() {
    let chosen = [&QUICK[..], &[Audit::Requests]].concat();
    let planted = Planted::new();
    planted.forge(|records| {
        let mut judgements = records.iter_mut().filter_map(|record| match record {
            Record::Judgement(judgement) if !judgement.exchanges.is_empty() => Some(judgement),
            _ => None,
        });
        let (one, two) = (judgements.next().expect("one"), judgements.next().expect("two"));
        std::mem::swap(&mut one.exchanges, &mut two.exchanges);
    });
    planted.catch(&chosen, Audit::Requests, "call 1", "exchange");

    let planted = Planted::new();
    let exchange = planted.first_below("objects/exchanges");
    planted.edit_json(&exchange, |exchange| exchange["request"]["temperature"] = json!(1));
    planted.catch(&chosen, Audit::Requests, "objects/exchanges", "");
}

/// A model attacks and judges; its answers are recorded in the run alone.
#[test]
fn a_run_with_a_model_as_the_attacker_passes() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (server, out) = (Loopback::start(), scratch.path().join("run"));
    let mut command = command();
    command.env("OPENAI_API_KEY", "sk-of-a-test-0815").env("OPENAI_BASE_URL", &server.url);
    command.args(["run", "--tasks", "PH-D01,PH-H05", "--resamples", "100", "--model-mode", "live"]);
    command.args(["--attacker", "llm", "--budget", "2", "--feedback", "public-score"]);
    command.args(["--targets", "historical-milestone", "--evaluators", "historical-milestone,csps,llm-judge"]);
    command.args(["--role", "attacker=openai/gpt-4.1-mini", "--role", "judge=openai/gpt-4.1-mini"]);
    command.arg("--certifier").arg(certifier()).arg("--out").arg(&out);
    let ended = finish(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let asked = server.requests();
    let chosen = [&QUICK[..], &[Audit::Requests, Audit::Reproduction]].concat();
    let report = Audited::new(&out).run(&chosen);
    for result in &report.results {
        assert_eq!(result.verdict, AuditVerdict::Pass, "{}: {:#?}", result.audit.id(), result.outcome);
    }
    let requests = report.results.iter().find(|result| result.audit == Audit::Requests).expect("the audit");
    assert_eq!(requests.outcome.counts.get("calls: attack, openai/gpt-4.1-mini"), Some(&4), "{:?}", requests.outcome);
    assert_eq!(server.requests(), asked, "audits ask no model");
}

#[test]
fn a_run_that_does_not_happen_again() {
    let chosen = [&QUICK[..], &[Audit::Reproduction]].concat();
    let planted = Planted::new();
    planted.forge(|records| {
        let score = records.iter_mut().find_map(|record| match record {
            Record::Score(score) if score.evaluator == "cape-max" => Some(score),
            _ => None,
        });
        score.expect("a score").score = RecordedScore::Exact("3/7".to_owned());
    });
    planted.catch(&chosen, Audit::Reproduction, "cape-max", "another record");

    let planted = Planted::new();
    planted.edit_text("tables/tables.csv", |text| text.replacen('0', "1", 1));
    planted.catch(&chosen, Audit::Reproduction, "tables/tables.csv", "other bytes");
}

#[test]
fn a_certification_that_does_not_hold() {
    let planted = Planted::new();
    planted.forge_private(|record| match record {
        PrivateRecord::Vectors { c_agent, .. } if c_agent.contains('1') => {
            *c_agent = c_agent.replacen('1', "0", 1);
            true
        }
        _ => false,
    });
    planted.catch(&QUICK, Audit::Certifier, "c_agent", "");

    let planted = Planted::new();
    planted.forge_private(|record| match record {
        PrivateRecord::Code { code } if code == "eligible" => {
            *code = "state_vector_mismatch".to_owned();
            true
        }
        _ => false,
    });
    planted.catch(&QUICK, Audit::Certifier, "code", "state_vector_mismatch");

    let planted = Planted::new();
    planted.forge(|records| {
        let honest = records.iter_mut().find_map(|r| if let Record::Honest(r) = r { Some(r) } else { None });
        honest.expect("an honest record").p_agent = "1/7".to_owned();
    });
    planted.catch(&QUICK, Audit::Certifier, "honest", "1/7");
}

#[test]
fn a_mutation_that_was_let_through() {
    let planted = Planted::new();
    planted.forge_private(|record| match record {
        PrivateRecord::Control { forward: Some(forward), .. } if forward == "replay_mismatch" => {
            *forward = "eligible".to_owned();
            true
        }
        _ => false,
    });
    planted.catch(&QUICK, Audit::MutationControls, "forward certifier", "eligible");

    let planted = Planted::new();
    planted.forge(|records| {
        let control = records.iter_mut().find_map(|r| if let Record::Control(r) = r { Some(r) } else { None });
        control.expect("a control").as_expected = false;
    });
    planted.catch(&QUICK, Audit::MutationControls, "as_expected", "false");
}

#[test]
fn cells_and_denominators_that_are_not_the_plans() {
    let planted = Planted::new();
    planted.forge(|records| {
        // Of a development task: tables assert the counts of held-out ones themselves, and are not printed without.
        let attempt = records.iter().find_map(|r| match r {
            Record::Attempt(r) if r.task == "PH-D01" => Some(r.clone()),
            _ => None,
        });
        let second = AttemptRecord {
            attempt: 2,
            candidate: None,
            payload: None,
            steps: None,
            score: None,
            search: None,
            eligible: false,
            fault: None,
            ..*attempt.expect("an attempt")
        };
        records.push(Record::Attempt(Box::new(second)));
    });
    planted.catch(&QUICK, Audit::Counts, "attempt 2", "a cell in the ledger");

    let planted = Planted::new();
    planted.edit_json("tables/tables.json", |tables| row_of(tables, "2", "csps")["coverage"]["n"] = json!(17));
    planted.catch(&QUICK, Audit::Counts, "table 2, csps, coverage.n", "17");
}

#[test]
fn the_command_reports_and_changes_nothing() {
    let planted = Planted::new();
    let run = planted.folder.display().to_string();
    let before = audit_support::bytes_below(&planted.folder);
    let program = certifier().display().to_string();
    let only = ["--only", "same-payload,counts,no-verdict", "--certifier", &program];
    let report = works(&[&["audit", &run, "--format", "json"][..], &only].concat());
    let schema: Value = works(&["schema", "audit"]).json();
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&report.json()).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let ids: Vec<Value> = report.json()["audits"].as_array().expect("audits").iter().map(|a| a["id"].clone()).collect();
    assert_eq!(ids, [json!("no-verdict"), json!("same-payload"), json!("counts")]);
    assert!(report.err.contains("same-payload: pass in"), "{}", report.err);
    assert_eq!(audit_support::bytes_below(&planted.folder), before);
    works(&[&["audit", &run, "--write"][..], &only].concat());
    let mut after = audit_support::bytes_below(&planted.folder);
    let written: Value = serde_json::from_slice(&after.remove("audit.json").expect("a report")).expect("JSON");
    assert_eq!((written, after), (report.json(), before));

    planted.edit_json("tables/tables.json", |tables| row_of(tables, "2", "csps")["coverage"]["n"] = json!(17));
    let failed = parthack(&[&["audit", &run][..], &only].concat());
    assert_eq!(failed.code, 1, "{}", failed.err);
    assert!(failed.out.contains("FAULT table 2, csps, coverage.n: found 17, expected 1"), "{}", failed.out);
    // Without packages the public audits still run, and the others say why they don't.
    let nowhere = planted.path("nowhere").display().to_string();
    let partly = works(&["audit", &run, "--only", "leakage,same-payload", "--certifier", &nowhere]);
    assert!(partly.out.contains("leakage            not-run") && partly.out.contains("1 passed, 0 failed, 1 not run"));
    let unknown = parthack(&["audit", &run, "--only", "everything"]);
    assert!(unknown.code == 2 && unknown.err.contains("serializer-schema"), "{}", unknown.err);
}
