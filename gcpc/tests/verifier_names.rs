//! Names that tests have in the lists, reports and criteria of benchmarks, and files in which no test is found.

use parthack_gcpc::verifier::{Resolution, Source, Verifier};

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

fn verifier(path: &str, text: &str) -> Verifier {
    Verifier::read(vec![source(path, text)]).expect("readable")
}

fn ids(verifier: &Verifier) -> Vec<&str> {
    verifier.tests().iter().map(|test| test.id.as_str()).collect()
}

/// The id that a reference leads to, `?` for several and nothing for none.
fn resolved(verifier: &Verifier, reference: &str) -> String {
    match verifier.resolve(reference) {
        Resolution::Tests(tests) => tests[0].id.clone(),
        Resolution::Ambiguous(_) => "?".to_owned(),
        Resolution::Unknown(_) => String::new(),
    }
}

fn notes(verifier: &Verifier) -> Vec<(&str, &str)> {
    verifier.notes().iter().map(|note| (note.file.as_str(), note.text.as_str())).collect()
}

#[test]
fn ids_as_unittest_prints_them() {
    let own = "test_ascii_validator (auth_tests.test_validators.UsernameValidatorsTests)";
    let list = serde_json::json!({"FAIL_TO_PASS": [
        own,
        "test_help (auth_tests.test_validators.ATests)",
        "test_help (auth_tests.test_validators.BTests)",
        "test_new (admin.tests.CTests.test_new)",
        "The first line of a docstring. (x.y)",
    ]});
    let found = verifier("instance.json", &list.to_string());
    for reference in [
        own,
        "test_ascii_validator",
        "UsernameValidatorsTests::test_ascii_validator",
        "UsernameValidatorsTests.test_ascii_validator",
        "test_validators.py::UsernameValidatorsTests::test_ascii_validator",
        "tests/auth_tests/test_validators.py::UsernameValidatorsTests::test_ascii_validator",
        "auth_tests.test_validators.UsernameValidatorsTests.test_ascii_validator",
        "test_ascii_validator (auth_tests.test_validators.UsernameValidatorsTests.test_ascii_validator)",
        "test_ascii_validator (test_validators.UsernameValidatorsTests)",
    ] {
        assert_eq!(resolved(&found, reference), own, "{reference}");
    }
    assert_eq!(resolved(&found, "ATests::test_help"), "test_help (auth_tests.test_validators.ATests)");
    assert_eq!(resolved(&found, "admin/tests.py::CTests::test_new"), "test_new (admin.tests.CTests.test_new)");
    assert_eq!(resolved(&found, "test_help"), "?");
    for unknown in [
        "test_nope",
        "OtherTests::test_ascii_validator",
        "other/test_validators.py::UsernameValidatorsTests::test_ascii_validator",
        "ascii_validator",
        "UsernameValidatorsTests",
        "test_ascii_validator (other.UsernameValidatorsTests)",
        "",
        "::",
    ] {
        assert_eq!(resolved(&found, unknown), "", "{unknown}");
    }
}

#[test]
fn a_listed_name_is_found_in_the_file_that_defines_it() {
    let patch = "--- a/sympy/core/tests/test_a.py\n+++ b/sympy/core/tests/test_a.py\n@@ -1,1 +1,2 @@\n def test_one():\n+    assert f(1)\n";
    let instance = serde_json::json!({"FAIL_TO_PASS": ["test_one", "test_two"], "test_patch": patch}).to_string();
    let found = verifier("instance.json", &instance);
    assert_eq!(resolved(&found, "sympy/core/tests/test_a.py::test_one"), "test_one");
    assert_eq!(resolved(&found, "core/tests/test_a.py::test_one"), "test_one");
    for unknown in ["sympy/core/tests/test_a.py::test_two", "sympy/core/tests/test_b.py::test_one"] {
        assert_eq!(resolved(&found, unknown), "", "{unknown}");
    }
    assert_eq!(notes(&found), [], "a diff names no tests, and none is missed");
}

const CRITERIA: &str = r#"{"actions":[{"action_id":"create_1","name":"create","arguments":{}}],"communicate_info":["10","11"],
    "nl_assertions":["Agent tells it."],
    "env_assertions":[{"env_type":"user","func_name":"assert_task_status","arguments":{},"assert_value":false}]}"#;

