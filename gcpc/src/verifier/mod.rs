//! The official verifier: its sources, and the tests that are really in them (G §3.2: a reference must resolve).
//!
//! What a file is, is decided by its name and shape: `.py` is parsed as Python, `.sh` and `.bash` as shell, and a `.json` file is a CTRF
//! report, a list of test names, a SWE-bench instance or tau2's evaluation criteria, or a list of either of the last two; a `.jsonl` file has such
//! instances, a `.txt` file a name a line, and a `.bats` file `@test` blocks. A diff (`.patch`, `.diff`, SWE-bench's `test_patch`, alone or
//! in an instance) is code: the files that it leaves, as far as it shows them; which of their tests count, a list says. Other files are sources
//! without tests.

mod fixtures;
pub(crate) mod lexicon;
mod listed;
mod literal;
mod parametrize;
mod patch;
mod python;
mod resolve;
mod shell;
mod tau;

use std::collections::{BTreeMap, BTreeSet};

use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::InputError;
use parthack_env::json::Json;

pub use resolve::Resolution;

/// Notes of files without tests are no more than this.
const MOST_SILENT: usize = 20;

/// A file of the verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path inside the task, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What a source is to the gates and to synthesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// Code that runs: requirements may not repeat it.
    Code,
    /// A declaration of named checks (tau2); its words are requirements themselves.
    Checks,
    /// Names of tests alone, or data.
    Other,
}

/// A test that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierTest {
    /// Without the file: `TestAnswer::test_exists`, `test_sum[1-2]`, `actions/0_4`.
    pub id: String,
    /// The path of its file; empty where a list does not say.
    pub file: String,
    /// Its first line in that file, from 1; 0 where it is not in a source.
    pub line: usize,
    /// Its source text, decorators included; for a named check, what it checks; empty where unknown.
    pub text: String,
    /// Whether its parameters can't be read from the source: then any text in brackets after the id is accepted.
    pub open: bool,
    /// Whether the official outcome depends on it. A tau2 check outside the reward basis is declared and not enforced.
    pub enforced: bool,
}

/// Something about a source that a reader should know and that refuses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The source.
    pub file: String,
    /// The line, from 1; 0 for the file.
    pub line: usize,
    /// In a sentence.
    pub text: String,
}

/// The verifier of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verifier {
    sources: Vec<(Source, SourceKind)>,
    tests: Vec<VerifierTest>,
    notes: Vec<Note>,
    /// Paths of sources that a diff shows: they name no tests themselves.
    patched: BTreeSet<String>,
}

impl Verifier {
    /// Finds the tests of a verifier's files. Python files that are `conftest.py`, `__init__.py` or `setup.py` have none; where some
    /// file is named as pytest collects them (`test_*.py`, `*_test.py`), other Python files are sources alone.
    ///
    /// # Errors
    /// A `.json` file that is no JSON (beside code it is taken for data and leaves a note), or whose shape is known and whose content is not what that shape needs. Source code with
    /// syntax errors is no error: it is read as far as it goes and leaves a note.
    pub fn read(mut sources: Vec<Source>) -> Result<Verifier, InputError> {
        sources.sort_by(|left, right| left.path.cmp(&right.path));
        let any_named = sources.iter().any(|source| is_named_as_test(&source.path));
        let is_code = |source: &Source| [".py", ".sh", ".bash"].iter().any(|ending| source.path.ends_with(ending));
        let has_code = sources.iter().any(is_code);
        let shared = conftests(&sources);
        let mut verifier = Verifier::default();
        let mut lists = Vec::new();
        for source in sources {
            let mut kind = SourceKind::Other;
            match source.path.rsplit_once('.').map_or("", |(_, ending)| ending) {
                "py" => {
                    kind = SourceKind::Code;
                    if is_named_as_test(&source.path) || (!any_named && !is_support(&source.path)) {
                        let in_reach =
                            shared.iter().rev().filter(|(folder, _)| source.path.starts_with(folder.as_str()));
                        let in_reach: Vec<&fixtures::Shared> = in_reach.map(|(_, shared)| shared).collect();
                        python::tests(&source, &in_reach, &mut verifier.tests, &mut verifier.notes);
                    }
                }
                "sh" | "bash" => {
                    kind = SourceKind::Code;
                    shell::tests(&source, &mut verifier.tests, &mut verifier.notes);
                }
                "json" => {
                    let in_file = |error: InputError| error.in_file(std::path::Path::new(&source.path));
                    let json = match Json::parse(source.text.as_bytes()) {
                        Ok(json) => json,
                        Err(error) if has_code => {
                            let text = format!("taken for data: {error}");
                            verifier.notes.push(Note { file: source.path.clone(), line: 0, text });
                            verifier.sources.push((source, kind));
                            continue;
                        }
                        Err(error) => return Err(in_file(error)),
                    };
                    verifier.add_patches(&source.path, &json);
                    let criteria = tau::criteria(&json).map_err(in_file)?;
                    if !criteria.is_empty() {
                        kind = SourceKind::Checks;
                        for of in &criteria {
                            tau::tests(of, &source.path, &mut verifier.tests).map_err(in_file)?;
                        }
                    } else if let Some(list) = listed::tests(&json, &source.path).map_err(in_file)? {
                        lists.extend(list.into_iter().map(|test| (source.path.clone(), test)));
                    }
                }
                "jsonl" => {
                    let found = verifier.read_lines(&source)?;
                    lists.extend(found.into_iter().map(|test| (source.path.clone(), test)));
                }
                "txt" => {
                    let found = listed::lines(&source.text).into_iter();
                    lists.extend(found.map(|test| (source.path.clone(), test)));
                }
                "bats" => {
                    kind = SourceKind::Code;
                    shell::bats(&source, &mut verifier.tests);
                }
                _ if patch::is_named_as_patch(&source.path) && verifier.add_patch(&source.path, &source.text) => {
                    continue;
                }
                _ => {}
            }
            verifier.sources.push((source, kind));
        }
        let listing: BTreeSet<String> = lists.iter().map(|(path, _)| path.clone()).collect();
        verifier.add_listed(lists.into_iter().map(|(_, test)| test).collect());
        verifier.note_silent_files(&listing);
        Ok(verifier)
    }

