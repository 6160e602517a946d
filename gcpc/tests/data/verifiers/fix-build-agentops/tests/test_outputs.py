"""Checks notes, diffs and the rebuilt repository."""
import subprocess
import unittest
from pathlib import Path

FAILED_ROOT = Path("/home/github/build/failed")
NOTES_FILE = FAILED_ROOT / "failed_reasons.txt"


def checked_out_repos():
    return [path for path in FAILED_ROOT.glob("*/*") if path.is_dir()]


def test_note_exists():
    assert NOTES_FILE.is_file(), "no notes about why the build breaks"
    assert len(NOTES_FILE.read_text().strip()) > 40


def test_diff_exists():
    for repo_dir in checked_out_repos():
        patches = sorted(repo_dir.glob("patch_*.diff"))
        assert patches, f"no diff below {repo_dir}"
        for patch_file in patches:
            assert patch_file.read_text().startswith(("---", "diff --git"))


def test_build_success():
    for repo_dir in checked_out_repos():
        finished = subprocess.run(["bash", "run_failed.sh"], cwd=repo_dir, capture_output=True, timeout=1800)
        assert finished.returncode == 0, finished.stderr[-2000:]


if __name__ == "__main__":
    unittest.main()
