//! The gates over real SkillsBench instructions: planted faults are found each by its own code, sound items pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use parthack_gcpc::checklist::{Checklist, Item, Route};
use parthack_gcpc::gates::{Code, Options, Report, check};
use parthack_gcpc::verifier::{Source, Verifier};
use proptest::prelude::*;
use serde_json::Value;

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The SkillsBench tasks; `None`, with a message, in a clone without them.
fn corpus() -> Option<PathBuf> {
    let tasks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora/skillsbench/tasks");
    if tasks.is_dir() {
        return Some(tasks);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is absent", tasks.display());
    println!("not run: {} is absent", tasks.display());
    None
}

const TASKS: [&str; 5] = ["citation-check", "dialogue-parser", "fix-build-agentops", "hvac-control", "travel-planning"];

fn sources(task: &str) -> Vec<Source> {
    let path = "tests/test_outputs.py".to_owned();
    vec![Source { text: text(&own("verifiers").join(task).join(&path)), path }]
}

fn verifier(task: &str) -> Verifier {
    Verifier::read(sources(task)).expect("readable")
}

fn items(cases: &Value, task: &str) -> Vec<Item> {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let item = |(index, case): (usize, &Value)| Item {
        id: format!("c{}", index + 1),
        requirement: word(&case[0]).expect("text"),
        quote: word(&case[1]).expect("text"),
        route: if case[2].is_null() { Route::Generated } else { Route::Assertion },
        verifier: word(&case[2]),
        category: None,
    };
    cases["good"][task].as_array().expect("items").iter().enumerate().map(item).collect()
}

fn cases() -> Value {
    serde_json::from_str(&text(&own("gate_items.json"))).expect("JSON")
}

#[test]
fn our_verifiers_have_the_tests_that_the_benchmark_lists() {
    let Some(tasks) = corpus() else { return };
    for task in TASKS {
        let listed: Value = serde_json::from_str(&text(&tasks.join(task).join("test_names.json"))).expect("JSON");
        let listed: Vec<&str> = listed["tests"].as_array().expect("list").iter().filter_map(Value::as_str).collect();
        let verifier = verifier(task);
        assert_eq!(verifier.notes(), []);
        assert_eq!(verifier.tests().iter().map(|test| test.id.as_str()).collect::<Vec<_>>(), listed, "{task}");
    }
}

#[test]
fn thirty_good_items_pass() {
    let Some(tasks) = corpus() else { return };
    let cases = cases();
    let mut count = 0;
    for task in TASKS {
        let items = items(&cases, task);
        count += items.len();
        let report = check(
            &text(&tasks.join(task).join("instruction.md")),
            &verifier(task),
            &Checklist { items },
            &Options::default(),
        );
        assert!(report.is_accepted(), "{task}: {:#?}", report.faults);
    }
    assert_eq!(count, 30);
}

#[test]
fn each_bad_item_is_refused_with_its_own_code() {
    let Some(tasks) = corpus() else { return };
    let cases = cases();
    let bad = cases["bad"].as_array().expect("list");
    assert!(bad.len() >= 30);
    for case in bad {
        let (task, code, change) = (case[0].as_str().expect("task"), case[1].as_str().expect("code"), &case[2]);
        let mut sources = sources(task);
        if change["verifier"] == "test_shared" {
            let text = "class TestA:\n    def test_shared(self): pass\nclass TestB:\n    def test_shared(self): pass\n"
                .to_owned();
            sources.push(Source { path: "tests/test_more.py".to_owned(), text });
        }
        if change["verifier"] == "nl_assertions/0" {
            let text = r#"{"nl_assertions":["The user is content."],"reward_basis":["DB"]}"#.to_owned();
            sources.push(Source { path: "criteria.json".to_owned(), text });
        }
        let mut items = items(&cases, task);
        let at = 3;
        for (key, value) in change.as_object().expect("change") {
            let word = value.as_str().map(str::to_owned);
            match key.as_str() {
                "id" => items[at].id = word.expect("text"),
                "quote" => items[at].quote = word.expect("text"),
                "requirement" if value == "LONG" => items[at].requirement = "Meals are planned and paid. ".repeat(40),
                "requirement" => items[at].requirement = word.expect("text"),
                "route" => {
                    items[at].route =
                        *Route::WORDS.iter().find(|(of, _)| *of == value).map(|(_, route)| route).expect("route")
                }
                "verifier" => {
                    items[at].verifier = word;
                    items[at].route = if change["route"].is_null() { Route::Assertion } else { items[at].route };
                }
                other => panic!("{other}"),
            }
        }
        // Two faults between items fall on the later of the two.
        let instruction = text(&tasks.join(task).join("instruction.md"));
        let verifier = Verifier::read(sources).expect("readable");
        let report = check(&instruction, &verifier, &Checklist { items }, &Options::default());
        let found: Vec<&str> = report.faults.iter().map(|fault| fault.code.word()).collect();
        assert_eq!(found, [code], "{case}: {:#?}", report.faults);
        for fault in &report.faults {
            if let Some(span) = &fault.nearest {
                assert_eq!(&instruction[span.start..span.end], span.text);
                assert!(
                    fault.message.contains(&format!("{:?}", span.text)) || code == "quote_from_verifier",
                    "{}",
                    fault.message
                );
            }
        }
        if code.starts_with("quote_")
            && !["quote_missing", "quote_too_short", "quote_joined", "quote_from_verifier"].contains(&code)
        {
            assert!(report.faults[0].nearest.is_some(), "{case}");
        }
    }
    let covered: BTreeSet<&str> = bad.iter().filter_map(|case| case[1].as_str()).chain(["item_count"]).collect();
    let all: BTreeSet<&str> = Code::ALL.iter().map(|code| code.word()).collect();
    assert_eq!(covered, all, "every code has a case");
}

fn small(items: Vec<Item>, options: Options) -> Report {
    let source =
        Source { path: "test_a.py".to_owned(), text: "def test_sum():\n    assert total(1, 2) == 3\n".to_owned() };
    let verifier = Verifier::read(vec![source]).expect("readable");
    check("Add the two numbers and print the total sum.", &verifier, &Checklist { items }, &options)
}

fn item(id: &str, requirement: &str, quote: &str) -> Item {
    let (id, requirement, quote) = (id.to_owned(), requirement.to_owned(), quote.to_owned());
    Item { id, requirement, quote, route: Route::Judge, verifier: None, category: None }
}

#[test]
fn the_number_of_items_is_bounded() {
    let code =
        |report: Report| report.faults.iter().map(|fault| (fault.code, fault.pointer.clone())).collect::<Vec<_>>();
    let one = vec![item("a", "The total is printed.", "print the total sum")];
    assert_eq!(code(small(one.clone(), Options::default())), [(Code::ItemCount, "/items".to_owned())]);
    assert_eq!(code(small(one, Options { least_items: 1, ..Options::default() })), []);
    assert_eq!(code(small(vec![], Options::default()))[0].0, Code::ItemCount);
}

#[test]
fn all_faults_are_told() {
    let options = Options { least_items: 1, ..Options::default() };
    let mut bad = item("", "assert total(1, 2) == 3", "Subtract everything at once");
    bad.route = Route::Assertion;
    let report = small(vec![bad, item("x", "The total is printed.", "print the total sum")], options);
    let codes: Vec<Code> = report.faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, [Code::Empty, Code::TestCode, Code::QuoteMissing, Code::ReferenceMissing]);
    assert_eq!(report.sound_items(), 1);
    assert_eq!(report.json()["faults"][0]["pointer"], "/items/0/id");
}

