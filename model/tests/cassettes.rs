//! Recordings: what is recorded is replayed, once is enough, and nothing that dies or rots goes unnoticed.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use parthack_model::answer::NoAnswer;
use parthack_model::cassette::{Cassette, CassetteError, EXCHANGE_FORMAT, Prune, RecordedExchange};
use parthack_model::client::{Call, Client, ModelMode};
use parthack_model::completion::Response;
use parthack_model::error::ClientError;
use parthack_model::role::RoleConfig;
use serde_json::json;

use support::{GOOD, Reply, Server, ask, assert_no_key_below, cites_exist, options, prompt, role};

/// Set for the process that a test starts and kills.
const CHILD: &str = "PARTHACK_TEST_RECORD_INTO";

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn what_is_recorded_is_replayed_without_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|number, _| match number % 3 {
        0 => Reply::content(GOOD),
        1 => Reply::content("no"),
        _ => Reply::message(json!({"content": GOOD}), "length"),
    });
    let record = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let questions: Vec<String> = (0..9).map(|number| format!("question {number}")).collect();
    let recorded: Vec<_> = questions.iter().map(|question| ask(&record, question).expect("asked")).collect();
    let requests = server.requests();
    drop(server);
    let replay =
        Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
    for (question, before) in questions.iter().zip(&recorded) {
        let after = ask(&replay, question).expect("recorded");
        assert_eq!((&after.result, &after.keys, after.retried), (&before.result, &before.keys, before.retried));
        assert_eq!((after.usage, after.requests), (before.usage, 0));
    }
    assert!(recorded.iter().any(|exchange| exchange.retried) && recorded.iter().any(|of| of.result.is_ok()));
    let account = &replay.spent().roles["judge"];
    assert_eq!((account.calls, account.requests, account.from_cassette), (9, 0, requests as u64));
    // Recording again sends nothing.
    let again =
        Client::new(options(ModelMode::Record, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
    for (question, before) in questions.iter().zip(&recorded) {
        assert_eq!(ask(&again, question).expect("recorded").result, before.result);
    }
    assert_eq!(again.spent().roles["judge"].requests, 0);
    assert_no_key_below(folder.path());
}

#[test]
fn a_replay_reads_several_folders_and_writes_none() {
    let (first, second) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let server = Server::start(|_, _| Reply::content(GOOD));
    for (folder, question) in [(&first, "a"), (&second, "b")] {
        let client =
            Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
        ask(&client, question).expect("recorded");
    }
    let mut both = options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(first.path()));
    both.read_cassettes = vec![second.path().to_owned()];
    let client = Client::new(both).expect("a client");
    assert!(ask(&client, "a").is_ok() && ask(&client, "b").is_ok());
    assert_eq!((files(first.path()).len(), files(second.path()).len()), (1, 1));
}

/// A first try that failed in transport is not recorded; its retry stands for it, in a replay and in a resumed recording.
#[test]
fn a_recorded_retry_stands_for_a_first_try_that_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|number, _| if number == 0 { Reply::Cut } else { Reply::content(GOOD) });
    let record = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let recorded = ask(&record, "a").expect("asked");
    assert_eq!(files(folder.path()).len(), 1);
    for mode in [ModelMode::Replay, ModelMode::Record] {
        let client = Client::new(options(mode, &server.base_url(), Some(folder.path()))).expect("a client");
        let again = ask(&client, "a").expect("recorded");
        assert_eq!((&again.keys, &again.result, again.retried), (&recorded.keys, &recorded.result, true));
        assert_eq!(server.requests(), 2);
    }
}

/// What a transport did is asked again by the next recording; what was paid for is not.
#[test]
fn a_recording_goes_on_where_it_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|number, _| match number {
        0 => Reply::content("no"),
        1 => Reply::status(503, "busy"),
        _ => Reply::content(GOOD),
    });
    let record = || Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    assert_eq!(ask(&record(), "a").expect("asked").result.expect_err("busy").code(), "status");
    let replay = Client::new(options(ModelMode::Replay, &server.base_url(), Some(folder.path()))).expect("a client");
    match ask(&replay, "a") {
        Err(ClientError::NotRecorded(miss)) => assert_eq!(miss.attempt, 1),
        other => panic!("{other:?}"),
    }
    let resumed = ask(&record(), "a").expect("asked");
    assert!(resumed.result.is_ok() && resumed.retried);
    assert_eq!((resumed.requests, server.requests()), (1, 3));
}

