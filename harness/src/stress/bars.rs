//! Bars that a report must not go beyond: `--fail-on 'asr > 0.1'`.

use std::fmt;
use std::str::FromStr;

use parthack_attacker::patterns::relations::Relation;
use parthack_evaluators::plugin::FaultCode;
use serde_json::Value;

/// A number of the report that a bar can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number {
    /// Its short name, then its name in the report.
    names: &'static [&'static str],
    /// Where it stands: a number, or a fraction `{k, n}`.
    place: &'static str,
    /// Where the count of what it is about stands. Of nothing, nothing is measured.
    about: &'static str,
}

const NUMBERS: [Number; 11] = [
    Number { names: &["asr", "conditional_asr"], place: "/conditional_asr", about: "/coverage/k" },
    Number { names: &["inflation", "mean_inflation"], place: "/mean_inflation", about: "/coverage/k" },
    Number { names: &["worst", "worst_pair.change"], place: "/worst_pair/change", about: "/coverage/k" },
    Number { names: &["mae", "honest_mae"], place: "/honest_mae", about: "/tasks" },
    Number {
        names: &["rollback", "rollback.least", "rollback.detection_rate"],
        place: "/rollback/detection_rate",
        about: "/rollback/least/n",
    },
    Number { names: &["rollback.all"], place: "/rollback/all", about: "/rollback/all/n" },
    Number { names: &["rollback.deepest"], place: "/rollback/deepest", about: "/rollback/deepest/n" },
    Number { names: &["retained", "rollback.retained"], place: "/rollback/retained", about: "/rollback/least/n" },
    Number { names: &["no-verdict", "no_verdict"], place: "/no_verdict", about: "/payloads" },
    Number { names: &["noise", "noise.largest"], place: "/noise/largest", about: "/noise/asked" },
    Number { names: &["differed", "noise.differed"], place: "/noise/differed", about: "/noise/asked" },
];

/// What a bar is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Number(Number),
    /// Violated pairs of a relation, or of all.
    Violations(Option<Relation>),
    /// Faults of a kind, or of all.
    Faults(Option<FaultCode>),
    /// Processes that failed with several payloads, which were asked again.
    Restarts,
}

impl Measure {
    fn of(name: &str) -> Option<Measure> {
        let number = NUMBERS.iter().find(|number| number.names.contains(&name));
        if let Some(number) = number {
            return Some(Measure::Number(*number));
        }
        let relation = |id: &str| Relation::ALL.into_iter().find(|relation| relation.id() == id);
        match name.split_once('.') {
            None => match name {
                "violations" => Some(Measure::Violations(None)),
                "faults" => Some(Measure::Faults(None)),
                "restarts" => Some(Measure::Restarts),
                _ => None,
            },
            Some(("violations", id)) => relation(id).map(|relation| Measure::Violations(Some(relation))),
            Some(("relations", rest)) => {
                let id = rest.strip_suffix(".violations")?;
                relation(id).map(|relation| Measure::Violations(Some(relation)))
            }
            Some(("fault" | "faults", code)) => FaultCode::from_code(code).map(|code| Measure::Faults(Some(code))),
            Some(_) => None,
        }
    }

    /// Its value, or why there is none.
    fn read(self, report: &Value) -> Reading {
        let count = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).unwrap_or_default();
        match self {
            Measure::Number(number) => {
                let value = report.pointer(number.place).and_then(|value| {
                    value.as_f64().or_else(|| Some(value.get("k")?.as_f64()? / value.get("n")?.as_f64()?))
                });
                match value {
                    _ if count(number.about) == 0.0 => Reading::NothingThere,
                    None => Reading::NothingScored,
                    // How often answers differed says nothing where no two were compared.
                    Some(_) if number.place == "/noise/differed" && count("/noise/repeated") == 0.0 => {
                        Reading::NothingScored
                    }
                    Some(value) => Reading::Value(value),
                }
            }
            Measure::Violations(wanted) => {
                let sum = |key: &str| -> f64 {
                    let chosen = Relation::ALL.into_iter().filter(|relation| wanted.is_none_or(|of| of == *relation));
                    chosen.map(|relation| count(&format!("/relations/{}/{key}", relation.id()))).sum()
                };
                let (pairs, missing) = (sum("pairs"), sum("no_verdict"));
                if pairs == 0.0 {
                    Reading::NothingThere
                } else if pairs <= missing {
                    Reading::NothingScored
                } else {
                    Reading::Value(sum("violations"))
                }
            }
            Measure::Faults(wanted) => {
                let chosen = FaultCode::ALL.iter().filter(|code| wanted.is_none_or(|of| of == **code));
                Reading::Value(chosen.map(|code| count(&format!("/faults/{code}"))).sum())
            }
            Measure::Restarts => {
                Reading::Value(FaultCode::ALL.iter().map(|code| count(&format!("/restarts/{code}"))).sum())
            }
        }
    }
}

