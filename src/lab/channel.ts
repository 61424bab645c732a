/** Commands in a virtual machine, through its virtio serial ports: one session on a port at a time. */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeFrame, FrameReader } from './wire-protocol.ts';
import { LabError } from './paths.ts';
import { identify, isAlive, type ProcessIdentity } from './processes.ts';

/** Commands that can run in one machine at the same time. */
export const PORTS = 12;

export const portSocket = (folder: string, port: number): string =>
  join(folder, `port${port}.sock`);

interface Claim extends Disposable {
  readonly port: number;
}

/** Claims a free port; the claim of a process that has ended counts as none. */
function claimPort(folder: string, except: ReadonlySet<number>): Claim | undefined {
  const self = identify(process.pid);
  for (let port = 1; port <= PORTS; port += 1) {
    if (except.has(port)) continue;
    const file = `${portSocket(folder, port)}.user`;
    for (const attempt of ['first', 'after a stale claim']) {
      try {
        const descriptor = openSync(file, 'wx');
        writeSync(descriptor, JSON.stringify(self));
        closeSync(descriptor);
        return {
          port,
          [Symbol.dispose]() {
            rmSync(file, { force: true });
          },
        };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        if (attempt !== 'first' || !isStale(file)) break;
        rmSync(file, { force: true });
      }
    }
  }
  return undefined;
}

function isStale(file: string): boolean {
  try {
    return !isAlive(JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity);
  } catch {
    return false; // being written, or just gone
  }
}

async function anyPort(
  folder: string,
  except: ReadonlySet<number>,
  signal: AbortSignal,
): Promise<Claim> {
  for (;;) {
    const claim = claimPort(folder, except);
    if (claim !== undefined) return claim;
    if (signal.aborted)
      throw new LabError(`all ${PORTS} command ports of the virtual machine stayed busy`);
    await sleep(100);
  }
}

export interface SessionHandlers {
  readonly onOutput: (data: Buffer) => void;
  readonly onErrorOutput: (data: Buffer) => void;
}

export interface Session extends AsyncDisposable {
  input(data: Buffer | string): void;
  endInput(): void;
  resize(rows: number, columns: number): void;
  /** Exit code of the command. */
  readonly ended: Promise<number>;
}

const GREETING_LIMIT_MS = 60_000;
/** How long one port is tried before another one is. */
const PORT_LIMIT_MS = 5_000;

/**
 * Starts a command in the machine whose ports are in `folder`. Waits at most `limit` milliseconds for a free port on which
 * the machine answers. Disposing the session kills a command that still runs.
 */
export async function startSession(
  folder: string,
  argv: readonly string[],
  handlers: SessionHandlers,
  {
    terminal,
    limit = GREETING_LIMIT_MS,
  }: { terminal?: readonly [number, number]; limit?: number } = {},
): Promise<Session> {
  const { claim, socket } = await answeringPort(folder, handlers, limit);
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      claim[Symbol.dispose]();
      resolve();
    });
  });
  const ended = new Promise<number>((resolve, reject) => {
    socket.once('exit-code', resolve);
    socket.once('close', () => {
      reject(new LabError('the virtual machine went away while a command ran in it'));
    });
  });
  ended.catch(() => {}); // reported to those who await the exit code
  const send = (frame: Buffer): void => {
    if (!socket.destroyed) socket.write(frame);
  };
  send(encodeFrame('X', JSON.stringify({ argv, ...(terminal === undefined ? {} : { terminal }) })));
  return {
    input(data) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      if (bytes.length > 0) send(encodeFrame('I', bytes));
    },
    endInput() {
      send(encodeFrame('E'));
    },
    resize(rows, columns) {
      send(encodeFrame('W', JSON.stringify({ rows, columns })));
    },
    ended,
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await closed;
    },
  };
}

/** A port on which the machine answers, claimed and greeted. */
async function answeringPort(
  folder: string,
  handlers: SessionHandlers,
  limit: number,
): Promise<{ claim: Claim; socket: Socket }> {
  const signal = AbortSignal.timeout(limit);
  const silent = new Set<number>();
  for (;;) {
    const claim = await anyPort(folder, silent, signal);
    try {
      return {
        claim,
        socket: await greet(portSocket(folder, claim.port), PORT_LIMIT_MS, handlers),
      };
    } catch (error) {
      claim[Symbol.dispose]();
      if (signal.aborted || !(error instanceof LabError)) throw error;
      silent.add(claim.port);
      if (silent.size === PORTS) silent.clear(); // busy, or still starting: begin again
    }
  }
}

/** Connects and exchanges greetings; frames after them go to the handlers, the exit code as event `exit-code`. */
function greet(path: string, limit: number, handlers: SessionHandlers): Promise<Socket> {
  const nonce = randomUUID();
  const reader = new FrameReader(nonce);
  const socket = connect(path);
  return new Promise((resolve, reject) => {
    // A machine that is still starting drops what it is sent: greet again until it answers.
    const hello = setInterval(() => {
      if (!socket.connecting) socket.write(encodeFrame('H', nonce));
    }, 250);
    const timer = setTimeout(() => {
      socket.destroy(new LabError(`the virtual machine does not answer within ${limit / 1000} s`));
    }, limit);
    const stopTimers = (): void => {
      clearInterval(hello);
      clearTimeout(timer);
    };
    socket.once('connect', () => socket.write(encodeFrame('H', nonce)));
    socket.on('error', (error) => {
      stopTimers();
      reject(error);
    });
    socket.on('data', (bytes) => {
      const before = reader.greeted;
      for (const { kind, payload } of reader.push(bytes))
        if (kind === 'O') handlers.onOutput(payload);
        else if (kind === 'R') handlers.onErrorOutput(payload);
        else if (kind === 'C') socket.emit('exit-code', Number(payload.toString()));
      if (!before && reader.greeted) {
        stopTimers();
        resolve(socket);
      }
    });
  });
}