#[test]
fn numbers_and_negations_keep_requirements_apart() {
    let options = Options { least_items: 1, ..Options::default() };
    let quote = "print the total sum";
    let pairs = [
        (
            "The printed total must contain the letter a at the end",
            "The printed total must not contain the letter a at the end",
            true,
        ),
        (
            "The printed total has at least 5 digits in every case",
            "The printed total has at least 6 digits in every case",
            true,
        ),
        (
            "The printed total has many long digits in every case",
            "The printed total has many long digit in each case",
            false,
        ),
    ];
    for (left, right, accepted) in pairs {
        let report = small(vec![item("a", left, quote), item("b", right, quote)], options);
        assert_eq!(report.is_accepted(), accepted, "{left}: {:?}", report.faults);
    }
}

const INSTRUCTION: &str =
    "Read the file `/data/in.csv`, keep rows\nwhose Total exceeds 10, and write “clean” rows to `/data/out.csv`.";

fn quote_codes(quote: &str) -> Vec<Code> {
    let verifier = Verifier::default();
    let options = Options { least_items: 1, ..Options::default() };
    let checklist = Checklist { items: vec![item("a", "Rows are kept.", quote)] };
    check(INSTRUCTION, &verifier, &checklist, &options).faults.iter().map(|fault| fault.code).collect()
}

