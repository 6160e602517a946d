//! Requirements in words against requirements in code: what the instruction names itself may be said, what only the verifier says may not.

use std::path::{Path, PathBuf};

use parthack_gcpc::checklist::{Checklist, Item, Route};
use parthack_gcpc::gates::{Code, Fault, Options, check};
use parthack_gcpc::verifier::{Source, Verifier};
use serde_json::Value;

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the gates say of one requirement, the quote aside.
fn faults(instruction: &str, verifier: &Verifier, requirement: &str) -> Vec<Fault> {
    let (id, requirement, quote) = ("a".to_owned(), requirement.to_owned(), instruction.chars().take(60).collect());
    let item = Item { id, requirement, quote, route: Route::Judge, verifier: None, category: None };
    let options = Options { least_items: 1, ..Options::default() };
    check(instruction, verifier, &Checklist { items: vec![item] }, &options).faults
}

fn of_code(path: &str, code: &str) -> Verifier {
    Verifier::read(vec![Source { path: path.to_owned(), text: code.to_owned() }]).expect("readable")
}

/// Task, instruction, verifier, requirement; nothing, with a message, in a clone without the instructions.
fn cases(kind: &str) -> Vec<(String, Verifier, String)> {
    let tasks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora/skillsbench/tasks");
    if !tasks.is_dir() {
        assert!(std::env::var_os("CI").is_none(), "{} is absent", tasks.display());
        println!("not run: {} is absent", tasks.display());
        return Vec::new();
    }
    let all: Value = serde_json::from_str(&text(&data("paraphrases.json"))).expect("JSON");
    let mut cases = Vec::new();
    for (task, requirements) in all[kind].as_object().expect("tasks") {
        let path = "tests/test_outputs.py";
        let verifier = of_code(path, &text(&data("verifiers").join(task).join(path)));
        let instruction = text(&tasks.join(task).join("instruction.md"));
        for requirement in requirements.as_array().expect("list").iter().filter_map(Value::as_str) {
            cases.push((instruction.clone(), verifier.clone(), requirement.to_owned()));
        }
    }
    assert!(cases.len() >= 30, "{}", cases.len());
    cases
}

#[test]
fn requirements_in_words_pass() {
    for (instruction, verifier, requirement) in cases("good") {
        let found = faults(&instruction, &verifier, &requirement);
        assert!(found.is_empty(), "{requirement}: {found:#?}");
    }
}

#[test]
fn requirements_in_code_are_refused() {
    for (instruction, verifier, requirement) in cases("bad") {
        let found: Vec<Code> = faults(&instruction, &verifier, &requirement).iter().map(|fault| fault.code).collect();
        assert_eq!(found, [Code::TestCode], "{requirement}");
    }
}

/// A verifier in the shapes of several tasks, whose code says each thing once.
const CODE: &str = r#"
import os, subprocess
BASE = "failed_reasons.txt"
OUTDIR = "/out"
def test_pivot(wb):
    field = wb.pivots[0].rowFields[0]
    assert field.subtotal in ("sum", None)
    assert len(wb.pivots[0].colFields) >= 1
    for e in wb.edges:
        assert e.target in ids
def test_letter(t):
    assert "IF_RELOCATION" not in t
    assert 'airline' not in t.lower(), "status must be 'queued'"
def test_note():
    assert os.path.isfile(BASE) and os.path.getsize(BASE) > 0
    r = subprocess.run(["make"], capture_output=True)
    assert b"Job succeeded" in r.stdout
    try:
        parse(BASE)
    except ParseError:
        raise
"#;

const INSTRUCTION: &str = "Keep the letter free of markers such as {{IF_RELOCATION}}, add a pivot table with subtotals to the workbook, write \
     `failed_reasons.txt` and take no flights. Edges have targets; the value data[0].name and for x in xs: stay as they are.";

