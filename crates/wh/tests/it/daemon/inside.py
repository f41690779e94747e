# Tries to answer a question from inside a session. Prints one line for each way: its name, a colon and what was answered.
# Usage: inside.py SESSION AGENT_ID QUESTION WAY...
import array, ctypes, json, os, socket, subprocess, sys, threading, time

session, agent_id, question = sys.argv[1:4]
runtime = os.path.join(os.environ["XDG_RUNTIME_DIR"], "wheelhouse")
credentials = os.path.join(os.environ["XDG_CONFIG_HOME"], "wheelhouse/teams/default/credentials/local.token")
libc = ctypes.CDLL(None, use_errno=True)
PR_SET_DUMPABLE, PR_SET_NAME, CLONE_FILES = 4, 15, 0x400


def control():
    message = {
        "v": 1, "request_id": "inside-%d-%d" % (os.getpid(), time.monotonic_ns()), "team": "default", "session_id": session,
        "agent_id": agent_id, "sender": "local", "sent_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "type": "control.answer.request", "question_id": question, "option": "yes",
    }
    token = open(credentials).read().strip()
    envelope = {"version": 1, "request_id": "s", "command": "control", "token": token, "payload": message}
    return (json.dumps(envelope) + "\n").encode()


def connected_to_socket():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.path.join(runtime, "daemon.sock"))
    return connection


def by_socket(connection=None):
    connection = connection or connected_to_socket()
    connection.sendall(control())
    return connection.makefile().readline().strip()


def request():
    body = json.dumps({"id": question, "option": "yes"})
    token = open(os.path.join(runtime, "daemon.token")).read()
    head = "POST /sessions/%s/control/answer HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" % (session, token)
    head += "Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    return (head + body).encode()


def connected_to_http(source=None):
    port = int(json.load(open(os.path.join(runtime, "daemon.json")))["url"].rsplit(":", 1)[1])
    return socket.create_connection(("127.0.0.1", port), source_address=source)


def reply(connection):
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    text = b"".join(parts).decode()
    return text.split(" ")[1] + " " + text.rsplit("\r\n", 1)[-1]


def by_http(connection=None):
    connection = connection or connected_to_http()
    connection.sendall(request())
    return reply(connection)


# In a process that was started without the session's variable.
def cleared(way):
    keep = ("PATH", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")
    environment = {name: os.environ[name] for name in keep}
    command = [sys.executable, __file__, session, agent_id, question, way]
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True).stdout
    return printed.split(": ", 1)[1].strip()


# In a child of a process whose name is not UTF-8.
def below_unnamed(work):
    libc.prctl(PR_SET_NAME, b"\xff\xfe\xff", 0, 0, 0)
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        libc.prctl(PR_SET_NAME, b"leaf", 0, 0, 0)
        theirs.sendall(work().encode() + b"\n")
        os._exit(0)
    os.wait()
    return ours.makefile().readline().strip()


def undumpable():
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    return by_http()


# The request waits in the socket (TCP_CORK) until its descriptor is in transit and closed here.
def in_transit():
    connection = connected_to_http()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    connection.sendall(request())
    ours, theirs = socket.socketpair()
    descriptors = array.array("i", [connection.fileno()])
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    port = "%04X" % connection.getsockname()[1]
    connection.close()
    # Until bytes of the answer wait in the socket.
    while not any(
        fields[1].endswith(":" + port) and int(fields[4].split(":")[1], 16) > 0
        for fields in map(str.split, open("/proc/net/tcp"))
    ):
        pass
    _, ancillary, _, _ = theirs.recvmsg(1, 64)
    return reply(socket.socket(fileno=array.array("i", ancillary[0][2][:4])[0]))


# A thread with descriptors of its own.
def in_a_thread():
    answers = []

    def work():
        assert libc.unshare(CLONE_FILES) == 0
        answers.append(by_http())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return answers[0]


# A long line of ancestors that all end as soon as the last of them has connected.
def vanishing():
    ours, theirs = socket.socketpair()
    start, go = os.pipe()
    if os.fork() == 0:
        for _ in range(40):
            if os.fork() != 0:
                os.read(start, 1)
                os._exit(0)
        connection = connected_to_socket()
        os.write(go, b"x" * 40)
        theirs.sendall(by_socket(connection).encode() + b"\n")
        os._exit(0)
    return ours.makefile().readline().strip()


# Overwrites what names the session in the environments of all ancestors.
def wiped():
    pid, outcome = os.getpid(), []
    while pid > 1:
        line = open("/proc/%d/cmdline" % pid, "rb").read().split(b"\0")
        fields = open("/proc/%d/stat" % pid, "rb").read().rsplit(b")", 1)[1].split()
        supervisor = len(line) > 1 and line[1] in (b"__keep", b"__guard")
        try:
            start, end = int(fields[47]), int(fields[48])
            with open("/proc/%d/mem" % pid, "r+b", 0) as memory:
                memory.seek(start)
                environment = memory.read(end - start)
                place = environment.find(b"WH_SESSION=")
                if place >= 0:
                    memory.seek(start + place)
                    memory.write(b"XX")
            if supervisor:
                outcome.append("supervisor written")
        except (OSError, ValueError):
            if supervisor:
                outcome.append("supervisor denied")
        if supervisor:
            break
        pid = int(fields[1])
    return " ".join(outcome) + " " + by_socket()


def new_session():
    wh = os.environ["WH"]
    made = subprocess.run([wh, "new", "--json", "--", wh, "answer", session, question, "yes"], capture_output=True, text=True)
    id = json.loads(made.stdout)["session_id"]
    subprocess.run([wh, "wait", id, "exited", "--timeout", "60s"], capture_output=True)
    logs = subprocess.run([wh, "logs", id], capture_output=True, text=True)
    return " ".join((logs.stdout + logs.stderr).split())


ways = {
    "s_plain": by_socket,
    "h_plain": by_http,
    "h_source": lambda: by_http(connected_to_http(("127.0.0.9", 0))),
    "s_comm": lambda: cleared("s_unnamed"),
    "s_unnamed": lambda: below_unnamed(by_socket),
    "h_comm": lambda: cleared("h_unnamed"),
    "h_unnamed": lambda: below_unnamed(by_http),
    "h_undumpable": lambda: cleared("undumpable"),
    "undumpable": undumpable,
    "h_scm": in_transit,
    "h_thread": in_a_thread,
    "s_race": lambda: cleared("vanishing"),
    "vanishing": vanishing,
    "s_mem": wiped,
    "s_newsession": new_session,
}
for way in sys.argv[4:]:
    print("%s: %s" % (way, ways[way]()), flush=True)