#[test]
fn thirty_two_threads_pay_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|number, _| Reply::content(&format!("{{\"score\": 0.{number}, \"cites\": []}}")));
    let client = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32).map(|_| scope.spawn(|| ask(&client, "a").expect("asked").result)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(server.requests(), 1);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(files(folder.path()).len(), 1);
}

/// Clients that know nothing of each other, as processes do: each may pay, but one file counts for all.
#[test]
fn many_clients_agree_on_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|number, _| Reply::content(&format!("{{\"score\": 0.{number}, \"cites\": []}}")));
    let answers: Vec<_> = std::thread::scope(|scope| {
        let record =
            || Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
        let threads: Vec<_> =
            (0..32).map(|_| scope.spawn(move || ask(&record(), "a").expect("asked").result)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(files(folder.path()).len(), 1, "one exchange, and no temporary file");
    let replay =
        Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
    assert_eq!(ask(&replay, "a").expect("recorded").result, answers[0]);
}

fn exchange(number: u32) -> RecordedExchange {
    RecordedExchange {
        format: EXCHANGE_FORMAT.to_owned(),
        cell: format!("cell/{number}"),
        role: "judge".to_owned(),
        config: role(),
        repeat: number,
        attempt: 0,
        request: json!({"messages": [{"content": "x".repeat(20_000), "role": "user"}]}),
        response: Response {
            status: 200,
            content: "y".repeat(2000),
            finish_reason: Some("stop".to_owned()),
            refusal: None,
            reasoning_characters: 0,
            tokens: Vec::new(),
            detail: String::new(),
            usage: None,
        },
        key: String::new(),
        hash: String::new(),
    }
}

/// The process that the next test kills; on its own it does nothing.
#[test]
fn records_until_killed() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let cassette = Cassette::new(Some(PathBuf::from(folder)), Vec::new());
    for number in 0..1_000_000 {
        println!("key {}", cassette.put(exchange(number)).expect("stored").key);
    }
}

#[test]
fn a_kill_at_any_moment_leaves_a_sound_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut promised = BTreeSet::new();
    for round in 0..10_usize {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "records_until_killed", "--nocapture", "--test-threads", "1"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let keys =
            lines.map_while(Result::ok).filter_map(|line| line.split_once("key ").map(|(_, key)| key.to_owned()));
        // Later rounds meet what earlier ones stored: those go fast, so they die further on.
        promised.extend(keys.take(promised.len() + 1 + round * 7 % 13));
        child.kill().expect("killed");
        child.wait().expect("gone");
        let cassette = Cassette::new(Some(folder.path().to_owned()), Vec::new());
        let entries = cassette.list().expect("listed");
        let broken: Vec<_> = entries.iter().filter(|entry| entry.exchange.is_err()).collect();
        assert!(broken.is_empty(), "{broken:?}");
        let stored: BTreeSet<String> = entries.into_iter().map(|entry| entry.key).collect();
        assert!(promised.is_subset(&stored), "what was acknowledged is there");
    }
    let cassette = Cassette::new(Some(folder.path().to_owned()), Vec::new());
    let pruned = cassette.prune(Prune::Broken, false).expect("pruned");
    assert!(pruned.exchanges.is_empty());
    assert!(files(folder.path()).iter().all(|path| path.extension().is_some_and(|of| of == "json")));
}

#[test]
fn a_flipped_bit_in_any_byte_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::content(GOOD));
    let record = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let key = ask(&record, "a").expect("asked").keys.remove(0);
    let path = files(folder.path()).remove(0);
    let sound = fs::read(&path).expect("read");
    let cassette = Cassette::new(Some(folder.path().to_owned()), Vec::new());
    let mut damaged: Vec<Vec<u8>> = (0..sound.len())
        .map(|place| {
            let mut bytes = sound.clone();
            bytes[place] ^= 1 << (place % 8);
            bytes
        })
        .collect();
    damaged.extend([Vec::new(), sound[..sound.len() - 1].to_vec(), [sound.as_slice(), b" "].concat()]);
    for bytes in damaged {
        fs::write(&path, &bytes).expect("written");
        assert!(matches!(cassette.get(&key), Err(CassetteError::Broken { .. })), "{}", String::from_utf8_lossy(&bytes));
    }
    let replay =
        Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
    let error = ask(&replay, "a").expect_err("broken").to_string();
    assert!(error.contains(&key) && error.contains("hint: the file has been changed or damaged"), "{error}");
    assert_eq!(cassette.prune(Prune::Broken, true).expect("looked").exchanges, std::slice::from_ref(&key));
    assert!(path.exists());
    assert_eq!(cassette.prune(Prune::Broken, false).expect("pruned").exchanges, [key]);
    assert!(!path.exists());
}

