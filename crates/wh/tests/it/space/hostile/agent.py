#!/usr/bin/env python3
"""An agent that means no good. By the name that it is started under it speaks the protocol of claude, codex or gemini;
what it does is what the prompt says."""
import json
import os
import sys

DIALECT = os.path.basename(sys.argv[0])
MEGABYTE = 1_000_000
out = sys.stdout.buffer


def raw(data):
    out.write(data)
    out.flush()


def put(value):
    raw(json.dumps(value).encode() + b"\n")


def hear():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


class Gemini:
    """The Agent Client Protocol."""

    def update(self, update):
        put({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})

    def say(self, text):
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def tool(self, text):
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        self.update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "cat log", "kind": "execute", "status": "in_progress"})
        self.update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress", "content": content})
        self.update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"})

    def unknown(self):
        self.update({"sessionUpdate": "dance", "steps": 3})
        self.update(7)
        put({"jsonrpc": "2.0", "method": "what/ever", "params": 7})
        put({"jsonrpc": "2.0", "id": "theirs", "method": "what/else", "params": {}})
        assert hear()["error"]["code"] == -32601
        self.update({"sessionUpdate": "tool_call", "toolCallId": 7, "status": ["what"]})

    def never_asked(self):
        for id in (4711, "x", None, -1, 1.5, {}, []):
            put({"jsonrpc": "2.0", "id": id, "result": {"stopReason": "end_turn"}})
            put({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}})

    def end(self):
        put({"jsonrpc": "2.0", "id": self.prompt, "result": {"stopReason": "end_turn"}})

    def run(self):
        while True:
            request = hear()
            method, id = request.get("method"), request.get("id")
            if method == "initialize":
                flood_first(self)
                put({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}})
            elif method in ("session/new", "session/load"):
                put({"jsonrpc": "2.0", "id": id, "result": {"sessionId": "s"}})
            elif method == "session/prompt":
                self.prompt = id
                do(self, request["params"]["prompt"][0]["text"])


class Codex:
    """Codex's app-server."""

    items = 0

    def tell(self, method, **params):
        put({"method": method, "params": {"threadId": "T", "turnId": "N", **params}})

    def say(self, text):
        if not self.open:
            Codex.items += 1
            self.open = f"m{Codex.items}"
            self.tell("item/started", item={"type": "agentMessage", "id": self.open, "text": ""})
        self.tell("item/agentMessage/delta", itemId=self.open, delta=text)

    def tool(self, text):
        item = {"type": "commandExecution", "id": "c", "command": "cat log", "cwd": "/", "status": "inProgress", "commandActions": []}
        self.tell("item/started", item=item)
        for begin in range(0, len(text), MEGABYTE):
            self.tell("item/commandExecution/outputDelta", itemId="c", delta=text[begin:begin + MEGABYTE])
        self.tell("item/completed", item={**item, "status": "completed", "exitCode": 0, "aggregatedOutput": text})

    def unknown(self):
        self.tell("what/ever", x=7)
        self.tell("item/started", item={"type": "hologram", "id": "h"})
        self.tell("item/completed", item=7)
        put({"method": "what/else", "id": "theirs", "params": {}})
        assert hear()["error"]["code"] == -32601

    def never_asked(self):
        for id in (4711, "x", None, -1, 1.5, {}, []):
            put({"id": id, "result": {"turn": {"id": "other", "status": "completed"}}})
            put({"id": id, "error": {"code": 1, "message": "no"}})

    def end(self):
        if self.open:
            self.tell("item/completed", item={"type": "agentMessage", "id": self.open, "text": ""})
        self.tell("turn/completed", turn={"id": "N", "status": "completed"})

    def run(self):
        waiting = []
        while True:
            request = hear()
            method, id = request.get("method"), request.get("id")
            if method == "initialize":
                self.open = None
                flood_first(self)
                put({"id": id, "result": {"userAgent": "codex/0.0.1"}})
            elif method == "turn/start":
                self.open = None
                put({"id": id, "result": {"turn": {"id": "N", "status": "inProgress"}}})
                self.tell("turn/started", turn={"id": "N", "status": "inProgress"})
                do(self, request["params"]["input"][0]["text"])
            elif id is not None:
                # The three that come first are answered in the opposite order.
                waiting.append((id, method))
                if len(waiting) == 3:
                    for id, method in reversed(waiting):
                        if method.startswith("thread/"):
                            put({"id": id, "result": {"thread": {"id": "T", "status": {"type": "idle"}}, "model": "m"}})
                        else:
                            put({"id": id, "error": {"code": -32600, "message": "Invalid request: unknown variant"}})
                    waiting = []


