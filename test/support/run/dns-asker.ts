/**
 * `dns-asker.ts SERVER PROTOCOL RATE MESSAGE…`: asks these messages (hexadecimal), each once with RATE 0, else so many a second for 5 s in turn, over UDP
 * from sockets that are kept. Prints JSON: answers in the order of the messages (empty: none within 2 s), and milliseconds until each answer.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { DnsStream } from '../../../src/node/dns/dns-stream.ts';

const SECONDS = 5;
const TIMEOUT = 2000;
const [server = '', protocol = '', rate = '0', ...texts] = process.argv.slice(2);
const messages = texts.map((text) => Buffer.from(text, 'hex'));

/** What the asker is told. */
export interface Asked {
  readonly answers: readonly string[];
  readonly milliseconds: readonly number[];
}

async function overUdp(): Promise<Asked> {
  const socket = createSocket(server.includes(':') ? 'udp6' : 'udp4');
  socket.connect(53, server);
  await once(socket, 'connect');
  socket.setRecvBufferSize(2 ** 20);
  const answers = new Map<number, { readonly message: Buffer; readonly after: number }>();
  const asked: number[] = [];
  socket.on('message', (message) => {
    const id = message.readUInt16BE(0);
    answers.set(id, { message, after: performance.now() - (asked[id] ?? 0) });
  });
  // Where nobody listens.
  socket.on('error', () => undefined);
  const ask = (index: number): void => {
    const message = Buffer.from(messages[index % messages.length] ?? Buffer.alloc(0));
    message.writeUInt16BE(index, 0);
    asked[index] = performance.now();
    socket.send(message);
  };
  const count = Number(rate) === 0 ? messages.length : Number(rate) * SECONDS;
  const start = performance.now();
  for (let index = 0; index < count; index += 1) {
    const due = start + (Number(rate) === 0 ? 0 : (index * 1000) / Number(rate));
    if (performance.now() < due) await pause(Math.max(0, due - performance.now()));
    ask(index);
  }
  for (const end = performance.now() + TIMEOUT; answers.size < count && performance.now() < end;)
    await pause(5);
  socket.close();
  return {
    answers: messages.map((_, index) => answers.get(index)?.message.toString('hex') ?? ''),
    milliseconds: [...answers.values()].map(({ after }) => after),
  };
}

/** One after the other over one connection. */
async function overTcp(): Promise<Asked> {
  const socket = connect({ host: server, port: 53 });
  socket.setTimeout(TIMEOUT, () => socket.destroy());
  const answers: string[] = [];
  const stream = new DnsStream((message) => {
    answers.push(message.toString('hex'));
    if (answers.length === messages.length) socket.end();
  });
  socket.on('data', (bytes) => stream.push(bytes));
  socket.on('error', () => undefined);
  socket.write(Buffer.concat(messages.map((message) => DnsStream.framed(message))));
  await once(socket, 'close');
  return { answers, milliseconds: [] };
}

process.stdout.write(JSON.stringify(await (protocol === 'tcp' ? overTcp() : overUdp())));
