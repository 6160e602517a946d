//! Unified diffs of test files, as SWE-bench has them: the files that they leave behind, as far as the diff shows them.

use std::collections::BTreeMap;

use super::Source;

/// Lines that the diff does not show are left empty so that line numbers are those of the file, up to this one.
const MOST_LINES: usize = 100_000;

/// Whether a source is a diff by its name.
pub(super) fn is_named_as_patch(path: &str) -> bool {
    let name = super::file_name(path);
    name == "test_patch" || name.ends_with(".patch") || name.ends_with(".diff")
}

/// The files of a diff with their added and context lines at their line numbers, by path. Removed lines and deleted files leave nothing.
pub(super) fn files(text: &str) -> Vec<Source> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut path, mut hunk): (Option<&str>, Option<Hunk>) = (None, None);
    for line in text.lines() {
        if let Some(of) = hunk.as_mut().filter(|of| of.old + of.new > 0) {
            let (shown, is_old, is_new) = match line.as_bytes().first() {
                Some(b'+') => (&line[1..], 0, 1),
                Some(b'-') => ("", 1, 0),
                Some(b' ') => (&line[1..], 1, 1),
                // An editor may have taken the blank of an empty context line.
                None => ("", 1, 1),
                // A note such as `\ No newline at end of file`.
                Some(b'\\') => continue,
                // Counts that promise more than is there.
                Some(_) => {
                    hunk = None;
                    continue;
                }
            };
            of.old = of.old.saturating_sub(is_old);
            of.new = of.new.saturating_sub(is_new);
            if is_new == 1
                && let Some(path) = path
            {
                files.entry(path).or_default().push(shown);
            }
        } else if let Some(told) = line.strip_prefix("+++ ") {
            path = target(told);
        } else if let Some(told) = line.strip_prefix("@@ ") {
            hunk = Hunk::of(told);
            if let (Some(of), Some(path)) = (&hunk, path) {
                let lines = files.entry(path).or_default();
                let before = of.start.saturating_sub(1);
                if before <= MOST_LINES && lines.len() < before {
                    lines.resize(before, "");
                }
            }
        }
    }
    let source = |(path, lines): (&str, Vec<&str>)| Source { path: path.to_owned(), text: lines.join("\n") + "\n" };
    files.into_iter().map(source).collect()
}

/// The path after `+++ `, without the prefix of git and what stands behind a tab; nothing for a file that is deleted.
fn target(told: &str) -> Option<&str> {
    let path = told.split('\t').next().unwrap_or_default().trim().trim_matches('"');
    (path != "/dev/null" && !path.is_empty()).then(|| path.strip_prefix("b/").unwrap_or(path))
}

/// Lines of a hunk that are still to come in the old and the new file, and where it starts in the new one.
struct Hunk {
    old: usize,
    new: usize,
    start: usize,
}

impl Hunk {
    /// `-1,3 +1,9 @@ …`
    fn of(told: &str) -> Option<Hunk> {
        let mut parts = told.split(' ');
        let mut range = |sign: char| {
            let part = parts.next()?.strip_prefix(sign)?;
            let (start, count) = part.split_once(',').unwrap_or((part, "1"));
            Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        };
        let ((_, old), (start, new)) = (range('-')?, range('+')?);
        Some(Hunk { old, new, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(String, String)> {
        files(text).into_iter().map(|file| (file.path, file.text)).collect()
    }

    #[test]
    fn files_have_added_and_context_lines_where_they_stand() {
        let text = "diff --git a/t/test_a.py b/t/test_a.py\nindex 1..2 100644\n--- a/t/test_a.py\n+++ b/t/test_a.py\n@@ -2,2 +2,3 @@ def x():\n def test_a():\n-    assert old()\n+    assert new() == 5\n+    # --- more\ndiff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\ndiff --git a/b.txt b/b.txt\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,2 @@\n+++ not a path\n+end\n\\ No newline at end of file\n";
        let expected = [
            ("b.txt", "++ not a path\nend\n"),
            ("t/test_a.py", "\ndef test_a():\n    assert new() == 5\n    # --- more\n"),
        ];
        assert_eq!(shown(text), expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    }

    #[test]
    fn what_is_no_diff_has_no_files() {
        for text in ["", "def test_a(): pass\n", "+++ b/a.py\n", "@@ -1 +1 @@\n+x\n", "+++ b/a.py\n@@ -x +1 @@\n+x\n"] {
            assert_eq!(shown(text), [], "{text:?}");
        }
        // A place beyond any file is none, and costs nothing.
        let far = shown("+++ b/a.py\n@@ -1,0 +18446744073709551615,1 @@\n+x\n");
        assert_eq!(far, [("a.py".to_owned(), "x\n".to_owned())]);
        assert_eq!(shown("+++ b/a.py\n@@ -1,9 +1,9 @@\n x\ndiff --git\n+y\n")[0].1, "x\n");
    }
}
