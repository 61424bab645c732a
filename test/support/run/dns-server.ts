/** A DNS server that answers what it is told to: for resolvers of the product, which are real. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

export interface NamedAddresses {
  readonly addresses: readonly string[];
  /** Seconds. */
  readonly ttl: number;
}

/** What is known by name; `fails` is answered with SERVFAIL, what is not there with NXDOMAIN. */
export type DnsZone = Readonly<Record<string, NamedAddresses | 'fails'>>;

const TYPE_A = 1;
const TYPE_AAAA = 28;
const SERVFAIL = 2;
const NXDOMAIN = 3;

function bytesOf(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const before = words(head);
  const after = words(tail ?? '');
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 255]));
}

/** Answer to a query with one question (RFC 1035 §4). */
export function answerTo(query: Buffer, zone: DnsZone): Buffer {
  const labels: string[] = [];
  let end = 12;
  for (let length = query[end] ?? 0; length > 0; length = query[end] ?? 0) {
    labels.push(query.toString('latin1', end + 1, end + 1 + length));
    end += 1 + length;
  }
  const type = query.readUInt16BE(end + 1);
  const known = zone[labels.join('.').toLowerCase()];
  const code = known === 'fails' ? SERVFAIL : known === undefined ? NXDOMAIN : 0;
  const { addresses, ttl } = typeof known === 'object' ? known : { addresses: [], ttl: 0 };
  const found = addresses.filter(
    (address) => type === (address.includes(':') ? TYPE_AAAA : TYPE_A),
  );
  const header = Buffer.alloc(12);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(found.length, 6);
  const records = found.map((address) => {
    const data = bytesOf(address);
    const record = Buffer.alloc(12);
    // The name of the question.
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(ttl, 6);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([header, query.subarray(12, end + 5), ...records]);
}

export class DnsServer implements AsyncDisposable {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Answers from what `zone` returns; not at all where that is nothing. */
  static async listen(
    zone: () => DnsZone | undefined,
    address: string,
    port = 0,
  ): Promise<DnsServer> {
    const server = new DnsServer(createSocket(address.includes(':') ? 'udp6' : 'udp4'));
    server.#socket.on('message', (query, { address: to, port: at }) => {
      const known = zone();
      if (known !== undefined) server.#socket.send(answerTo(query, known), at, to);
    });
    server.#socket.bind(port, address);
    await once(server.#socket, 'listening');
    return server;
  }

  get at(): string {
    const { address, port } = this.#socket.address();
    return `${address}:${port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }
}
