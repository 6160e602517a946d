//! Goal predicates as files name them (SPEC §2; P §3.1).

use crate::canonical::{push_key, push_number_entry, push_string, push_text_entry};
use crate::input::{Cursor, InputError};
use crate::value::Literal;

/// A test of one field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldTest {
    /// Equal, exactly and typed.
    Equals(Literal),
    /// Equal to one of them.
    In(Vec<Literal>),
    /// An integer or tick, at least this.
    AtLeast(i64),
    /// An integer or tick, at most this.
    AtMost(i64),
    /// A set that contains it.
    Contains(Literal),
}

/// How a count is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `==`
    Equals,
}

const COMPARISONS: [(&str, Comparison); 3] =
    [("at_least", Comparison::AtLeast), ("at_most", Comparison::AtMost), ("equals", Comparison::Equals)];

impl Comparison {
    /// Whether `count` meets the comparison with `bound`.
    #[must_use]
    pub fn holds(self, count: u32, bound: u32) -> bool {
        match self {
            Comparison::AtLeast => count >= bound,
            Comparison::AtMost => count <= bound,
            Comparison::Equals => count == bound,
        }
    }
}

/// A goal predicate over names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// The entity is live (and of this incarnation).
    Exists {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
        /// Pinned incarnation, from 1.
        incarnation: Option<u32>,
    },
    /// The entity was never created.
    Absent {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
    },
    /// The entity is deleted (and of this incarnation).
    Deleted {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
        /// Pinned incarnation, from 1.
        incarnation: Option<u32>,
    },
    /// The entity is live (and of this incarnation) and a field passes a test. `refers_to` is an equality here.
    Field {
        /// Entity type.
        entity_type: String,
        /// Entity id.
        id: String,
        /// Field name.
        field: String,
        /// Pinned incarnation, from 1.
        incarnation: Option<u32>,
        /// The test.
        test: FieldTest,
        /// The kind was `refers_to`.
        refers: bool,
    },
    /// So many live entities of a type pass a filter.
    Count {
        /// Entity type.
        entity_type: String,
        /// All must pass.
        filter: Vec<(String, FieldTest)>,
        /// How the count is compared.
        compare: Comparison,
        /// With what.
        count: u32,
    },
    /// The goal version in force.
    GoalVersion(u32),
    /// Every one holds.
    All(Vec<Predicate>),
    /// At least one holds.
    Any(Vec<Predicate>),
    /// It does not hold.
    Not(Box<Predicate>),
}

impl Predicate {
    /// Reads a predicate.
    ///
    /// # Errors
    /// An unknown kind or key, a missing key, or a value of another type than the kind's.
    pub fn read(cursor: &Cursor<'_, '_>) -> Result<Predicate, InputError> {
        let kind_cursor = cursor.key("kind")?;
        let kind = kind_cursor.text()?;
        let entity = |keys: &[&str]| -> Result<(String, String, Option<u32>), InputError> {
            let mut known = vec!["kind", "type", "id"];
            known.extend_from_slice(keys);
            cursor.object(&known)?;
            let incarnation = cursor.optional("incarnation").map(|c| c.u32(1, 1 << 20)).transpose()?;
            Ok((cursor.key("type")?.identifier()?.to_owned(), cursor.key("id")?.identifier()?.to_owned(), incarnation))
        };
        let field = |value_key: &str, test: FieldTest, refers: bool| -> Result<Predicate, InputError> {
            let (entity_type, id, incarnation) = entity(&["field", value_key, "incarnation"])?;
            let field = cursor.key("field")?.identifier()?.to_owned();
            Ok(Predicate::Field { entity_type, id, field, incarnation, test, refers })
        };
        match kind {
            "exists" => {
                let (entity_type, id, incarnation) = entity(&["incarnation"])?;
                Ok(Predicate::Exists { entity_type, id, incarnation })
            }
            "absent" => {
                let (entity_type, id, _) = entity(&[])?;
                Ok(Predicate::Absent { entity_type, id })
            }
            "deleted" => {
                let (entity_type, id, incarnation) = entity(&["incarnation"])?;
                Ok(Predicate::Deleted { entity_type, id, incarnation })
            }
            "field_equals" => field("value", FieldTest::Equals(Literal::read(cursor.key("value")?.json)), false),
            "field_in" => field("values", FieldTest::In(read_literals(&cursor.key("values")?)?), false),
            "field_at_least" => field("value", FieldTest::AtLeast(cursor.key("value")?.integer(i64::MIN, i64::MAX)?), false),
            "field_at_most" => field("value", FieldTest::AtMost(cursor.key("value")?.integer(i64::MIN, i64::MAX)?), false),
            "set_contains" => field("value", FieldTest::Contains(Literal::read(cursor.key("value")?.json)), false),
            "refers_to" => {
                let target = cursor.key("target")?.identifier()?.to_owned();
                field("target", FieldTest::Equals(Literal::Text(target)), true)
            }
            "count" => {
                cursor.object(&["kind", "type", "filter", "compare", "count"])?;
                let filter = match cursor.optional("filter") {
                    None => Vec::new(),
                    Some(list) => list.items()?.iter().map(read_filter).collect::<Result<_, _>>()?,
                };
                Ok(Predicate::Count {
                    entity_type: cursor.key("type")?.identifier()?.to_owned(),
                    filter,
                    compare: cursor.key("compare")?.word(&COMPARISONS)?,
                    count: cursor.key("count")?.u32(0, 1 << 16)?,
                })
            }
            "goal_version" => {
                cursor.object(&["kind", "version"])?;
                Ok(Predicate::GoalVersion(cursor.key("version")?.u32(1, crate::limits::MAX_GOAL_VERSION)?))
            }
            "all" | "any" => {
                cursor.object(&["kind", "of"])?;
                let list = cursor.key("of")?;
                let of = list.items()?.iter().map(Predicate::read).collect::<Result<Vec<_>, _>>()?;
                if of.is_empty() {
                    return Err(list.fault("at least one predicate"));
                }
                Ok(if kind == "all" { Predicate::All(of) } else { Predicate::Any(of) })
            }
            "not" => {
                cursor.object(&["kind", "of"])?;
                Ok(Predicate::Not(Box::new(Predicate::read(&cursor.key("of")?)?)))
            }
            _ => Err(kind_cursor.fault(
                "one of: exists, absent, deleted, field_equals, field_in, field_at_least, field_at_most, refers_to, set_contains, count, goal_version, all, any, not",
            )),
        }
    }

