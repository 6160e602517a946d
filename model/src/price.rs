//! What calls cost: whole pico-dollars, and a price table that a user can replace.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::provider::Provider;
use crate::role::RoleConfig;

/// The format of a price table.
pub const PRICES_FORMAT: &str = "parthack.prices/1";

/// The table that comes with the program.
const EMBEDDED: &str = include_str!("prices.json");

/// A sum of money in millionths of a millionth of a US dollar; sums saturate at 18 million dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost {
    /// Pico-dollars.
    pub pico_dollars: u64,
}

impl Cost {
    /// Nothing.
    pub const ZERO: Cost = Cost { pico_dollars: 0 };

    /// Reads decimal dollars with at most twelve places.
    ///
    /// ```
    /// # use parthack_model::price::Cost;
    /// assert_eq!(Cost::from_dollars("0.25").map(|cost| cost.pico_dollars), Some(250_000_000_000));
    /// assert_eq!(Cost::from_dollars("2"), Some(Cost { pico_dollars: 2_000_000_000_000 }));
    /// assert_eq!(Cost::from_dollars("-1"), None);
    /// assert_eq!(Cost { pico_dollars: 1_234_567_000_000 }.to_string(), "$1.234567");
    /// ```
    #[must_use]
    pub fn from_dollars(text: &str) -> Option<Cost> {
        decimal(text, 12).map(|pico_dollars| Cost { pico_dollars })
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        Cost { pico_dollars: self.pico_dollars.saturating_add(other.pico_dollars) }
    }

    /// The difference, at least nothing.
    #[must_use]
    pub fn minus(self, other: Cost) -> Cost {
        Cost { pico_dollars: self.pico_dollars.saturating_sub(other.pico_dollars) }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::ZERO, Cost::plus)
    }
}

/// Dollars to six places, rounded up: a cost is never shown as nothing.
impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = self.pico_dollars.div_ceil(1_000_000);
        write!(out, "${}.{:06}", micro / 1_000_000, micro % 1_000_000)
    }
}

/// Decimal text, times ten to the power of `places`.
fn decimal(text: &str, places: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fraction_is_sound = fraction.len() <= places as usize && (text.contains('.') != fraction.is_empty());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || !fraction_is_sound {
        return None;
    }
    let padded = format!("{whole}{fraction:0<width$}", width = places as usize);
    padded.parse().ok()
}

/// Tokens of calls, as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Those among them that a cache of the provider held.
    pub cached_prompt_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub completion_tokens: u64,
    /// Those among them that were reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// The sum.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            cached_prompt_tokens: self.cached_prompt_tokens.saturating_add(other.cached_prompt_tokens),
            completion_tokens: self.completion_tokens.saturating_add(other.completion_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
        }
    }
}

/// What a model's tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price {
    /// A token of a prompt.
    pub prompt: Cost,
    /// A token of a prompt that the provider's cache held.
    pub cached_prompt: Cost,
    /// A token of an answer.
    pub completion: Cost,
}

impl Price {
    /// The cost of tokens.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Cost {
        let cached = usage.cached_prompt_tokens.min(usage.prompt_tokens);
        let part = |price: Cost, tokens: u64| Cost { pico_dollars: price.pico_dollars.saturating_mul(tokens) };
        part(self.prompt, usage.prompt_tokens - cached)
            .plus(part(self.cached_prompt, cached))
            .plus(part(self.completion, usage.completion_tokens))
    }
}

/// Prices by `provider/model`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceTable {
    /// When the prices were looked up.
    pub date: String,
    prices: BTreeMap<String, Price>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    date: String,
    #[serde(default, rename = "note")]
    _note: String,
    usd_per_million_tokens: Rows,
}

/// Every row as it stands, also those whose name stands twice.
struct Rows(Vec<(String, Row)>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    prompt: String,
    #[serde(default)]
    cached_prompt: Option<String>,
    completion: String,
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Rows, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Rows;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object of prices by provider/model")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Rows, A::Error> {
                let mut rows = Vec::new();
                while let Some(row) = members.next_entry()? {
                    rows.push(row);
                }
                Ok(Rows(rows))
            }
        }

        reader.deserialize_map(Reader)
    }
}

/// The lines of a table in which a name stands as a member, counted from 1; a name that is written with escapes isn't found.
fn lines_of(text: &str, name: &str) -> Vec<String> {
    let quoted = format!("\"{name}\"");
    let members = text.match_indices(&quoted).filter(|(at, _)| text[at + quoted.len()..].trim_start().starts_with(':'));
    members.map(|(at, _)| (text[..at].matches('\n').count() + 1).to_string()).collect()
}

impl PriceTable {
    /// The table that comes with the program. Its date says how old it is.
    #[must_use]
    pub fn embedded() -> PriceTable {
        // A test reads it; a table that can't be read would price nothing, and `max_cost` refuses what has no price.
        PriceTable::read(EMBEDDED).unwrap_or(PriceTable { date: String::new(), prices: BTreeMap::new() })
    }

