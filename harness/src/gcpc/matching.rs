//! Which checklist a task's name means. The two sides are written by different programs: task folders and instances name no suite, logs are
//! known as `suite/task`, and a task's own id may have a folder in front (`org/hello`).

use std::collections::{BTreeMap, BTreeSet};

use crate::gcpc::task::GcpcTask;
use crate::run::error::RunError;

/// The most names that a message lists.
const MOST_NAMED: usize = 12;

/// The benchmark of a task that was read from files of the user's own, who gave it its name.
pub(crate) const OWN_FILES: &str = "files";

/// Names of tasks to choose from.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Name → whether what stands in front of its last part is a suite, and not a part of the task's id.
    names: BTreeMap<String, bool>,
    /// Last part → names.
    by_last: BTreeMap<String, BTreeSet<String>>,
}

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// The task of this very name.
    Exact(String),
    /// The only task with the same id.
    ById(String),
    /// Several tasks with the same id, none nearer than another.
    Several(Vec<String>),
    /// Tasks with the same last part in another suite: those are other tasks.
    Elsewhere(Vec<String>),
    /// None.
    Nothing,
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// How many parts two names share, from the end.
fn shared(left: &str, right: &str) -> usize {
    left.rsplit('/').zip(right.rsplit('/')).take_while(|(left, right)| left == right).count()
}

/// Whether a name is another one, or its end from one of its slashes on.
fn is_end_of(end: &str, name: &str) -> bool {
    name.strip_suffix(end).is_some_and(|front| front.is_empty() || front.ends_with('/'))
}

/// Whether the front of a task's name is a suite. Where nothing is known of the task, it is taken for one.
fn has_suite(task: Option<&GcpcTask>, name: &str) -> bool {
    let of_suite = |task: &GcpcTask| {
        task.benchmark == OWN_FILES || name.strip_prefix(&task.benchmark).is_some_and(|rest| rest.starts_with('/'))
    };
    name.contains('/') && task.is_none_or(of_suite)
}

impl Names {
    /// The names of tasks, each with its task where that is known.
    #[must_use]
    pub fn new<'t>(tasks: impl IntoIterator<Item = (&'t str, Option<&'t GcpcTask>)>) -> Names {
        let mut names = Names::default();
        for (name, task) in tasks {
            if names.names.insert(name.to_owned(), has_suite(task, name)).is_none() {
                names.by_last.entry(last(name).to_owned()).or_default().insert(name.to_owned());
            }
        }
        names
    }

    /// The names, at most so many that a message can list them.
    #[must_use]
    pub fn listed(&self) -> String {
        list_names(&self.names.keys().map(String::as_str).collect::<Vec<_>>())
    }

    /// What a name means: the task of this name; else the only one with the same last part, where several have it the one that shares most
    /// parts from the end. Two names with different suites mean different tasks.
    ///
    /// ```
    /// # use parthack::gcpc::matching::{Meaning, Names};
    /// let names = Names::new([("hello", None), ("retail/3", None)]);
    /// assert_eq!(names.meaning("terminal-bench/hello"), Meaning::ById("hello".to_owned()));
    /// assert_eq!(names.meaning("3"), Meaning::ById("retail/3".to_owned()));
    /// assert_eq!(names.meaning("airline/3"), Meaning::Elsewhere(vec!["retail/3".to_owned()]));
    /// ```
    #[must_use]
    pub fn meaning(&self, wanted: &str) -> Meaning {
        if self.names.contains_key(wanted) {
            return Meaning::Exact(wanted.to_owned());
        }
        let Some(all) = self.by_last.get(last(wanted)) else { return Meaning::Nothing };
        let fits = |name: &&String| {
            is_end_of(name, wanted) || is_end_of(wanted, name) || !self.names.get(*name).copied().unwrap_or_default()
        };
        let candidates: Vec<&String> = all.iter().filter(fits).collect();
        let most = candidates.iter().map(|name| shared(name, wanted)).max();
        let nearest: Vec<String> =
            candidates.into_iter().filter(|name| Some(shared(name, wanted)) == most).cloned().collect();
        match nearest.as_slice() {
            [] => Meaning::Elsewhere(all.iter().cloned().collect()),
            [one] => Meaning::ById(one.clone()),
            _ => Meaning::Several(nearest),
        }
    }
}

