"""Writes oracles.json: what other programs answer on generated cases, for the tests to compare with.

    python3 -m venv oracle && oracle/bin/pip install numpy scipy scikit-learn krippendorff statsmodels mpmath blake3
    oracle/bin/python oracles.py > oracles.json

Numbers go out as ratios in text, so that both sides read the same values; `null` is "undefined".
"""

import json
import math
import random
import struct
import sys
import warnings
from fractions import Fraction
from importlib.metadata import version

import blake3
import krippendorff
import mpmath
import numpy as np
from scipy import stats
from sklearn.metrics import cohen_kappa_score, roc_auc_score
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

warnings.simplefilter("ignore")
draw = random.Random(20260101)


def defined(value):
    """A finite float, or null."""
    value = float(value)
    return value if math.isfinite(value) else None


def text(values):
    return [None if value is None else str(value) for value in values]


def floats(values):
    return np.array([np.nan if value is None else float(value) for value in values])


# Kinds of columns: checklist scores, tenths, integers, long decimals, few levels, constants.
def checklist():
    decided = draw.randint(3, 15)
    return Fraction(draw.randint(0, decided), decided)


KINDS = {
    "checklist": checklist,
    "tenths": lambda: Fraction(draw.randint(0, 10), 10),
    "integers": lambda: Fraction(draw.randint(-5, 5)),
    "decimals": lambda: Fraction(repr(round(draw.random(), 15))),
    "wide": lambda: Fraction(draw.randint(-(10**9), 10**9), draw.choice([7, 1000, 99991])),
    "two": lambda: Fraction(draw.randint(0, 1)),
    "constant": lambda: Fraction(1, 3),
}
SIZES = [2, 3, 5, 12, 40, 200]


def column(kind, n):
    return [KINDS[kind]() for _ in range(n)]


def pull(values, towards, share):
    """Makes two columns correlate: some values are the other column's."""
    return [other if draw.random() < share else value for value, other in zip(values, towards)]


def auc_of(scores, passed):
    return defined(roc_auc_score(passed, scores)) if 0 < sum(passed) < len(passed) else None


def auc_case(kind, n, odds):
    scores = column(kind, n)
    passed = [draw.random() < odds * (0.5 + float(draw.random() < 0.5)) for _ in range(n)]
    values, mask = floats(scores), np.array(passed)
    both = 0 < sum(passed) < n
    return {
        "kind": kind, "scores": text(scores), "passed": passed, "auc": auc_of(values, mask),
        "separation": float(values[mask].mean() - values[~mask].mean()) if both else None,
    }


def correlation_case(kind, other, n):
    first = column(kind, n)
    second = pull(column(other, n), first, draw.choice([0, 0.3, 0.9]))
    x, y = floats(first), floats(second)
    return {
        "kind": f"{kind}-{other}", "first": text(first), "second": text(second),
        "pearson": defined(stats.pearsonr(x, y).statistic), "spearman": defined(stats.spearmanr(x, y).statistic),
        "kendall": defined(stats.kendalltau(x, y, variant="b").statistic),
    }


def alpha_case(units, raters, missing, values):
    truth = [draw.choice(values) for _ in range(units)]
    rows = [
        [None if draw.random() < missing else (value if draw.random() < 0.6 else draw.choice(values)) for _ in range(raters)]
        for value in truth
    ]
    data = np.array([floats(row) for row in rows]).T

    def alpha(level):
        try:
            return defined(krippendorff.alpha(reliability_data=data, level_of_measurement=level))
        except (ValueError, ZeroDivisionError):
            return None

    return {"units": [text(row) for row in rows]} | {level: alpha(level) for level in ("nominal", "ordinal", "interval")}


def kappa_case(labels, n, agree):
    first = [draw.randrange(labels) for _ in range(n)]
    second = [a if draw.random() < agree else draw.randrange(labels) for a in first]
    kappa = lambda weights: defined(cohen_kappa_score(first, second, weights=weights))
    return {
        "first": first, "second": second, "agreement": float(np.mean(np.array(first) == np.array(second))),
        "unweighted": kappa(None), "linear": kappa("linear"), "quadratic": kappa("quadratic"),
    }


def fleiss_case(labels, units, raters, agree):
    rows = []
    for _ in range(units):
        truth = draw.randrange(labels)
        rows.append([truth if draw.random() < agree else draw.randrange(labels) for _ in range(raters)])
    return {"units": rows, "kappa": defined(fleiss_kappa(aggregate_raters(np.array(rows))[0]))}


