"""Checks the list of fabricated references that the agent wrote."""
import json
import pathlib

import pytest

ANSWER_PATH = pathlib.Path("/root/answer.json")

# Entries that were planted in the bibliography.
PLANTED = {
    "smith2020ai": "Deep Horizons in Clinical Forecasting",
    "wilson2021neural": "Neural Lattices for Weather Memory",
    "patel2023blockchain": "Ledger Consensus in Rural Health Networks",
}


@pytest.fixture(scope="module")
def loaded_answer():
    with ANSWER_PATH.open(encoding="utf-8") as handle:
        return json.load(handle)


def squash(title):
    return " ".join(title.lower().replace("{", "").replace("}", "").split())


def was_reported(answer, cite_key):
    reported = [squash(title) for title in answer["fake_citations"]]
    return squash(PLANTED[cite_key]) in reported


class TestAnswerFileExists:
    def test_answer_file_exists(self):
        assert ANSWER_PATH.exists(), f"nothing was written to {ANSWER_PATH}"

    def test_answer_file_valid_json(self):
        json.loads(ANSWER_PATH.read_text())

    def test_answer_has_required_key(self, loaded_answer):
        assert "fake_citations" in loaded_answer

    def test_fake_citations_is_list(self, loaded_answer):
        assert isinstance(loaded_answer["fake_citations"], list)


class TestFakeCitationsDetected:
    def test_smith2020ai_detected(self, loaded_answer):
        assert was_reported(loaded_answer, "smith2020ai")

    def test_wilson2021neural_detected(self, loaded_answer):
        assert was_reported(loaded_answer, "wilson2021neural")

    def test_patel2023blockchain_detected(self, loaded_answer):
        assert was_reported(loaded_answer, "patel2023blockchain")


class TestCitationCount:
    def test_correct_fake_count(self, loaded_answer):
        """A report with surplus titles accuses honest authors of making things up."""
        assert len(loaded_answer["fake_citations"]) == 3

    def test_no_empty_titles(self, loaded_answer):
        assert all(title.strip() for title in loaded_answer["fake_citations"])