class Claude:
    """Claude Code's stream-json."""

    messages = 0

    def say(self, text):
        if not self.open:
            Claude.messages += 1
            self.open = f"m{Claude.messages}"
            self.event({"type": "message_start", "message": {"id": self.open, "role": "assistant", "content": []}})
            self.event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        self.event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})

    def event(self, event):
        put({"type": "stream_event", "event": event, "session_id": "s"})

    def tool(self, text):
        call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "cat log"}}
        put({"type": "assistant", "message": {"id": "mt", "role": "assistant", "content": [call]}, "session_id": "s"})
        result = {"type": "tool_result", "tool_use_id": "t", "content": text}
        put({"type": "user", "message": {"role": "user", "content": [result]}, "session_id": "s"})

    def unknown(self):
        put({"type": "dance", "steps": 3})
        put({"type": "assistant", "message": {"id": "u", "role": "assistant", "content": [{"type": "hologram"}]}})
        put({"type": "system", "subtype": "what_ever"})
        put({"type": "control_request", "request_id": "theirs", "request": {"subtype": "what_else"}})
        assert hear()["response"]["subtype"] == "error"
        self.event({"type": "what"})

    def never_asked(self):
        for id in (4711, "x", None, {}, []):
            put({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": {}}})
        put({"type": "control_cancel_request", "request_id": "never"})

    def end(self):
        if self.open:
            self.event({"type": "content_block_stop", "index": 0})
            self.event({"type": "message_stop"})
        put({"type": "result", "subtype": "success", "is_error": False, "result": "", "session_id": "s"})

    def run(self):
        while True:
            request = hear()
            if request["type"] == "control_request":
                id = request["request_id"]
                self.open = None
                flood_first(self)
                put({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": {}}})
            elif request["type"] == "user":
                self.open = None
                content = request["message"]["content"]
                do(self, content if isinstance(content, str) else content[0]["text"])


def flood_first(agent):
    """Says much before it says who it is, where that is wanted."""
    for _ in range(int(os.environ.pop("FLOOD_FIRST", "0"))):
        agent.say("x" * 100_000)


def do(agent, deed):
    if deed == "unknown":
        agent.unknown()
    elif deed == "malformed":
        for line in (b"{broken", b"Debugger attached.", b"[]", b"7", b'"x"', b"null", b"{}", b"\xff\xfe\x00", b"[" * 100_000, b""):
            raw(line + b"\n")
    elif deed == "never asked":
        agent.never_asked()
    elif deed == "twice":
        agent.say("fine")
        agent.end()
        agent.end()
        return
    elif deed == "huge":
        agent.say("x" * 100 * MEGABYTE)
    elif deed == "large":
        agent.say("x" * 20 * MEGABYTE)
    elif deed == "flood":
        for _ in range(1000):
            agent.say("x" * 100_000)
    elif deed == "tool":
        agent.tool("".join(f"{number:>9}\n" for number in range(3 * MEGABYTE)))
    elif deed == "half":
        raw(b'{"jsonrpc":"2.0","method":"session/upd')
        os._exit(3)
    agent.say("fine")
    agent.end()


if "--version" in sys.argv:
    print("0.0.1")
    sys.exit(0)
{"gemini": Gemini, "codex": Codex, "claude": Claude}[DIALECT]().run()