#[test]
fn a_check_of_tau2_has_two_spellings() {
    let found = verifier("criteria.json", CRITERIA);
    for (reference, id) in [
        ("communicate_info_0", "communicate_info/0"),
        ("communicate_info/1", "communicate_info/1"),
        ("communicate_info_1", "communicate_info/1"),
        ("nl_assertions_0", "nl_assertions/0"),
        ("env_assertions_0:assert_task_status", "env_assertions/0"),
        ("env_assertions_0", "env_assertions/0"),
        ("create_1", "actions/create_1"),
        ("communicate_info_2", ""),
        ("env_assertions_0:assert_other", ""),
        ("env_assertions_1:assert_task_status", ""),
        ("communicate_info_0:10", ""),
        ("communicate_info", ""),
    ] {
        assert_eq!(resolved(&found, reference), id, "{reference}");
    }
    // A name with a slash in a list is no check of tau2's.
    let listed = verifier("names.json", r#"["group/0"]"#);
    assert_eq!((resolved(&listed, "group/0").as_str(), resolved(&listed, "group_0").as_str()), ("group/0", ""));
}

#[test]
fn without_a_basis_state_and_communication_make_the_reward() {
    let enforced = |text: &str| {
        let found = verifier("criteria.json", text);
        let tests = found.tests().iter().filter(|test| test.enforced);
        tests.map(|test| test.id.clone()).collect::<Vec<_>>()
    };
    let default = ["actions/create_1", "communicate_info/0", "communicate_info/1"];
    assert_eq!(enforced(CRITERIA), default);
    assert_eq!(enforced(&CRITERIA.replacen('{', r#"{"reward_basis":null,"#, 1)), default);
    assert_eq!(enforced(&CRITERIA.replacen('{', r#"{"reward_basis":["NL_ASSERTION"],"#, 1)), ["nl_assertions/0"]);
    assert_eq!(enforced(&CRITERIA.replacen('{', r#"{"reward_basis":[],"#, 1)), [""; 0]);
}

#[test]
fn a_list_of_tasks_has_the_checks_of_each() {
    let one = format!(r#"[{{"id":"3","evaluation_criteria":{CRITERIA}}}]"#);
    assert_eq!(ids(&verifier("tasks.json", &one))[0], "actions/create_1");
    let two = format!(
        r#"[{{"id":"3","evaluation_criteria":{CRITERIA}}},{{"id":4,"evaluation_criteria":{{"communicate_info":["x"]}}}},{{"id":"5","evaluation_criteria":null}}]"#
    );
    let found = verifier("tasks.json", &two);
    assert_eq!(
        ids(&found),
        [
            "3/actions/create_1",
            "3/communicate_info/0",
            "3/communicate_info/1",
            "3/nl_assertions/0",
            "3/env_assertions/0",
            "4/communicate_info/0"
        ]
    );
    assert_eq!(resolved(&found, "communicate_info/1"), "3/communicate_info/1");
    assert_eq!(resolved(&found, "communicate_info/0"), "?");
    assert_eq!(resolved(&found, "4/communicate_info_0"), "4/communicate_info/0");
    let nameless = r#"[{"evaluation_criteria":{"actions":[]}},{"evaluation_criteria":{"actions":[]}}]"#;
    let error = Verifier::read(vec![source("tasks.json", nameless)]).expect_err("no id").to_string();
    assert!(error.contains("tasks.json") && error.contains("/0"), "{error}");
}

#[test]
fn more_shapes_of_lists() {
    let lines = "{\"instance_id\":\"a\",\"FAIL_TO_PASS\":[\"tests/test_a.py::test_one\"]}\n\n{\"other\":1}\n{\"FAIL_TO_PASS\":\"[\\\"test_two\\\"]\"}\n";
    for (path, text, expected) in [
        ("instances.jsonl", lines, &["test_one", "test_two"][..]),
        ("i.json", r#"[{"FAIL_TO_PASS":["test_one"]},{"fail_to_pass":["test_two"]}]"#, &["test_one", "test_two"]),
        ("test_names.json", r#"{"test_names":["test_a","t.py::test_b"]}"#, &["test_a", "test_b"]),
        (
            "names.txt",
            "# all\ntest_a\n\n tests/test_c.py::TestC::test_d[x-1]\ntest_e (a.B)\n",
            &["test_a", "TestC::test_d[x-1]", "test_e (a.B)"],
        ),
        (
            "a.bats",
            "@test \"addition works\" {\n  true\n}\n@test 'it''s \"on\"' {\n}\n# @test \"no\" {\n",
            &["addition works", "it''s \"on\""],
        ),
        ("expected.txt", "test_a\nis one of them\n", &[]),
        ("requirements.txt", "pytest\nnumpy\n", &[]),
        ("rows.jsonl", "{\"a\":1}\nnot json\n", &[]),
    ] {
        assert_eq!(ids(&verifier(path, text)), expected, "{path}");
    }
    let broken = verifier("instances.jsonl", "{\"FAIL_TO_PASS\":[\n{\"FAIL_TO_PASS\":[\"test_a\"]}\n");
    assert_eq!((ids(&broken), broken.notes()[0].line), (vec!["test_a"], 1));
    let patch = "--- a/t/test_a.py\n+++ b/t/test_a.py\n@@ -1,1 +1,1 @@\n+def test_a(): pass\n";
    let line = serde_json::json!({"FAIL_TO_PASS": ["test_a"], "test_patch": patch}).to_string();
    assert_eq!(verifier("i.jsonl", &line).sources()[0].0.path, "t/test_a.py");
}

#[test]
fn a_file_that_gives_no_test_is_noted() {
    const TEXT: &str = "no tests found";
    let read = |files: &[(&str, &str)]| {
        Verifier::read(files.iter().map(|(path, text)| source(path, text)).collect()).expect("readable")
    };
    for (files, expected) in [
        (&[("tests/a_test.go", "package a\n")][..], &["tests/a_test.go"][..]),
        (&[("a.test.ts", "test('x', () => {})\n")], &["a.test.ts"]),
        (&[("test_names.json", r#"{"names":["test_a"]}"#)], &["test_names.json"]),
        (&[("verify.py", "print(1)\n"), ("data.csv", "a\n")], &["data.csv", "verify.py"]),
        (&[("test_a.py", "def test_a(): pass\n"), ("test_b.py", "x = 1\n"), ("run.sh", "pytest\n")], &["test_b.py"]),
        (&[("test_a.py", "def test_a(): pass\n"), ("test_names.json", r#"["test_a"]"#), ("data.json", "[1]")], &[]),
        (&[("test_a.py", "x = 1\n"), ("names.json", r#"["test_a.py::test_made"]"#)], &[]),
        (&[], &[]),
    ] {
        let found = read(files);
        assert_eq!(notes(&found), expected.iter().map(|file| (*file, TEXT)).collect::<Vec<_>>(), "{files:?}");
    }
    let many: Vec<Source> = (0..100).map(|index| source(&format!("{index}.csv"), "a\n")).collect();
    assert_eq!(Verifier::read(many).expect("readable").notes().len(), 20);
}

fn open_ones(verifier: &Verifier) -> Vec<&str> {
    verifier.tests().iter().filter(|test| test.open).map(|test| test.id.as_str()).collect()
}

#[test]
fn fixtures_with_params_open_a_test_wherever_they_stand() {
    let conftest = "import pytest\n\n@pytest.fixture(params=['c1', 'c2'])\ndef conf(request): return 1\n\n@pytest.fixture\ndef through(conf): return 1\n\n@pytest.fixture\ndef plain(): return 1\n";
    let own = "import pytest\n\n@pytest.fixture\ndef conf2(): return 1\n\ndef test_conf(conf): pass\ndef test_through(through): pass\ndef test_plain(plain): pass\ndef test_none(): pass\n\nclass TestA:\n    @pytest.fixture(params=['s'], autouse = True)\n    def auto(self, request): return 1\n    def test_auto(self): pass\n    class TestB:\n        def test_deep(self): pass\n\nclass TestC:\n    @pytest.fixture\n    def conf(self): return 1\n    def test_hides(self, conf): pass\n";
    let found =
        Verifier::read(vec![source("tests/conftest.py", conftest), source("tests/a/test_x.py", own)]).expect("read");
    assert_eq!(open_ones(&found), ["test_conf", "test_through", "TestA::test_auto", "TestA::TestB::test_deep"]);
    assert_eq!(resolved(&found, "tests/a/test_x.py::test_conf[c1]"), "test_conf");
    assert_eq!(resolved(&found, "test_plain[c1]"), "");
    // Those of a folder beside or below are out of reach, and the nearest of a name hides the others.
    let beside =
        Verifier::read(vec![source("tests/b/conftest.py", conftest), source("tests/a/test_x.py", own)]).expect("read");
    assert_eq!(open_ones(&beside), ["TestA::test_auto", "TestA::TestB::test_deep"]);
    let nearer = "import pytest\n\n@pytest.fixture\ndef conf(): return 1\n";
    let hidden = Verifier::read(vec![
        source("conftest.py", conftest),
        source("tests/conftest.py", nearer),
        source("tests/test_x.py", "def test_conf(conf): pass\n"),
    ]);
    assert_eq!(open_ones(&hidden.expect("read")), [""; 0]);
    let everywhere = "import pytest\n\n@pytest.fixture(autouse=True, params=[1, 2])\ndef each(request): return 1\n";
    let hook = "def pytest_generate_tests(metafunc): pass\n";
    for text in [everywhere, hook] {
        let found = Verifier::read(vec![source("conftest.py", text), source("test_x.py", "def test_a(): pass\n")]);
        assert_eq!(open_ones(&found.expect("read")), ["test_a"], "{text}");
    }
}

#[test]
fn methods_that_parameterized_makes() {
    let text = "import unittest\nfrom parameterized import parameterized, param\n\nclass Legacy(unittest.TestCase):\n    @parameterized.expand([('a b!', 1), (2, 'x'), 'é', param('k', n=1)])\n    def test_exp(self, n): pass\n    @parameterized.expand(make())\n    def test_made(self, n): pass\n    @parameterized.expand([(n,) for n in '0']  )\n    def test_comp(self, n): pass\n    @parameterized.expand([(0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,), (9,), (10,)])\n    def test_wide(self, n): pass\n";
    let found = verifier("test_a.py", text);
    for (reference, id) in [
        ("Legacy::test_exp_0_a_b_", "Legacy::test_exp_0_a_b_"),
        ("test_exp_1", "Legacy::test_exp_1"),
        ("test_exp_2__", "Legacy::test_exp_2__"),
        ("test_exp_3_k", "Legacy::test_exp_3_k"),
        ("test_exp", "Legacy::test_exp"),
        ("test_exp_4", ""),
        ("test_exp_0_b", ""),
        ("test_made", "Legacy::test_made"),
        ("test_wide_00", "Legacy::test_wide_00"),
        ("test_wide_0", ""),
        ("test_wide_10", "Legacy::test_wide_10"),
    ] {
        assert_eq!(resolved(&found, reference), id, "{reference}");
    }
}

#[test]
fn the_order_of_marks_and_tuples_of_one() {
    let text = "import pytest\n\n@pytest.mark.parametrize('a', [1, 2])\nclass TestP:\n    pytestmark = [pytest.mark.parametrize('b', ['u', 'v'])]\n    @pytest.mark.parametrize('c', [True])\n    def test_three(self, a, b, c): pass\n    class TestNested:\n        @pytest.mark.parametrize('d', [9])\n        def test_four(self, a, b, d): pass\n\n@pytest.mark.parametrize('a,', [(1,), (2,)])\ndef test_trailing(a): pass\n";
    let found = verifier("test_a.py", text);
    assert_eq!(
        ids(&found),
        [
            "TestP::test_three[True-u-1]",
            "TestP::test_three[True-u-2]",
            "TestP::test_three[True-v-1]",
            "TestP::test_three[True-v-2]",
            "TestP::TestNested::test_four[9-u-1]",
            "TestP::TestNested::test_four[9-u-2]",
            "TestP::TestNested::test_four[9-v-1]",
            "TestP::TestNested::test_four[9-v-2]",
            "test_trailing[1]",
            "test_trailing[2]",
        ]
    );
}