    /// The instances of a file of lines; other lines are data.
    fn read_lines(&mut self, source: &Source) -> Result<Vec<VerifierTest>, InputError> {
        let mut found = Vec::new();
        for (index, line) in source.text.lines().enumerate().filter(|(_, line)| listed::is_instance(line)) {
            let Ok(json) = Json::parse(line.as_bytes()) else {
                let text = "a line that names FAIL_TO_PASS and is no JSON".to_owned();
                self.notes.push(Note { file: source.path.clone(), line: index + 1, text });
                continue;
            };
            self.add_patches(&source.path, &json);
            let in_file = |error: InputError| error.in_file(std::path::Path::new(&source.path));
            found.extend(listed::tests(&json, &source.path).map_err(in_file)?.unwrap_or_default());
        }
        Ok(found)
    }

    /// The `test_patch` of an instance, or of each instance of a list.
    fn add_patches(&mut self, path: &str, json: &Json<'_>) {
        let all = match json {
            Json::Array(instances) => instances.as_slice(),
            other => std::slice::from_ref(other),
        };
        for text in all.iter().filter_map(|of| of.get("test_patch").and_then(|patch| patch.as_str())) {
            self.add_patch(path, text);
        }
    }

    /// Notes files that seem to have tests and of which none was found; where there are no tests at all, every file.
    fn note_silent_files(&mut self, listing: &BTreeSet<String>) {
        const TEXT: &str = "no tests found";
        let has_none = self.tests.is_empty();
        let with_tests: BTreeSet<&str> = self.tests.iter().map(|test| test.file.as_str()).collect();
        let mut notes = Vec::new();
        for (source, kind) in &self.sources {
            let path = source.path.as_str();
            let names = || with_tests.iter().any(|file| is_end_of_path(file, path) || is_end_of_path(path, file));
            let is_known = self.notes.iter().any(|note| note.file == path);
            if is_known || self.patched.contains(path) || listing.contains(path) || names() {
                continue;
            }
            if has_none || (seems_to_have_tests(path) && *kind != SourceKind::Checks) {
                notes.push(Note { file: path.to_owned(), line: 0, text: TEXT.to_owned() });
            }
        }
        self.notes.extend(notes.into_iter().take(MOST_SILENT));
    }

    /// The files of a diff as code; whether there are any. Where there are none, a note says so.
    fn add_patch(&mut self, path: &str, text: &str) -> bool {
        let files = patch::files(text);
        if files.is_empty() && !text.trim().is_empty() {
            let text = "no diff: nothing in it is held against requirements and quotes".to_owned();
            self.notes.push(Note { file: path.to_owned(), line: 0, text });
        }
        let is_any = !files.is_empty();
        self.patched.extend(files.iter().map(|file| file.path.clone()));
        self.sources.extend(files.into_iter().map(|file| (file, SourceKind::Code)));
        is_any
    }

