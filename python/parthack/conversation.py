"""A payload's transcript as a conversation in the shape that chat scorers know: messages with roles and tool calls.

These are plain objects with the attribute names of Inspect's; `parthack.inspect` turns them into Inspect's own where a
scorer needs those.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Literal, Mapping, Optional

from .payload import AnyPayload


class ToolCall:
    """A step of the agent as a call of a tool: the operation's name, and the rest of the step as arguments."""

    type = "function"
    parse_error = None

    def __init__(self, id: str, function: str, arguments: Dict[str, Any]) -> None:
        self.id = id
        self.function = function
        self.arguments = arguments


class ToolError:
    """Why a step was refused. `type` is `permission`, Inspect's word that comes nearest."""

    type: Literal["permission"] = "permission"

    def __init__(self, message: str) -> None:
        self.message = message


class Message:
    """One message. `role` is `user`, `assistant`, `tool` or `system`."""

    def __init__(
        self,
        id: str,
        role: str,
        content: str,
        tool_calls: Optional[List[ToolCall]] = None,
        tool_call_id: Optional[str] = None,
        function: Optional[str] = None,
        error: Optional[ToolError] = None,
    ) -> None:
        self.id = id
        self.role = role
        self.content = content
        self.tool_calls = tool_calls
        self.tool_call_id = tool_call_id
        self.function = function
        self.error = error

    def __repr__(self) -> str:
        return "<{}: {!r}>".format(self.role, self.content[:80])

    @property
    def text(self) -> str:
        """The content."""
        return self.content


def messages_of(payload: AnyPayload) -> List[Message]:
    """The conversation of a payload.

    | in the payload | message |
    |---|---|
    | instruction at the start; at each later goal version, behind the step that put it in force | user |
    | the agent says something | assistant |
    | any other step of the agent | assistant with one tool call, then tool with what came of it |
    | the user, or a peer, says or does something | user |
    | the system says or does something | system |
    """
    texts = {part["goal_version"]: part["text"] for part in payload["instruction"]}
    told = payload["initial_state"]["goal_version"]
    found = [_message("user", texts[version], "goal-{}".format(version)) for version in sorted(texts) if version <= told]
    for index, entry in enumerate(payload["transcript"]):
        found.extend(_entry(entry, "entry-{}".format(index)))
        step = entry["step"]
        if step["op"] == "revise_goal" and entry["result"] == "applied":
            for version in sorted(texts):
                if told < version <= step["version"]:
                    found.append(_message("user", texts[version], "goal-{}".format(version)))
            told = max(told, step["version"])
    return found


def completion_of(messages: List[Message]) -> str:
    """What the agent said last; empty if it said nothing."""
    for message in reversed(messages):
        if message.role == "assistant" and not message.tool_calls:
            return message.content
    return ""


def _entry(entry: Mapping[str, Any], id: str) -> List[Message]:
    step = dict(entry["step"])
    op = step.pop("op")
    if entry["actor"] == "agent":
        if op == "say":
            return [_message("assistant", step["text"], id)]
        call = ToolCall("call-" + id, op, step)
        error = ToolError("{code}: {message}".format(**entry["refusal"])) if entry["result"] == "refused" else None
        answer = Message(id + "-result", "tool", _outcome(entry), None, call.id, op, error)
        return [Message(id, "assistant", "", [call]), answer]
    role = "system" if entry["actor"] == "system" else "user"
    if op == "say":
        text = step["text"]
    else:
        text = "{} {}: {}".format(op, _compact(step), entry["result"])
    return [_message(role, text if entry["actor"] == "user" else "{}: {}".format(entry["actor"], text), id)]


def _outcome(entry: Mapping[str, Any]) -> str:
    """What the agent saw of its step."""
    if entry["result"] == "refused":
        return "refused"
    return _compact(entry["output"]) if "output" in entry else "ok"


def _message(role: str, content: str, id: str) -> Message:
    return Message(id, role, content)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
