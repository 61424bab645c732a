/** UDP inside of a network namespace, from and to addresses that it has. */
import { execFileSync } from 'node:child_process';
import type { NetworkNamespace } from '../host/network-namespace.ts';

export interface Datagram {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly port: number;
  /** Bytes, at least those of the name. */
  readonly size: number;
}

/** Sends one after the other, and behind each one to another port: what loopback has not brought by then does not come. */
const PROGRAM = `
  const { createSocket } = require('node:dgram');
  const { once } = require('node:events');
  const bound = async (address, port) => {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    socket.bind(port, address);
    await once(socket, 'listening');
    return socket;
  };
  const send = async ({ from, to }, port, payload) => {
    const sender = await bound(from, 0);
    await new Promise((sent) => sender.send(payload, port, to, sent));
    sender.close();
  };
  const main = async () => {
    const seen = new Set();
    const ends = new Map();
    for (const one of JSON.parse(process.argv[1])) {
      if (!ends.has(one.to)) {
        const end = await bound(one.to, 9);
        (await bound(one.to, one.port)).on('message', (text) => seen.add(text.toString().replaceAll('\\0', '')));
        ends.set(one.to, end);
      }
      await send(one, one.port, one.name.padEnd(one.size, '\\0'));
      const end = once(ends.get(one.to), 'message');
      await send(one, 9, 'end');
      await end;
      // What came before is read in the same round or the next one.
      for (const _ of [1, 2]) await new Promise(setImmediate);
    }
    console.log(JSON.stringify([...seen]));
    process.exit();
  };
  main();`;

/** Names of those that arrived, in the order of arrival. */
export function arrivals(
  { inside }: Pick<NetworkNamespace, 'inside'>,
  datagrams: readonly Datagram[],
): readonly string[] {
  const [command = '', ...args] = inside;
  const words = [...args, process.execPath, '-e', PROGRAM, JSON.stringify(datagrams)];
  return JSON.parse(execFileSync(command, words, { encoding: 'utf8' })) as readonly string[];
}
