//! A JSON value and the pointer that leads to it.

use parthack_env::input::{push_index, push_key};
use parthack_env::json::Json;

use crate::fault::{Fault, RefusalCode};
use crate::json::list_keys;

/// A place in a document.
#[derive(Debug, Clone)]
pub(crate) struct Node<'j, 'a> {
    pub(crate) json: &'j Json<'a>,
    pub(crate) pointer: String,
}

impl<'j, 'a> Node<'j, 'a> {
    /// A value that stands at a pointer.
    pub(crate) fn new(json: &'j Json<'a>, pointer: impl Into<String>) -> Self {
        Node { json, pointer: pointer.into() }
    }

    /// The value of a key; nothing where the key is missing or null.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'j, 'a>> {
        let json = self.json.get(key).filter(|json| **json != Json::Null)?;
        let mut pointer = String::with_capacity(self.pointer.len() + key.len() + 1);
        pointer.push_str(&self.pointer);
        push_key(&mut pointer, key);
        Some(Node { json, pointer })
    }

    /// The value at the end of a path of keys.
    pub(crate) fn path(&self, keys: &[&str]) -> Option<Node<'j, 'a>> {
        keys.iter().try_fold(self.clone(), |node, key| node.get(key))
    }

    /// The value of a key that must be there.
    pub(crate) fn need(&self, key: &str, expected: &str) -> Result<Node<'j, 'a>, Fault> {
        self.get(key).ok_or_else(|| {
            let found = match self.json.get(key) {
                Some(_) => format!("null as {key:?}"),
                None => format!("{} and no {key:?}", self.describe()),
            };
            Fault::at(RefusalCode::WrongShape, &self.pointer, found, format!("{key:?}: {expected}"))
        })
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> Option<impl Iterator<Item = Node<'j, 'a>> + use<'j, 'a>> {
        let Json::Array(items) = self.json else { return None };
        let base = self.pointer.clone();
        Some(items.iter().enumerate().map(move |(index, json)| {
            let mut pointer = String::with_capacity(base.len() + 6);
            pointer.push_str(&base);
            push_index(&mut pointer, index);
            Node { json, pointer }
        }))
    }

    /// The items of an array; nothing for anything else.
    pub(crate) fn list(&self) -> Vec<Node<'j, 'a>> {
        self.items().map(Iterator::collect).unwrap_or_default()
    }

    /// The items of an array, or a fault.
    pub(crate) fn need_items(&self, expected: &str) -> Result<Vec<Node<'j, 'a>>, Fault> {
        self.items().map(Iterator::collect).ok_or_else(|| self.fault(expected))
    }

    /// Keys and values of an object; nothing for anything else.
    pub(crate) fn entries(&self) -> Vec<(&'j str, Node<'j, 'a>)> {
        let Json::Object(entries) = self.json else { return Vec::new() };
        entries
            .iter()
            .map(|(key, json)| {
                let mut pointer = self.pointer.clone();
                push_key(&mut pointer, key);
                (key.as_ref(), Node { json, pointer })
            })
            .collect()
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.json, Json::Object(_))
    }

    pub(crate) fn str(&self) -> Option<&'j str> {
        match self.json {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a string or the exact text of a number.
    pub(crate) fn scalar(&self) -> Option<String> {
        match self.json {
            Json::String(text) => Some(text.to_string()),
            Json::Number(text) => Some(text.to_string()),
            Json::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }

    /// A string under a key.
    pub(crate) fn text(&self, key: &str) -> Option<&'j str> {
        self.get(key)?.str()
    }

    pub(crate) fn bool(&self, key: &str) -> Option<bool> {
        match self.get(key)?.json {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self.json {
            Json::Object(entries) => {
                let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_ref()).collect();
                format!("an object with {}", list_keys(&keys))
            }
            other => other.describe(),
        }
    }

    /// A part that has another shape than the format says.
    pub(crate) fn fault(&self, expected: &str) -> Fault {
        Fault::at(RefusalCode::WrongShape, &self.pointer, self.describe(), expected)
    }
}
