/** QEMU's monitor. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { LabError } from './paths.ts';

interface QmpMessage {
  readonly return?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly desc: string };
}

interface Waiting {
  readonly resolve: (answer: Readonly<Record<string, unknown>>) => void;
  readonly reject: (error: Error) => void;
}

/** The socket is there a moment before QEMU listens. */
async function connected(path: string): Promise<Socket> {
  for (let left = 100; ; left -= 1) {
    const socket = connect(path);
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      socket.destroy();
      if (left === 0 || (error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
      await sleep(50);
    }
  }
}

export class Monitor implements Disposable {
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];
  #text = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8').on('data', (data: string) => {
      this.#read(data);
    });
    socket.on('error', () => {}); // followed by close
    socket.on('close', () => {
      for (const { reject } of this.#waiting.splice(0))
        reject(new LabError('QEMU ended before it answered its monitor'));
    });
  }

  static async open(path: string): Promise<Monitor> {
    const socket = await connected(path);
    const monitor = new Monitor(socket);
    await monitor.ask('qmp_capabilities');
    return monitor;
  }

  #read(data: string): void {
    const lines = (this.#text + data).split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line) as QmpMessage;
      if (message.error !== undefined)
        this.#waiting.shift()?.reject(new LabError(`QEMU: ${message.error.desc}`));
      else if (message.return !== undefined) this.#waiting.shift()?.resolve(message.return);
      // Anything else is the greeting or an event.
    }
  }

  ask(execute: string, args?: object): Promise<Readonly<Record<string, unknown>>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      const message = { execute, ...(args === undefined ? {} : { arguments: args }) };
      this.#socket.write(`${JSON.stringify(message)}\n`);
    });
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
