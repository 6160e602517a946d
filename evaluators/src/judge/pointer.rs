//! JSON pointers (RFC 6901) into a document that is read already.

use parthack_env::json::Json;

/// The value at a pointer.
///
/// ```
/// # use parthack_env::json::Json;
/// # use parthack_evaluators::judge::pointer::resolve;
/// let json = Json::parse(br#"{"a/b":[5]}"#)?;
/// assert_eq!(resolve(&json, "/a~1b/0"), Some(&Json::Number("5".into())));
/// assert_eq!(resolve(&json, "/a~1b/00"), None);
/// assert_eq!(resolve(&json, "a"), None);
/// # Ok::<(), parthack_env::input::InputError>(())
/// ```
#[must_use]
pub fn resolve<'j, 'a>(json: &'j Json<'a>, pointer: &str) -> Option<&'j Json<'a>> {
    if pointer.is_empty() {
        return Some(json);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(json, |value, segment| match value {
        Json::Array(items) => items.get(index(segment)?),
        Json::Object(_) => value.get(&unescape(segment)?),
        _ => None,
    })
}

/// An array index in its one form: no sign, no leading zero.
fn index(segment: &str) -> Option<usize> {
    let digits = segment.bytes().all(|byte| byte.is_ascii_digit());
    let plain = segment == "0" || !segment.starts_with('0');
    if digits && plain { segment.parse().ok() } else { None }
}

fn unescape(segment: &str) -> Option<String> {
    let mut parts = segment.split('~');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (escaped, rest) = part.split_at_checked(1)?;
        text.push(match escaped {
            "0" => '~',
            "1" => '/',
            _ => return None,
        });
        text.push_str(rest);
    }
    Some(text)
}
