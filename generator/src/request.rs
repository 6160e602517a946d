//! What to generate: families, sizes, progress and tags, spread evenly over the tasks by their index.

use parthack_env::names::is_identifier;
use parthack_env::spec::{Family, Split};

/// The four families of Table A.1, in its order.
pub const FAMILIES: [Family; 4] = [Family::Persistent, Family::Crud, Family::Interaction, Family::GoalPatch];
/// Most tasks of one suite, as suites are read.
pub const MAX_TASKS: usize = 20_000;

/// An honest P_state, as a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// k, or a part of it: 1/2 is 2/4.
    pub numerator: usize,
    /// m, or a part of it.
    pub denominator: usize,
}

impl Progress {
    /// Reads `k/m`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Progress> {
        let (numerator, denominator) = text.split_once('/')?;
        let progress = Progress { numerator: numerator.parse().ok()?, denominator: denominator.parse().ok()? };
        (progress.numerator > 0 && progress.numerator < progress.denominator).then_some(progress)
    }

    /// The k of a goal of m predicates, if this is k of m.
    #[must_use]
    pub fn of(self, m: usize) -> Option<usize> {
        let scaled = self.numerator.checked_mul(m)?;
        (self.denominator > 0 && scaled.is_multiple_of(self.denominator)).then(|| scaled / self.denominator)
    }
}

/// Whether tasks carry a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TagWish {
    /// About a quarter of those whose family offers it, as in Table A.2.
    #[default]
    Drawn,
    /// None.
    Never,
    /// Every one.
    Always,
}

/// What to generate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Families; tasks take turns.
    pub families: Vec<Family>,
    /// m, each in 3..=5; tasks take turns.
    pub sizes: Vec<usize>,
    /// Honest progress; empty: every k in 1..m.
    pub progress: Vec<Progress>,
    /// The attribution tag: offered by persistent and CRUD tasks.
    pub attribution: TagWish,
    /// The rollback tag: offered by persistent and interaction tasks whose honest trajectory satisfies two predicates.
    pub rollback: TagWish,
    /// Which split the tasks are for.
    pub split: Split,
    /// Beginning of every task id; the number follows.
    pub id_prefix: String,
    /// How many.
    pub count: usize,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            families: FAMILIES.to_vec(),
            sizes: vec![3, 4, 5],
            progress: Vec::new(),
            attribution: TagWish::Drawn,
            rollback: TagWish::Drawn,
            split: Split::HeldOut,
            id_prefix: "GEN".to_owned(),
            count: 18,
        }
    }
}

/// A request that no task meets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// m is not in 3..=5.
    #[error("{0} goal predicates; a goal has 3 to 5")]
    Size(usize),
    /// No tasks, or too many.
    #[error("{0} tasks; a suite has 1 to {MAX_TASKS}")]
    Count(usize),
    /// The prefix makes no identifier.
    #[error(
        "{0:?} followed by a number is no task id: at most 50 letters, digits, '.', '_', ':' or '-', beginning with a letter or a digit"
    )]
    Prefix(String),
    /// No combination is left.
    #[error("no family, size and progress of the request go together: {0}")]
    Nothing(&'static str),
}

/// The frame of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) family: Family,
    pub(crate) m: usize,
    /// Predicates that the honest trajectory satisfies.
    pub(crate) k: usize,
}

impl Cell {
    pub(crate) fn offers_attribution(self) -> bool {
        matches!(self.family, Family::Persistent | Family::Crud)
    }

    pub(crate) fn offers_rollback(self) -> bool {
        matches!(self.family, Family::Persistent | Family::Interaction) && self.k >= 2
    }
}

impl Request {
    /// The frames that tasks take turns in, in a fixed order.
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, BadRequest> {
        if let Some(size) = self.sizes.iter().find(|size| !(3..=5).contains(*size)) {
            return Err(BadRequest::Size(*size));
        }
        if self.count == 0 || self.count > MAX_TASKS {
            return Err(BadRequest::Count(self.count));
        }
        if self.id_prefix.len() > 50 || !is_identifier(&self.id_prefix) {
            return Err(BadRequest::Prefix(self.id_prefix.clone()));
        }
        let mut cells = Vec::new();
        // Neighbours differ in their family first, so that a small suite has all of them.
        for (m, k) in self.sizes.iter().flat_map(|m| (1..*m).map(|k| (*m, k))) {
            let wanted = self.progress.is_empty() || self.progress.iter().any(|progress| progress.of(m) == Some(k));
            for family in self.families.iter().filter(|_| wanted) {
                let cell = Cell { family: *family, m, k };
                let tags = (self.attribution != TagWish::Always || cell.offers_attribution())
                    && (self.rollback != TagWish::Always || cell.offers_rollback());
                if tags && !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
        if cells.is_empty() {
            return Err(BadRequest::Nothing(match () {
                () if self.families.is_empty() => "it names no family",
                () if self.sizes.is_empty() => "it names no size",
                () if self.attribution == TagWish::Always || self.rollback == TagWish::Always => {
                    "persistent and CRUD tasks offer the attribution tag, persistent and interaction tasks with two \
                     satisfied predicates the rollback tag"
                }
                () => "progress k/m needs a k that is whole and less than m",
            }));
        }
        Ok(cells)
    }

    /// The id of task `index`, from 0: prefix, hyphen, five digits from 1.
    #[must_use]
    pub fn task_id(&self, index: usize) -> String {
        format!("{}-{:05}", self.id_prefix, index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_what_was_asked_for() {
        let all = Request::default().cells().expect("cells");
        assert_eq!(all.len(), 4 * (2 + 3 + 4));
        let check = |request: Request, expected: Result<usize, &str>| {
            let found = request.cells().map(|cells| cells.len()).map_err(|error| error.to_string());
            match expected {
                Ok(number) => assert_eq!(found, Ok(number)),
                Err(words) => assert!(found.clone().is_err_and(|error| error.contains(words)), "{found:?}"),
            }
        };
        let half = || vec![Progress { numerator: 1, denominator: 2 }];
        check(Request { progress: half(), ..Request::default() }, Ok(4));
        check(Request { progress: half(), sizes: vec![3, 5], ..Request::default() }, Err("whole"));
        check(Request { sizes: vec![6], ..Request::default() }, Err("3 to 5"));
        check(Request { count: 0, ..Request::default() }, Err("1 to 20000"));
        check(Request { id_prefix: "-x".to_owned(), ..Request::default() }, Err("no task id"));
        check(Request { families: vec![], ..Request::default() }, Err("no family"));
        check(Request { attribution: TagWish::Always, ..Request::default() }, Ok(2 * 9));
        check(
            Request { attribution: TagWish::Always, families: vec![Family::GoalPatch], ..Request::default() },
            Err("attribution tag"),
        );
        check(Request { rollback: TagWish::Always, sizes: vec![3], ..Request::default() }, Ok(2));
    }

    #[test]
    fn progress_is_a_proper_ratio() {
        assert_eq!(Progress::parse("2/5"), Some(Progress { numerator: 2, denominator: 5 }));
        for bad in ["", "1", "0/3", "3/3", "4/3", "a/b", "1/0", "-1/2"] {
            assert_eq!(Progress::parse(bad), None, "{bad}");
        }
        assert_eq!(Progress::parse("2/4").and_then(|progress| progress.of(4)), Some(2));
        assert_eq!(Progress::parse("1/2").and_then(|progress| progress.of(5)), None);
    }
}