#[test]
fn an_exchange_under_another_key_is_broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let cassette = Cassette::new(Some(folder.path().to_owned()), Vec::new());
    let (a, b) = (cassette.put(exchange(0)).expect("stored"), cassette.put(exchange(1)).expect("stored"));
    let path = |key: &str| folder.path().join("exchanges").join(&key[..2]).join(format!("{key}.json"));
    fs::copy(path(&a.key), path(&b.key)).expect("swapped");
    let error = cassette.get(&b.key).expect_err("swapped").to_string();
    assert!(error.contains("/key: found") && error.contains(&a.key), "{error}");
    assert!(cassette.get(&a.key).expect("sound").is_some());
    assert!(cassette.get("../../etc/passwd").expect("no key").is_none());
}

/// What stands in the place of an exchange and is none is named, and nothing waits for it, nor stops at it.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_named_and_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::content(GOOD));
    let record = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let sound = ask(&record, "a").expect("asked").keys.remove(0);
    let place = |digit: char| {
        let shelf = folder.path().join("exchanges").join([digit; 2].iter().collect::<String>());
        fs::create_dir_all(&shelf).expect("made");
        shelf.join(format!("{}.json", [digit; 64].iter().collect::<String>()))
    };
    let huge = fs::File::create(place('0')).expect("made");
    huge.set_len(1 << 40).expect("sparse");
    std::os::unix::fs::symlink("/dev/zero", place('1')).expect("linked");
    assert!(Command::new("mkfifo").arg(place('2')).status().expect("a pipe").success());
    fs::create_dir(place('3')).expect("made");
    std::os::unix::fs::symlink("nowhere", place('4')).expect("linked");
    fs::create_dir_all(place('5').join("full")).expect("made");
    std::os::unix::fs::symlink(place('6'), place('6')).expect("linked");
    let cassette = Cassette::new(Some(folder.path().to_owned()), Vec::new());
    let entries = cassette.list().expect("listed");
    assert_eq!(entries.len(), 8);
    for entry in &entries {
        let problem = entry.exchange.as_ref().err();
        assert_eq!(problem.is_none(), entry.key == sound, "{entry:?}");
        let expected = match &entry.key[..1] {
            "0" => "more than 67108864 bytes",
            "1" | "2" | "3" | "5" => "found a folder, a pipe or a device",
            _ => "cannot be read",
        };
        assert!(problem.is_none_or(|problem| problem.contains(expected)), "{entry:?}");
    }
    for digit in ['0', '1', '2', '3', '5'] {
        let key: String = [digit; 64].iter().collect();
        assert!(matches!(cassette.get(&key), Err(CassetteError::Broken { .. })), "{digit}");
    }
    assert_eq!(cassette.roles().expect("listed")["judge"].len(), 1);
    // A replay goes on, and a miss finds the nearest among what is whole.
    let replay =
        Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
    assert!(ask(&replay, "a").is_ok());
    assert!(ask(&replay, "b").expect_err("a miss").to_string().contains("the nearest is"));
    // What can't be removed or even looked at stays, and the first of it is named.
    let error = cassette.prune(Prune::Broken, false).expect_err("one is left");
    assert!(matches!(&error, CassetteError::Io { action: "remove", path, .. } if *path == place('5')), "{error}");
    let left: Vec<String> = cassette.list().expect("listed").into_iter().map(|entry| entry.key).collect();
    assert_eq!(left.len(), 3);
    assert!(left.contains(&sound) && Path::new("/dev/zero").exists());
}

#[test]
fn pruning_keeps_what_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let cassette = Cassette::new(Some(folder.path().to_owned()), Vec::new());
    let keys: Vec<String> = (0..4).map(|number| cassette.put(exchange(number)).expect("stored").key).collect();
    let used = BTreeSet::from([keys[1].clone(), keys[2].clone()]);
    let pruned = cassette.prune(Prune::Unused(&used), false).expect("pruned");
    assert_eq!(pruned.exchanges.len(), 2);
    let left: BTreeSet<String> = cassette.list().expect("listed").into_iter().map(|entry| entry.key).collect();
    assert_eq!(left, used);
}

