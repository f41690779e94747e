#!/usr/bin/env -S python3 -I -S
"""Agent for the Agent Client Protocol that logs its prompts to a file.

ONCE_PLACE is a directory. The file `deliveries` in this directory is the log: one line of JSON for each prompt, with
the session and a name, which is the last word of the prompt. The line is written with one call before the prompt is
answered. The agent reads its input to the end, even after SIGTERM and after its output was closed. It holds a shared
lock on the file `alive` while it runs. An exclusive lock is only possible when the log is complete.

After a prompt that begins with "deaf", the agent reads nothing until the file `hear` exists.
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
        pass  # The output is closed. Input is still read.


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
        break  # The last line is incomplete because the writer has exited.
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
