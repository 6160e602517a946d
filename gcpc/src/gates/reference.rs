//! The gate on references: route and reference fit, and the reference names a test that exists and that the outcome depends on.

use super::{Code, Fault, shown};
use crate::checklist::{Item, Route};
use crate::verifier::{Resolution, Verifier};

pub(super) fn check(index: usize, item: &Item, verifier: &Verifier) -> Option<Fault> {
    let fault = |code, message| {
        Some(Fault::new(code, index, "verifier", item.verifier.as_deref().unwrap_or_default(), message))
    };
    let reference = match (item.route, item.verifier.as_deref()) {
        (Route::Assertion, None) => {
            return fault(Code::ReferenceMissing, "route assertion names no verifier test".to_owned());
        }
        (Route::Assertion, Some(reference)) => reference,
        (_, None) => return None,
        (route, Some(reference)) => {
            let message =
                format!("route {} with the reference {}: only assertion has one", route.word(), shown(reference));
            return fault(Code::ReferenceUnexpected, message);
        }
    };
    if super::plain::is_empty(reference) {
        return fault(Code::ReferenceMissing, format!("route assertion with the empty reference {}", shown(reference)));
    }
    match verifier.resolve(reference) {
        Resolution::Tests(tests) if tests.iter().any(|test| test.enforced) => None,
        Resolution::Tests(_) => {
            fault(Code::ReferenceNotEnforced, format!("the official outcome does not depend on {}", shown(reference)))
        }
        Resolution::Ambiguous(names) => {
            fault(Code::ReferenceAmbiguous, format!("{} may be any of: {}", shown(reference), names.join(", ")))
        }
        Resolution::Unknown(near) if near.is_empty() => {
            let count = verifier.tests().len();
            fault(
                Code::ReferenceUnknown,
                format!("{} is none of the verifier's {count} tests, nor near one", shown(reference)),
            )
        }
        Resolution::Unknown(near) => fault(
            Code::ReferenceUnknown,
            format!("{} is no test of the verifier; near it: {}", shown(reference), near.join(", ")),
        ),
    }
}
