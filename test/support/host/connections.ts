/** TCP connections inside of a network namespace. */
import { execFileSync, spawn } from 'node:child_process';
import { bound } from '../run/left-behind.ts';
import type { NetworkNamespace } from './network-namespace.ts';

const CONNECT = `
  const [localAddress, host, port] = process.argv.slice(1);
  const to = { localAddress, host, port: Number(port), timeout: 700 };
  const socket = require('node:net').connect(to);
  const end = (text) => { console.log(text); process.exit(); };
  socket.on('connect', () => end('connected'));
  socket.on('error', (error) => end(error.code));
  socket.on('timeout', () => end('no answer'));`;

const LISTEN = `
  const [address, port] = process.argv.slice(1);
  require('node:net').createServer().listen(Number(port), address, () => console.log('ready'));`;

/** What becomes of a connection: `connected`, `no answer`, or the code of the error. */
export function connect(
  { inside }: Pick<NetworkNamespace, 'inside'>,
  from: string,
  address: string,
  port: number,
): string {
  const [command = '', ...args] = inside;
  const words = [...args, process.execPath, '-e', CONNECT, from, address, String(port)];
  return execFileSync(command, words, { encoding: 'utf8' }).trim();
}

/** Takes connections at an address, and says nothing. */
export class Listener implements Disposable {
  isReady = false;
  readonly #process: ReturnType<typeof spawn>;

  constructor({ inside }: NetworkNamespace, address: string, port: number) {
    const [command = '', ...args] = inside;
    const words = [...args, process.execPath, '-e', LISTEN, address, String(port)];
    this.#process = spawn(...bound(command, words), { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process.stdout?.once('data', () => (this.isReady = true));
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL');
  }
}
