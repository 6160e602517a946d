"""Runs the published rules, and three built-in ones beside them, under stress and prints the tables of `docs/published-rules.md`.

    python3 examples/published/table.py                                    prints them
    python3 examples/published/table.py --update docs/published-rules.md   writes them into the page
    python3 examples/published/table.py --check docs/published-rules.md    exit code 1 if the page has others

The program is `PARTHACK_BIN`, or the repository's own build, or the one on PATH. Reports, with the worst pairs, go to `--out DIR`.
Every figure is copied from what `parthack stress` printed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
RULES = ("agentboard_progress", "webcanvas_key_nodes", "toolsandbox_milestones", "tau2_action_match", "rubric_tree")
BUILT_IN = ("historical-milestone", "csps", "lightweight-cape")
BEGIN, END = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"
Table = List[Dict[str, str]]


def program() -> str:
    builds = [ROOT / "target" / profile / "parthack" for profile in ("release", "debug")]
    # Of two builds, the later one: the other may be of an older state of the sources.
    built = sorted((one.stat().st_mtime, str(one)) for one in builds if one.exists())
    found = os.environ.get("PARTHACK_BIN") or (built[-1][1] if built else shutil.which("parthack"))
    if not found:
        sys.exit("error: no parthack program; build it, or say where it is in PARTHACK_BIN")
    return found


def table_in(report: str, name: str) -> Table:
    """A table of a text report, as rows by column. The line of dashes tells where columns begin and end."""
    lines = report.split("\n")
    begin = next((index for index, line in enumerate(lines) if line.startswith("Table {}:".format(name))), None)
    if begin is None:
        sys.exit("error: the report has no table {}; it is:\n{}".format(name, report))
    header, dashes, *rest = lines[begin + 2 :]
    edges: List[Tuple[int, int]] = []
    for word in dashes.split():
        place = dashes.index(word, edges[-1][1] if edges else 0)
        edges.append((place, place + len(word)))
    rows = rest[: rest.index("")]
    return [{header[a:b].strip(): row[a:b].strip() for a, b in edges} for row in rows]


def stressed(evaluator: str, out: Path) -> Tuple[Table, Table]:
    """The main table and that of the relations."""
    command = [program(), "stress", evaluator, "--out", str(out), "--color", "never"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("error: {} ended with exit code {}".format(" ".join(command), done.returncode))
    return table_in(done.stdout, "stress"), table_in(done.stdout, "relations")


def markdown(rows: List[List[str]]) -> str:
    header, *body = rows
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *body]
    return "".join("| {} |\n".format(" | ".join(line)) for line in lines)


def tables(out: Path) -> str:
    summary: List[List[str]] = []
    violations: List[List[str]] = []
    names = [(rule, "exec:python3 examples/published/{}.py".format(rule)) for rule in RULES]
    for name, evaluator in names + [(rule, rule) for rule in BUILT_IN]:
        (row,), relations = stressed(evaluator, out / name)
        if not summary:
            summary.append(["Evaluator", *row])
            violations.append(["Relation", "Score must be", "Pairs"])
            violations += [[one["Relation"], one["Score must be"], one["Pairs"]] for one in relations]
        summary.append(["`{}`".format(name), *row.values()])
        violations[0].append("`{}`".format(name))
        for line, one in zip(violations[1:], relations):
            line.append(one["Violations"] if one["Violations"] == "0" else "{Violations} ({Largest})".format(**one))
    return "{}\nViolations of each relation, with the largest in brackets:\n\n{}".format(
        markdown(summary), markdown(violations)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="The tables of docs/published-rules.md.")
    parser.add_argument("--out", type=Path, help="folder for the reports (default: one that is removed)")
    page_option = parser.add_mutually_exclusive_group()
    page_option.add_argument("--update", type=Path, metavar="PAGE", help="write the tables into this page")
    page_option.add_argument("--check", type=Path, metavar="PAGE", help="exit code 1 if this page has other tables")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        made = tables((options.out or Path(scratch)).resolve())
    page = options.update or options.check
    if page is None:
        print(made, end="")
        return
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("error: {}: expected the lines {} and {}, once each".format(page, BEGIN.strip(), END.strip()))
    before, rest = text.split(BEGIN)
    new = before + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1]
    if options.update:
        page.write_text(new, encoding="utf-8")
    elif new != text:
        sys.exit("{}: the tables are not those of this build; `--update` writes them".format(page))


if __name__ == "__main__":
    main()
