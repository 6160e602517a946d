//! The one-to-one mapping between a task's public names and its package's private ids and raw values.

use std::collections::BTreeMap;
use std::sync::Arc;

use parthack_env::predicate::{FieldTest, Predicate};
use parthack_env::spec::{FieldSpec, TaskSpec, Visibility};
use parthack_env::value::{FieldKind, Literal, Value};

use crate::package::Package;
use crate::tokens::token;

/// A fault of the mapping itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MappingFault {
    /// An entity that can exist has no private id.
    NoPrivateId { entity: String },
    /// A private id is given to what cannot exist.
    NoSuchEntity { entity: String },
    /// A raw value is of no sealed field, or none of its values.
    NotSealed { entity_type: String, field: String },
    /// A token does not come out of key and raw value.
    TokenDiffers { entity_type: String, field: String, token: String },
    /// A raw value or a token stands twice.
    Twice { entity_type: String, field: String, token: String },
}

/// Public ids ↔ private ids, tokens ↔ raw values, both ways and per type and field.
#[derive(Clone, Default)]
pub(crate) struct Mapping {
    /// type → public id → private id
    private: BTreeMap<String, BTreeMap<String, Arc<str>>>,
    /// type → private id → public id
    public: BTreeMap<String, BTreeMap<String, String>>,
    /// (type, field) → token → raw value
    raw: BTreeMap<(String, String), BTreeMap<String, Value>>,
    /// (type, field) → canonical raw literal → token
    tokens: BTreeMap<(String, String), BTreeMap<String, String>>,
}

impl Mapping {
    /// The mapping of a package, checked to be one to one over every slot, with every token recomputed.
    pub(crate) fn new(spec: &TaskSpec, package: &Package) -> Result<Mapping, MappingFault> {
        let mut mapping = Mapping::default();
        for ((entity_type, id), private) in &package.private_ids {
            if !can_exist(spec, entity_type, id) {
                return Err(MappingFault::NoSuchEntity { entity: format!("{entity_type}/{id}") });
            }
            mapping.private.entry(entity_type.clone()).or_default().insert(id.clone(), private.as_str().into());
            mapping.public.entry(entity_type.clone()).or_default().insert(private.clone(), id.clone());
        }
        for (entity_type, id) in entities(spec) {
            if mapping.private_id(entity_type, id).is_none() {
                return Err(MappingFault::NoPrivateId { entity: format!("{entity_type}/{id}") });
            }
        }
        for sealed in &package.sealed_values {
            let (entity_type, field) = (sealed.entity_type.clone(), sealed.field.clone());
            let kind = field_of(spec, &entity_type, &field)
                .filter(|field| field.visibility == Visibility::Sealed)
                .map(|field| field.kind.element().clone());
            let known = |name: &str, id: &str| mapping.public.get(name).is_some_and(|ids| ids.contains_key(id));
            let value = kind.and_then(|kind| kind.admit(&sealed.value, &known).ok());
            let Some((value, kind)) = value.and_then(|value| value.kind_word().map(|kind| (value.clone(), kind)))
            else {
                return Err(MappingFault::NotSealed { entity_type, field });
            };
            let text = json_of(&sealed.value);
            let right = token(&package.redaction_key, &spec.id, &entity_type, &field, kind, text.as_bytes());
            if right != sealed.token {
                return Err(MappingFault::TokenDiffers { entity_type, field, token: sealed.token.clone() });
            }
            let key = (entity_type, field);
            let known = mapping.raw.entry(key.clone()).or_default().insert(right.clone(), value).is_some();
            if known || mapping.tokens.entry(key.clone()).or_default().insert(text, right.clone()).is_some() {
                return Err(MappingFault::Twice { entity_type: key.0, field: key.1, token: right });
            }
        }
        Ok(mapping)
    }

    /// The private id of a public one.
    pub(crate) fn private_id(&self, entity_type: &str, id: &str) -> Option<&Arc<str>> {
        self.private.get(entity_type)?.get(id)
    }

    /// The public id of a private one.
    pub(crate) fn public_id(&self, entity_type: &str, id: &str) -> Option<&str> {
        self.public.get(entity_type)?.get(id).map(String::as_str)
    }

    /// Private ids of a type by public id.
    pub(crate) fn private_ids(&self, entity_type: &str) -> BTreeMap<String, Arc<str>> {
        self.private.get(entity_type).cloned().unwrap_or_default()
    }

    /// Raw values of a sealed field by token.
    pub(crate) fn raw_values(&self, entity_type: &str, field: &str) -> BTreeMap<String, Value> {
        self.raw.get(&(entity_type.to_owned(), field.to_owned())).cloned().unwrap_or_default()
    }

