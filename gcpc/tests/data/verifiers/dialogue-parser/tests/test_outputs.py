"""Checks the graph that the agent's parser builds from a dialogue script."""
import importlib.util
import json
import os
import re
from collections import deque

APP = os.environ.get("APP_DIR", "/app")
GRAPH_FILE = os.path.join(APP, "dialogue.json")
DOT_FILE = os.path.join(APP, "dialogue.dot")
SOLUTION = os.path.join(APP, "solution.py")


def read_graph():
    with open(GRAPH_FILE) as stream:
        return json.load(stream)


def import_solution():
    spec = importlib.util.spec_from_file_location("solution", SOLUTION)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def walk_from(first_node, edges):
    neighbours = {}
    for edge in edges:
        neighbours.setdefault(edge["from"], []).append(edge["to"])
    visited, waiting = {first_node}, deque([first_node])
    while waiting:
        for target in neighbours.get(waiting.popleft(), []):
            if target not in visited:
                visited.add(target)
                waiting.append(target)
    return visited


def test_system_basics():
    assert os.path.isfile(GRAPH_FILE)
    assert callable(import_solution().parse_script)
    graph = read_graph()
    assert len(graph["nodes"]) >= 90, "the script has far more scenes than this"


def test_narrative_content():
    spoken = " ".join(node["text"] for node in read_graph()["nodes"])
    for phrase in ("state your name", "the lantern burns low"):
        assert phrase in spoken.lower()


def test_graph_logic():
    graph = read_graph()
    start_id = graph["nodes"][0]["id"]
    unreachable = {node["id"] for node in graph["nodes"]} - walk_from(start_id, graph["edges"])
    assert not unreachable, f"scenes that no path leads to: {sorted(unreachable)}"


def test_visualization_validity():
    with open(DOT_FILE) as stream:
        dot_text = stream.read()
    assert re.match(r"\s*(strict\s+)?digraph\b", dot_text)
    assert dot_text.count("->") >= 100


def test_content_integrity():
    for node in read_graph()["nodes"]:
        assert node["type"] in ("line", "choice")
        if node["type"] == "line":
            assert node["speaker"]


def test_structural_integrity():
    graph = read_graph()
    known_ids = {node["id"] for node in graph["nodes"]} | {"End"}
    for edge in graph["edges"]:
        assert edge["to"] in known_ids