def proportion_case(count, of, confidence):
    test = stats.binomtest(count, of)
    bounds = lambda method: [float(x) for x in test.proportion_ci(confidence, method)]
    return {
        "count": count, "of": of, "tail": (1 - confidence) / 2, "wilson": bounds("wilson"), "exact": bounds("exact"),
        "fair_p": float(test.pvalue),
    }


def wilcoxon_case(kind, n, shift):
    differences = [a - b + shift for a, b in zip(column(kind, n), column(kind, n))]
    # Two halves of a rounding error are no tie: all floats come from exact differences.
    d = floats(differences)
    nonzero = [value for value in differences if value]
    tied = len({abs(value) for value in nonzero}) < len(nonzero)
    case = {"kind": kind, "differences": text(differences)}
    if not nonzero:
        return case | {"n": 0}
    run = lambda **options: float(stats.wilcoxon(d, zero_method="wilcox", **options).pvalue)
    case |= {
        "n": len(nonzero), "corrected": run(method="asymptotic", correction=True),
        "normal": run(method="asymptotic", correction=False),
        "statistic": float(stats.wilcoxon(d, zero_method="wilcox", method="asymptotic").statistic),
        "sign_p": float(stats.binomtest(sum(value > 0 for value in nonzero), len(nonzero)).pvalue),
    }
    if not tied and len(nonzero) <= 120:
        case["exact"] = run(method="exact")
    elif len(nonzero) <= 13:
        # Every sign pattern of the differences other than zero.
        pattern = stats.PermutationMethod(n_resamples=np.inf)
        case["exact"] = float(stats.wilcoxon(floats(nonzero), method=pattern).pvalue)
    return case


def mcnemar_case(n, p, q):
    pairs = [[draw.random() < p, draw.random() < q] for _ in range(n)]
    table = [[sum(pair == [a, b] for pair in pairs) for b in (True, False)] for a in (True, False)]
    return {"pairs": pairs, "p": float(mcnemar(table, exact=True).pvalue)}


def quantile_case(kind, n):
    values = column(kind, n)
    at = ["0", "1/40", "1/4", "1/3", "1/2", "9/10", "1"]
    numbers = floats(values)
    return {
        "values": text(values), "mean": float(numbers.mean()), "at": at,
        "quantiles": [float(np.quantile(numbers, float(Fraction(p)))) for p in at],
    }


def histogram_case(n, bins):
    # Eighths and powers of two: every edge is a double.
    values = [Fraction(draw.randint(-10, 10), 8) for _ in range(n)]
    counts, edges = np.histogram(floats(values), bins=bins, range=(-1, 1))
    return {"values": text(values), "bins": bins, "counts": counts.tolist(), "edges": edges.tolist()}


def normal_tail(z):
    """P(Z > z) to 40 digits and then rounded; scipy's own is off by 1e-13 of its value at z = 23.5."""
    with mpmath.workdps(40):
        return float(mpmath.erfc(mpmath.mpf(z) / mpmath.sqrt(2)) / 2)


class Stream:
    """The project's stream, written a second time: BLAKE3 keys, xoshiro256++, Lemire's bounded numbers."""

    def __init__(self, seed, *purposes):
        key = blake3.blake3(struct.pack("<Q", seed), derive_key_context="parthack random stream v1").digest()
        for purpose in purposes:
            key = blake3.blake3(purpose.encode(), key=key).digest()
        self.state = list(struct.unpack("<4Q", key))

    def next(self):
        mask, s = 2**64 - 1, self.state
        rotate = lambda x, k: ((x << k) | (x >> (64 - k))) & mask
        result = (rotate((s[0] + s[3]) & mask, 23) + s[0]) & mask
        shifted = (s[1] << 17) & mask
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotate(s[3], 45)
        return result

    def below(self, bound):
        while True:
            product = (self.next() >> 32) * bound
            if product % 2**32 >= 2**32 % bound:
                return product >> 32


