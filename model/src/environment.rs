//! Variables that name servers and hold keys.

use std::collections::BTreeMap;
use std::fmt;

use crate::http;
use crate::provider::Provider;
use crate::secret::{ApiKey, redact};

/// Where variables are looked up. It prints no values.
#[derive(Clone, Default)]
pub enum Environment {
    /// In the process's environment.
    #[default]
    Process,
    /// In a map.
    Map(BTreeMap<String, String>),
}

impl fmt::Debug for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Environment::Process => out.write_str("Process"),
            Environment::Map(map) => write!(out, "Map({:?})", map.keys()),
        }
    }
}

impl Environment {
    /// The first of these variables that is set and not blank.
    fn first(&self, names: &[&str]) -> Option<String> {
        let value = |name: &&str| match self {
            Environment::Process => std::env::var(name).ok(),
            Environment::Map(map) => map.get(*name).cloned(),
        };
        names.iter().filter_map(value).find(|value| !value.trim().is_empty())
    }

    /// The provider's base URL, without a slash at its end.
    pub(crate) fn base_url(&self, provider: &Provider) -> Result<String, String> {
        match self.first(provider.base_url_variables) {
            None => Ok(provider.base_url.to_owned()),
            Some(text) => http::base_url(text.trim()).map_err(|error| {
                // The key may have been put into the wrong variable.
                let error = redact(self.key(provider).as_ref(), error);
                format!("{}: found {error}", provider.base_url_variables.join(" or "))
            }),
        }
    }

    /// The provider's key, if one is set.
    pub(crate) fn key(&self, provider: &Provider) -> Option<ApiKey> {
        self.first(provider.key_variables).and_then(|text| ApiKey::new(&text))
    }

    /// What the user tells of a local server that it doesn't tell itself, such as `threads=2,prompt_cache=off`.
    pub(crate) fn local_identity(&self) -> BTreeMap<String, String> {
        let text = self.first(&["PARTHACK_LOCAL_IDENTITY"]).unwrap_or_default();
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
    }
}
