"""Scripted agent with its own line protocol: one JSON object per line, named by `op`.

In:  hello, set, interrupt and call have a number `n` and get the reply ok or no. prompt and answer have no reply.
Out: taken and end contain the number of a prompt. text, thought, tool, ask, withdraw, mode, work and rest do not.

The text of a prompt is its script: commands separated by ";". Command-line options control how a process starts.
The prefix "first:" limits an option to the first process in a directory. The agent appends every line that it reads to
./heard, and its process id to ./starts.
"""

import json
import os
import select
import signal
import sys

# Interval in seconds for checking files and writing slow text.
TICK = 0.01


def send(op, **fields):
    data = (json.dumps({"op": op, **fields}) + "\n").encode()
    while data:
        data = data[os.write(1, data):]


def append(name, line):
    with open(name, "a") as file:
        file.write(line + "\n")


class Stopped(Exception):
    pass


class Agent:
    def __init__(self, options):
        self.rest = b""
        self.closed = False
        self.lines = []
        self.queue = []
        self.answers = {}
        self.current = None
        self.asked = 0
        self.policy = "stop"
        self.hello = False
        self.mode = options.get("mode", "ask")
        self.options = options

    def read(self, timeout):
        """Handles all available input. If there is none, waits for it up to the timeout."""
        while not self.closed and select.select([0], [], [], timeout)[0]:
            data = os.read(0, 1 << 16)
            self.closed = not data
            *lines, self.rest = (self.rest + data).split(b"\n")
            self.lines += lines
            timeout = 0
        if self.closed and not self.lines:
            sys.exit(0)
        how = None
        while self.lines:
            line = self.lines.pop(0)
            append("heard", line.decode())
            how = self.take(json.loads(line)) or how
        if how:
            raise Stopped(how)

    def until(self, condition):
        while not condition():
            self.read(TICK)

    def take(self, message):
        """Handles a message. A result other than None ends the work with that outcome."""
        op, number = message["op"], message.get("n")
        if op == "hello" and "mute" not in self.options:
            conversation = message["conversation"] or f"conversation-{os.getpid()}"
            send("ok", of=number, conversation=conversation, mode=self.mode, modes=["ask", "plan", "wild"])
            self.hello = True
        elif op == "prompt":
            self.queue.append(message)
        elif op == "answer":
            self.answers[message["ask"]] = message["answers"]
        elif op == "set":
            if message["value"] == "none":
                send("no", of=number, why="there is none")
            else:
                self.mode = message["value"] if message["what"] == "mode" else self.mode
                send("ok", of=number)
        elif op == "call" and message["name"] != "hang":
            send("ok", of=number, value=message["name"])
        elif op == "interrupt":
            return self.interrupt(number, message["prompt"])
        return None

    def interrupt(self, number, prompt):
        if self.policy == "ignore":
            return None
        if self.policy.startswith("refuse"):
            send("no", of=number, why="not now")
            return "done" if self.policy == "refuse-end" else None
        send("ok", of=number)
        if self.policy == "acknowledge":
            return None
        if any(one["prompt"] == prompt for one in self.queue):
            self.queue = [one for one in self.queue if one["prompt"] != prompt]
            send("end", prompt=prompt, how="stopped")
            return None
        return "stopped" if self.current == (prompt or 0) else None

    def end(self, how):
        if self.current:
            send("end", prompt=self.current, how=how)
        elif self.current == 0:
            send("rest", how=how)
        self.current = None

    def work(self, prompt, script):
        """Runs a script. Number 0 is work without a prompt."""
        self.current, self.policy = prompt, "stop"
        send("taken", prompt=prompt) if prompt else send("work")
        how = "done"
        try:
            for command in filter(None, map(str.strip, script.split(";"))):
                word, *args = command.split()
                getattr(self, "do_" + word.replace("-", "_"))(*args)
                self.read(0)
        except Stopped as stopped:
            how = stopped.args[0]
        self.end(how)

    def ask(self, parts, call=None):
        self.asked += 1
        ask = f"a{self.asked}"
        send("ask", ask=ask, call=call, parts=parts)
        return ask

    # Commands of the script.

    def do_say(self, *words):
        for word in words:
            send("text", text=word)

    def do_think(self, *words):
        for word in words:
            send("thought", text=word)

    def do_tool(self, title, status="done"):
        send("tool", call=title, title=title, status="running")
        if status != "open":
            send("tool", call=title, title=title, status=status)

    def do_may(self, title):
        send("tool", call=title, title=title, status="waiting")
        options = [{"id": "yes", "means": "allow_once"}, {"id": "no", "means": "reject_once"}]
        ask = self.ask([{"title": title, "options": options}], call=title)
        self.until(lambda: ask in self.answers)
        allowed = self.answers[ask] == ["yes"]
        send("tool", call=title, title=title, status="done" if allowed else "failed")

    def do_ask(self, *titles):
        """Asks a question with these parts and echoes the answers."""
        ask = self.ask([{"title": title, "options": []} for title in titles])
        self.until(lambda: ask in self.answers)
        self.do_say(*self.answers[ask])

    def do_question(self, title):
        """Asks a question without waiting for the answer."""
        self.ask([{"title": title, "options": []}])

    def do_withdraw(self):
        send("withdraw", ask=f"a{self.asked}")

    def do_stream(self, until="-"):
        """Writes slowly until an interrupt arrives or the named file exists."""
        while not os.path.exists(until):
            send("text", text=".")
            self.read(TICK)

    def do_on_interrupt(self, policy):
        self.policy = policy

    def do_flood(self, count):
        for _ in range(int(count)):
            send("text", text="x" * 100)

    def do_deaf(self, until):
        """Reads nothing until the named file exists."""
        while not os.path.exists(until):
            select.select([], [], [], TICK)

    def do_wait(self, name):
        self.until(lambda: os.path.exists(name))

    def do_mode(self, mode):
        self.mode = mode
        send("mode", mode=mode)

    def do_exit(self, code):
        sys.stderr.write("no more\n")
        sys.stderr.flush()
        os._exit(int(code))

    def do_kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def do_own(self, *words):
        """Runs a script without a prompt after this one has ended. Its commands are separated by ","."""
        self.queue.append({"prompt": 0, "text": " ".join(words).replace(",", ";")})

    def run(self):
        append("starts", str(os.getpid()))
        if "stubborn" in self.options:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                signal.pause()
        self.do_flood(self.options.get("flood", 0))
        self.until(lambda: self.hello)
        if "deaf" in self.options:
            self.do_deaf(self.options["deaf"])
        if "kill" in self.options:
            self.do_kill()
        while True:
            if self.queue:
                prompt = self.queue.pop(0)
                self.work(prompt["prompt"], prompt["text"])
            self.read(0 if self.queue else None)


def main():
    first = not os.path.exists("starts")
    options = {}
    for argument in sys.argv[1:]:
        if not argument.startswith("first:") or first:
            name, _, value = argument.removeprefix("first:").partition("=")
            options[name] = value
    Agent(options).run()


main()
