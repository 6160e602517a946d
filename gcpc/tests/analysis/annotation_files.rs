//! Files of annotations: what is read, and what is refused in which line.

use parthack_gcpc::analysis::Annotations;
use parthack_gcpc::analysis::annotations::AnnotationError;
use parthack_gcpc::label::Label;
use parthack_gcpc::records::LogIdentity;
use parthack_statistics::{Preferred, Ratio};

use crate::ledger::passed;

fn logs() -> Vec<LogIdentity> {
    let mut logs = vec![
        passed("aaaaaaaa1", "s/a"),
        passed("aaaaaaaa2", "s/a"),
        passed("bbbbbbbb1", "s/b"),
        passed("cccccccc1", "s/a"),
        passed("dddddddd1", "s/a"),
    ];
    for (log, run) in [(1, "trial-1"), (3, "trial-3"), (4, "trial-3"), (2, "dddddddd1")] {
        logs[log].run = Some(run.to_owned());
    }
    // Judged by several methods, a log is there several times.
    logs.push(logs[0].clone());
    logs
}

fn read(bytes: &[u8]) -> Result<Annotations, AnnotationError> {
    Annotations::read(bytes, &logs(), true)
}

const HEADER: &str = "annotator,kind,log,other,item,value\n";

#[test]
fn what_is_read() {
    let text = "\u{feff}kind,annotator,value,log,item,other\r\n\
                rating,\"Ann, B.\",7.25,aaaaaaaa1,,\r\n\r\n\
                preference,Ben,first,trial-1,,aaaaaaaa1\r\n\
                criterion,Ben,abstain,bbbbbbbb,c1,\r\n\
                rating,Ben,\"10\",trial-1,,";
    let read = read(text.as_bytes()).expect("sound");
    let rating = &read.ratings[0];
    assert_eq!((rating.annotator.as_str(), rating.value, rating.line), ("Ann, B.", Ratio::fraction(29, 4), 2));
    assert_eq!(rating.log, logs()[0].log);
    assert_eq!((read.ratings[1].value, read.ratings[1].line), (Ratio::integer(10), 6));
    // The lower hash is first, and who is preferred stays.
    let comparison = &read.comparisons[0];
    assert_eq!((&comparison.first, &comparison.second), (&logs()[0].log, &logs()[1].log));
    assert_eq!((comparison.preferred, comparison.line), (Preferred::Second, 4));
    let criterion = &read.criteria[0];
    assert_eq!((criterion.item.as_str(), criterion.label, criterion.line), ("c1", Label::Abstain, 5));
    assert_eq!(read.single(), ["s/b"]);
    assert_eq!(read.annotators["s/a"].len(), 2);
    // A header alone is a file without annotations.
    assert_eq!(self::read(HEADER.as_bytes()), Ok(Annotations::default()));
}

#[test]
fn the_documented_example_is_read() {
    let page = include_str!("../../src/analysis/annotations.md");
    let example = page.split("```").nth(1).expect("a block").strip_prefix("text\n").expect("its kind");
    let logs = [passed("3f9c2b7a", "s/a"), passed("90d1e4c8", "s/a")];
    let read = Annotations::read(example.as_bytes(), &logs, false).expect("sound");
    assert_eq!((read.ratings.len(), read.comparisons.len(), read.criteria.len()), (1, 1, 1));
}

