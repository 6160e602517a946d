//! Typed, exact values (P §3.1; no floats stand in a state).

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::canonical::push_string;
use crate::input::{Cursor, InputError};
use crate::json::Json;

/// A value of a cell. Equality is exact and typed: the text `"a"`, the symbol `"a"` and the reference `"a"` differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// No value: an optional field that is not set.
    Null,
    /// A boolean.
    Bool(bool),
    /// A 64-bit integer, in the unit that its field declares.
    Int(i64),
    /// A point of the engine's time.
    Tick(u64),
    /// Free text.
    Text(Arc<str>),
    /// A symbol of an enumeration.
    Symbol(Arc<str>),
    /// The id of an entity of the type that the field declares.
    Ref(Arc<str>),
    /// A set of scalars, sorted, without repeats.
    Set(Arc<[Value]>),
    /// An equality token: the opaque stand-in of a sealed value.
    Token(Arc<str>),
    /// An imported number: exact, of its own kind.
    Number(Arc<Decimal>),
    /// An imported value that no type describes; its canonical text.
    Opaque(Arc<str>),
}

impl Value {
    /// Appends canonical JSON.
    pub fn push_json(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(value) => crate::canonical::push_i64(out, *value),
            Value::Tick(value) => crate::canonical::push_u64(out, *value),
            Value::Text(text) | Value::Symbol(text) | Value::Ref(text) => push_string(out, text),
            Value::Set(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.push_json(out);
                }
                out.push(b']');
            }
            Value::Token(token) => {
                out.extend_from_slice(b"{\"token\":");
                push_string(out, token);
                out.push(b'}');
            }
            Value::Number(number) if number.integer && number.exponent == 0 && !number.digits.is_empty() => {
                if number.negative {
                    out.push(b'-');
                }
                out.extend_from_slice(number.digits.as_bytes());
            }
            Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Value::Opaque(text) => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// Canonical JSON as text.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = Vec::new();
        self.push_json(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The integer or tick that ordered comparisons read.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Tick(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The word for the value's kind, as it enters an equality token; `None` for kinds that are never sealed.
    #[must_use]
    pub fn kind_word(&self) -> Option<&'static str> {
        match self {
            Value::Bool(_) => Some("bool"),
            Value::Int(_) => Some("integer"),
            Value::Tick(_) => Some("tick"),
            Value::Text(_) => Some("text"),
            Value::Symbol(_) => Some("enum"),
            Value::Ref(_) => Some("ref"),
            _ => None,
        }
    }
}

/// An exact decimal that remembers whether its text was an integer's (SPEC §15.14): `1` and `1.0` differ, `1.0` and
/// `1e0` do not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal {
    /// The text had neither a point nor an exponent.
    integer: bool,
    negative: bool,
    /// Significant digits without leading or trailing zeros; empty for zero.
    digits: Box<str>,
    /// Power of ten of the last digit.
    exponent: i64,
}

impl Decimal {
    /// Reads the text of a JSON number.
    #[must_use]
    pub fn parse(text: &str) -> Decimal {
        let integer = !text.contains(['.', 'e', 'E']);
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, power) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let power: i64 = power.parse().unwrap_or(if power.starts_with('-') { i64::MIN / 4 } else { i64::MAX / 4 });
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let fraction_length = i64::try_from(fraction.len()).unwrap_or(i64::MAX / 4);
        let trimmed = all.trim_end_matches('0');
        let zeros = i64::try_from(all.len() - trimmed.len()).unwrap_or(i64::MAX / 4);
        let digits = trimmed.trim_start_matches('0');
        if digits.is_empty() {
            return Decimal { integer, negative: false, digits: "".into(), exponent: 0 };
        }
        Decimal { integer, negative, digits: digits.into(), exponent: power - fraction_length + zeros }
    }

    /// Whether the text was an integer's.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.integer
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let (digits, exponent) = (&*self.digits, self.exponent);
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX / 4);
        if digits.is_empty() {
            return out.write_str(if self.integer { "0" } else { "0.0" });
        }
        if self.integer {
            let zeros = usize::try_from(exponent).unwrap_or(0);
            return write!(out, "{sign}{digits}{}", "0".repeat(zeros));
        }
        if exponent < 0 && length + exponent > -6 {
            let point = length + exponent;
            return match usize::try_from(point) {
                Ok(point) if point > 0 => write!(out, "{sign}{}.{}", &digits[..point], &digits[point..]),
                _ => write!(out, "{sign}0.{}{digits}", "0".repeat(usize::try_from(-point).unwrap_or(0))),
            };
        }
        if (0..16).contains(&exponent) {
            let zeros = usize::try_from(exponent).unwrap_or(0);
            return write!(out, "{sign}{digits}{}.0", "0".repeat(zeros));
        }
        write!(out, "{sign}{digits}e{exponent}")
    }
}