    /// Tests that a list names and no source shows. A listed id whose test is in a source is that test; one that gives an open
    /// test its parameters is added beside it. Files are the same where the path of one ends that of the other; a list that says no file means
    /// any that has the id.
    fn add_listed(&mut self, listed: Vec<VerifierTest>) {
        let mut known: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, test) in self.tests.iter().enumerate() {
            known.entry(test.id.clone()).or_default().push(index);
        }
        for test in listed {
            let places = known.entry(test.id.clone()).or_default();
            let is_it = |place: &&usize| {
                let file = &self.tests[**place].file;
                let is_same = is_end_of_path(file, &test.file) || is_end_of_path(&test.file, file);
                is_same || file.is_empty() || test.file.is_empty()
            };
            match places.iter().find(is_it).copied() {
                Some(place) if self.tests[place].file.is_empty() => self.tests[place].file = test.file,
                Some(_) => {}
                None => {
                    places.push(self.tests.len());
                    self.tests.push(test);
                }
            }
        }
    }

    /// A verifier that is a declaration of named checks and no code: (name, what it checks) in order. The outcome depends on all of them.
    #[must_use]
    pub fn of_checks(path: &str, checks: Vec<(String, String)>) -> Verifier {
        let line = |(name, text): &(String, String)| format!("{name}: {text}\n");
        let source = Source { path: path.to_owned(), text: checks.iter().map(line).collect() };
        let test = |(id, text)| VerifierTest { id, file: String::new(), line: 0, text, open: false, enforced: true };
        Verifier {
            sources: vec![(source, SourceKind::Checks)],
            tests: checks.into_iter().map(test).collect(),
            notes: Vec::new(),
            patched: BTreeSet::new(),
        }
    }

    /// The tests, in the order of files and lines, listed ones last.
    #[must_use]
    pub fn tests(&self) -> &[VerifierTest] {
        &self.tests
    }

    /// The files, by path.
    #[must_use]
    pub fn sources(&self) -> &[(Source, SourceKind)] {
        &self.sources
    }

    /// What a reader should know of the sources.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Hash, label `verifier`, of the canonical list of paths and texts.
    #[must_use]
    pub fn hash(&self) -> Hash {
        let file = |(source, _): &(Source, SourceKind)| {
            Json::Array(vec![Json::String(source.path.clone().into()), Json::String(source.text.clone().into())])
        };
        Hash::of("verifier", &canonical_bytes(&Json::Array(self.sources.iter().map(file).collect())))
    }
}

impl VerifierTest {
    /// The id without parameters.
    #[must_use]
    pub fn base(&self) -> &str {
        self.id.split('[').next().unwrap_or_default()
    }

    /// The id with its file, as pytest writes it.
    #[must_use]
    pub fn node(&self) -> String {
        if self.file.is_empty() { self.id.clone() } else { format!("{}::{}", self.file, self.id) }
    }
}

/// What each `conftest.py` gives, by its folder with the slash; a folder stands before those within it.
fn conftests(sources: &[Source]) -> BTreeMap<String, fixtures::Shared> {
    let named = sources.iter().filter(|source| file_name(&source.path) == "conftest.py");
    named.map(|source| (source.path.trim_end_matches("conftest.py").to_owned(), python::shared(source))).collect()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn is_named_as_test(path: &str) -> bool {
    let name = file_name(path);
    name.ends_with("_test.py") || (name.starts_with("test_") && name.ends_with(".py"))
}

/// Whether a file has its name from tests, or from a list of them.
fn seems_to_have_tests(path: &str) -> bool {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or_default();
    let is_test =
        stem.starts_with("test_") || stem.ends_with("_test") || name.contains(".test.") || name.contains(".spec.");
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_code = ["py", "sh", "bash", "bats", "js", "ts", "jsx", "tsx", "go", "rs", "rb"].contains(&ending);
    (is_test && is_code) || stem == "test_names" || ending == "bats"
}

fn is_support(path: &str) -> bool {
    ["conftest.py", "__init__.py", "setup.py"].contains(&file_name(path))
}

/// Whether a path is the end of another one, or all of it.
fn is_end_of_path(end: &str, path: &str) -> bool {
    !end.is_empty() && path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The file and the rest of a pytest node id; the file is empty where there is none.
fn split_node(node: &str) -> (&str, &str) {
    match node.split_once("::") {
        Some((file, id)) if file.ends_with(".py") || file.contains('/') => (file, id),
        _ => ("", node),
    }
}