def resamples(seed, n, count):
    stream = Stream(seed, "bootstrap", f"tasks={n}")
    for _ in range(count):
        if n > 64:
            yield [stream.below(n) for _ in range(n)]
            continue
        row = []
        for _ in range(n // 2):
            row.extend(divmod(stream.below(n * n), n))
        row.extend(stream.below(n) for _ in range(n % 2))
        yield row


def clustered_case(tasks, seed, count):
    """AUC, ΔAUC and separation over resampled tasks, by scikit-learn and numpy on the project's draws."""
    logs = []
    for task in range(tasks):
        ease = draw.random()
        for _ in range(draw.randint(1, 9)):
            passed = draw.random() < ease
            first = min(Fraction(1), checklist() + (Fraction(draw.randint(0, 2), 8) if passed else 0))
            logs.append([task, first, Fraction(draw.randint(0, 10), 10), passed])
    parts = [
        [np.array([float(log[place]) for log in logs if log[0] == task]) for task in range(tasks)] for place in (1, 2, 3)
    ]
    values = {"first": [], "difference": [], "separation": []}
    undefined = 0
    for row in resamples(seed, tasks, count):
        first, second, passed = (np.concatenate([part[task] for task in row]) for part in parts)
        if not 0 < passed.sum() < len(passed):
            undefined += 1
            continue
        values["first"].append(roc_auc_score(passed, first))
        # From exact pair counts, so that a difference of 0 is 0.
        values["difference"].append(round(roc_auc_score(passed, first) - roc_auc_score(passed, second), 14))
        values["separation"].append(first[passed == 1].mean() - first[passed == 0].mean())
    summary = lambda v: {
        "low": float(np.quantile(v, 0.025)), "high": float(np.quantile(v, 0.975)), "mean": float(np.mean(v)),
        "median": float(np.median(v)), "positive": int((np.array(v) > 0).sum()), "negative": int((np.array(v) < 0).sum()),
    }
    return {
        "tasks": tasks, "seed": seed, "resamples": count, "undefined": undefined,
        "logs": [[task, str(first), str(second), passed] for task, first, second, passed in logs],
    } | {name: summary(np.array(v)) for name, v in values.items()}


def scipy_bootstrap_case():
    """A mean over 40 tasks by scipy's own percentile bootstrap; its stream is another, so the comparison is loose."""
    values = [checklist() for _ in range(40)]
    result = stats.bootstrap(
        (floats(values),), np.mean, n_resamples=20000, method="percentile", rng=np.random.default_rng(1)
    )
    interval = result.confidence_interval
    return {
        "values": text(values), "low": float(interval.low), "high": float(interval.high),
        "standard_error": float(result.standard_error),
    }


def main():
    output = {
        "versions": {"python": sys.version.split()[0]}
        | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "krippendorff", "statsmodels", "mpmath", "blake3")},
        "auc": [auc_case(kind, n, odds) for kind in KINDS for n in SIZES for odds in (0.1, 0.6)]
        + [auc_case("checklist", 3000, 0.5)],
        "correlation": [correlation_case(kind, other, n) for kind in KINDS for other in ("tenths", "checklist", kind) for n in SIZES]
        + [correlation_case("checklist", "decimals", 2000)],
        "alpha": [
            alpha_case(units, raters, missing, values)
            for units in (2, 4, 12, 60)
            for raters in (2, 3, 5)
            for missing in (0, 0.3, 0.8)
            for values in ([0, 1], list(range(11)), [Fraction(i, 7) for i in range(8)], [3])
        ],
        "kappa": [kappa_case(labels, n, agree) for labels in (1, 2, 3, 6) for n in (1, 2, 10, 100) for agree in (0, 0.5, 0.95, 1)],
        "fleiss": [fleiss_case(labels, units, raters, agree) for labels in (1, 2, 4) for units in (1, 5, 50) for raters in (2, 3, 6) for agree in (0, 0.7, 1)],
        "proportion": [
            proportion_case(count, of, confidence)
            for of in (1, 2, 7, 42, 500, 4455)
            for count in sorted({0, 1, of // 5, of // 2, of - 1, of})
            for confidence in (0.95, 0.8, 0.999)
        ],
        "wilcoxon": [
            wilcoxon_case(kind, n, shift)
            for kind in ("checklist", "tenths", "integers", "decimals", "constant")
            for n in (1, 2, 5, 11, 30, 60, 200)
            for shift in (0, Fraction(1, 16))
        ],
        "mcnemar": [mcnemar_case(n, p, q) for n in (1, 5, 40, 400) for p, q in ((0.5, 0.5), (0.2, 0.4), (0.9, 0.1), (0, 0))],
        "quantiles": [quantile_case(kind, n) for kind in KINDS for n in (1, 2, 3, 10, 101)],
        "histograms": [histogram_case(n, bins) for n in (0, 1, 20, 300) for bins in (1, 4, 16)],
        "normal": [[z, normal_tail(z)] for z in [x / 8 for x in range(-64, 298, 3)]],
        "draws": [{"seed": seed, "tasks": n, "rows": list(resamples(seed, n, 3))} for seed in (0, 7) for n in (1, 2, 5, 64, 65, 87)],
        "clustered": [clustered_case(3, 1, 300), clustered_case(12, 0, 2000), clustered_case(87, 5, 2000)],
        "bootstrap": scipy_bootstrap_case(),
    }
    json.dump(output, sys.stdout, separators=(",", ":"))
    print()


main()
