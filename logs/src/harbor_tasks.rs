//! Task folders of Harbor, SkillsBench (`task.toml`, `instruction.md`, `tests/`) and of the older Terminal-Bench
//! (`task.yaml` with the instruction or several `descriptions` in it, `run-tests.sh`, `tests/`). Solutions are never read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parthack_env::input::Place;

use crate::builder::Warnings;
use crate::fault::{Fault, RefusalCode};
use crate::input::{self, Found, Items};
use crate::json;
use crate::kind::Kind;
use crate::limits::{MAX_FILE_BYTES, MAX_FOLDER_DEPTH, MAX_VERIFIER_BYTES, MAX_VERIFIER_FILES};
use crate::log::{Provenance, WarningCode};
use crate::node::Node;
use crate::task::{NamedTest, Piece, TaskSource, TestList, VerifierFile};
use crate::yaml;

/// The files that make a folder a task; the first that is there is the one that a walk takes up.
const MARKS: [&str; 4] = ["task.toml", "task.yaml", "task.yml", "instruction.md"];

/// Whether this file stands for the task of its folder: it is the first mark there, and its folder is not within another
/// task (a step of one, or something that the task's environment brings).
pub(crate) fn is_mark(path: &Path, root: &Path) -> bool {
    let name = input::file_name(path);
    let Some(rank) = MARKS.iter().position(|mark| *mark == name) else { return false };
    let is_first = !MARKS[..rank].iter().any(|mark| input::is_file(&path.with_file_name(mark)));
    is_first && !path.parent().is_some_and(|folder| is_within(folder, root, &MARKS[..3]))
}

/// Whether a file lies in the folder of a task, below `root`.
pub(crate) fn is_part(path: &Path, root: &Path) -> bool {
    is_within(path, root, &MARKS)
}

fn is_within(path: &Path, root: &Path, marks: &[&str]) -> bool {
    path.ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(root))
        .any(|folder| marks.iter().any(|mark| input::is_file(&folder.join(mark))))
}

/// A task in the making.
struct Draft {
    folder: PathBuf,
    instruction: Vec<Piece>,
    facts: BTreeMap<String, String>,
    /// Names of the steps in the order of `task.toml`, where it lists them.
    steps: Option<Vec<String>>,
    verifier: Vec<VerifierFile>,
    tests: Vec<NamedTest>,
    files: Vec<Arc<str>>,
    warnings: Warnings,
}

/// Reads the task whose folder a file lies in.
pub(crate) fn open(path: &Path) -> Result<Items, Fault> {
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let Some(mark) = MARKS.iter().map(|mark| folder.join(mark)).find(|mark| input::is_file(mark)) else {
        if !input::is_file(path) {
            return Err(Fault::file(RefusalCode::Unreadable, "no such file", "a readable file"));
        }
        let found = "a file in a folder without task.toml, task.yaml and instruction.md";
        return Err(Fault::file(RefusalCode::NotOfKind, found, "a file in the folder of a task"));
    };
    let mut draft = Draft {
        folder: folder.clone(),
        instruction: Vec::new(),
        facts: BTreeMap::new(),
        steps: None,
        verifier: Vec::new(),
        tests: Vec::new(),
        files: Vec::new(),
        warnings: Warnings::default(),
    };
    match input::file_name(&mark).as_str() {
        "task.toml" => draft.read_toml(&mark)?,
        "task.yaml" | "task.yml" => draft.read_yaml(&mark)?,
        _ => {
            let at = place(&input::shown(&mark), None, "");
            draft.warnings.push(WarningCode::TaskPartMissing, Some(at), "no task.toml");
        }
    }
    let steps = draft.step_folders();
    draft.read_instruction(&folder.join("instruction.md"))?;
    for step in &steps {
        draft.read_instruction(&step.join("instruction.md"))?;
    }
    if draft.instruction.is_empty() {
        let found = "a task without an instruction";
        return Err(Fault::file(RefusalCode::WrongShape, found, "instruction.md, or an instruction in task.yaml"));
    }
    draft.verifier(&steps)?;
    draft.names()?;
    Ok(input::one(Found::Task(Box::new(draft.finish()))))
}

/// A name as people order it: runs of digits by their value, so that `step-2` comes before `step-10`; digits come before words.
fn natural(name: &str) -> Vec<(bool, usize, String)> {
    let mut parts: Vec<(bool, usize, String)> = Vec::new();
    for character in name.chars() {
        let is_word = !character.is_ascii_digit();
        match parts.last_mut() {
            Some((of_words, _, text)) if *of_words == is_word => text.push(character),
            _ => parts.push((is_word, 0, character.to_string())),
        }
    }
    for (_, length, text) in parts.iter_mut().filter(|(is_word, ..)| !*is_word) {
        *text = text.trim_start_matches('0').to_owned();
        *length = text.len();
    }
    parts
}

fn place(file: &Arc<str>, line: Option<usize>, pointer: &str) -> Provenance {
    Provenance { file: file.clone(), line, pointer: pointer.to_owned() }
}

