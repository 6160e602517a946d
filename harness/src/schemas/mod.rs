//! JSON Schemas (2020-12) of every format that this program reads, writes or speaks.

use serde_json::Value;

/// A schema.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// The name that `parthack schema` takes.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    source: Source,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Text(&'static str),
    Certifier(fn() -> Value),
}

impl Schema {
    /// The schema as indented JSON.
    #[must_use]
    pub fn text(&self) -> String {
        match self.source {
            Source::Text(text) => text.to_owned(),
            Source::Certifier(schema) => format!("{:#}\n", schema()),
        }
    }
}

const fn of(name: &'static str, about: &'static str, text: &'static str) -> Schema {
    Schema { name, about, source: Source::Text(text) }
}

/// Every schema, in the order of `parthack schema --list`.
pub const SCHEMAS: [Schema; 24] = [
    of("task", "parthack.task/1: a public task file", include_str!("task.json")),
    of("suite", "parthack.suite/1: a suite's list of tasks", include_str!("suite.json")),
    Schema {
        name: "private",
        about: "parthack.private/1: a private package, opened by the certifier alone",
        source: Source::Certifier(parthack_certifier::serializer::private_schema),
    },
    Schema {
        name: "commitments",
        about: "parthack.commitments/1: what binds an operator to a suite's packages",
        source: Source::Certifier(parthack_certifier::sealing::commitments_schema),
    },
    Schema {
        name: "reveal",
        about: "parthack.reveal/1: the salts and keys that show what was committed to",
        source: Source::Certifier(parthack_certifier::sealing::reveal_schema),
    },
    of("candidate", "parthack.candidate/1: a candidate trajectory", include_str!("candidate.json")),
    Schema {
        name: "payload",
        about: "parthack.payload/1: what evaluators read",
        source: Source::Certifier(parthack_certifier::serializer::payload_schema),
    },
    Schema {
        name: "projection",
        about: "parthack.projection/1: a payload without its goal schema",
        source: Source::Certifier(parthack_certifier::serializer::projection_schema),
    },
    of("proof", "parthack.proof/1: what an exact search claims", include_str!("proof.json")),
    of("tables", "tables as JSON", include_str!("tables.json")),
    of("release-check", "parthack.release-check/1: the report of release-check", include_str!("release-check.json")),
    of("evaluator", "parthack.evaluator/1: lines that an evaluator answers", include_str!("evaluator.json")),
    of("certifier", "parthack.certifier/1: lines that a client sends", include_str!("certifier.json")),
    of("manifest", "parthack.manifest/1 and /2: what a run froze", include_str!("manifest.json")),
    of("ledger", "parthack.ledger/1 and /2: lines of a run's ledger", include_str!("ledger.json")),
    of(
        "private-ledger",
        "parthack.private-ledger/1: lines of a run's certifications, for the operator alone",
        include_str!("private-ledger.json"),
    ),
    of("complete", "parthack.complete/1: hashes of a finished run", include_str!("complete.json")),
    of("audit", "parthack.audit/1: the report of audits", include_str!("audit.json")),
    of("stress", "parthack.stress/1: the report of stress", include_str!("stress.json")),
    of(
        "stress-scores",
        "parthack.stress-scores/1: lines of what was said of each payload under stress",
        include_str!("stress-scores.json"),
    ),
    of("exchange", "parthack.exchange/1: a recorded exchange with a model", include_str!("exchange.json")),
    of("prices", "parthack.prices/1: what models cost", include_str!("prices.json")),
    of("labels", "parthack.labels/1: labels of a trajectory, for gcpc score", include_str!("labels.json")),
    of("checklist", "parthack.checklist/1: a checklist, frozen or not", include_str!("checklist.json")),
];

/// The schema of a name.
#[must_use]
pub fn schema(name: &str) -> Option<&'static Schema> {
    SCHEMAS.iter().find(|schema| schema.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_an_object_with_its_title() {
        for schema in &SCHEMAS {
            let value: Value = serde_json::from_str(&schema.text()).expect(schema.name);
            assert!(value["title"].as_str().is_some_and(|title| title.starts_with("parthack.")), "{}", schema.name);
            assert!(value["description"].is_string(), "{}", schema.name);
        }
        assert!(schema("nothing").is_none());
    }
}