#[test]
fn a_sentence_of_both_texts_is_misquoted_from_the_instruction() {
    let text =
        "def test_sum():\n    \"\"\"Add the two numbers and print the total sum. Both are read from the file.\"\"\"\n";
    let source = Source { path: "test_a.py".to_owned(), text: text.to_owned() };
    let verifier = Verifier::read(vec![source]).expect("readable");
    let options = Options { least_items: 1, ..Options::default() };
    for (quote, code) in [
        ("Add the two  numbers and print the total sum.", Code::QuoteWhitespace),
        ("ADD the two numbers and print the total sum.", Code::QuoteCase),
        ("Both are read from the file.", Code::QuoteFromVerifier),
    ] {
        let checklist = Checklist { items: vec![item("a", "The total is printed.", quote)] };
        let report = check("Add the two numbers and print the total sum.", &verifier, &checklist, &options);
        assert_eq!(report.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [code], "{quote}");
    }
}

/// A verifier in the shape of those for letters, with values that the instruction leaves to a data file.
const LETTER: &str = r#"
def test_conditional_section():
    text = get_all_text(Document(OUT))
    assert "Sarah Chen" in text
    if len(text) > 500 and "Relocation Package" in text:
        salary = cell(2, 1)
    assert salary.endswith("185,000"), "Expected Excel-like amount"
    assert rows == (1,250,300)
"#;

#[test]
fn values_that_the_verifier_alone_has_are_test_code() {
    let instruction =
        "Fill in the letter from `data.json`, whose 1,200 entries have all that is needed, in Monday's format.";
    let source = Source { path: "test_letter.py".to_owned(), text: LETTER.to_owned() };
    let verifier = Verifier::read(vec![source]).expect("readable");
    let options = Options { least_items: 1, ..Options::default() };
    for (requirement, accepted) in [
        ("A table cell shows 185,000 dollars as salary.", false),
        ("A table cell shows 185000 dollars.", false),
        ("The letter has more than 500 characters.", false),
        ("The second row holds 250.", false),
        ("The new hire is called Chen.", false),
        ("Chen gets the letter of 40 or 41 lines.", true),
        ("The check test conditional section succeeds.", false),
        ("The test_conditional_section check succeeds.", false),
        ("The conditional section is kept or dropped as the data say.", true),
        ("All 1200 entries are there, also the 1,200th.", true),
        ("The letter is filled in, as in Excel.", true),
        ("Everything Expected stands in the letter.", true),
    ] {
        let checklist = Checklist { items: vec![item("a", requirement, "Fill in the letter from")] };
        let report = check(instruction, &verifier, &checklist, &options);
        assert_eq!(report.is_accepted(), accepted, "{requirement}: {:?}", report.faults);
        assert!(report.faults.iter().all(|fault| fault.code == Code::TestCode), "{:?}", report.faults);
    }
}

#[test]
fn a_short_quote_is_of_something_distinctive() {
    let instruction = "Write `plan` and \"fake_citations\": [ to report.json in the “ISO 8601” format at 22.0C, not 4 C. In the plan, \
                       say who the maxTemp is of, and `git` is used. x_ab x_ab x_ab x_ab. Row r2d2x.";
    let codes = |quote: &str| -> Vec<Code> {
        let options = Options { least_items: 1, ..Options::default() };
        let checklist = Checklist { items: vec![item("a", "Rows are kept.", quote)] };
        let report = check(instruction, &Verifier::default(), &checklist, &options);
        report.faults.iter().map(|fault| fault.code).collect()
    };
    for good in [
        "`plan`",
        "\"fake_citations\": [",
        "fake_citations",
        "report.json",
        "ISO 8601",
        "“ISO 8601”",
        "22.0C",
        "maxTemp",
    ] {
        assert_eq!(codes(good), [], "{good}");
    }
    for bad in [
        "plan",
        "git",
        "`git`",
        "format",
        "4 C",
        "SO 8601",
        "maxTem",
        "citations",
        "x_ab",
        "`",
        "8601",
        "of, and",
        "is",
    ] {
        assert_eq!(codes(bad), [Code::QuoteTooShort], "{bad}");
    }
}

