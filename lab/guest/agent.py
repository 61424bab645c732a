"""agent.py ready|failed: says outside how the start of the virtual machine ended, and serves commands from there, any number at a time, over
one serial line.

Frames, both ways: one byte that says what it is, the number of the session, the length of the rest (4 bytes each, big endian), the rest.
From outside: X {"argv", "terminal": [rows, columns]?} (start), I input, E end of input, W {"rows", "columns"}, K the other side has
gone: what it started is killed. From inside: S how the start ended, A how many bytes more have been read, O output, R error output, C exit code in decimal (the end).
"""
import fcntl
import json
import os
import pty
import queue
import signal
import struct
import subprocess
import sys
import termios
import threading
import tty

LINE = '/dev/ttyS0'
HEADER = struct.Struct('!cII')


class Line:
    def __init__(self, path):
        self.descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.descriptor)
        self.lock = threading.Lock()
        self.unsaid = 0  # bytes read

    def read(self, count):
        data = b''
        while len(data) < count:
            piece = os.read(self.descriptor, min(count - len(data), 1024))
            data += piece
            self.unsaid += len(piece)
            if self.unsaid >= 1024:
                self.send(b'A', 0, str(self.unsaid).encode())
                self.unsaid = 0
        return data

    def frame(self):
        kind, session, length = HEADER.unpack(self.read(HEADER.size))
        return kind, session, self.read(length)

    def send(self, kind, session, payload=b''):
        data = HEADER.pack(kind, session, len(payload)) + payload
        with self.lock:
            while data:
                data = data[os.write(self.descriptor, data):]


def set_size(descriptor, rows, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Session:
    """A command. Its input waits in a queue, so that one that does not read holds up nobody else."""

    def __init__(self, line, number, wanted):
        self.line, self.number, self.master = line, number, None
        self.input = queue.SimpleQueue()
        terminal = wanted.get('terminal')
        if terminal:
            self.master, slave = pty.openpty()
            set_size(self.master, *terminal)
            self.child = subprocess.Popen(wanted['argv'], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                          preexec_fn=own_terminal, cwd='/')
            os.close(slave)
            self.stdin, outputs = self.master, [(b'O', self.master)]
        else:
            pipe = subprocess.PIPE
            self.child = subprocess.Popen(wanted['argv'], stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, cwd='/')
            self.stdin = self.child.stdin.fileno()
            outputs = [(b'O', self.child.stdout.fileno()), (b'R', self.child.stderr.fileno())]
        self.pumps = [threading.Thread(target=self.pump, args=output, daemon=True) for output in outputs]
        for thread in [*self.pumps, threading.Thread(target=self.feed, daemon=True), threading.Thread(target=self.finish, daemon=True)]:
            thread.start()

    def pump(self, kind, descriptor):
        while True:
            try:
                data = os.read(descriptor, 32768)
            except OSError:
                return  # a terminal whose last user has ended
            if not data:
                return
            self.line.send(kind, self.number, data)

    def feed(self):
        while True:
            data = self.input.get()
            try:
                if data is None:
                    if not self.master:
                        self.child.stdin.close()
                    return
                while data:
                    data = data[os.write(self.stdin, data):]
            except OSError:
                return  # the command has closed its input

    def finish(self):
        code = self.child.wait()
        for thread in self.pumps:
            thread.join(timeout=2)  # a daemon that it left behind may hold its output open
        self.line.send(b'C', self.number, str(code if code >= 0 else 128 - code).encode())

    def kill(self):
        if self.child.poll() is None:
            try:
                os.killpg(self.child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.input.put(None)
        if self.master:
            os.close(self.master)


def main():
    line, sessions = Line(LINE), {}
    line.send(b'S', 0, sys.argv[1].encode())
    while True:
        kind, number, payload = line.frame()
        session = sessions.get(number)
        if kind == b'X':
            try:
                sessions[number] = Session(line, number, json.loads(payload))
            except OSError as error:
                line.send(b'R', number, f'{error}\n'.encode())
                line.send(b'C', number, b'127')
        elif session is None:
            pass  # it could not be started
        elif kind == b'I':
            session.input.put(payload)
        elif kind == b'E':
            session.input.put(None)
        elif kind == b'W' and session.master:
            set_size(session.master, **json.loads(payload))
        elif kind == b'K':
            session.kill()
            del sessions[number]


main()