/// Names as a message lists them.
#[must_use]
pub fn list_names(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMED).map(AsRef::as_ref).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// Matches the tasks of logs to checklists, and keeps what there is to say of it, each once.
#[derive(Debug)]
pub struct Matcher {
    names: Names,
    /// What the user said: task of logs → checklist.
    map: BTreeMap<String, String>,
    used: BTreeSet<String>,
    known: BTreeMap<String, Option<String>>,
    notes: Vec<String>,
}

impl Matcher {
    /// A matcher over the names of checklists, with entries `LOGTASK=CHECKLIST` of a user's own.
    ///
    /// # Errors
    /// [`RunError::Usage`] for an entry of another form, one whose checklist is not there or not the only one of its name, or two that
    /// disagree.
    pub fn new(names: Names, entries: &[String]) -> Result<Matcher, RunError> {
        let mut map = BTreeMap::new();
        for entry in entries {
            let form =
                || RunError::usage(format!("--map: found {entry:?}"), "LOGTASK=CHECKLIST, such as a/hello=hello");
            let (task, checklist) = entry.split_once('=').ok_or_else(form)?;
            if task.is_empty() || checklist.is_empty() {
                return Err(form());
            }
            let checklist = match names.meaning(checklist) {
                Meaning::Exact(name) | Meaning::ById(name) => name,
                Meaning::Several(found) => {
                    let message = format!("--map {entry}: {checklist} may be {}", list_names(&found));
                    return Err(RunError::usage(message, "name the checklist with its suite"));
                }
                Meaning::Elsewhere(_) | Meaning::Nothing => {
                    let message = format!("--map {entry}: no frozen checklist of {checklist}");
                    return Err(RunError::usage(message, format!("frozen are {}", names.listed())));
                }
            };
            if let Some(other) = map.insert(task.to_owned(), checklist.clone())
                && other != checklist
            {
                let message = format!("--map: {task} is both {other} and {checklist}");
                return Err(RunError::usage(message, "leave one out"));
            }
        }
        Ok(Matcher { names, map, used: BTreeSet::new(), known: BTreeMap::new(), notes: Vec::new() })
    }

    /// The checklist of a log's task; `None` where there is none.
    ///
    /// # Errors
    /// [`RunError::Usage`] with the candidates where several may be meant.
    pub fn find(&mut self, task: &str) -> Result<Option<String>, RunError> {
        if let Some(known) = self.known.get(task) {
            return Ok(known.clone());
        }
        let found = self.look_up(task)?;
        self.known.insert(task.to_owned(), found.clone());
        Ok(found)
    }

    fn look_up(&mut self, task: &str) -> Result<Option<String>, RunError> {
        if let Some(said) = self.said(task, |entry| entry == task) {
            return Ok(Some(said));
        }
        let meaning = self.names.meaning(task);
        if let Meaning::Exact(name) = meaning {
            return Ok(Some(name));
        }
        if let Some(said) = self.said(task, |entry| is_end_of(entry, task)) {
            return Ok(Some(said));
        }
        match meaning {
            Meaning::ById(name) => {
                self.notes
                    .push(format!("logs of {task} are judged by the checklist of {name}, the only one of that id"));
                Ok(Some(name))
            }
            Meaning::Several(found) => {
                let message = format!("logs of {task}: the checklist may be that of {}", list_names(&found));
                Err(RunError::usage(message, format!("say which with --map {task}={}", found[0])))
            }
            Meaning::Elsewhere(found) => {
                let names = list_names(&found);
                self.notes.push(format!(
                    "{task} is not {names}, whose suite is another; if it is, say --map {task}={}",
                    found[0]
                ));
                Ok(None)
            }
            Meaning::Exact(_) | Meaning::Nothing => Ok(None),
        }
    }

    /// What the user said of a task; the longest entry where several fit.
    fn said(&mut self, task: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
        let entries = self.map.iter().filter(|(entry, _)| fits(entry));
        let (entry, checklist) = entries.max_by_key(|(entry, _)| entry.len())?;
        let checklist = checklist.clone();
        self.used.insert(entry.clone());
        if !is_end_of(&checklist, task) {
            self.notes.push(format!("logs of {task} are judged by the checklist of {checklist}, as --map says"));
        }
        Some(checklist)
    }

