#!/usr/bin/env -S python3 -I -S
"""An agent of the Agent Client Protocol that keeps a book of what it was told, outside of whoever runs it.

ONCE_PLACE is a folder. Each prompt is a line of JSON in its file `deliveries` (its name, which is the last word of its
text, and the session), in one write, before the prompt is answered. What is in the agent's input is read to its end, also after SIGTERM and when nobody reads its output any more.
While it lives it holds a shared lock on the file `alive`: who gets an exclusive one knows that the book is closed.

A prompt that begins with "deaf" is answered, and then nothing is read until the file `hear` is there.
"""
import fcntl
import json
import os
import signal
import sys
import time
import uuid

signal.signal(signal.SIGTERM, signal.SIG_IGN)
place = os.environ["ONCE_PLACE"]
alive = os.open(place + "/alive", os.O_RDONLY | os.O_CREAT, 0o600)
fcntl.flock(alive, fcntl.LOCK_SH)
book = os.open(place + "/deliveries", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def say(message):
    try:
        os.write(1, (json.dumps(dict(message, jsonrpc="2.0")) + "\n").encode())
    except OSError:
        pass  # Nobody listens any more; what was told is still read.


def reply(asked, result):
    say({"id": asked["id"], "result": result})


def prompt(asked):
    text = "".join(part.get("text", "") for part in asked["params"]["prompt"])
    conversation = asked["params"]["sessionId"]
    line = {"session": os.environ.get("WH_SESSION"), "name": text.rsplit(" ", 1)[-1]}
    os.write(book, (json.dumps(line) + "\n").encode())
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "noted"}}
    say({"method": "session/update", "params": {"sessionId": conversation, "update": said}})
    reply(asked, {"stopReason": "end_turn"})
    while text.startswith("deaf") and not os.path.exists(place + "/hear"):
        time.sleep(0.01)


for line in sys.stdin.buffer:
    if not line.endswith(b"\n"):
        break  # The half of something: whoever was to write the rest is gone.
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        able = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
        reply(asked, {"protocolVersion": 1, "agentInfo": {"name": "once", "version": "1"}, "agentCapabilities": able})
    elif method == "session/new":
        reply(asked, {"sessionId": str(uuid.uuid4())})
    elif method in ("session/load", "session/resume"):
        reply(asked, {})
    elif method == "session/prompt":
        prompt(asked)
    elif "id" in asked and method:
        say({"id": asked["id"], "error": {"code": -32601, "message": "no such method"}})
