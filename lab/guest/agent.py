"""Serves commands from outside the virtual machine, one at a time on each of its virtio serial ports heddle.1, heddle.2 …

Frames, both ways: one byte that says what it is, the length of the rest (4 bytes, big endian), the rest. From outside:
H nonce (answered by the same: the begin of a session), X {"argv", "terminal": [rows, columns]?} (start), I input, E end of
input, W {"rows", "columns"}. From inside: O output, R error output, C exit code in decimal (the end). When the other side goes
away, what it started is killed.
"""
import fcntl
import glob
import itertools
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time

# Commands are dealt out to the cores, and stay there with all that they start: where cores are emulated V8 ends now and then
# ("Check failed") when threads of one process run on several of them.
CORES = itertools.cycle(sorted(os.sched_getaffinity(0)))
HEADER = struct.Struct('!cI')
LONGEST = 64 << 20


def ports():
    for path in glob.glob('/sys/class/virtio-ports/vport*/name'):  # the console's port has no name
        with open(path) as name:
            if name.read().startswith('heddle.'):
                yield '/dev/' + os.path.basename(os.path.dirname(path))


class Gone(Exception):
    """The other side closed the port."""


class Greeted(Exception):
    """Somebody else has opened the port since: we never saw that the one before left."""


class Port:
    def __init__(self, path):
        self.descriptor = os.open(path, os.O_RDWR)
        self.lock = threading.Lock()

    def connected(self):
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))

    def read(self, count):
        data = b''
        while len(data) < count:
            piece = os.read(self.descriptor, count - len(data))
            if not piece:
                raise Gone
            data += piece
        return data

    def frame(self):
        kind, length = HEADER.unpack(self.read(HEADER.size))
        if kind not in b'HXIEW' or length > LONGEST:
            raise Gone  # the rest of a frame whose begin went to another session
        return kind, self.read(length)

    def send(self, kind, payload=b''):
        data = HEADER.pack(kind, len(payload)) + payload
        with self.lock:
            while data:
                written = os.write(self.descriptor, data)
                if written == 0:
                    raise Gone
                data = data[written:]


def set_size(descriptor, rows, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def pump(port, kind, descriptor):
    while True:
        try:
            data = os.read(descriptor, 32768)
        except OSError:
            data = b''  # a terminal whose last user has ended
        if not data:
            return
        try:
            port.send(kind, data)
        except (Gone, OSError):
            return


def stay_on(core, has_terminal):
    os.sched_setaffinity(0, {core})
    if has_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def session(port, nonce=None):
    kind, payload = (b'H', nonce) if nonce else port.frame()
    while kind == b'H':
        port.send(b'H', payload)
        kind, payload = port.frame()
    if kind != b'X':
        return
    wanted = json.loads(payload)
    terminal = wanted.get('terminal')
    core = next(CORES)
    if terminal:
        master, slave = pty.openpty()
        set_size(master, *terminal)
        child = subprocess.Popen(wanted['argv'], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                 preexec_fn=lambda: stay_on(core, True), cwd='/')
        os.close(slave)
        stdin, outputs = master, [(b'O', master)]
    else:
        child = subprocess.Popen(wanted['argv'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 start_new_session=True, preexec_fn=lambda: stay_on(core, False), cwd='/')
        stdin, outputs = child.stdin.fileno(), [(b'O', child.stdout.fileno()), (b'R', child.stderr.fileno())]
    pumps = [threading.Thread(target=pump, args=(port, kind, descriptor), daemon=True) for kind, descriptor in outputs]
    for thread in pumps:
        thread.start()
    ended = threading.Event()

    def finish():
        code = child.wait()
        for thread in pumps:
            thread.join(timeout=2)  # a daemon that it left behind may hold its output open
        ended.set()
        try:
            port.send(b'C', str(code if code >= 0 else 128 - code).encode())
        except (Gone, OSError):
            pass

    threading.Thread(target=finish, daemon=True).start()
    try:
        while True:
            kind, payload = port.frame()
            if kind == b'H':
                raise Greeted(payload)
            if kind == b'I':
                try:
                    os.write(stdin, payload) if terminal else (child.stdin.write(payload), child.stdin.flush())
                except (OSError, ValueError):
                    pass  # the command has closed its input
            elif kind == b'E' and not terminal:
                try:
                    child.stdin.close()
                except OSError:
                    pass
            elif kind == b'W' and terminal:
                size = json.loads(payload)
                set_size(master, size['rows'], size['columns'])
    except (Gone, OSError):
        pass
    finally:
        if not ended.is_set():
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if terminal:
            os.close(master)


def serve(path):
    port, nonce = Port(path), None
    while True:
        if nonce is None and not port.connected():
            time.sleep(0.05)
            continue
        try:
            session(port, nonce)
            nonce = None
        except Greeted as greeted:
            nonce = greeted.args[0]
        except (Gone, OSError, ValueError):
            nonce = None
            time.sleep(0.02)


for found in list(ports()):
    threading.Thread(target=serve, args=(found,), daemon=True).start()
signal.pause()