#[test]
fn what_is_refused() {
    let rows = [
        ("ann,rating,aaaaaaaa1,,,10.1", "line 2, column value: found \"10.1\", expected a decimal from 0 to 10"),
        ("ann,rating,aaaaaaaa1,,,-1", "line 2, column value"),
        ("ann,rating,aaaaaaaa1,,,1e1", "line 2, column value"),
        ("ann,rating,aaaaaaaa1,,,1/2", "line 2, column value"),
        ("ann,rating,aaaaaaaa1,,,NaN", "line 2, column value"),
        ("ann,rating,aaaaaaaa1,,,", "line 2, column value"),
        ("ann,rating,aaaaaaaa1,,,.5", "line 2, column value"),
        ("ann,rating,aaaaaaaa1,,,5,5", "line 2: found 7 fields, expected 6"),
        ("ann,rating,aaaaaaaa1,,5", "line 2: found 5 fields, expected 6"),
        ("ann,rating,aaaaaaaa1,aaaaaaaa2,,5", "line 2, column other: found \"aaaaaaaa2\", expected nothing"),
        ("ann,rating,aaaaaaaa1,,c1,5", "line 2, column item"),
        ("ann,criterion,aaaaaaaa1,,,yes", "line 2, column item"),
        ("ann,criterion,aaaaaaaa1,,c1,Yes", "line 2, column value: found \"Yes\", expected yes, no or abstain"),
        ("ann,criterion,aaaaaaaa1,bbbbbbbb1,c1,yes", "line 2, column other"),
        ("ann,preference,aaaaaaaa1,aaaaaaaa2,,tie", "line 2, column value"),
        ("ann,preference,aaaaaaaa1,,,first", "line 2, column other: found no judged log that is \"\""),
        ("ann,preference,aaaaaaaa1,aaaaaaaa2,c1,first", "line 2, column item"),
        ("ann,preference,trial-1,aaaaaaaa2,,first", "line 2: found a preference between a log and itself"),
        (
            "ann,preference,aaaaaaaa1,bbbbbbbb,,first",
            "line 2: found a preference between logs of two tasks, s/a and s/b",
        ),
        ("ann,score,aaaaaaaa1,,,5", "line 2, column kind: found \"score\", expected rating, preference or criterion"),
        (",rating,aaaaaaaa1,,,5", "line 2, column annotator"),
        ("\"a\nb\",rating,aaaaaaaa1,,,5", "line 2, column annotator"),
        ("ann,rating,eeeeeeee,,,5", "line 2, column log: found no judged log that is \"eeeeeeee\""),
        // Seven digits are too few, however well they tell.
        ("ann,rating,bbbbbbb,,,5", "line 2, column log: found no judged log"),
        ("ann,rating,aaaaaaaa,,,5", "line 2, column log: found 2 judged logs that are \"aaaaaaaa\""),
        ("ann,rating,trial-3,,,5", "line 2, column log: found 2 judged logs"),
        // The run id of one log is the beginning of another's hash.
        ("ann,rating,dddddddd1,,,5", "line 2, column log: found 2 judged logs"),
        (
            "\n\nann,rating,aaaaaaaa1,,,5\nann,rating,aaaaaaaa10,,,6",
            "line 5: found a second rating of the same by \"ann\", expected one (the first is in line 4)",
        ),
        ("ann,criterion,trial-1,,c1,no\nann,criterion,aaaaaaaa2,,c1,no", "line 3: found a second criterion"),
        (
            "ann,preference,trial-1,aaaaaaaa1,,first\nann,preference,aaaaaaaa1,trial-1,,first",
            "line 3: found a second preference",
        ),
    ];
    for (row, expected) in rows {
        for ending in ["\n", "\r\n", "\r"] {
            let text = format!("{HEADER}{row}\n").replace('\n', ending);
            let error = read(text.as_bytes()).expect_err(row).to_string();
            assert!(error.starts_with(expected), "{row:?}: found {error}, expected {expected}");
        }
    }
    for (header, expected) in [
        ("", "line 1: found an empty file"),
        ("annotator,kind,log,other,item", "line 1: found no column \"value\""),
        ("annotator,kind,log,other,item,value,note", "line 1: found the unknown column \"note\""),
        ("annotator,kind,log,other,item,value,kind", "line 1: found the column \"kind\" twice"),
        ("annotator, kind,log,other,item,value", "line 1: found the unknown column \" kind\""),
    ] {
        let error = read(header.as_bytes()).expect_err(header).to_string();
        assert!(error.starts_with(expected), "{header:?}: {error}");
    }
    let mut bytes = format!("{HEADER}ann,rating,aaaaaaaa1,,,5\r\n").into_bytes();
    bytes.extend(b"Ren\xe9,rating,aaaaaaaa1,,,5\n");
    assert_eq!(read(&bytes), Err(AnnotationError::Encoding { line: 3 }));
}

#[test]
fn two_annotators_a_task() {
    let text = format!("{HEADER}ann,rating,aaaaaaaa1,,,5\nann,rating,bbbbbbbb1,,,5\nben,criterion,aaaaaaaa2,,c1,yes\n");
    let error = Annotations::read(text.as_bytes(), &logs(), false);
    assert_eq!(error, Err(AnnotationError::Single { tasks: vec!["s/b".to_owned()] }));
    assert!(Annotations::read(text.as_bytes(), &logs(), true).is_ok());
}
