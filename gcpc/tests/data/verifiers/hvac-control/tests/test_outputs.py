"""Checks logs, parameters and the behaviour of the controller."""
import json
import math
from pathlib import Path

import pytest

OUTPUT_DIR = Path("/root")
TARGET_TEMPERATURE = 22.0


def load_json(name):
    path = OUTPUT_DIR / name
    if not path.exists():
        pytest.fail(f"{name} was never written")
    return json.loads(path.read_text())


@pytest.fixture
def control_rows():
    return load_json("control_log.json")["data"]


class TestCalibrationLog:
    def test_calibration_log(self):
        log = load_json("calibration_log.json")
        assert log["phase"] == "calibration"
        assert len(log["data"]) >= 20
        elapsed = log["data"][-1]["time"] - log["data"][0]["time"]
        assert elapsed >= 29.5, "calibration was cut short"


class TestEstimatedParams:
    def test_estimated_params(self):
        params = load_json("estimated_params.json")
        # The simulated room has a gain near 0.12 degrees for each percent.
        assert 0.08 <= params["K"] <= 0.16
        assert 25 <= params["tau"] <= 60
        assert params["r_squared"] > 0.85


class TestTunedGains:
    def test_tuned_gains(self):
        gains = load_json("tuned_gains.json")
        for gain_name in ("Kp", "Ki"):
            assert gains[gain_name] > 0 and math.isfinite(gains[gain_name])


class TestControlLog:
    def test_control_log(self, control_rows):
        assert control_rows[-1]["time"] - control_rows[0]["time"] >= 150
        for row in control_rows:
            assert 0 <= row["heater_power"] <= 100


class TestMetrics:
    def test_metrics(self):
        measured = load_json("metrics.json")
        for key in ("rise_time", "overshoot", "settling_time", "steady_state_error", "max_temp"):
            assert key in measured


class TestPerformance:
    def test_performance(self, control_rows):
        tail = control_rows[-len(control_rows) // 5 :]
        drift = sum(abs(row["temperature"] - TARGET_TEMPERATURE) for row in tail) / len(tail)
        assert drift < 0.5


class TestSafety:
    def test_safety(self, control_rows):
        assert max(row["temperature"] for row in control_rows) < 30.0