#[test]
fn a_requirement_without_a_word_is_empty() {
    let options = Options { least_items: 1, ..Options::default() };
    for text in ["...", "—", "x", "\u{2800}", "\u{2800}\u{2800}", " \n", "7", "?!"] {
        let report = small(vec![item("a", text, "print the total sum")], options);
        let codes: Vec<Code> = report.faults.iter().map(|fault| fault.code).collect();
        assert_eq!(codes, [Code::Empty], "{text:?}");
    }
    let report = small(vec![item("a", "OK", "print the total sum"), item("b", "Sum", "\u{2800}")], options);
    assert_eq!(report.faults.iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(), ["/items/1/quote"]);
}

proptest! {
    #[test]
    fn every_long_enough_part_of_the_instruction_is_a_quote(from in 0_usize..90, length in 24_usize..60) {
        let quote: String = INSTRUCTION.chars().skip(from).take(length).collect();
        prop_assume!(quote.chars().count() >= 24);
        prop_assert_eq!(quote_codes(&quote), vec![]);
    }

    #[test]
    fn a_quote_with_one_character_changed_is_refused_as_near(from in 0_usize..60, length in 24_usize..60, at in 0_usize..24, by in "[#%&~]") {
        let mut quote: Vec<char> = INSTRUCTION.chars().skip(from).take(length).collect();
        quote[at] = by.chars().next().expect("one");
        let quote: String = quote.into_iter().collect();
        prop_assert_eq!(quote_codes(&quote), vec![Code::QuoteNear]);
    }

    #[test]
    fn a_quote_with_one_disguise_has_the_disguises_code(from in 0_usize..60, length in 24_usize..60, at in 1_usize..23) {
        let characters: Vec<char> = INSTRUCTION.chars().skip(from).take(length).collect();
        let with = |change: &dyn Fn(char) -> String| -> String {
            characters.iter().enumerate().map(|(index, of)| if index == at { change(*of) } else { of.to_string() }).collect()
        };
        prop_assert_eq!(quote_codes(&with(&|of| format!("{of}\u{2060}"))), vec![Code::QuoteInvisible]);
        if characters[at] == ' ' {
            prop_assert_eq!(quote_codes(&with(&|_| "\u{a0}".to_owned())), vec![Code::QuoteWhitespace]);
        }
        if characters[at].is_ascii_lowercase() {
            prop_assert_eq!(quote_codes(&with(&|of| of.to_uppercase().to_string())), vec![Code::QuoteCase]);
        }
        if characters[at] == 'a' {
            prop_assert_eq!(quote_codes(&with(&|_| "\u{430}".to_owned())), vec![Code::QuoteLookalike]);
        }
    }

    #[test]
    fn no_input_breaks_the_gates(instruction in ".{0,60}", quote in ".{0,40}", requirement in ".{0,60}", code in "(def test_x\\(\\):\n)?.{0,60}", id in ".{0,8}") {
        let verifier = Verifier::read(vec![Source { path: "test_a.py".to_owned(), text: code }]).expect("code is never refused");
        let mut of = item(&id, &requirement, &quote);
        of.route = Route::Assertion;
        of.verifier = Some(quote.clone());
        let report = check(&instruction, &verifier, &Checklist { items: vec![of.clone(), of] }, &Options::default());
        prop_assert!(!report.is_accepted());
        for fault in &report.faults {
            if let Some(span) = &fault.nearest {
                prop_assert_eq!(&instruction[span.start..span.end], span.text.as_str());
            }
        }
    }
}