#[test]
fn each_mark_of_code_is_enough() {
    let verifier = of_code("test_all.py", CODE);
    for (requirement, accepted) in [
        ("field.subtotal is sum or None", false),
        ("The subtotal of the field is sum or none", true),
        ("There is one entry in rowFields", false),
        ("There is one row field", true),
        ("IF_RELOCATION not in t", false),
        ("IF_RELOCATION is not in the letter", true),
        ("for e in edges: e['to'] in ids", false),
        ("For edges in the graph: each has a target", true),
        ("the target of e for e in edges", false),
        ("b'Job succeeded' in r.stdout", false),
        ("Plan b's result isn't lost, nor is plan a's", true),
        ("os.path.isfile of failed_reasons.txt and getsize greater than 0", false),
        ("failed_reasons.txt exists and is not empty", true),
        ("assert that edges have targets", false),
        ("The letter asserts that edges have targets", true),
        ("The note is read without a ParseError", false),
        ("The note is read without an error", true),
        ("The string does not contain 'flight' or 'airline'", false),
        ("No 'flights' are taken", true),
        ("The place is below OUTDIR", false),
        ("The value data[0].name is kept", true),
        ("for x in xs: is kept", true),
        ("The letter [see above] and the edge[s] are kept", true),
        ("The pivot table is added.Then the letter is freed", true),
        ("wb.pivots has one more entry", false),
        ("The reasons are in notes.txt, e.g. as a list", true),
        ("wb[0] has a pivot table", false),
    ] {
        let found = faults(INSTRUCTION, &verifier, requirement);
        assert_eq!(found.is_empty(), accepted, "{requirement}: {found:#?}");
        assert!(found.iter().all(|fault| fault.code == Code::TestCode), "{found:#?}");
    }
}

#[test]
fn without_code_nothing_is_reworded() {
    let verifier = of_code("test_names.json", r#"["test_a","test_b"]"#);
    for requirement in ["plan[0]['city'] is Rome", "assert that r.stdout ends", "for e in edges: e is None"] {
        assert_eq!(faults(INSTRUCTION, &verifier, requirement), [], "{requirement}");
    }
}

#[test]
fn what_the_program_says_is_no_quote() {
    let code = "MSG = (\"Every region total must be \"\n       \"present in the table\")\ndef test_totals():\n    assert d, \"The \\\"totals\\\" object must never be empty\"\n    assert n, 'region\\'s count isn\\'t right at all'\n    # Amounts of the north region beat\n    # those of the south region\n    for r in d:\n        assert r, (\n            f\"Region {r} is not rounded \"\n            \"to two decimal places\"\n        )\n";
    let verifier = of_code("test_a.py", code);
    let shell = of_code("test_a.sh", "# Amounts of the north region\n# beat all others there\ntest_a() { :; }\n");
    let codes = |verifier: &Verifier, quote: &str| -> Vec<Code> {
        let (id, requirement) = ("a".to_owned(), "A letter is written.".to_owned());
        let item =
            Item { id, requirement, quote: quote.to_owned(), route: Route::Judge, verifier: None, category: None };
        let options = Options { least_items: 1, ..Options::default() };
        let found = check(INSTRUCTION, verifier, &Checklist { items: vec![item] }, &options).faults;
        found.iter().map(|fault| fault.code).collect()
    };
    for quote in [
        "Every region total must be present in the table",
        "The \"totals\" object must never be empty",
        "region's count isn't right at all",
        "Amounts of the north region beat those of the south region",
        "Region {r} is not rounded to two decimal places",
        "is not rounded to two decimal places",
        "Every region total must be \"",
    ] {
        assert_eq!(codes(&verifier, quote), [Code::QuoteFromVerifier], "{quote}");
    }
    assert_eq!(codes(&shell, "Amounts of the north region beat all others"), [Code::QuoteFromVerifier]);
    // Two literals that are not adjacent in the code are no text of it.
    assert_eq!(codes(&verifier, "the table The \"totals\" object"), [Code::QuoteMissing]);
}