#[test]
fn a_miss_names_the_cell_and_the_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::content(GOOD));
    let record = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    ask(&record, "The log of the door: it is open.").expect("asked");
    let replay =
        || Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
    let error = ask(&replay(), "The log of the door: it is shut.").expect_err("a miss").to_string();
    assert!(error.starts_with("door/judge: not recorded (role judge, openai/gpt-4o-mini, repeat 0, key "), "{error}");
    let difference =
        "differs at /request/messages/1/content: recorded \"…or: it is open.\", asked for \"…or: it is shut.\"";
    assert!(error.contains(difference), "{error}");
    assert!(error.contains("\nhint: record it with --model-mode record"), "{error}");
    let mut other = role();
    other.max_tokens = 8;
    let prompt = prompt("The log of the door: it is open.");
    let call = Call { cell: "door/judge", role: "judge", config: &other, prompt: &prompt, repeat: 0 };
    let error = replay().ask(&call, &cites_exist).expect_err("a miss").to_string();
    assert!(error.contains("differs at /request/max_completion_tokens: recorded 64, asked for 8"), "{error}");
    let call = Call { repeat: 2, config: &role(), ..call };
    let error = replay().ask(&call, &cites_exist).expect_err("a miss").to_string();
    assert!(error.contains("differs at /repeat: recorded 0, asked for 2"), "{error}");
    let empty = tempfile::tempdir().expect("a folder");
    let nothing =
        Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(empty.path()))).expect("a client");
    assert!(ask(&nothing, "x").expect_err("a miss").to_string().contains("nothing is recorded in "));
}

/// Prompts mark what they quote by its hash, so the marks of two requests differ before anything else does.
#[test]
fn a_miss_shows_the_difference_behind_the_marks() {
    let marked = |data: &str| {
        let hash = &blake3::hash(data.as_bytes()).to_hex().to_string()[..16];
        [
            format!("<data {hash}>\n/door {data}\n</data {hash}>\nHow far is it?"),
            format!(
                "It stands between lines that read ==== {hash} ====.\n\n==== {hash} ====\n{data}\n==== {hash} ====\n"
            ),
        ]
    };
    for (recorded, wanted) in marked("it is open").into_iter().zip(marked("it is shut")) {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(|_, _| Reply::content(GOOD));
        let record =
            Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
        ask(&record, &recorded).expect("asked");
        let replay =
            Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
        let error = ask(&replay, &wanted).expect_err("a miss").to_string();
        let found = error.split("recorded ").last().unwrap_or_default();
        let (found, asked) = found.split_once(", asked for ").expect("both");
        assert!(found.contains("it is open") && asked.contains("it is shut"), "{error}");
    }
}

#[test]
fn a_replay_knows_the_identity_that_was_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, seen| match seen.head.split(' ').nth(1) {
        Some("/props") => Reply::json(&json!({"build_info": "b7", "total_slots": 1})),
        Some("/v1/chat/completions") => Reply::content(GOOD),
        _ => Reply::status(404, "no"),
    });
    let named = RoleConfig::named("local/small").expect("a role");
    let prompt = prompt("x");
    let record = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let config = record.resolve_identity(&named).expect("resolved");
    assert_eq!(config.identity.get("server_build").map(String::as_str), Some("b7"));
    let call = Call { cell: "c", role: "judge", config: &config, prompt: &prompt, repeat: 0 };
    let recorded = record.ask(&call, &cites_exist).expect("asked");
    drop(server);
    let replay =
        Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
    assert_eq!(replay.resolve_identity(&named).expect("recorded"), config);
    assert_eq!(replay.cassette().roles().expect("listed")["judge"], std::slice::from_ref(&config));
    assert_eq!(replay.ask(&call, &cites_exist).expect("recorded").result, recorded.result);
}

#[test]
fn answers_without_verdict_are_recorded_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|_, _| Reply::status(400, "the prompt is too long"));
    let record = Client::new(options(ModelMode::Record, &server.base_url(), Some(folder.path()))).expect("a client");
    let expected = Err(NoAnswer::Status { status: 400, detail: "the prompt is too long".to_owned() });
    assert_eq!(ask(&record, "x").expect("asked").result, expected);
    drop(server);
    let replay =
        Client::new(options(ModelMode::Replay, "http://127.0.0.1:9/v1", Some(folder.path()))).expect("a client");
    assert_eq!(ask(&replay, "x").expect("recorded").result, expected);
}