impl Draft {
    fn add(&mut self, path: &Path) -> Arc<str> {
        let file = input::shown(path);
        self.files.push(file.clone());
        file
    }

    /// Folders of the steps of a task that has several: in the order in which `task.toml` lists them; without a list, by name.
    fn step_folders(&mut self) -> Vec<PathBuf> {
        let root = self.folder.join("steps");
        let entries = fs::read_dir(&root).into_iter().flatten().flatten();
        let mut found: Vec<String> = entries
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        found.sort_by_cached_key(|name| (natural(name), name.clone()));
        let Some(listed) = self.steps.take() else { return found.iter().map(|name| root.join(name)).collect() };
        let at = place(&input::shown(&root), None, "");
        for name in listed.iter().filter(|name| !found.contains(name)) {
            let missing = format!("the step {name:?} without a folder");
            self.warnings.push(WarningCode::TaskPartMissing, Some(at.clone()), missing);
        }
        for name in found.iter().filter(|name| !listed.contains(name)) {
            let unlisted = format!("steps/{name}, which is none of the steps in task.toml");
            self.warnings.push(WarningCode::TaskPartUnlisted, Some(at.clone()), unlisted);
        }
        // Only what the walk found: a name in a file is no way out of the folder.
        listed.iter().filter(|name| found.contains(name)).map(|name| root.join(name)).collect()
    }

    fn read_toml(&mut self, path: &Path) -> Result<(), Fault> {
        self.add(path);
        let text = input::read_text(path)?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text.as_bytes()[..start];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
            let found = error.message().replace('\n', " ");
            Fault::new(RefusalCode::Syntax, Place::Text { line, column, pointer: String::new() }, found, "TOML")
        })?;
        self.steps = table.get("steps").and_then(toml::Value::as_array).map(|steps| {
            let name = |step: &toml::Value| step.get("name").or(Some(step))?.as_str().map(str::to_owned);
            steps.iter().filter_map(name).collect()
        });
        flatten(&mut self.facts, "", &toml::Value::Table(table), 0);
        Ok(())
    }

    /// An instruction that is there replaces one from `task.yaml`, and follows those of earlier steps.
    fn read_instruction(&mut self, path: &Path) -> Result<(), Fault> {
        if !input::is_file(path) {
            return Ok(());
        }
        let file = self.add(path);
        let text = input::read_text(path).map_err(|fault| fault.in_file(&file))?;
        if !text.trim().is_empty() {
            self.instruction.retain(|piece| piece.at.line.is_none());
            self.instruction.push(Piece { text, at: place(&file, None, "") });
        }
        Ok(())
    }

    fn read_yaml(&mut self, path: &Path) -> Result<(), Fault> {
        let file = self.add(path);
        let text = input::read_text(path)?;
        for entry in yaml::top_level(&text)? {
            if entry.key == "instruction" {
                let at = place(&file, Some(entry.line), "/instruction");
                // The one instruction of a task comes before descriptions of several.
                self.instruction = vec![Piece { text: entry.value, at }];
            } else if entry.key == "descriptions" && !entry.rows.is_empty() {
                self.read_descriptions(&entry.rows, &file)?;
            } else {
                self.facts.insert(entry.key, entry.value);
            }
        }
        Ok(())
    }

    /// The instruction of a task that is described several times: the one with the key `base`, which is what the harness takes unless it
    /// is told otherwise, or the only one. The others are kept as facts.
    fn read_descriptions(&mut self, rows: &[yaml::Row], file: &Arc<str>) -> Result<(), Fault> {
        const BASE: &str = "base";
        let described: Vec<(usize, &str, &str, usize)> = rows
            .iter()
            .enumerate()
            .filter_map(|(index, row)| {
                let of = |wanted: &str| row.iter().find(|(key, ..)| key == wanted);
                let (_, text, line) = of("description")?;
                Some((index, of("key").map_or("", |(_, key, _)| key.as_str()), text.as_str(), *line))
            })
            .collect();
        let chosen = match described.as_slice() {
            [] => {
                let found = "descriptions without a text";
                return Err(Fault::at(RefusalCode::WrongShape, "/descriptions", found, "a key and a description each"));
            }
            [one] => one,
            several => several.iter().find(|(_, key, ..)| *key == BASE).ok_or_else(|| {
                let keys: Vec<&str> = several.iter().map(|(_, key, ..)| *key).collect();
                let found = format!("the descriptions {}", keys.join(", "));
                Fault::at(RefusalCode::WrongShape, "/descriptions", found, "one with the key base")
            })?,
        };
        for (_, key, text, _) in described.iter().filter(|other| *other != chosen) {
            self.facts.insert(format!("descriptions.{key}"), (*text).to_owned());
        }
        let (index, _, text, line) = chosen;
        if self.instruction.is_empty() {
            let at = place(file, Some(*line), &format!("/descriptions/{index}/description"));
            self.instruction.push(Piece { text: (*text).to_owned(), at });
        }
        Ok(())
    }

    /// Everything below `tests`, and the script that runs it.
    fn verifier(&mut self, steps: &[PathBuf]) -> Result<(), Fault> {
        let mut paths = Vec::new();
        collect(&self.folder.join("tests"), 0, &mut paths);
        for step in steps {
            collect(&step.join("tests"), 0, &mut paths);
        }
        let script = self.folder.join("run-tests.sh");
        if input::is_file(&script) {
            paths.push(script);
        }
        if paths.len() > MAX_VERIFIER_FILES {
            let found = format!("more than {MAX_VERIFIER_FILES} files of the verifier");
            return Err(Fault::file(RefusalCode::TooLarge, found, "fewer"));
        }
        paths.sort();
        for path in paths {
            let file = self.add(&path);
            let relative = path.strip_prefix(&self.folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            let text = input::read_bytes(&path, MAX_VERIFIER_BYTES).and_then(input::into_text).ok();
            self.verifier.push(VerifierFile { path: relative, text, at: place(&file, None, "") });
        }
        if self.verifier.is_empty() {
            let at = place(&input::shown(&self.folder), None, "");
            self.warnings.push(WarningCode::TaskPartMissing, Some(at), "no verifier source below tests");
        }
        Ok(())
    }

    /// Tests that `test_names.json` or a CTRF report names.
    fn names(&mut self) -> Result<(), Fault> {
        for name in ["test_names.json", "tests/test_names.json", "ctrf.json", "tests/ctrf.json", "verifier/ctrf.json"] {
            let path = self.folder.join(name);
            if !input::is_file(&path) {
                continue;
            }
            let file = input::shown(&path);
            if !self.files.contains(&file) {
                self.files.push(file.clone());
            }
            let text = input::read_bytes(&path, MAX_FILE_BYTES).and_then(input::into_text);
            let text = text.map_err(|fault| fault.in_file(&file))?;
            let (document, _) = json::parse(&text).map_err(|fault| fault.in_file(&file))?;
            let root = Node::new(&document, "");
            let found = if name.ends_with("ctrf.json") { ctrf(&root, &file) } else { test_names(&root, &file) };
            self.tests.extend(found.map_err(|fault| fault.in_file(&file))?);
        }
        Ok(())
    }

    fn finish(self) -> TaskSource {
        // A folder that is given as `.` has its name in its full path alone.
        let full = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        TaskSource {
            kind: Kind::HarborTasks,
            suite: None,
            id: self.facts.get("task.name").cloned().unwrap_or_else(|| input::file_name(&full)),
            instruction: self.instruction,
            facts: self.facts,
            verifier: self.verifier,
            tests: self.tests,
            files: self.files,
            warnings: self.warnings.finish(),
        }
    }
}

