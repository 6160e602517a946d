//! Data in cells, and which literals a field takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use parthack_env::canonical::{push_i64, push_string};
use parthack_env::spec::{FieldSpec, Visibility};
use parthack_env::value::{Decimal, FieldKind, Literal, Value};

/// What a cell holds, or what a projection reads. Within one field, equal data are equal values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Datum {
    /// The entity is not there; projections only.
    Gone,
    Null,
    Flag(bool),
    Whole(i64),
    /// Text, a symbol, or the id of an entity.
    Word(Arc<str>),
    Token(Arc<str>),
    Many(Arc<[Datum]>),
    /// An imported number.
    Decimal(Arc<Decimal>),
    /// An imported value that no type describes.
    Raw(Arc<str>),
}

impl Datum {
    /// Appends canonical JSON.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Datum::Gone | Datum::Null => out.extend_from_slice(b"null"),
            Datum::Flag(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
            Datum::Whole(number) => push_i64(out, *number),
            Datum::Word(word) => push_string(out, word),
            Datum::Token(token) => {
                out.extend_from_slice(b"{\"token\":");
                push_string(out, token);
                out.push(b'}');
            }
            Datum::Many(items) => {
                let mut separator = b'[';
                for item in items.iter() {
                    out.push(separator);
                    item.write(out);
                    separator = b',';
                }
                if items.is_empty() {
                    out.push(b'[');
                }
                out.push(b']');
            }
            Datum::Decimal(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Datum::Raw(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
}

/// Why a literal is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    /// Another JSON type.
    Kind,
    /// The right type, another range.
    Range,
}

/// A field.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) kind: FieldKind,
    pub(super) optional: bool,
    pub(super) sealed: bool,
}

/// Ids that can exist, by type.
pub(super) type Ids = BTreeMap<Arc<str>, BTreeMap<Arc<str>, ()>>;

impl Field {
    pub(super) fn new(spec: &FieldSpec) -> Field {
        Field { kind: spec.kind.clone(), optional: spec.optional, sealed: spec.visibility == Visibility::Sealed }
    }

    /// Whether steps may name it.
    pub(super) fn nameable(&self) -> bool {
        self.kind != FieldKind::ImportedOpaque
    }

    /// The datum of a literal.
    pub(super) fn take(&self, literal: &Literal, ids: &Ids) -> Result<Datum, Misfit> {
        if self.optional && self.nameable() && *literal == Literal::Null {
            return Ok(Datum::Null);
        }
        if !self.sealed {
            return take(&self.kind, literal, ids);
        }
        match (literal, matches!(self.kind, FieldKind::Set { .. })) {
            (Literal::Token(token), false) => Ok(Datum::Token(token.as_str().into())),
            (Literal::List(items), true) => {
                let tokens = items.iter().map(|item| match item {
                    Literal::Token(token) => Ok(Datum::Token(token.as_str().into())),
                    _ => Err(Misfit::Kind),
                });
                let mut tokens = tokens.collect::<Result<Vec<_>, _>>()?;
                tokens.sort();
                Ok(Datum::Many(tokens.into()))
            }
            _ => Err(Misfit::Kind),
        }
    }

    /// The datum of one element of a set field.
    pub(super) fn take_element(&self, literal: &Literal, ids: &Ids) -> Result<Datum, Misfit> {
        match (literal, &self.kind) {
            (Literal::Token(token), _) if self.sealed => Ok(Datum::Token(token.as_str().into())),
            (_, FieldKind::Set { of }) => take(of, literal, ids),
            _ => Err(Misfit::Kind),
        }
    }
}

fn take(kind: &FieldKind, literal: &Literal, ids: &Ids) -> Result<Datum, Misfit> {
    match (kind, literal) {
        (FieldKind::ImportedOpaque, any) => Ok(raw(any)),
        (FieldKind::Bool, Literal::Bool(flag)) => Ok(Datum::Flag(*flag)),
        (FieldKind::Integer { min, max }, Literal::Number(text)) => {
            let number = whole(text)?;
            if (*min..=*max).contains(&number) { Ok(Datum::Whole(number)) } else { Err(Misfit::Range) }
        }
        (FieldKind::Tick, Literal::Number(text)) => {
            let number = whole(text)?;
            if number >= 0 { Ok(Datum::Whole(number)) } else { Err(Misfit::Range) }
        }
        (FieldKind::Text { max_length }, Literal::Text(text)) => {
            if u32::try_from(text.chars().count()).is_ok_and(|length| length <= *max_length) {
                Ok(Datum::Word(text.as_str().into()))
            } else {
                Err(Misfit::Range)
            }
        }
        (FieldKind::Enum { symbols }, Literal::Text(text)) => {
            match symbols.iter().find(|symbol| symbol.as_ref() == text) {
                Some(symbol) => Ok(Datum::Word(Arc::clone(symbol))),
                None => Err(Misfit::Range),
            }
        }
        (FieldKind::Ref { entity_type }, Literal::Text(id)) => {
            match ids.get(entity_type.as_str()).and_then(|ids| ids.get_key_value(id.as_str())) {
                Some((id, ())) => Ok(Datum::Word(Arc::clone(id))),
                None => Err(Misfit::Range),
            }
        }
        (FieldKind::Set { of }, Literal::List(items)) => {
            let items = items.iter().map(|item| take(of, item, ids)).collect::<Result<Vec<_>, _>>()?;
            if items.is_sorted_by(|left, right| left < right) {
                Ok(Datum::Many(items.into()))
            } else {
                Err(Misfit::Range)
            }
        }
        (FieldKind::ImportedInteger, Literal::Number(text)) if text.contains(['.', 'e', 'E']) => Err(Misfit::Kind),
        (FieldKind::ImportedInteger | FieldKind::ImportedNumber, Literal::Number(text)) => {
            Ok(Datum::Decimal(Arc::new(Decimal::parse(text))))
        }
        _ => Err(Misfit::Kind),
    }
}

fn whole(text: &str) -> Result<i64, Misfit> {
    if text == "-0" || text.contains(['.', 'e', 'E']) {
        return Err(Misfit::Kind);
    }
    text.parse().map_err(|_| Misfit::Range)
}

/// An imported value of no type.
pub(super) fn raw(literal: &Literal) -> Datum {
    match literal.imported() {
        Value::Number(number) => Datum::Decimal(number),
        other => Datum::Raw(other.json().into()),
    }
}
