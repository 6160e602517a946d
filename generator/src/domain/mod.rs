//! Domains: what tasks are about. A domain names types, fields, values and verbs; structure is drawn from them.
//!
//! Phrases that begin a sentence elsewhere are infinitives without a full stop ("give {main} to {x}"), so that they fit
//! behind "Please", "Then" or "You still have to". In them `{main}` stands for the record that the task is about,
//! `{its:word}` for a possession of it, and `{x}` for what is to be worked out.

mod catering;
mod claims;
mod clinic;
mod conference;
mod customs;
mod helpdesk;
mod hotel;
mod laboratory;
mod library;
mod museum;
mod payroll;
mod permits;
mod releases;
mod repairs;
mod school;
mod warehouse;

/// Every domain, in a fixed order.
pub(crate) const DOMAINS: [&Domain; 16] = [
    &catering::DOMAIN,
    &claims::DOMAIN,
    &clinic::DOMAIN,
    &conference::DOMAIN,
    &customs::DOMAIN,
    &helpdesk::DOMAIN,
    &hotel::DOMAIN,
    &laboratory::DOMAIN,
    &library::DOMAIN,
    &museum::DOMAIN,
    &payroll::DOMAIN,
    &permits::DOMAIN,
    &releases::DOMAIN,
    &repairs::DOMAIN,
    &school::DOMAIN,
    &warehouse::DOMAIN,
];

/// A noun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noun {
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
}

/// A noun of both numbers.
const fn noun(one: &'static str, many: &'static str) -> Noun {
    Noun { one, many }
}

/// A unit of amounts; the empty one for plain numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    /// In the format.
    pub(crate) code: &'static str,
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
}

const fn unit(code: &'static str, one: &'static str, many: &'static str) -> Unit {
    Unit { code, one, many }
}

pub(crate) const NONE: Unit = unit("", "", "");
const EUR: Unit = unit("EUR", "euro", "euros");
const DAYS: Unit = unit("day", "day", "days");
const HOURS: Unit = unit("hour", "hour", "hours");
const MINUTES: Unit = unit("minute", "minute", "minutes");
const PERCENT: Unit = unit("percent", "percent", "percent");
const PEOPLE: Unit = unit("person", "person", "people");
const KILOS: Unit = unit("kg", "kilogram", "kilograms");

/// Where names come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pool {
    /// First and last names.
    People,
    /// Names of firms.
    Firms,
    /// These.
    These(&'static [&'static str]),
}

/// A field with a sentence about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    pub(crate) field: &'static str,
    pub(crate) doc: &'static str,
}

const fn named(field: &'static str, doc: &'static str) -> Named {
    Named { field, doc }
}

/// A type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) key: &'static str,
    pub(crate) noun: Noun,
    pub(crate) doc: &'static str,
    pub(crate) prefix: &'static str,
}

const fn kind(key: &'static str, noun: Noun, doc: &'static str, prefix: &'static str) -> Kind {
    Kind { key, noun, doc, prefix }
}

/// The record that a task is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Main {
    pub(crate) kind: Kind,
    pub(crate) subject: Named,
    /// Noun phrases with their article.
    pub(crate) subjects: &'static [&'static str],
    pub(crate) party: Named,
    pub(crate) parties: Pool,
    /// First sentences, with `{main}` (its noun and id), `{subject}` and `{party}`.
    pub(crate) openings: &'static [&'static str],
}

/// A field of the record that names one of several others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) at: Named,
    pub(crate) target: Kind,
    pub(crate) names: Pool,
    /// "who" or "that".
    pub(crate) who: &'static str,
    pub(crate) filter: Named,
    pub(crate) symbols: &'static [&'static str],
    /// After the noun, with `{}` for a symbol.
    pub(crate) phrase: &'static str,
    /// After the noun, for the record's own symbol; empty: records have none.
    pub(crate) own: &'static str,
    pub(crate) metric: Named,
    pub(crate) unit: Unit,
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// After "with"; empty: not a criterion.
    pub(crate) least: &'static str,
    pub(crate) most: &'static str,
    pub(crate) verbs: &'static [&'static str],
}