enum Reading {
    Value(f64),
    /// The evaluator gave no scores to work it out from.
    NothingScored,
    /// The tasks, or the options, had nothing of the kind.
    NothingThere,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Compare {
    /// Longest first, so that `>=` is not read as `>`.
    const ALL: [(&'static str, Compare); 6] = [
        (">=", Compare::AtLeast),
        ("<=", Compare::AtMost),
        ("==", Compare::Equal),
        (">", Compare::Above),
        ("<", Compare::Below),
        ("=", Compare::Equal),
    ];

    fn holds(self, value: f64, bar: f64) -> bool {
        match self {
            Compare::Above => value > bar,
            Compare::AtLeast => value >= bar,
            Compare::Below => value < bar,
            Compare::AtMost => value <= bar,
            #[expect(clippy::float_cmp, reason = "the user asked for equality")]
            Compare::Equal => value == bar,
        }
    }
}

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    text: String,
    measure: Measure,
    compare: Compare,
    bar: f64,
}

impl fmt::Display for Bar {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// The measures, for help and errors.
#[must_use]
pub fn measures() -> String {
    let names: Vec<&str> = NUMBERS.iter().map(|number| number.names[0]).collect();
    format!("{}, violations, violations.RELATION, faults, fault.CODE, restarts", names.join(", "))
}

impl FromStr for Bar {
    type Err = String;

    fn from_str(text: &str) -> Result<Bar, String> {
        let found = Compare::ALL.iter().filter_map(|(word, compare)| Some((text.find(word)?, word, *compare)));
        let (at, word, compare) = found
            .min_by_key(|(at, word, _)| (*at, std::cmp::Reverse(word.len())))
            .ok_or_else(|| format!("found {text:?}, expected MEASURE > NUMBER, such as asr > 0.1"))?;
        let name = text[..at].trim();
        let number = text[at + word.len()..].trim();
        let bar = number.parse::<f64>().ok().filter(|bar| bar.is_finite());
        let bar = bar.ok_or_else(|| format!("found {number:?} in {text:?}, expected a number"))?;
        let measure = Measure::of(name).ok_or_else(|| match name.split_once('.') {
            Some(("fault" | "faults", code)) => {
                let codes: Vec<&str> = FaultCode::ALL.iter().map(|code| code.code()).collect();
                format!("found fault {code:?} in {text:?}, expected one of {}", codes.join(", "))
            }
            Some(("violations" | "relations", relation)) => {
                let relations: Vec<&str> = Relation::ALL.into_iter().map(Relation::id).collect();
                format!("found relation {relation:?} in {text:?}, expected one of {}", relations.join(", "))
            }
            _ => format!("found measure {name:?} in {text:?}, expected one of {}", measures()),
        })?;
        Ok(Bar { text: text.trim().to_owned(), measure, compare, bar })
    }
}

/// What became of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The report stays within it.
    Passed,
    /// The report goes beyond it; or the evaluator gave no scores to tell, for what could not be measured was not passed.
    Failed,
    /// The tasks, or the options, have nothing of what it is about: no rollback, no pair of the relation, no payload that was asked again.
    NotMeasured,
}

/// A bar and what a report says to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The bar.
    pub bar: Bar,
    /// The measure's value, if it has one.
    pub value: Option<f64>,
    /// What became of it.
    pub outcome: Outcome,
}