/// A value as it stands in a file, before a field's type says what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number's exact text.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Literal>),
    /// `{"token": "…"}`
    Token(String),
    /// Any other object; its text.
    Object(String),
}

impl Literal {
    /// Reads any JSON value.
    ///
    /// # Errors
    /// None: every JSON value is a literal.
    #[must_use]
    pub fn read(json: &Json<'_>) -> Literal {
        match json {
            Json::Null => Literal::Null,
            Json::Bool(value) => Literal::Bool(*value),
            Json::Number(text) => Literal::Number(text.clone().into_owned()),
            Json::String(text) => Literal::Text(text.clone().into_owned()),
            Json::Array(items) => Literal::List(items.iter().map(Literal::read).collect()),
            Json::Object(entries) => match entries.as_slice() {
                [(key, Json::String(token))] if key == "token" => Literal::Token(token.clone().into_owned()),
                _ => {
                    let mut out = Vec::new();
                    crate::canonical::push_json(&mut out, json);
                    Literal::Object(String::from_utf8_lossy(&out).into_owned())
                }
            },
        }
    }

    /// Appends canonical JSON.
    pub fn push_json(&self, out: &mut Vec<u8>) {
        match self {
            Literal::Null => out.extend_from_slice(b"null"),
            Literal::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Literal::Number(text) | Literal::Object(text) => out.extend_from_slice(text.as_bytes()),
            Literal::Text(text) => push_string(out, text),
            Literal::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.push_json(out);
                }
                out.push(b']');
            }
            Literal::Token(token) => Value::Token(token.as_str().into()).push_json(out),
        }
    }

    /// The literal that a value is written as.
    #[must_use]
    pub fn from_value(value: &Value) -> Literal {
        match value {
            Value::Null => Literal::Null,
            Value::Bool(value) => Literal::Bool(*value),
            Value::Int(value) => Literal::Number(value.to_string()),
            Value::Tick(value) => Literal::Number(value.to_string()),
            Value::Text(text) | Value::Symbol(text) | Value::Ref(text) => Literal::Text(text.to_string()),
            Value::Set(items) => Literal::List(items.iter().map(Literal::from_value).collect()),
            Value::Token(token) => Literal::Token(token.to_string()),
            Value::Number(number) => Literal::Number(number.to_string()),
            Value::Opaque(text) => Literal::Object(text.to_string()),
        }
    }

    /// The value of an imported literal that its field's type does not describe: equal values get equal text, so that
    /// `1.0` and `1.00` are one (SPEC §15.14).
    #[must_use]
    pub fn imported(&self) -> Value {
        match self {
            Literal::Number(text) => Value::Number(Arc::new(Decimal::parse(text))),
            Literal::List(_) | Literal::Object(_) => {
                let mut out = Vec::new();
                self.push_json(&mut out);
                let text = match Json::parse(&out) {
                    Ok(json) => {
                        let mut normal = Vec::new();
                        crate::canonical::push_json(&mut normal, &with_plain_numbers(json));
                        normal
                    }
                    Err(_) => out,
                };
                Value::Opaque(String::from_utf8_lossy(&text).into())
            }
            other => {
                let mut out = Vec::new();
                other.push_json(&mut out);
                Value::Opaque(String::from_utf8_lossy(&out).into())
            }
        }
    }

    fn describe(&self) -> String {
        let mut out = Vec::new();
        self.push_json(&mut out);
        String::from_utf8_lossy(&out).chars().take(80).collect()
    }
}

/// The same document with every number in one spelling.
fn with_plain_numbers(json: Json<'_>) -> Json<'_> {
    match json {
        Json::Number(text) => Json::Number(Decimal::parse(&text).to_string().into()),
        Json::Array(items) => Json::Array(items.into_iter().map(with_plain_numbers).collect()),
        Json::Object(entries) => {
            Json::Object(entries.into_iter().map(|(key, value)| (key, with_plain_numbers(value))).collect())
        }
        other => other,
    }
}

/// The type of a field, or of a set's elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// `true` or `false`.
    Bool,
    /// An integer from `min` to `max`.
    Integer {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// Text of at most `max_length` characters.
    Text {
        /// Characters.
        max_length: u32,
    },
    /// One of the symbols, in their declared order.
    Enum {
        /// At least one, all different.
        symbols: Vec<Arc<str>>,
    },
    /// The id of an entity of a type.
    Ref {
        /// The type's name.
        entity_type: String,
    },
    /// A point of time, from 0.
    Tick,
    /// A set of scalars.
    Set {
        /// The elements' type; never a set.
        of: Box<FieldKind>,
    },
    /// An imported integer of any size.
    ImportedInteger,
    /// An imported number: integer or decimal of any size.
    ImportedNumber,
    /// An imported field outside its schema: kept, never written.
    ImportedOpaque,
}

/// Why a literal is no value of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueFault {
    /// Another JSON type than the field's.
    WrongType {
        /// What was given.
        found: String,
        /// What the field takes.
        expected: String,
    },
    /// The right type, but not one of its values.
    OutOfRange {
        /// What was given.
        found: String,
        /// What the field takes.
        expected: String,
    },
}