    /// The public twin of a private predicate, or what has none.
    pub(crate) fn to_public(&self, spec: &TaskSpec, predicate: &Predicate) -> Result<Predicate, String> {
        let id_of = |entity_type: &str, id: &str| {
            self.public_id(entity_type, id)
                .map(str::to_owned)
                .ok_or_else(|| format!("a private id of type {entity_type} that the package does not declare"))
        };
        Ok(match predicate {
            Predicate::Exists { entity_type, id, incarnation } => Predicate::Exists {
                entity_type: entity_type.clone(),
                id: id_of(entity_type, id)?,
                incarnation: *incarnation,
            },
            Predicate::Absent { entity_type, id } => {
                Predicate::Absent { entity_type: entity_type.clone(), id: id_of(entity_type, id)? }
            }
            Predicate::Deleted { entity_type, id, incarnation } => Predicate::Deleted {
                entity_type: entity_type.clone(),
                id: id_of(entity_type, id)?,
                incarnation: *incarnation,
            },
            Predicate::Field { entity_type, id, field, incarnation, test, refers } => Predicate::Field {
                entity_type: entity_type.clone(),
                id: id_of(entity_type, id)?,
                field: field.clone(),
                incarnation: *incarnation,
                test: self.test_to_public(spec, entity_type, field, test)?,
                refers: *refers,
            },
            Predicate::Count { entity_type, filter, compare, count } => Predicate::Count {
                entity_type: entity_type.clone(),
                filter: filter
                    .iter()
                    .map(|(field, test)| Ok((field.clone(), self.test_to_public(spec, entity_type, field, test)?)))
                    .collect::<Result<_, String>>()?,
                compare: *compare,
                count: *count,
            },
            Predicate::GoalVersion(version) => Predicate::GoalVersion(*version),
            Predicate::All(of) => Predicate::All(self.list_to_public(spec, of)?),
            Predicate::Any(of) => Predicate::Any(self.list_to_public(spec, of)?),
            Predicate::Not(of) => Predicate::Not(Box::new(self.to_public(spec, of)?)),
        })
    }

    fn list_to_public(&self, spec: &TaskSpec, of: &[Predicate]) -> Result<Vec<Predicate>, String> {
        of.iter().map(|part| self.to_public(spec, part)).collect()
    }

    fn test_to_public(
        &self,
        spec: &TaskSpec,
        entity_type: &str,
        field: &str,
        test: &FieldTest,
    ) -> Result<FieldTest, String> {
        let Some(field) = field_of(spec, entity_type, field) else {
            return Err(format!("the field {field:?}, which {entity_type} does not have"));
        };
        let convert = |literal: &Literal| self.literal_to_public(entity_type, field, literal);
        Ok(match test {
            FieldTest::Equals(literal) => FieldTest::Equals(convert(literal)?),
            FieldTest::In(literals) => FieldTest::In(literals.iter().map(convert).collect::<Result<_, _>>()?),
            FieldTest::Contains(literal) => FieldTest::Contains(convert(literal)?),
            FieldTest::AtLeast(bound) => FieldTest::AtLeast(*bound),
            FieldTest::AtMost(bound) => FieldTest::AtMost(*bound),
        })
    }

    fn literal_to_public(&self, entity_type: &str, field: &FieldSpec, literal: &Literal) -> Result<Literal, String> {
        if let Literal::List(items) = literal {
            let mut items = items
                .iter()
                .map(|item| self.literal_to_public(entity_type, field, item))
                .collect::<Result<Vec<_>, _>>()?;
            sort_literals(&mut items);
            return Ok(Literal::List(items));
        }
        if *literal == Literal::Null {
            return Ok(Literal::Null);
        }
        if field.visibility == Visibility::Sealed {
            let tokens = self.tokens.get(&(entity_type.to_owned(), field.name.clone()));
            return match tokens.and_then(|tokens| tokens.get(&json_of(literal))) {
                Some(token) => Ok(Literal::Token(token.clone())),
                None => Err(format!("a raw value of {entity_type}.{} without a token", field.name)),
            };
        }
        match (field.kind.element(), literal) {
            (FieldKind::Ref { entity_type: target }, Literal::Text(private)) => match self.public_id(target, private) {
                Some(public) => Ok(Literal::Text(public.to_owned())),
                None => Err(format!("a private id of type {target} that the package does not declare")),
            },
            _ => Ok(literal.clone()),
        }
    }
}

/// Canonical JSON of a literal.
pub(crate) fn json_of(literal: &Literal) -> String {
    let mut out = Vec::new();
    literal.push_json(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The order in which a set's elements are compared here; not the order of files.
pub(crate) fn sort_literals(items: &mut [Literal]) {
    items.sort_by_cached_key(json_of);
}

/// A field of a type.
pub(crate) fn field_of<'s>(spec: &'s TaskSpec, entity_type: &str, field: &str) -> Option<&'s FieldSpec> {
    let entity_type = spec.entity_types.iter().find(|known| known.name == entity_type)?;
    entity_type.fields.iter().find(|known| known.name == field)
}

/// Every (type, id) that can exist.
pub(crate) fn entities(spec: &TaskSpec) -> impl Iterator<Item = (&str, &str)> {
    let initial = spec.initial_state.iter().map(|entity| (entity.entity_type.as_str(), entity.id.as_str()));
    let creatable = spec.entity_types.iter().flat_map(|t| t.creatable.iter().map(|id| (t.name.as_str(), id.as_str())));
    initial.chain(creatable)
}

fn can_exist(spec: &TaskSpec, entity_type: &str, id: &str) -> bool {
    entities(spec).any(|known| known == (entity_type, id))
}