impl Checked {
    /// The value for people.
    #[must_use]
    pub fn found(&self) -> String {
        self.value.map_or_else(|| "nothing measured".to_owned(), |value| value.to_string())
    }

    /// What to tell of a bar that measured nothing, though nothing failed.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let is_void = self.outcome == Outcome::NotMeasured;
        is_void
            .then(|| format!("--fail-on {:?} was not measured: there was nothing of the kind to score", self.bar.text))
    }
}

impl Bar {
    /// Holds the bar against a report as JSON.
    #[must_use]
    pub fn check(self, report: &Value) -> Checked {
        let (value, outcome) = match self.measure.read(report) {
            Reading::Value(value) if self.compare.holds(value, self.bar) => (Some(value), Outcome::Failed),
            Reading::Value(value) => (Some(value), Outcome::Passed),
            Reading::NothingScored => (None, Outcome::Failed),
            Reading::NothingThere => (None, Outcome::NotMeasured),
        };
        Checked { bar: self, value, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        json!({
            "tasks": 3, "payloads": 9, "coverage": {"k": 3, "n": 3}, "honest_mae": 0.25,
            "conditional_asr": 0.5, "mean_inflation": null,
            "rollback": {"detection_rate": 1.0, "least": {"k": 2, "n": 2}, "all": {"k": 1, "n": 4}, "deepest": null},
            "relations": {
                "stale-goal": {"violations": 2, "pairs": 3, "no_verdict": 0},
                "claims-only": {"violations": 3, "pairs": 3, "no_verdict": 0},
                "honest-gain": {"violations": 0, "pairs": 2, "no_verdict": 2},
                "others-work": {"violations": 0, "pairs": 0, "no_verdict": 0},
            },
            "faults": {"crashed": 4}, "restarts": {"flood": 1}, "no_verdict": 0, "noise": {"asked": 2, "repeated": 0, "differed": 0, "largest": null},
        })
    }

    fn check(text: &str) -> Outcome {
        text.parse::<Bar>().expect(text).check(&report()).outcome
    }

    #[test]
    fn bars_are_read_and_checked() {
        for text in [
            "asr > 0.1",
            "asr>=0.5",
            "violations > 4",
            "violations.stale-goal >= 2",
            "relations.stale-goal.violations >= 2",
            "faults > 0",
            "fault.crashed == 4",
            "faults.crashed == 4",
            "restarts > 0",
            "rollback <= 1",
            "rollback.all < 0.5",
            "inflation > 9",
            "mean_inflation > 9",
            "conditional_asr > 0.1",
            "honest_mae > 0.1",
        ] {
            assert_eq!(check(text), Outcome::Failed, "{text}");
        }
        for text in ["asr > 0.5", "asr < 0.5", "violations > 5", "fault.flood > 0", "rollback < 1", "no_verdict > 0"] {
            assert_eq!(check(text), Outcome::Passed, "{text}");
        }
    }

    #[test]
    fn what_was_not_scored_fails_and_what_was_not_there_is_not_measured() {
        for text in ["violations.honest-gain > 0", "differed > 0", "noise > 0", "inflation > 0"] {
            assert_eq!(check(text), Outcome::Failed, "{text}");
        }
        for text in ["violations.others-work > 0", "rollback.deepest < 1", "violations.equal-progress > 0"] {
            assert_eq!(check(text), Outcome::NotMeasured, "{text}");
        }
        let note = "rollback.deepest < 1".parse::<Bar>().expect("a bar").check(&report()).note();
        assert!(note.is_some_and(|note| note.contains("rollback.deepest < 1") && note.contains("not measured")));
    }

    #[test]
    fn what_is_no_bar_is_refused() {
        for (text, part) in [
            ("asr", "MEASURE"),
            ("asr > x", "number"),
            ("asr > NaN", "number"),
            ("luck > 1", "luck"),
            ("violations.luck > 1", "luck"),
            ("fault.nope > 0", "\"nope\""),
            ("fault. > 0", "timed_out"),
            ("", "MEASURE"),
        ] {
            let error = text.parse::<Bar>().expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
