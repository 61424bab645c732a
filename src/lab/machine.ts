/**
 * Holds the virtual machine of a lab: a kernel of its own that runs as a process (User-Mode Linux), and the one line into it, over which
 * any number of commands run at a time.
 */
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { commandSocket } from './channel.ts';
import { labScripts } from './paths.ts';
import { encodeFrame, FrameReader, type FrameKind } from './wire-protocol.ts';

/**
 * Bytes that may be on their way into the machine. Its serial line loses its reader for good when the 4096 that a terminal keeps are full,
 * so the machine says how many it has read.
 */
const WINDOW = 2048;

/** Passes frames between the machine and those who are connected, until the machine ends. */
class Switchboard {
  readonly #machine: Duplex;
  readonly #sessions = new Map<number, Socket>();
  #last = 0;
  /** What the machine has no room for yet. */
  #waiting = Buffer.alloc(0);
  #onTheirWay = 0;

  /** `onStarted` is called with how the machine says that its start ended: `ready` or `failed`. */
  constructor(machine: Duplex, onStarted: (how: string) => void) {
    this.#machine = machine;
    const reader = new FrameReader();
    machine.on('data', (bytes: Buffer) => {
      for (const { kind, session, payload } of reader.push(bytes))
        if (kind === 'S') onStarted(payload.toString());
        else if (kind === 'A') this.#sent(Number(payload.toString()));
        else this.#sessions.get(session)?.write(encodeFrame(kind, payload));
    });
  }

  /** A connection is a command. */
  connect(socket: Socket): void {
    this.#last += 1;
    const session = this.#last;
    this.#sessions.set(session, socket);
    const reader = new FrameReader();
    socket.on('data', (bytes) => {
      for (const { kind, payload } of reader.push(bytes)) this.#send(kind, payload, session);
      if (this.#waiting.length > 0) socket.pause();
    });
    socket.on('error', () => {}); // it closes
    socket.on('close', () => {
      this.#sessions.delete(session);
      this.#send('K', '', session);
    });
  }

  #send(kind: FrameKind, payload: Buffer | string, session: number): void {
    this.#waiting = Buffer.concat([this.#waiting, encodeFrame(kind, payload, session)]);
    this.#sent(0);
  }

  /** The machine has read so many bytes more. */
  #sent(count: number): void {
    this.#onTheirWay -= count;
    const next = this.#waiting.subarray(0, WINDOW - this.#onTheirWay);
    this.#waiting = this.#waiting.subarray(next.length);
    this.#onTheirWay += next.length;
    if (next.length > 0) this.#machine.write(next);
    if (this.#waiting.length === 0) for (const socket of this.#sessions.values()) socket.resume();
  }
}

/** Starts the machine of the lab whose state folder is `folder`, and holds it until it ends; gives its exit code. */
export function holdMachine(folder: string): Promise<number> {
  // Killed with this process, by whatever that ends; lab/machine says the same to the kernel below.
  const argv = ['--pdeathsig', 'KILL', join(labScripts, 'machine'), folder];
  const child = spawn('setpriv', argv, { stdio: ['ignore', 'inherit', 'inherit', 'pipe'] });
  const board = new Switchboard(child.stdio[3] as Duplex, (how) => {
    writeFileSync(join(folder, how === 'ready' ? 'ready' : 'failed'), `${how}\n`);
  });
  const server = createServer((socket) => {
    board.connect(socket);
  });
  rmSync(commandSocket(folder), { force: true });
  server.listen(commandSocket(folder));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    server.once('error', reject);
    child.once('close', (code) => {
      resolve(code ?? 1);
    });
  });
}
