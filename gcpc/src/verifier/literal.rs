//! Literals of Python sources, as far as the ids of parametrized tests need them.

use std::collections::BTreeMap;

use tree_sitter::Node;

/// How deep names of constants are followed.
const MOST_STEPS: usize = 8;

/// A file's text and the module's constants: names that are assigned once, at the top level.
#[derive(Debug)]
pub(super) struct Module<'t> {
    pub bytes: &'t [u8],
    pub constants: BTreeMap<&'t str, Option<Node<'t>>>,
    /// Names of the module's functions and classes.
    pub named: Vec<&'t str>,
}

/// A value, as pytest would name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A string.
    Text(String),
    /// A number, `True`, `False` or `None`, as Python's `str` writes it.
    Word(String),
    /// Something with a `__name__`.
    Named(String),
    /// A container: pytest names it after the argument and its place.
    Container,
}

impl<'t> Module<'t> {
    pub(super) fn text(&self, node: Node<'_>) -> &'t str {
        self.bytes.get(node.byte_range()).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Follows names of constants and brackets around an expression.
    pub(super) fn resolve(&self, node: Node<'t>) -> Node<'t> {
        let mut node = node;
        for _ in 0..MOST_STEPS {
            let next = match node.kind() {
                "identifier" => self.constants.get(self.text(node)).copied().flatten(),
                "parenthesized_expression" => node.named_child(0),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => return node,
            }
        }
        node
    }

    /// The elements of a list, tuple or set literal, of `range` with literal bounds, or `None`.
    pub(super) fn elements(&self, node: Node<'t>) -> Option<Vec<Node<'t>>> {
        let node = self.resolve(node);
        if !matches!(node.kind(), "list" | "tuple" | "set") {
            return None;
        }
        let elements: Vec<Node<'t>> =
            node.named_children(&mut node.walk()).filter(|child| child.kind() != "comment").collect();
        elements.iter().all(|child| child.kind() != "list_splat").then_some(elements)
    }

    /// A value, or `None` where only running the code would tell.
    pub(super) fn value(&self, node: Node<'t>) -> Option<Value> {
        let node = self.resolve(node);
        match node.kind() {
            "string" | "concatenated_string" => self.string(node).map(Value::Text),
            "integer" => integer(self.text(node)).map(Value::Word),
            "float" => float(self.text(node)).map(Value::Word),
            "unary_operator" => {
                let argument = self.resolve(node.child_by_field_name("argument")?);
                // A sign before a sign is nobody's way to write a number, and might be nested without end.
                let argument = if argument.kind() == "unary_operator" { None } else { self.value(argument) }?;
                match (self.text(node.child_by_field_name("operator")?), argument) {
                    ("-", Value::Word(word)) if word.starts_with(|first: char| first.is_ascii_digit()) => {
                        Some(Value::Word(if word == "0" { word } else { format!("-{word}") }))
                    }
                    _ => None,
                }
            }
            "true" | "false" | "none" => Some(Value::Word(self.text(node).to_owned())),
            "list" | "tuple" | "set" | "dictionary" => Some(Value::Container),
            "lambda" => Some(Value::Named("<lambda>".to_owned())),
            "identifier" if self.named.contains(&self.text(node)) => Some(Value::Named(self.text(node).to_owned())),
            "identifier" if is_builtin(self.text(node)) => Some(Value::Named(self.text(node).to_owned())),
            _ => None,
        }
    }

    /// A string without interpolation.
    pub(super) fn string(&self, node: Node<'t>) -> Option<String> {
        let node = self.resolve(node);
        if node.kind() == "concatenated_string" {
            let parts = children(node).into_iter().filter(|part| part.kind() == "string");
            return parts.map(|part| self.string(part)).collect();
        }
        if node.kind() != "string" {
            return None;
        }
        let start = node.child(0).filter(|child| child.kind() == "string_start")?;
        let prefix = self.text(start).trim_end_matches(['"', '\'']).to_lowercase();
        let mut out = String::new();
        for child in node.named_children(&mut node.walk()) {
            match child.kind() {
                "string_content" if prefix.contains('r') => out.push_str(self.text(child)),
                "string_content" => unescape(self.text(child), &mut out)?,
                "string_start" | "string_end" => {}
                _ => return None,
            }
        }
        (!prefix.contains('b')).then_some(out)
    }
}

/// The named children of a node.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).collect()
}

fn is_builtin(name: &str) -> bool {
    let types =
        ["int", "float", "str", "bool", "list", "dict", "set", "tuple", "bytes", "complex", "len", "sum", "max", "min"];
    types.contains(&name) || (name.ends_with("Error") && name.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// Python's escapes. Named characters (`\N{…}`) are not known here.
pub(super) fn unescape(text: &str, out: &mut String) -> Option<()> {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let escaped = characters.next()?;
        let digits = match escaped {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        if digits > 0 {
            let code: String = characters.by_ref().take(digits).collect();
            out.push(u32::from_str_radix(&code, 16).ok().filter(|_| code.len() == digits).and_then(char::from_u32)?);
            continue;
        }
        match escaped {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(escaped),
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'v' => out.push('\x0b'),
            '0'..='7' => {
                let mut code = escaped.to_digit(8)?;
                for _ in 0..2 {
                    let Some(digit) = characters.peek().and_then(|next| next.to_digit(8)) else { break };
                    characters.next();
                    code = code * 8 + digit;
                }
                out.push(char::from_u32(code)?);
            }
            'N' => return None,
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    Some(())
}

fn integer(text: &str) -> Option<String> {
    let plain = text.replace('_', "").to_lowercase();
    let (digits, radix) = match plain.get(..2) {
        Some("0x") => (&plain[2..], 16),
        Some("0o") => (&plain[2..], 8),
        Some("0b") => (&plain[2..], 2),
        _ => (plain.as_str(), 10),
    };
    i128::from_str_radix(digits, radix).ok().map(|value| value.to_string())
}

/// As Python's `repr` writes it: the shortest digits that read back, an exponent below 1e-4 and from 1e16 on.
fn float(text: &str) -> Option<String> {
    let value: f64 = text.replace('_', "").parse().ok()?;
    if !value.is_finite() {
        return Some("inf".to_owned());
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return Some(format!("{digits}e{sign}{:02}", exponent.abs()));
    }
    Some(format!("{value:?}"))
}

/// A string as pytest writes it in an id: printable ASCII as it is, the rest escaped.
pub(super) fn ascii(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(character),
            _ => match u32::from(character) {
                code @ ..=0xff => out.push_str(&format!("\\x{code:02x}")),
                code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out
}
