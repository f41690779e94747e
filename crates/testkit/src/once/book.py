#!/usr/bin/env -S python3 -I -S
"""A terminal program that enters each line that is typed to it into the book, like the agent beside it.

ONCE_PLACE is the folder of the book. A line is entered, with its last word as its name, in one write.
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
