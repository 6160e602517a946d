//! The tests that are found in a verifier's files.

use std::path::{Path, PathBuf};

use parthack_gcpc::checklist::{Checklist, Item, Route};
use parthack_gcpc::gates::{Code, Options, check};
use parthack_gcpc::verifier::{Resolution, Source, SourceKind, Verifier};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

fn verifier(path: &str, text: &str) -> Verifier {
    Verifier::read(vec![source(path, text)]).expect("readable")
}

fn ids(verifier: &Verifier) -> Vec<String> {
    verifier.tests().iter().map(|test| test.id.clone()).collect()
}

/// `collected.txt` is what `pytest --collect-only -q` (pytest 9.2.0) says of the file.
#[test]
fn ids_are_those_that_pytest_gives() {
    let text = std::fs::read_to_string(data("pytest_shapes/test_shapes.py")).expect("data");
    let found = verifier("test_shapes.py", &text);
    assert_eq!(found.notes(), []);
    let collected = std::fs::read_to_string(data("pytest_shapes/collected.txt")).expect("data");
    let mut expected: Vec<&str> = collected.lines().filter(|id| !id.starts_with("test_open")).collect();
    expected.sort_unstable();
    let mut closed: Vec<&str> = found.tests().iter().filter(|test| !test.open).map(|test| test.id.as_str()).collect();
    closed.sort_unstable();
    assert_eq!(closed, expected);
    let open: Vec<&str> = found.tests().iter().filter(|test| test.open).map(|test| test.id.as_str()).collect();
    assert_eq!(open, ["test_open", "test_open_by_fixture"]);
    for id in collected.lines() {
        assert!(matches!(found.resolve(id), Resolution::Tests(_)), "{id}");
        assert!(matches!(found.resolve(&format!("test_shapes.py::{id}")), Resolution::Tests(_)), "{id}");
    }
}

#[test]
fn lines_and_texts() {
    let found =
        verifier("tests/test_a.py", "import x\n\n\n@mark\ndef test_one():\n    assert 1\n\ndef test_two(): pass\n");
    let one = &found.tests()[0];
    assert_eq!((one.line, one.text.as_str()), (4, "@mark\ndef test_one():\n    assert 1"));
    assert_eq!(one.node(), "tests/test_a.py::test_one");
    assert_eq!(found.tests()[1].line, 8);
}

#[test]
fn a_broken_file_is_read_as_far_as_it_goes() {
    let found =
        verifier("test_a.py", "def test_one():\n    pass\n\ndef test_two(:\n    ]\n\ndef test_three():\n    pass\n");
    assert!(ids(&found).contains(&"test_one".to_owned()));
    assert_eq!(found.notes().len(), 1);
    assert!(verifier("test_a.py", "").tests().is_empty());
}

#[test]
fn which_python_files_are_collected() {
    let file = |path: &str| source(path, "def test_x(): pass\n");
    let read = |paths: &[&str]| {
        let found = Verifier::read(paths.iter().map(|path| file(path)).collect()).expect("readable");
        found.tests().iter().map(|test| test.file.clone()).collect::<Vec<_>>()
    };
    assert_eq!(read(&["tests/test_a.py", "tests/tools.py", "tests/b_test.py"]), ["tests/b_test.py", "tests/test_a.py"]);
    assert_eq!(read(&["verify.py", "conftest.py"]), ["verify.py"]);
}

#[test]
fn what_classes_inherit_and_names_stand_for() {
    let text = "class TestA:\n    class TestInner:\n        def test_deep(self): pass\n\nclass TestB(TestA):\n    @property\n    def test_prop(self): pass\n\nclass Helper:\n    def test_in(self): pass\n\nTestAlias = Helper\n\ndef helper(): pass\n\ntest_same = helper\ntest_x = lambda: None\ntest_data = 3\nTestData = data\n";
    let mut found = ids(&verifier("test_a.py", text));
    found.sort();
    assert_eq!(
        found,
        ["TestA::TestInner::test_deep", "TestAlias::test_in", "TestB::TestInner::test_deep", "test_same", "test_x"]
    );
}

#[test]
fn a_script_without_functions_is_a_test_by_its_name() {
    assert_eq!(ids(&verifier("tests/test_exists.sh", "#!/bin/sh\n[ -f /out.csv ]\n")), ["test_exists"]);
    for (path, text) in [("tests/run.sh", "pytest\n"), ("tests/test_none.sh", "\n")] {
        assert_eq!(ids(&verifier(path, text)), [""; 0], "{path}");
    }
}