/// An amount that follows from other records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum {
    pub(crate) at: Named,
    /// What it is called.
    pub(crate) words: &'static str,
    pub(crate) unit: Unit,
    pub(crate) lines: Kind,
    pub(crate) label: Named,
    pub(crate) labels: &'static [&'static str],
    pub(crate) amount: Named,
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// A truth value of each line.
    pub(crate) counts: Named,
    /// The value of lines that count.
    pub(crate) counted: bool,
    /// After the plural of the lines.
    pub(crate) phrase: &'static str,
    /// An amount of the record itself that is added or taken off; empty: none.
    pub(crate) offset: Named,
    pub(crate) offset_words: &'static str,
    pub(crate) taken_off: bool,
}

/// An amount that is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    pub(crate) at: Named,
    pub(crate) words: &'static str,
    pub(crate) unit: Unit,
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) step: i64,
}

/// A field with a graph of legal changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage {
    pub(crate) at: Named,
    /// From the first one on.
    pub(crate) symbols: &'static [&'static str],
    /// How to reach each symbol but the first.
    pub(crate) verbs: &'static [&'static str],
}

/// A field that holds a set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetField {
    pub(crate) at: Named,
    /// Symbol, and the noun phrase for it.
    pub(crate) symbols: &'static [(&'static str, &'static str)],
    pub(crate) add: &'static [&'static str],
    /// Empty: nothing is ever taken out.
    pub(crate) remove: &'static [&'static str],
}

/// A field that is true or false, false at first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    pub(crate) at: Named,
    pub(crate) verbs: &'static [&'static str],
}

/// A field that holds a tick.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Date {
    pub(crate) at: Named,
    pub(crate) words: &'static str,
    pub(crate) base: Named,
    /// The day that `base` holds, as a noun phrase about the record.
    pub(crate) base_words: &'static str,
    pub(crate) span: Named,
    /// The period that `span` holds, as a noun phrase.
    pub(crate) span_words: &'static str,
    pub(crate) low: i64,
    pub(crate) high: i64,
}

/// A field that holds a short text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    pub(crate) at: Named,
    pub(crate) words: &'static str,
    /// Texts; `#` becomes a digit.
    pub(crate) values: &'static [&'static str],
}

/// Records beside the main one, which are entered, removed and brought back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    /// Names the main record.
    pub(crate) link: Named,
    pub(crate) label: Named,
    pub(crate) labels: &'static [&'static str],
    pub(crate) class: Named,
    /// Symbol, and what follows the noun for it.
    pub(crate) classes: &'static [(&'static str, &'static str)],
    pub(crate) amount: Named,
    pub(crate) unit: Unit,
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// After "with".
    pub(crate) least: &'static str,
    pub(crate) most: &'static str,
    pub(crate) enter: &'static [&'static str],
    pub(crate) remove: &'static [&'static str],
    /// After "which was": how a record was removed.
    pub(crate) removed: &'static str,
    pub(crate) restore: &'static [&'static str],
}

/// Records of which so many must be in a state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks {
    pub(crate) kind: Kind,
    pub(crate) link: Named,
    pub(crate) label: Named,
    pub(crate) labels: &'static [&'static str],
    pub(crate) state: Named,
    /// At first, as it should be, and otherwise.
    pub(crate) states: [&'static str; 3],
}

/// What somebody else does when asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignOff {
    /// `peer` or `user`.
    pub(crate) actor: &'static str,
    pub(crate) who: &'static str,
    pub(crate) at: Named,
    /// At first, asked for, given.
    pub(crate) states: [&'static str; 3],
    pub(crate) ask: &'static [&'static str],
    /// A sentence: what happens then.
    pub(crate) promise: &'static str,
    /// A sentence: why the agent can't do it.
    pub(crate) only: &'static str,
    pub(crate) stamp: Named,
    pub(crate) stamp_words: &'static str,
    pub(crate) paper: Kind,
}

/// Somebody who has to be asked first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Consent {
    pub(crate) who: &'static str,
    pub(crate) at: Named,
    /// Sentences of the instruction.
    pub(crate) sentences: &'static [&'static str],
    /// What the agent says.
    pub(crate) questions: &'static [&'static str],
    /// What a refused agent is told.
    pub(crate) refusal: &'static str,
    /// What an agent that writes the field is told.
    pub(crate) own: &'static str,
}

/// Why a goal changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct News {
    /// Hints in the first instruction.
    pub(crate) hints: &'static [&'static str],
    /// Sentences that begin the second.
    pub(crate) openings: &'static [&'static str],
    /// What is said when it is offered.
    pub(crate) messages: &'static [&'static str],
}

