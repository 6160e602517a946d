//! The checklist file: strict reading, canonical writing, freezing by hash.

use parthack_env::canonical::Hash;
use parthack_gcpc::checklist::{Category, Checklist, Document, Frozen, Item, Origin, Route, instruction_hash};
use proptest::prelude::*;

fn item(id: &str) -> Item {
    Item {
        id: id.to_owned(),
        requirement: "The file is there.".to_owned(),
        quote: "write the file".to_owned(),
        route: Route::Assertion,
        verifier: Some("test_file".to_owned()),
        category: Some(Category::Construction),
    }
}

fn frozen() -> Frozen {
    Frozen {
        task: "t-1".to_owned(),
        instruction: instruction_hash("write the file"),
        verifier: Hash::of("verifier", b"[]"),
        generation: Some(Origin { attempt: 2, record: Hash::of("generation", b"{}") }),
        checklist: Checklist {
            items: vec![item("c1"), Item { verifier: None, category: None, route: Route::Judge, ..item("c2") }],
        },
    }
}

#[test]
fn what_is_written_is_read() {
    let frozen = frozen();
    assert_eq!(Document::read(&frozen.write()), Ok(Document::Frozen(frozen.clone())));
    let by_hand = Frozen { generation: None, ..frozen.clone() };
    assert_eq!(Document::read(&by_hand.write()), Ok(Document::Frozen(by_hand)));
    let candidate = frozen.checklist.write(Some("t-1"));
    assert_eq!(Document::read(&candidate), Ok(Document::Candidate(Some("t-1".to_owned()), frozen.checklist.clone())));
    assert_eq!(Document::read(&frozen.checklist.write(None)), Ok(Document::Candidate(None, frozen.checklist)));
}

#[test]
fn the_hash_is_over_canonical_bytes_with_a_label() {
    let frozen = frozen();
    let text = String::from_utf8(frozen.write()).expect("UTF-8");
    let hash = frozen.hash().hex();
    let without = text.replace(&format!("\"hash\":\"{hash}\","), "");
    assert_eq!(Hash::of("checklist", without.as_bytes()), frozen.hash());
    let spaced = text.replace(",\"", " ,\n\"");
    assert_eq!(Document::read(spaced.as_bytes()), Ok(Document::Frozen(frozen)), "layout does not count");
}

#[test]
fn an_edited_frozen_checklist_is_refused() {
    let text = String::from_utf8(frozen().write()).expect("UTF-8");
    for (old, new) in [
        ("The file is there.", "The file is here."),
        ("\"t-1\"", "\"t-2\""),
        ("\"attempt\":2", "\"attempt\":3"),
        ("judge", "generated"),
    ] {
        let error = Document::read(text.replace(old, new).as_bytes()).expect_err(old).to_string();
        assert!(error.contains("/hash") && error.contains("hint"), "{error}");
    }
}

#[test]
fn faults_have_places() {
    let good =
        r#"{"format":"parthack.checklist/1","items":[{"id":"c1","requirement":"R","quote":"Q","route":"judge"}]}"#;
    assert!(Document::read(good.as_bytes()).is_ok());
    for (old, new, place) in [
        ("checklist/1", "checklist/2", "/format"),
        ("\"items\"", "\"itmes\"", "/itmes"),
        ("\"judge\"", "\"Judge\"", "/items/0/route"),
        ("\"quote\":\"Q\"", "\"quote\":1", "/items/0/quote"),
        ("\"quote\":\"Q\",", "", "/items/0"),
        ("\"route\"", "\"weight\":1,\"route\"", "/items/0/weight"),
        ("\"id\":\"c1\"", "\"id\":\"c1\",\"id\":\"c2\"", "/items/0/id"),
        ("\"judge\"", "\"judge\",\"category\":\"other\"", "/items/0/category"),
        ("\"judge\"}]", "\"judge\"}],\"hash\":\"00\"", "task"),
    ] {
        let text = good.replacen(old, new, 1);
        let error = Document::read(text.as_bytes()).expect_err(&text).to_string();
        assert!(error.contains(place), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_candidate_survives_its_file(texts in proptest::collection::vec((".{0,12}", ".{0,20}", any::<bool>()), 0..6)) {
        let items = texts.iter().map(|(id, text, of)| Item {
            id: id.clone(), requirement: text.clone(), quote: text.clone(), route: if *of { Route::Assertion } else { Route::Generated },
            verifier: of.then(|| text.clone()), category: None,
        });
        let checklist = Checklist { items: items.collect() };
        prop_assert_eq!(Document::read(&checklist.write(None)), Ok(Document::Candidate(None, checklist)));
    }
}
