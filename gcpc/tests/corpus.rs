//! Real tasks through the verifier reader and the prompt maker.

use std::path::{Path, PathBuf};

use parthack_gcpc::block;
use parthack_gcpc::synthesis::{Setting, Task, prompt, test_names};
use parthack_gcpc::verifier::{Resolution, Source, Verifier};
use serde_json::Value;

/// A folder of the corpora; `None`, with a message, in a clone without it.
fn corpus(path: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora").join(path);
    if folder.exists() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is absent", folder.display());
    println!("not run: {} is absent", folder.display());
    None
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn skillsbench_prompts_fit_a_small_context() {
    let Some(tasks) = corpus("skillsbench/tasks") else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(&tasks).expect("folder") {
        let folder = entry.expect("entry").path();
        let names = text(&folder.join("test_names.json"));
        let count = serde_json::from_str::<Value>(&names).expect("JSON")["tests"].as_array().map(Vec::len);
        let mut sources = vec![Source { path: "test_names.json".to_owned(), text: names }];
        let task = folder.file_name().expect("name").to_string_lossy().into_owned();
        let own = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/verifiers")
            .join(&task)
            .join("tests/test_outputs.py");
        if own.is_file() {
            sources.push(Source { path: "tests/test_outputs.py".to_owned(), text: text(&own) });
        }
        let verifier = Verifier::read(sources).expect("readable");
        assert_eq!(Some(test_names(&verifier).len()), count, "{task}");
        let instruction = text(&folder.join("instruction.md"));
        let asked = prompt(Task { id: &task, instruction: &instruction, verifier: &verifier }, 1, Setting::default());
        let tokens = block::tokens(&asked.system) + block::tokens(&asked.user);
        println!("{task}: {tokens} tokens by estimate");
        assert!(tokens < 5_000, "{task}: {tokens}");
        seen += 1;
    }
    assert_eq!(seen, 8);
}

#[test]
fn tau2_criteria_are_read() {
    for (domain, least) in [("retail/tasks.json", 112), ("mock/tasks.json", 8), ("telecom/tasks_small.json", 20)] {
        let Some(path) = corpus(&format!("tau2-bench/domains/{domain}")) else { return };
        let tasks: Value = serde_json::from_str(&text(&path)).expect("JSON");
        let mut with_checks = 0;
        for task in tasks.as_array().expect("tasks") {
            let source = Source { path: "task.json".to_owned(), text: task.to_string() };
            let verifier = Verifier::read(vec![source]).unwrap_or_else(|error| panic!("{domain}: {error}"));
            with_checks += usize::from(!verifier.tests().is_empty());
            for test in verifier.tests() {
                assert!(
                    matches!(verifier.resolve(&test.id), Resolution::Tests(found) if found == [test]),
                    "{}",
                    test.id
                );
            }
        }
        assert!(with_checks >= least, "{domain}: {with_checks}");
    }
}