/// A domain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Domain {
    pub(crate) name: &'static str,
    pub(crate) main: Main,
    pub(crate) choices: &'static [Choice],
    pub(crate) sums: &'static [Sum],
    pub(crate) levels: &'static [Level],
    pub(crate) stages: &'static [Stage],
    pub(crate) sets: &'static [SetField],
    pub(crate) flags: &'static [Flag],
    pub(crate) dates: &'static [Date],
    pub(crate) texts: &'static [Text],
    pub(crate) record: Record,
    pub(crate) checks: Checks,
    pub(crate) sign_off: SignOff,
    pub(crate) consent: Consent,
    pub(crate) news: News,
    /// Remarks that ask for nothing.
    pub(crate) asides: &'static [&'static str],
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every field of a domain's record, of whatever part.
    fn main_fields(domain: &Domain) -> Vec<&'static str> {
        let mut fields = vec![domain.main.subject.field, domain.main.party.field, domain.sign_off.at.field];
        fields.extend([domain.sign_off.stamp.field, domain.consent.at.field]);
        fields.extend(domain.choices.iter().map(|choice| choice.at.field));
        fields.extend(domain.choices.iter().filter(|choice| !choice.own.is_empty()).map(|choice| choice.filter.field));
        fields.extend(domain.sums.iter().flat_map(|sum| [sum.at.field, sum.offset.field]));
        fields.extend(domain.levels.iter().map(|level| level.at.field));
        fields.extend(domain.stages.iter().map(|stage| stage.at.field));
        fields.extend(domain.sets.iter().map(|set| set.at.field));
        fields.extend(domain.flags.iter().map(|flag| flag.at.field));
        fields.extend(domain.dates.iter().flat_map(|date| [date.at.field, date.base.field, date.span.field]));
        fields.extend(domain.texts.iter().map(|text| text.at.field));
        fields
    }

    fn distinct(domain: &str, what: &str, names: &[&'static str]) {
        let set: BTreeSet<&&str> = names.iter().collect();
        assert_eq!(set.len(), names.len(), "{domain}: {what} {names:?}");
        for name in names {
            assert!(parthack_env::names::is_identifier(name), "{domain}: {what} {name:?}");
        }
    }

    #[test]
    fn names_are_distinct() {
        for domain in DOMAINS {
            distinct(domain.name, "fields", &main_fields(domain));
            let kinds = [domain.main.kind, domain.record.kind, domain.checks.kind, domain.sign_off.paper];
            let kinds: Vec<Kind> = kinds
                .into_iter()
                .chain(domain.choices.iter().map(|choice| choice.target))
                .chain(domain.sums.iter().map(|sum| sum.lines))
                .collect();
            distinct(domain.name, "types", &kinds.iter().map(|kind| kind.key).collect::<Vec<_>>());
            distinct(domain.name, "prefixes", &kinds.iter().map(|kind| kind.prefix).collect::<Vec<_>>());
            let record = domain.record;
            let fields = [record.link.field, record.label.field, record.class.field, record.amount.field];
            distinct(domain.name, "record fields", &fields);
        }
    }

    #[test]
    fn lists_are_long_enough() {
        for domain in DOMAINS {
            for choice in domain.choices {
                assert!(
                    choice.symbols.len() >= 3 && choice.phrase.contains("{}"),
                    "{}: {}",
                    domain.name,
                    choice.at.field
                );
                assert!(choice.verbs.iter().all(|verb| verb.contains("{x}")), "{}: {}", domain.name, choice.at.field);
                if let Pool::These(names) = choice.names {
                    assert!(names.len() >= 5, "{}: {}", domain.name, choice.at.field);
                }
            }
            for stage in domain.stages {
                assert_eq!(stage.verbs.len() + 1, stage.symbols.len(), "{}: {}", domain.name, stage.at.field);
            }
            for set in domain.sets {
                assert!(set.symbols.len() >= 4, "{}: {}", domain.name, set.at.field);
            }
            assert!(domain.record.classes.len() >= 3 && domain.record.labels.len() >= 6, "{}", domain.name);
            assert!(domain.checks.labels.len() >= 4 && domain.main.subjects.len() >= 4, "{}", domain.name);
        }
    }
}