    /// Reads a table (`parthack.prices/1`): US dollars a million tokens as decimal text with at most six places.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn read(text: &str) -> Result<PriceTable, String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.format != PRICES_FORMAT {
            return Err(format!("/format: found {:?}, expected {PRICES_FORMAT:?}", file.format));
        }
        let mut prices = BTreeMap::new();
        let mut rows = BTreeMap::new();
        for (number, (name, row)) in (1..).zip(file.usd_per_million_tokens.0) {
            if let Some(first) = rows.insert(name.clone(), number) {
                let lines = lines_of(text, &name);
                let lines = if lines.len() > 1 { format!(", lines {}", lines.join(" and ")) } else { String::new() };
                return Err(format!(
                    "/usd_per_million_tokens: found {name:?} twice, as rows {first} and {number}{lines}; expected each model once"
                ));
            }
            RoleConfig::named(&name).map_err(|error| format!("/usd_per_million_tokens: {error}"))?;
            let read = |field: &str, text: &str| {
                let pico_dollars = decimal(text, 6).ok_or_else(|| {
                    format!(
                        "/usd_per_million_tokens, {name}, {field}: found {text:?}, expected a decimal like \"0.15\""
                    )
                })?;
                Ok::<Cost, String>(Cost { pico_dollars })
            };
            let prompt = read("prompt", &row.prompt)?;
            let cached_prompt = row.cached_prompt.map_or(Ok(prompt), |text| read("cached_prompt", &text))?;
            let completion = read("completion", &row.completion)?;
            prices.insert(name, Price { prompt, cached_prompt, completion });
        }
        Ok(PriceTable { date: file.date, prices })
    }

    /// This table with another's rows in place of its own.
    #[must_use]
    pub fn overridden_by(mut self, other: PriceTable) -> PriceTable {
        self.prices.extend(other.prices);
        self.date = other.date;
        self
    }

    /// The price of a role's model: nothing where its provider doesn't bill, `None` where it isn't known.
    #[must_use]
    pub fn price(&self, config: &RoleConfig) -> Option<Price> {
        let bills = Provider::find(&config.provider).is_none_or(|provider| provider.bills);
        self.prices.get(&config.name()).copied().or_else(|| (!bills).then(Price::default))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_table_is_sound() {
        let table = PriceTable::read(EMBEDDED).expect("sound");
        let price = table.price(&RoleConfig::named("openai/gpt-4o-mini").expect("sound")).expect("priced");
        // 0.15 dollars a million is 150,000 pico-dollars each.
        assert_eq!(price.prompt.pico_dollars, 150_000);
        let usage =
            Usage { prompt_tokens: 1_000_000, cached_prompt_tokens: 0, completion_tokens: 0, reasoning_tokens: 0 };
        assert_eq!(price.of(&usage).to_string(), "$0.150000");
        assert_eq!(table.price(&RoleConfig::named("local/x").expect("sound")), Some(Price::default()));
        assert_eq!(table.price(&RoleConfig::named("openai/unknown").expect("sound")), None);
    }

    #[test]
    fn cached_tokens_have_a_price_of_their_own() {
        let cost = |pico_dollars| Cost { pico_dollars };
        let price = Price { prompt: cost(10), cached_prompt: cost(1), completion: cost(100) };
        let usage = Usage { prompt_tokens: 5, cached_prompt_tokens: 3, completion_tokens: 2, reasoning_tokens: 1 };
        assert_eq!(price.of(&usage), cost(223));
    }

    #[test]
    fn wrong_tables_say_where() {
        let table = |row: &str| {
            let text = format!(r#"{{"format":"parthack.prices/1","date":"d","usd_per_million_tokens":{{{row}}}}}"#);
            PriceTable::read(&text).map(|_| ()).expect_err("wrong")
        };
        assert!(table(r#""nobody/x":{"prompt":"1","completion":"1"}"#).contains("nobody/x"));
        let row = r#""openai/x":{"prompt":"1","completion":"1"}"#;
        let twice = table(&format!("\n{row},\n{},\n{}", row.replace('x', "y"), row.replacen(':', " : ", 1)));
        assert!(twice.contains("\"openai/x\" twice, as rows 1 and 3, lines 2 and 4; expected"), "{twice}");
        let escaped = table(&format!("{row},{}", row.replacen('x', "\\u0078", 1)));
        assert!(escaped.contains("\"openai/x\" twice, as rows 1 and 2; expected"), "{escaped}");
        assert!(table(r#""openai/x":{"prompt":"1e3","completion":"1"}"#).contains("openai/x, prompt"));
        assert!(table(r#""openai/x":{"prompt":"1."  ,"completion":"1"}"#).contains("found \"1.\""));
        assert!(table(r#""openai/x":{"prompt":"0.1234567","completion":"1"}"#).contains("0.1234567"));
    }
}
