//! What a server of one's own tells of itself. With another model file or another build, answers are other answers.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::regular;

/// The most bytes of a model file that are hashed.
const MOST_HASHED_BYTES: u64 = 256 << 30;

/// What `/props` (llama.cpp), `/v1/models` (most) and `/version` (vLLM) tell; each may be absent.
pub(crate) fn identity(
    props: Option<&Value>,
    models: Option<&Value>,
    version: Option<&Value>,
) -> BTreeMap<String, String> {
    let mut identity = BTreeMap::new();
    let mut put = |name: &str, value: Option<&Value>| {
        let text = match value {
            Some(Value::String(text)) if !text.is_empty() => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return,
        };
        identity.insert(name.to_owned(), text);
    };
    if let Some(props) = props {
        put("server_build", props.get("build_info"));
        put("quantization", props.get("model_ftype"));
        put("n_ctx", props.pointer("/default_generation_settings/n_ctx"));
        put("slots", props.get("total_slots"));
    }
    if let Some(models) = models {
        put("n_params", models.pointer("/data/0/meta/n_params"));
        put("model_bytes", models.pointer("/data/0/meta/size"));
        put(
            "root",
            models.pointer("/data/0/root").filter(|root| root.as_str().is_some_and(|root| !root.contains('/'))),
        );
    }
    if let Some(version) = version {
        put("server_version", version.get("version"));
    }
    // The name alone: where the file stands says something about a machine, not about the model.
    if let Some(path) = props.and_then(|props| props.get("model_path")).and_then(Value::as_str).map(Path::new) {
        put("model_file", path.file_name().and_then(|name| name.to_str()).map(Value::from).as_ref());
        put("model_file_blake3", hash(path, MOST_HASHED_BYTES).map(Value::from).as_ref());
    }
    identity
}

/// The hash of a file that is here; `None` where none is, or it is none of ours to read. What the server names and is no model file has
/// no hash, which is said: its identity is unknown.
fn hash(path: &Path, most: u64) -> Option<String> {
    if !path.is_absolute() {
        return None;
    }
    let hashed = || {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(regular::open(path)?.take(most + 1))?;
        Ok::<_, io::Error>(hasher)
    };
    match hashed() {
        Ok(hasher) if hasher.count() > most => Some(format!("unknown: more than {most} bytes")),
        Ok(hasher) => Some(hasher.finalize().to_hex().to_string()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Some("unknown: not a regular file".to_owned()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_told_is_kept_and_paths_are_not() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("m.gguf");
        std::fs::write(&path, b"weights").expect("written");
        let props = json!({
            "build_info": "b1-x", "model_path": path, "model_ftype": "Q4", "total_slots": 1,
            "default_generation_settings": {"n_ctx": 8192},
        });
        let models = json!({"data": [{"root": "/somewhere/model", "meta": {"n_params": 7}}]});
        let told = identity(Some(&props), Some(&models), Some(&json!({"version": "0.9"})));
        let hash = blake3::hash(b"weights").to_hex().to_string();
        let expected = [
            ("model_file", "m.gguf"),
            ("model_file_blake3", hash.as_str()),
            ("n_ctx", "8192"),
            ("n_params", "7"),
            ("quantization", "Q4"),
            ("server_build", "b1-x"),
            ("server_version", "0.9"),
            ("slots", "1"),
        ];
        assert_eq!(told.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>(), expected);
        assert!(identity(None, None, None).is_empty());
    }

    /// A server may name anything, such as a device that never ends.
    #[test]
    fn what_is_no_model_file_is_not_read() {
        let told = |path: &Path| identity(Some(&json!({ "model_path": path })), None, None).remove("model_file_blake3");
        let folder = tempfile::tempdir().expect("folder");
        assert_eq!(told(folder.path()).as_deref(), Some("unknown: not a regular file"));
        assert_eq!(told(&folder.path().join("elsewhere")), None);
        #[cfg(unix)]
        assert_eq!(told(Path::new("/dev/zero")).as_deref(), Some("unknown: not a regular file"));
        let path = folder.path().join("m.gguf");
        std::fs::write(&path, b"weights").expect("written");
        assert_eq!(hash(&path, 7), Some(blake3::hash(b"weights").to_hex().to_string()));
        assert_eq!(hash(&path, 6).as_deref(), Some("unknown: more than 6 bytes"));
    }
}