fn test_names(root: &Node<'_, '_>, file: &Arc<str>) -> Result<Vec<NamedTest>, Fault> {
    let list = if root.is_object() { root.need("tests", "a list of test names")? } else { root.clone() };
    let of_file = root.text("verifier_file").map(str::to_owned);
    list.need_items("a list of test names")?
        .into_iter()
        .map(|item| {
            let name = item.str().or_else(|| item.text("name")).ok_or_else(|| item.fault("the name of a test"))?;
            let at = place(file, None, &item.pointer);
            Ok(NamedTest { name: name.to_owned(), list: TestList::TestNames, file: of_file.clone(), detail: None, at })
        })
        .collect()
}

fn ctrf(root: &Node<'_, '_>, file: &Arc<str>) -> Result<Vec<NamedTest>, Fault> {
    root.need("results", "an object with tests")?
        .need("tests", "a list of tests")?
        .need_items("a list of tests")?
        .into_iter()
        .map(|item| {
            let name = item.text("name").ok_or_else(|| item.fault("a test with a name"))?;
            let detail = item.text("status").map(str::to_owned);
            let at = place(file, None, &item.pointer);
            Ok(NamedTest { name: name.to_owned(), list: TestList::Ctrf, file: None, detail, at })
        })
        .collect()
}

/// Regular files below a folder; links are not followed.
fn collect(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_file() && paths.len() <= MAX_VERIFIER_FILES {
            paths.push(entry.path());
        } else if kind.is_dir() && depth < MAX_FOLDER_DEPTH {
            collect(&entry.path(), depth + 1, paths);
        }
    }
}

fn flatten(facts: &mut BTreeMap<String, String>, prefix: &str, value: &toml::Value, depth: usize) {
    match value {
        toml::Value::Table(table) if depth < MAX_FOLDER_DEPTH => {
            for (key, inner) in table {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(facts, &key, inner, depth + 1);
            }
        }
        toml::Value::Array(items) => {
            let words: Vec<String> = items.iter().map(plain).collect();
            facts.insert(prefix.to_owned(), words.join(", "));
        }
        other => {
            facts.insert(prefix.to_owned(), plain(other));
        }
    }
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(value) => value.to_string(),
        toml::Value::Datetime(time) => time.to_string(),
        toml::Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(", ")),
        toml::Value::Table(table) => {
            let entries: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {}", plain(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}
