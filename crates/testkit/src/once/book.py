#!/usr/bin/env -S python3 -I -S
"""Terminal program that logs each typed line to a file, like agent.py.

ONCE_PLACE is the directory of the log. Each line is logged with its last word as the name, in one write.
"""
import fcntl
import json
import os
import sys

place = os.environ["ONCE_PLACE"]
alive = os.open(place + "/alive", os.O_RDONLY | os.O_CREAT, 0o600)
fcntl.flock(alive, fcntl.LOCK_SH)
book = os.open(place + "/deliveries", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
print("ready", flush=True)
for line in sys.stdin:
    entry = {"session": os.environ.get("WH_SESSION"), "name": line.split()[-1]}
    os.write(book, (json.dumps(entry) + "\n").encode())