impl FieldKind {
    /// A phrase for messages.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            FieldKind::Bool => "true or false".to_owned(),
            FieldKind::Integer { min, max } => format!("an integer from {min} to {max}"),
            FieldKind::Text { max_length } => format!("text of at most {max_length} characters"),
            FieldKind::Enum { symbols } => format!("one of: {}", symbols.join(", ")),
            FieldKind::Ref { entity_type } => format!("the id of a {entity_type}"),
            FieldKind::Tick => "a tick (an integer from 0)".to_owned(),
            FieldKind::Set { of } => format!("a sorted list without repeats of: {}", of.describe()),
            FieldKind::ImportedInteger => "an integer".to_owned(),
            FieldKind::ImportedNumber => "a number".to_owned(),
            FieldKind::ImportedOpaque => "nothing: the field is outside the schema".to_owned(),
        }
    }

    /// The value of a literal.
    ///
    /// `known_id` says whether an id of a type can exist. Tokens and `null` are the caller's business.
    ///
    /// # Errors
    /// The literal is of another type, or is no value of this one.
    pub fn admit(&self, literal: &Literal, known_id: &dyn Fn(&str, &str) -> bool) -> Result<Value, ValueFault> {
        let wrong = || ValueFault::WrongType { found: literal.describe(), expected: self.describe() };
        let out = || ValueFault::OutOfRange { found: literal.describe(), expected: self.describe() };
        match (self, literal) {
            (FieldKind::Bool, Literal::Bool(value)) => Ok(Value::Bool(*value)),
            (FieldKind::Integer { min, max }, Literal::Number(text)) => {
                if !is_integer_text(text) {
                    return Err(wrong());
                }
                let value = text.parse::<i64>().ok().filter(|value| (*min..=*max).contains(value));
                value.map(Value::Int).ok_or_else(out)
            }
            (FieldKind::Tick, Literal::Number(text)) => {
                if !is_integer_text(text) {
                    return Err(wrong());
                }
                let value = text.parse::<u64>().ok().filter(|value| i64::try_from(*value).is_ok());
                value.map(Value::Tick).ok_or_else(out)
            }
            (FieldKind::Text { max_length }, Literal::Text(text)) => {
                let fits = text.chars().count() <= *max_length as usize;
                if fits { Ok(Value::Text(text.as_str().into())) } else { Err(out()) }
            }
            (FieldKind::Enum { symbols }, Literal::Text(text)) => {
                let symbol = symbols.iter().find(|symbol| ***symbol == **text);
                symbol.map(|symbol| Value::Symbol(Arc::clone(symbol))).ok_or_else(out)
            }
            (FieldKind::Ref { entity_type }, Literal::Text(text)) => {
                if known_id(entity_type, text) {
                    Ok(Value::Ref(text.as_str().into()))
                } else {
                    Err(out())
                }
            }
            (FieldKind::Set { of }, Literal::List(items)) => {
                let values = items.iter().map(|item| of.admit(item, known_id)).collect::<Result<Vec<_>, _>>()?;
                if values.windows(2).all(|pair| set_order(&pair[0], &pair[1]) == Ordering::Less) {
                    Ok(Value::Set(values.into()))
                } else {
                    Err(out())
                }
            }
            (FieldKind::ImportedInteger, Literal::Number(text)) => {
                let number = Decimal::parse(text);
                if number.is_integer() { Ok(Value::Number(Arc::new(number))) } else { Err(wrong()) }
            }
            (FieldKind::ImportedNumber, Literal::Number(text)) => Ok(Value::Number(Arc::new(Decimal::parse(text)))),
            (FieldKind::ImportedOpaque, any) => Ok(any.imported()),
            _ => Err(wrong()),
        }
    }

    /// The kind that a set's elements have, or the kind itself.
    #[must_use]
    pub fn element(&self) -> &FieldKind {
        match self {
            FieldKind::Set { of } => of,
            other => other,
        }
    }

    /// Reads a field type.
    ///
    /// # Errors
    /// An unknown kind, a missing or unknown key, or an absurd bound.
    pub fn read(cursor: &Cursor<'_, '_>) -> Result<FieldKind, InputError> {
        let kind = cursor.key("kind")?;
        match kind.text()? {
            "bool" => cursor.object(&["kind"]).map(|()| FieldKind::Bool),
            "tick" => cursor.object(&["kind"]).map(|()| FieldKind::Tick),
            "integer" => {
                cursor.object(&["kind", "min", "max"])?;
                let min = cursor.key("min")?.integer(i64::MIN, i64::MAX)?;
                let max = cursor.key("max")?.integer(min, i64::MAX)?;
                Ok(FieldKind::Integer { min, max })
            }
            "text" => {
                cursor.object(&["kind", "max_length"])?;
                let max_length = cursor.key("max_length")?.u32(1, crate::limits::MAX_MESSAGE_CHARACTERS)?;
                Ok(FieldKind::Text { max_length })
            }
            "enum" => {
                cursor.object(&["kind", "symbols"])?;
                let symbols = cursor.key("symbols")?;
                let mut known: Vec<Arc<str>> = Vec::new();
                for item in symbols.items()? {
                    let symbol = item.identifier()?;
                    if known.iter().any(|other| **other == *symbol) {
                        return Err(item.fault("each symbol once"));
                    }
                    known.push(symbol.into());
                }
                if known.is_empty() {
                    return Err(symbols.fault("at least one symbol"));
                }
                Ok(FieldKind::Enum { symbols: known })
            }
            "ref" => {
                cursor.object(&["kind", "entity_type"])?;
                Ok(FieldKind::Ref { entity_type: cursor.key("entity_type")?.identifier()?.to_owned() })
            }
            "set" => {
                cursor.object(&["kind", "of"])?;
                let of_cursor = cursor.key("of")?;
                let of = FieldKind::read(&of_cursor)?;
                if matches!(of, FieldKind::Set { .. }) {
                    return Err(of_cursor.fault("a scalar kind"));
                }
                Ok(FieldKind::Set { of: Box::new(of) })
            }
            _ => Err(kind.fault("one of: bool, integer, text, enum, ref, tick, set")),
        }
    }
}

