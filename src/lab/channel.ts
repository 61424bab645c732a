/** Commands in a virtual machine, each over a connection of its own to who holds it. */
import { connect } from 'node:net';
import { join } from 'node:path';
import { encodeFrame, FrameReader } from './wire-protocol.ts';
import { LabError } from './paths.ts';

/** Where the holder of a machine takes commands. */
export const commandSocket = (folder: string): string => join(folder, 'commands.sock');

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

/** Starts a command in the machine whose state is in `folder`. Disposing the session kills a command that still runs. */
export function startSession(
  folder: string,
  argv: readonly string[],
  handlers: SessionHandlers,
  { terminal }: { terminal?: readonly [number, number] } = {},
): Session {
  const socket = connect(commandSocket(folder));
  const closed = new Promise<void>((resolve) => {
    socket.once('close', resolve);
  });
  const ended = new Promise<number>((resolve, reject) => {
    const reader = new FrameReader();
    socket.on('data', (bytes) => {
      for (const { kind, payload } of reader.push(bytes))
        if (kind === 'O') handlers.onOutput(payload);
        else if (kind === 'R') handlers.onErrorOutput(payload);
        else if (kind === 'C') resolve(Number(payload.toString()));
    });
    const gone = (cause?: Error): void => {
      const message = 'the virtual machine went away while a command ran in it';
      reject(new LabError(cause === undefined ? message : `${message}: ${cause.message}`));
    };
    socket.once('error', gone);
    socket.once('close', () => {
      gone();
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