#[test]
fn shell_functions() {
    let text = "#!/bin/bash\nset -e\ntest_server_starts() {\n  curl -s localhost:80 | grep -q ok\n}\nfunction test_port { true; }\nhelper() { test_inner() { :; }; }\nif true; then\n  test_branch() { :; }\nfi\ntest_port() { false; }\n";
    let found = verifier("tests/run.sh", text);
    assert_eq!(ids(&found), ["test_server_starts", "test_branch", "test_port"]);
    assert_eq!(found.tests()[2].line, 11);
}

#[test]
fn lists() {
    let ctrf = r#"{"results":{"tool":{"name":"pytest"},"tests":[{"name":"test_outputs.py::TestA::test_x","status":"passed"},{"name":"test_outputs.py::test_y[1]","status":"failed"}]}}"#;
    assert_eq!(ids(&verifier("ctrf.json", ctrf)), ["TestA::test_x", "test_y[1]"]);
    let plain = r#"{"task":"t","verifier_file":"tests/test_outputs.py","tests":["TestA::test_x","test_y"]}"#;
    let found = verifier("test_names.json", plain);
    assert_eq!(
        (ids(&found), found.tests()[0].file.as_str()),
        (vec!["TestA::test_x".to_owned(), "test_y".to_owned()], "tests/test_outputs.py")
    );
    assert_eq!(ids(&verifier("names.json", r#"["a","b","a"]"#)), ["a", "b"]);
    let bench =
        r#"{"instance_id":"x__y-1","FAIL_TO_PASS":"[\"tests/test_a.py::test_b\", \"test_c (app.tests.CTests)\"]"}"#;
    assert_eq!(ids(&verifier("instance.json", bench)), ["test_b", "test_c (app.tests.CTests)"]);
    assert_eq!(ids(&verifier("instance.json", r#"{"FAIL_TO_PASS":["test_a.py::test_b"]}"#)), ["test_b"]);
    assert!(verifier("expected.json", r#"{"rows":[1,2]}"#).tests().is_empty());
    for (text, place) in [
        (r#"{"FAIL_TO_PASS":"not json"}"#, "/FAIL_TO_PASS"),
        (r#"{"results":{"tests":[{"status":"passed"}]}}"#, "/results/tests/0"),
        ("{", "line 1"),
    ] {
        let error = Verifier::read(vec![source("x.json", text)]).expect_err(text).to_string();
        assert!(error.contains(place) && error.contains("x.json"), "{error}");
    }
}

#[test]
fn a_listed_test_that_a_source_shows_is_one_test() {
    let code = source(
        "test_outputs.py",
        "import pytest\n\ndef test_a(): pass\n\n@pytest.mark.parametrize('x', make())\ndef test_b(x): pass\n",
    );
    let list = source("names.json", r#"["test_a","test_b[1]","test_c"]"#);
    let found = Verifier::read(vec![list, code]).expect("readable");
    assert_eq!(ids(&found), ["test_a", "test_b", "test_b[1]", "test_c"]);
}

#[test]
fn a_listed_test_of_another_file_is_another_test() {
    let code = || source("tests/test_outputs.py", "def test_a(): pass\n");
    let read = |names: &str| {
        let found = Verifier::read(vec![source("names.json", names), code()]).expect("readable");
        found.tests().iter().map(node).collect::<Vec<_>>()
    };
    let own = "tests/test_outputs.py::test_a";
    assert_eq!(read(r#"["test_outputs.py::test_a","/root/tests/test_outputs.py::test_a","test_a"]"#), [own]);
    assert_eq!(read(r#"["test_other.py::test_a","test_a"]"#), [own, "test_other.py::test_a"]);
    // A list that says a file tells what one that says none meant.
    let lists = [source("a.json", r#"["test_a"]"#), source("b.json", r#"["t.py::test_a","u.py::test_a"]"#)];
    let found = Verifier::read(lists.to_vec()).expect("readable");
    assert_eq!(found.tests().iter().map(node).collect::<Vec<_>>(), ["t.py::test_a", "u.py::test_a"]);
}

fn node(test: &parthack_gcpc::verifier::VerifierTest) -> String {
    test.node()
}

#[test]
fn lists_are_read_in_every_shape_that_the_importers_read() {
    let read = |path: &str, text: &str| ids(&verifier(path, text));
    for text in [
        r#"{"FAIL_TO_PASS":"['t.py::test_a', \"t.py::test_b['x']\"]"}"#,
        r#"{"fail_to_pass":["t.py::test_a","t.py::test_b['x']"]}"#,
        r#"{"FAIL_TO_PASS":"[\"test_a\", \"test_b['x']\"]"}"#,
        r#"{"tests":[{"name":"test_a"},"test_b['x']"]}"#,
    ] {
        assert_eq!(read("names.json", text), ["test_a", "test_b['x']"], "{text}");
    }
    assert_eq!(read("tests/test_names.json", r#"[{"name":"test_a"},{"name":"t.py::test_b"}]"#), ["test_a", "test_b"]);
    for text in [r#"[{"name":"Ada"}]"#, r#"{"FAIL_TO_PASS":""}"#, r#"{"FAIL_TO_PASS":"[]"}"#, r#"{"tests":[1]}"#] {
        assert_eq!(read("people.json", text), [""; 0], "{text}");
    }
    for text in ["['a'", "['a'] + b", "f('a')", "['a']\nb"] {
        let text = serde_json::json!({ "FAIL_TO_PASS": text }).to_string();
        assert!(Verifier::read(vec![source("x.json", &text)]).is_err(), "{text}");
    }
}

#[test]
fn tau2_criteria_are_named_checks() {
    let text = r#"{"id":"5","evaluation_criteria":{
        "actions":[{"action_id":"5_0","name":"get_order","arguments":{"id":"W1"}},{"name":"cancel","arguments":{}}],
        "communicate_info":["10"],"nl_assertions":["Agent tells the price."],
        "env_assertions":[{"env_type":"user","func_name":"assert_speed","arguments":{"least":200},"assert_value":false}],
        "reward_basis":["DB","COMMUNICATE"]}}"#;
    let found = verifier("task.json", text);
    let all: Vec<_> = found.tests().iter().map(|test| (test.id.as_str(), test.text.as_str(), test.enforced)).collect();
    let expected = [
        ("actions/5_0", "get_order({\"id\":\"W1\"})", true),
        ("actions/1", "cancel({})", true),
        ("communicate_info/0", "10", true),
        ("nl_assertions/0", "Agent tells the price.", false),
        ("env_assertions/0", "not assert_speed({\"least\":200})", false),
    ];
    assert_eq!(all, expected);
    assert!(matches!(found.resolve("actions/5_0"), Resolution::Tests(_)));
}

#[test]
fn references() {
    let text = "class TestA:\n    def test_x(self): pass\n\nclass TestB:\n    def test_x(self): pass\n    def test_count(self): pass\n\ndef test_count_all(): pass\n";
    let found = verifier("tests/test_outputs.py", text);
    let count = |reference: &str| match found.resolve(reference) {
        Resolution::Tests(tests) => tests.len(),
        _ => 0,
    };
    for good in [
        "TestA::test_x",
        "tests/test_outputs.py::TestA::test_x",
        "test_outputs.py::TestA::test_x",
        "test_count",
        "test_count_all",
    ] {
        assert_eq!(count(good), 1, "{good}");
    }
    for bad in
        ["", "TestA", "est_count", "TestA::test_count", "test_count[1]", "tests/test_outputs.py", "::test_count_all "]
    {
        assert_eq!(count(bad), 0, "{bad}");
    }
    assert!(matches!(found.resolve("test_x"), Resolution::Ambiguous(names) if names.len() == 2));
    // Below another root than pytest's, whose ids have the folders that are missing here.
    let below = verifier("test_outputs.py", text);
    for node in [
        "tests/test_outputs.py::TestA::test_x",
        "/tests/test_outputs.py::TestA::test_x",
        "./test_outputs.py::TestA::test_x",
    ] {
        assert!(matches!(below.resolve(node), Resolution::Tests(tests) if tests.len() == 1), "{node}");
    }
    for node in
        ["tests/my_test_outputs.py::test_count", "test_outputs/a.py::test_count", "tests/test_outputs.py::test_x"]
    {
        assert!(matches!(below.resolve(node), Resolution::Unknown(_)), "{node}");
    }
    let two = ["def test_y(): pass\n"; 2];
    let two = Verifier::read(vec![source("test_a.py", two[0]), source("b/test_a.py", two[1])]).expect("readable");
    assert!(matches!(two.resolve("c/b/test_a.py::test_y"), Resolution::Ambiguous(_)), "both paths end it");
    assert!(matches!(two.resolve("c/test_a.py::test_y"), Resolution::Tests(tests) if tests[0].file == "test_a.py"));
    assert_eq!(found.resolve("TestA::test_cuont"), Resolution::Unknown(vec!["TestB::test_count".to_owned()]));
}

#[test]
fn the_hash_is_that_of_the_files() {
    let (one, two) = (source("a.py", "x = 1\n"), source("b.py", "y = 1\n"));
    let hash = |sources: Vec<Source>| Verifier::read(sources).expect("readable").hash();
    assert_eq!(hash(vec![one.clone(), two.clone()]), hash(vec![two.clone(), one.clone()]));
    assert_ne!(hash(vec![one.clone()]), hash(vec![two]));
}

#[test]
fn nothing_in_a_source_takes_for_ever_or_all_memory() {
    let signs = "-".repeat(50_000);
    let fixtures: String = (0..40)
        .map(|n| {
            format!(
                "@pytest.fixture\ndef f{n}({}): pass\n\n",
                (0..40).map(|m| format!("f{m}")).collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    let nested: String = (0..500).map(|depth| format!("{}class TestA:\n", " ".repeat(depth))).collect();
    let brackets = "(".repeat(20_000);
    let text = format!(
        "import pytest\n\n{fixtures}\n@pytest.mark.parametrize('x', [{signs}1])\ndef test_signs(x): pass\n\ndef test_fixtures(f0): pass\n\n@pytest.mark.parametrize('a', range(9000))\n@pytest.mark.parametrize('b', range(9000))\ndef test_many(a, b): pass\n\n{nested}\nx = {brackets}\n"
    );
    let found = verifier("test_a.py", &text);
    let all: Vec<(&str, bool)> = found.tests().iter().map(|test| (test.id.as_str(), test.open)).collect();
    assert_eq!(all, [("test_signs", true), ("test_fixtures", false), ("test_many", true)]);
}

#[test]
fn beside_code_broken_json_is_data() {
    let found = Verifier::read(vec![source("test_a.py", "def test_x(): pass\n"), source("expected.json", "[NaN]")])
        .expect("readable");
    assert_eq!((ids(&found), found.notes().len(), found.sources().len()), (vec!["test_x".to_owned()], 1, 2));
}

const PATCH: &str = "diff --git a/tests/test_magic.py b/tests/test_magic.py\n--- a/tests/test_magic.py\n+++ b/tests/test_magic.py\n@@ -8,3 +8,4 @@ import magic\n \n def test_compute():\n-    assert compute_magic(5) == 70\n+    \"\"\"Magic is more than the sum of its parts.\"\"\"\n+    assert compute_magic(5) == 77\n";

/// A diff in each of the places where it may stand, with the list of tests.
fn with_patch() -> [Verifier; 3] {
    let instance = serde_json::json!({"instance_id": "a__b-1", "FAIL_TO_PASS": ["tests/test_magic.py::test_compute"]});
    let mut whole = instance.clone();
    whole["test_patch"] = PATCH.into();
    let beside = |path: &str| Verifier::read(vec![source("instance.json", &instance.to_string()), source(path, PATCH)]);
    [beside("test_patch"), beside("fix/tests.diff"), Verifier::read(vec![source("instance.json", &whole.to_string())])]
        .map(|read| read.expect("readable"))
}

#[test]
fn a_diff_of_tests_is_code() {
    for found in with_patch() {
        assert_eq!(ids(&found), ["test_compute"]);
        let code: Vec<&Source> =
            found.sources().iter().filter(|(_, kind)| *kind == SourceKind::Code).map(|(source, _)| source).collect();
        let lines: Vec<(usize, &str)> =
            code[0].text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).collect();
        assert_eq!(
            (code.len(), code[0].path.as_str(), lines[0]),
            (1, "tests/test_magic.py", (8, "def test_compute():"))
        );
        assert!(lines.iter().any(|(_, line)| line.contains("== 77")) && !code[0].text.contains("== 70"));
    }
    let broken = Verifier::read(vec![source("test_patch", "cannot be shown")]).expect("readable");
    assert_eq!((broken.notes().len(), broken.sources().len()), (1, 1));
}

#[test]
fn gates_know_what_a_diff_of_tests_says() {
    let instruction = "Magic comes out wrong.\nMake the magic function right for whole numbers.";
    let options = Options { least_items: 1, ..Options::default() };
    let codes = |found: &Verifier, requirement: &str, quote: &str| -> Vec<Code> {
        let (id, requirement, quote) = ("a".to_owned(), requirement.to_owned(), quote.to_owned());
        let item = Item { id, requirement, quote, route: Route::Judge, verifier: None, category: None };
        check(instruction, found, &Checklist { items: vec![item] }, &options).faults.iter().map(|of| of.code).collect()
    };
    let quote = "Make the magic function right";
    for found in with_patch() {
        assert_eq!(codes(&found, "Magic is right.", "assert compute_magic(5) == 77"), [Code::QuoteFromVerifier]);
        assert_eq!(codes(&found, "compute_magic gives what it should", quote), [Code::TestCode]);
        assert_eq!(codes(&found, "The function gives right numbers.", quote), []);
    }
}