    /// Appends canonical JSON.
    pub fn push_json(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        match self {
            Predicate::Exists { entity_type, id, incarnation } => {
                push_entity(out, "exists", entity_type, id, *incarnation)
            }
            Predicate::Absent { entity_type, id } => push_entity(out, "absent", entity_type, id, None),
            Predicate::Deleted { entity_type, id, incarnation } => {
                push_entity(out, "deleted", entity_type, id, *incarnation)
            }
            Predicate::Field { entity_type, id, field, incarnation, test, refers } => {
                let kind = match test {
                    FieldTest::Equals(_) if *refers => "refers_to",
                    FieldTest::Equals(_) => "field_equals",
                    FieldTest::In(_) => "field_in",
                    FieldTest::AtLeast(_) => "field_at_least",
                    FieldTest::AtMost(_) => "field_at_most",
                    FieldTest::Contains(_) => "set_contains",
                };
                push_text_entry(out, "field", field);
                push_text_entry(out, "id", id);
                if let Some(incarnation) = incarnation {
                    push_number_entry(out, "incarnation", u64::from(*incarnation));
                }
                push_text_entry(out, "kind", kind);
                if let (FieldTest::Equals(target), true) = (test, refers) {
                    push_key(out, "target");
                    target.push_json(out);
                }
                push_text_entry(out, "type", entity_type);
                if !refers {
                    push_key(out, if matches!(test, FieldTest::In(_)) { "values" } else { "value" });
                    push_test_value(out, test);
                }
            }
            Predicate::Count { entity_type, filter, compare, count } => {
                let compare = COMPARISONS.iter().find(|(_, c)| c == compare).map_or("equals", |(word, _)| word);
                push_text_entry(out, "compare", compare);
                push_number_entry(out, "count", u64::from(*count));
                push_key(out, "filter");
                out.push(b'[');
                for (index, (field, test)) in filter.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    push_filter(out, field, test);
                }
                out.push(b']');
                push_text_entry(out, "kind", "count");
                push_text_entry(out, "type", entity_type);
            }
            Predicate::GoalVersion(version) => {
                push_text_entry(out, "kind", "goal_version");
                push_number_entry(out, "version", u64::from(*version));
            }
            Predicate::All(of) | Predicate::Any(of) => {
                push_text_entry(out, "kind", if matches!(self, Predicate::All(_)) { "all" } else { "any" });
                push_key(out, "of");
                out.push(b'[');
                for (index, part) in of.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    part.push_json(out);
                }
                out.push(b']');
            }
            Predicate::Not(of) => {
                push_text_entry(out, "kind", "not");
                push_key(out, "of");
                of.push_json(out);
            }
        }
        out.push(b'}');
    }

    /// Every leaf, left to right.
    pub fn leaves<'p>(&'p self, visit: &mut impl FnMut(&'p Predicate)) {
        match self {
            Predicate::All(of) | Predicate::Any(of) => of.iter().for_each(|part| part.leaves(visit)),
            Predicate::Not(of) => of.leaves(visit),
            leaf => visit(leaf),
        }
    }
}

fn read_literals(cursor: &Cursor<'_, '_>) -> Result<Vec<Literal>, InputError> {
    let items: Vec<Literal> = cursor.items()?.iter().map(|item| Literal::read(item.json)).collect();
    if items.is_empty() { Err(cursor.fault("at least one value")) } else { Ok(items) }
}