/// The order of a set's elements in files: integers by value, everything else by its text.
fn set_order(left: &Value, right: &Value) -> Ordering {
    left.cmp(right)
}

fn is_integer_text(text: &str) -> bool {
    !text.contains(['.', 'e', 'E']) && text != "-0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_keep_their_kind() {
        let equal = |a: &str, b: &str| Decimal::parse(a) == Decimal::parse(b);
        assert!(equal("1.0", "1e0") && equal("0.10", "1e-1") && equal("-0.0", "0.0") && equal("1e21", "1000e18"));
        assert!(equal("100", "100") && !equal("1", "1.0") && !equal("0.1", "0.10000000000000001"));
        for (text, shown) in [
            ("1e21", "1e21"),
            ("-0.0", "0.0"),
            ("0.1", "0.1"),
            ("120", "120"),
            ("-17", "-17"),
            ("0", "0"),
            ("1.50", "1.5"),
            ("12.0", "12.0"),
            ("-2.25", "-2.25"),
            ("0.001", "0.001"),
        ] {
            assert_eq!(Decimal::parse(text).to_string(), shown);
            assert_eq!(Value::Number(Arc::new(Decimal::parse(text))).json(), shown);
            assert_eq!(Decimal::parse(shown), Decimal::parse(text));
        }
        assert_eq!(Decimal::parse("1e99999999999999999999"), Decimal::parse("1e99999999999999999999"));
    }

    #[test]
    fn admission_tells_type_from_range() {
        let none = |_: &str, _: &str| false;
        let kind = FieldKind::Integer { min: 0, max: 5 };
        assert_eq!(kind.admit(&Literal::Number("5".into()), &none), Ok(Value::Int(5)));
        assert!(matches!(kind.admit(&Literal::Number("6".into()), &none), Err(ValueFault::OutOfRange { .. })));
        assert!(matches!(kind.admit(&Literal::Number("1.0".into()), &none), Err(ValueFault::WrongType { .. })));
        assert!(matches!(kind.admit(&Literal::Bool(true), &none), Err(ValueFault::WrongType { .. })));
        let set = FieldKind::Set { of: Box::new(FieldKind::Text { max_length: 9 }) };
        let list = |items: &[&str]| Literal::List(items.iter().map(|i| Literal::Text((*i).into())).collect());
        assert!(set.admit(&list(&["a", "b"]), &none).is_ok());
        assert!(matches!(set.admit(&list(&["b", "a"]), &none), Err(ValueFault::OutOfRange { .. })));
        assert!(matches!(set.admit(&list(&["a", "a"]), &none), Err(ValueFault::OutOfRange { .. })));
    }
}
