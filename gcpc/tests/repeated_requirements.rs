//! Requirements that stand twice, and parallel ones that do not.

use parthack_gcpc::checklist::{Checklist, Item, Route};
use parthack_gcpc::gates::{Code, Options, check};
use parthack_gcpc::verifier::{Source, Verifier};

const INSTRUCTION: &str =
    "Write the report for the American, Italian and French offices, one sheet each, and check it.";
const QUOTE: &str = "Write the report for the American";
const OTHER_QUOTE: &str = "one sheet each, and check it.";

fn item(id: &str, requirement: &str, quote: &str, verifier: Option<&str>) -> Item {
    Item {
        id: id.to_owned(),
        requirement: requirement.to_owned(),
        quote: quote.to_owned(),
        route: if verifier.is_some() { Route::Assertion } else { Route::Judge },
        verifier: verifier.map(str::to_owned),
        category: None,
    }
}

fn codes(items: Vec<Item>) -> Vec<Code> {
    let text =
        "import pytest\n\ndef test_a(): pass\n\n@pytest.mark.parametrize('x', ['u', 'v'])\ndef test_b(x): pass\n";
    let verifier = Verifier::read(vec![Source { path: "test_a.py".to_owned(), text: text.to_owned() }]).expect("read");
    let options = Options { least_items: 1, ..Options::default() };
    let report = check(INSTRUCTION, &verifier, &Checklist { items }, &options);
    report.faults.iter().map(|fault| fault.code).collect()
}

fn pair(left: &str, right: &str) -> Vec<Code> {
    codes(vec![item("a", left, QUOTE, None), item("b", right, QUOTE, None)])
}

#[test]
fn parallel_requirements_are_kept_apart() {
    for (left, right) in [
        (
            "The Population by State sheet contains a pivot table with STATE as its row field",
            "The Earners by State sheet contains a pivot table with STATE as its row field",
        ),
        (
            "The pivot table on the sheet 'Population by State' uses STATE as the row field",
            "The pivot table on the sheet 'Earners by State' uses STATE as the row field",
        ),
        (
            "American cuisine appears in at least one meal of the plan",
            "Italian cuisine appears in at least one meal of the plan",
        ),
        (
            "The TotalKg column is computed with an Excel formula in every row",
            "The Dots column is computed with an Excel formula in every row",
        ),
        (
            "The file tuned_gains.json is written in the working directory with the documented keys",
            "The file control_log.json is written in the working directory with the documented keys",
        ),
        (
            "Dots coefficients are correct for male lifters in every row",
            "Dots coefficients are correct for female lifters in every row",
        ),
        ("The sheet lists every office", "The sheet lists every French office"),
        ("The report has at least 5 pages", "The report has at least 6 pages"),
        ("The report has at least five pages", "The report has at most five pages"),
        ("The report names the office", "The report does not name the office"),
        ("The report names the office", "The report doesn't name the office"),
        ("The trip goes from Lyon to Nice", "The trip goes from Nice to Lyon"),
        ("Revenue is greater than cost", "Cost is greater than revenue"),
        ("The pivot uses STATE as row and Quarter as column", "The pivot uses Quarter as row and STATE as column"),
        ("20 points lie within 30 seconds", "30 points lie within 20 seconds"),
        ("The error is <0.5C", "The error is >0.5C"),
        ("The offset is -1", "The offset is 1"),
        ("The mean of each sheet is given", "The median of each sheet is given"),
        ("The key rise_time is there", "The key settling_time is there"),
        ("Sheet Q1 has a total", "Sheet Q2 has a total"),
        ("The sums are in column A", "The sums are in column I"),
        ("The US sheet is there", "The IT sheet is there"),
        ("The offset is −1", "The offset is 1"),
        ("The task says that rows are kept", "The task says that columns are kept"),
        ("The task is to keep rows", "Rows are kept"),
        ("The instruction states the task", "The prompt mentions the task"),
        ("Offices may be left out", "Offices must be left out"),
        ("Names or addresses are given", "Names and addresses are given"),
    ] {
        assert_eq!(pair(left, right), [], "{left} / {right}");
        assert_eq!(pair(right, left), [], "{right} / {left}");
    }
}

#[test]
fn what_differs_in_function_words_inflection_and_order_is_refused() {
    for (left, right) in [
        ("The fake paper is listed", "The fake papers are listed"),
        (
            "The gains are worked out from the estimated parameters",
            "All gains are worked out from estimated parameters.",
        ),
        ("The results are written to /root/answer.json", "To /root/answer.json the results are written"),
        ("The results must be written", "The results are written."),
        ("Each office has its own sheet", "Every office should have its own sheet"),
        ("The report isn't empty", "The report is not empty"),
        ("Titles MUST be in a SHEET", "Titles are in a sheet"),
        (
            "The instruction clearly states that the guest is asked first",
            "The task specifies that the guest must be asked first",
        ),
        ("The instructions also say that rows are kept", "Rows are kept"),
        ("Seven days are planned", "7 days are planned"),
        ("The lifter's total is computed", "Totals of the lifters are computed"),
        ("The trip goes from Lyon to Nice", "From Lyon to Nice the trip goes"),
        ("Titles are stripped of braces", "Title is stripped of the brace"),
    ] {
        assert_eq!(pair(left, right), [Code::NearDuplicateRequirement], "{left} / {right}");
        assert_eq!(pair(right, left), [Code::NearDuplicateRequirement], "{right} / {left}");
    }
    for (left, right) in [("The error is <0.5C.", "the error is <0.5C"), ("`a.json` is there", "a.json is there!")] {
        assert_eq!(pair(left, right), [Code::DuplicateRequirement], "{left} / {right}");
    }
}

#[test]
fn other_passages_and_other_tests_make_other_items() {
    let (left, right) = ("The sheet of each office is there", "Each office has its sheet there");
    let of = |quote: &str, test: Option<&str>| {
        codes(vec![item("a", left, QUOTE, Some("test_a")), item("b", right, quote, test)])
    };
    assert_eq!(of(OTHER_QUOTE, Some("test_b[u]")), []);
    let near = [Code::NearDuplicateRequirement];
    assert_eq!(of(OTHER_QUOTE, Some("test_a.py::test_a")), near, "the same test under its longer name");
    assert_eq!(of(OTHER_QUOTE, None), near);
    assert_eq!(of("the report for the American", Some("test_b[u]")), near, "a part of the same passage");
    let both = codes(vec![item("a", left, QUOTE, Some("test_b")), item("b", right, OTHER_QUOTE, Some("test_b[u]"))]);
    assert_eq!(both, near, "one of the test's parameters");
    // The same words are the same requirement, whatever they are grounded on.
    let same = codes(vec![item("a", left, QUOTE, Some("test_a")), item("b", left, OTHER_QUOTE, Some("test_b"))]);
    assert_eq!(same, [Code::DuplicateRequirement]);
}