fn read_filter(cursor: &Cursor<'_, '_>) -> Result<(String, FieldTest), InputError> {
    cursor.object(&["field", "equals", "in", "at_least", "at_most", "contains"])?;
    let field = cursor.key("field")?.identifier()?.to_owned();
    let mut tests = Vec::new();
    if let Some(value) = cursor.optional("equals") {
        tests.push(FieldTest::Equals(Literal::read(value.json)));
    }
    if let Some(values) = cursor.optional("in") {
        tests.push(FieldTest::In(read_literals(&values)?));
    }
    if let Some(value) = cursor.optional("at_least") {
        tests.push(FieldTest::AtLeast(value.integer(i64::MIN, i64::MAX)?));
    }
    if let Some(value) = cursor.optional("at_most") {
        tests.push(FieldTest::AtMost(value.integer(i64::MIN, i64::MAX)?));
    }
    if let Some(value) = cursor.optional("contains") {
        tests.push(FieldTest::Contains(Literal::read(value.json)));
    }
    match (tests.pop(), tests.pop()) {
        (Some(test), None) => Ok((field, test)),
        _ => Err(cursor.fault("\"field\" and exactly one of: equals, in, at_least, at_most, contains")),
    }
}

fn push_entity(out: &mut Vec<u8>, kind: &str, entity_type: &str, id: &str, incarnation: Option<u32>) {
    push_text_entry(out, "id", id);
    if let Some(incarnation) = incarnation {
        push_number_entry(out, "incarnation", u64::from(incarnation));
    }
    push_text_entry(out, "kind", kind);
    push_text_entry(out, "type", entity_type);
}

fn push_test_value(out: &mut Vec<u8>, test: &FieldTest) {
    match test {
        FieldTest::Equals(value) | FieldTest::Contains(value) => value.push_json(out),
        FieldTest::In(values) => Literal::List(values.clone()).push_json(out),
        FieldTest::AtLeast(value) | FieldTest::AtMost(value) => crate::canonical::push_i64(out, *value),
    }
}

fn push_filter(out: &mut Vec<u8>, field: &str, test: &FieldTest) {
    let key = match test {
        FieldTest::Equals(_) => "equals",
        FieldTest::In(_) => "in",
        FieldTest::AtLeast(_) => "at_least",
        FieldTest::AtMost(_) => "at_most",
        FieldTest::Contains(_) => "contains",
    };
    out.push(b'{');
    let mut entries = [("field", None), (key, Some(test))];
    entries.sort_by_key(|(key, _)| *key);
    for (key, test) in entries {
        push_key(out, key);
        match test {
            None => push_string(out, field),
            Some(test) => push_test_value(out, test),
        }
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    #[test]
    fn canonical_text_reads_back() {
        for text in [
            r#"{"id":"t-1","kind":"exists","type":"ticket"}"#,
            r#"{"id":"t-1","incarnation":2,"kind":"deleted","type":"ticket"}"#,
            r#"{"field":"status","id":"t-1","kind":"field_equals","type":"ticket","value":"open"}"#,
            r#"{"field":"owner","id":"t-1","kind":"refers_to","target":"ana","type":"ticket"}"#,
            r#"{"field":"n","id":"t-1","kind":"field_in","type":"ticket","values":[1,2]}"#,
            r#"{"field":"n","id":"t-1","kind":"field_at_most","type":"ticket","value":-3}"#,
            r#"{"compare":"at_least","count":2,"filter":[{"equals":"open","field":"status"},{"at_least":2,"field":"n"}],"kind":"count","type":"ticket"}"#,
            r#"{"kind":"all","of":[{"kind":"goal_version","version":2},{"kind":"not","of":{"id":"x","kind":"absent","type":"a"}}]}"#,
        ] {
            let json = Json::parse(text.as_bytes()).expect("JSON");
            let predicate = Predicate::read(&Cursor::root(&json)).expect(text);
            let mut out = Vec::new();
            predicate.push_json(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    #[test]
    fn faults_point_at_the_place() {
        for (text, pointer) in [
            (r#"{"kind":"exist","type":"a","id":"b"}"#, "/kind"),
            (r#"{"kind":"exists","type":"a","id":"../b"}"#, "/id"),
            (r#"{"kind":"exists","type":"a","id":"b","x":1}"#, "/x"),
            (r#"{"kind":"not","of":{"kind":"all","of":[]}}"#, "/of/of"),
            (r#"{"kind":"count","type":"a","filter":[{"field":"f"}],"compare":"equals","count":1}"#, "/filter/0"),
        ] {
            let json = Json::parse(text.as_bytes()).expect("JSON");
            let error = Predicate::read(&Cursor::root(&json)).expect_err(text);
            assert_eq!(error.place, crate::input::Place::Pointer(pointer.to_owned()), "{text}");
        }
    }
}
