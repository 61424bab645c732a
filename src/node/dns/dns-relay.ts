/** Asks an endpoint of DNS what a pod asked, with the same bytes, and hands on what it answers. */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { familyOf } from '../../allocators/addresses.ts';
import type { SocketAddress } from '../../model/rules/backends.ts';
import { DnsStream } from './dns-stream.ts';

export type Protocol = 'UDP' | 'TCP';

/** Rejects when the endpoint refuses, or `signal` aborts. */
export type Exchange = (
  query: Buffer,
  endpoint: SocketAddress,
  signal: AbortSignal,
) => Promise<Buffer>;

/** From a port of its own: who does not see the question knows neither that nor the id (RFC 5452 §9). */
const overUdp: Exchange = (query, { address, port }, signal) =>
  new Promise((resolve, reject) => {
    const socket = createSocket({
      type: familyOf(address) === 'v4' ? 'udp4' : 'udp6',
    });
    const end = (): void => {
      signal.removeEventListener('abort', abort);
      socket.close();
    };
    const abort = (): void => fail(signal.reason as Error);
    const fail = (error: Error): void => {
      end();
      reject(error);
    };
    socket.on('error', fail);
    socket.on('message', (answer) => {
      if (answer.length < 2 || answer.readUInt16BE(0) !== query.readUInt16BE(0)) return;
      end();
      resolve(answer);
    });
    signal.addEventListener('abort', abort, { once: true });
    // Connected: of anybody else nothing comes, and a refusal is an error. Of an address that has no way it is told here alone.
    socket.connect(port, address, (error?: Error | null) => {
      if (signal.aborted) return;
      if (error) fail(error);
      else socket.send(query);
    });
  });

const overTcp: Exchange = (query, { address, port }, signal) =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, signal });
    const stream = new DnsStream((answer) => {
      resolve(answer);
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('data', (bytes) => stream.push(bytes));
    socket.on('close', () => reject(new Error('the connection ended before the answer')));
    socket.write(DnsStream.framed(query));
  });

const EXCHANGES: Readonly<Record<Protocol, Exchange>> = { UDP: overUdp, TCP: overTcp };

/** Milliseconds for one endpoint, and how many are tried: resolvers of pods wait for 5 s. */
const TIMEOUT = 1_300;
const TRIES = 3;

/** Asks the endpoints in turn. Undefined when none of them answers. */
export class DnsRelay {
  readonly #exchanges: Readonly<Record<Protocol, Exchange>>;
  #turn = 0;

  constructor(exchanges: Readonly<Record<Protocol, Exchange>> = EXCHANGES) {
    this.#exchanges = exchanges;
  }

  async ask(
    query: Buffer,
    protocol: Protocol,
    endpoints: readonly SocketAddress[],
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const endpoint = endpoints[this.#turn % Math.max(1, endpoints.length)];
      this.#turn += 1;
      if (endpoint === undefined || signal.aborted) return undefined;
      const limit = new AbortController();
      const late = setTimeout(() => limit.abort(new Error('no answer')), TIMEOUT);
      try {
        return await this.#exchanges[protocol](
          query,
          endpoint,
          AbortSignal.any([signal, limit.signal]),
        );
      } catch {
        // The next one is asked; that none answers is counted.
      } finally {
        clearTimeout(late);
      }
    }
    return undefined;
  }
}
