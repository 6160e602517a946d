//! Every mutation control is refused with its code by both certifiers, and each is applicable somewhere in the suite.

mod support;

use std::collections::BTreeSet;

use parthack_certifier::certify::TaskCertifier;
use parthack_certifier::controls::{names, run_private_controls};

#[test]
fn both_certifiers_refuse_every_control() {
    let mut applicable = BTreeSet::new();
    for private in &support::suite_tasks() {
        let certifier = TaskCertifier::private(private).expect("a model");
        for result in run_private_controls(&certifier, private).expect("controls") {
            assert!(result.passed(), "{}: {result:?}", private.task.spec.id);
            if result.applicable {
                applicable.insert(result.name);
            }
        }
    }
    let all: BTreeSet<String> = names().into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(applicable, all);
}