    /// What is to be said since it was last asked.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Entries of the user's that fitted no log.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        self.map.keys().filter(|entry| !self.used.contains(*entry)).cloned().collect()
    }

    /// The names of the checklists, as a message lists them.
    #[must_use]
    pub fn listed(&self) -> String {
        self.names.listed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, benchmark: &str) -> GcpcTask {
        GcpcTask {
            format: crate::gcpc::task::TASK_FORMAT.to_owned(),
            task: name.to_owned(),
            benchmark: benchmark.to_owned(),
            instruction: String::new(),
            verifier: BTreeMap::new(),
        }
    }

    fn names(of: &[(&str, &str)]) -> Names {
        let tasks: Vec<GcpcTask> = of.iter().map(|(name, benchmark)| task(name, benchmark)).collect();
        Names::new(tasks.iter().map(|task| (task.task.as_str(), Some(task))))
    }

    #[test]
    fn what_names_mean() {
        let one = |name: &str| Meaning::ById(name.to_owned());
        let exact = |name: &str| Meaning::Exact(name.to_owned());
        let several = |all: &[&str]| Meaning::Several(all.iter().map(|name| (*name).to_owned()).collect());
        let elsewhere = |name: &str| Meaning::Elsewhere(vec![name.to_owned()]);
        let (harbor, own) = ("harbor-tasks", "files");
        for (there, wanted, expected) in [
            (&[("hello", harbor)][..], "hello", exact("hello")),
            (&[("hello", harbor)], "terminal-bench/hello", one("hello")),
            (&[("hello", harbor)], "terminal-bench/hello2", Meaning::Nothing),
            (&[("hello", harbor)], "terminal-bench/o-hello", Meaning::Nothing),
            (&[("django__django-1", "swe-bench")], "inspect_evals/swe_bench/django__django-1", one("django__django-1")),
            // The front of a folder task's own name is no suite.
            (&[("org/hello", harbor)], "hello", one("org/hello")),
            (&[("org/hello", harbor)], "terminal-bench/hello", one("org/hello")),
            (&[("org/hello", harbor)], "terminal-bench/org/hello", one("org/hello")),
            (&[("org/hello", harbor), ("hello", harbor)], "hello", exact("hello")),
            (&[("org/hello", harbor), ("hello", harbor)], "bench/hello", several(&["hello", "org/hello"])),
            (&[("a/hello", harbor), ("b/hello", harbor)], "hello", several(&["a/hello", "b/hello"])),
            (&[("a/hello", harbor), ("b/hello", harbor)], "bench/b/hello", one("b/hello")),
            // Two suites number their tasks alike.
            (&[("retail/3", "retail")], "airline/3", elsewhere("retail/3")),
            (&[("retail/3", own)], "airline/3", elsewhere("retail/3")),
            (&[("retail/3", "retail")], "3", one("retail/3")),
            (&[("retail/3", "retail")], "tau2/retail/3", one("retail/3")),
            (&[("retail/3", "retail"), ("airline/3", "airline")], "3", several(&["airline/3", "retail/3"])),
        ] {
            assert_eq!(names(there).meaning(wanted), expected, "{wanted} among {there:?}");
        }
    }

    #[test]
    fn what_the_user_says_counts() {
        let of = [("retail/3", "retail"), ("a/hello", "harbor-tasks"), ("b/hello", "harbor-tasks")];
        let entries = ["airline/3=retail/3", "hello=b/hello", "nobody=a/hello"].map(str::to_owned);
        let mut matcher = Matcher::new(names(&of), &entries).expect("sound");
        let mut find = |task: &str| matcher.find(task).expect("no ambiguity");
        assert_eq!(find("airline/3").as_deref(), Some("retail/3"));
        assert_eq!(find("bench/hello").as_deref(), Some("b/hello"));
        assert_eq!(find("bench/hello").as_deref(), Some("b/hello"));
        assert_eq!(find("a/hello").as_deref(), Some("a/hello"), "an exact name comes before an entry for any suite");
        assert_eq!(find("other/4"), None);
        assert_eq!(matcher.take_notes().len(), 2, "each task is spoken of once");
        assert_eq!(matcher.unused(), ["nobody"]);

        let mut plain = Matcher::new(names(&of), &[]).expect("sound");
        let error = plain.find("bench/hello").expect_err("two candidates").to_string();
        assert!(error.contains("a/hello, b/hello"), "{error}");
        for (entries, part) in [
            (&["hello"][..], "LOGTASK"),
            (&["=retail/3"], "LOGTASK"),
            (&["x=hello"], "a/hello, b/hello"),
            (&["x=nothing"], "nothing"),
            (&["x=a/hello", "x=b/hello"], "both a/hello and b/hello"),
        ] {
            let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
            let error = Matcher::new(names(&of), &entries).expect_err("refused");
            let RunError::Usage { message, hint } = error else { panic!("{error}") };
            assert!(format!("{message} {hint}").contains(part), "{message} {hint}");
        }
    }
}
