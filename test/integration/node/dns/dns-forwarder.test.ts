/** The forwarder on real sockets, between a client and a server of DNS. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DnsForwarding } from '../../../../src/model/zone/dns-forwarding.ts';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { DnsForwarder } from '../../../../src/node/dns/dns-forwarder.ts';
import { DnsRelay } from '../../../../src/node/dns/dns-relay.ts';
import { DnsStream } from '../../../../src/node/dns/dns-stream.ts';
import { Installations } from '../../../../src/node/dns/installations.ts';
import type { Told } from '../../../../src/node/dns/name-source.ts';
import { systemClock } from '../../../../src/store/clock.ts';
import { silent } from '../../../support/cluster/cluster.ts';
import { queryOf } from '../../../support/run/dns-messages.ts';
import { DnsServer, type DnsZone } from '../../../support/run/dns-server.ts';
import { until } from '../../../support/run/until.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';

let zone: DnsZone | undefined;
let server: DnsServer;
let installations: Installations;
let told: Told[];
let stop: AbortController;
let running: Promise<void>;
let forwarder: DnsForwarder;
let isOpen: boolean;
let port: number;

beforeEach(async () => {
  zone = { 'www.example.org': { addresses: ['192.0.2.7'], ttl: 30 } };
  server = await DnsServer.listen(() => zone, '127.0.0.1');
  const [address = '', serverPort = ''] = server.at.split(':');
  const free = createSocket('udp4').bind(0, '127.0.0.1');
  await once(free, 'listening');
  ({ port } = free.address());
  free.close();
  installations = new Installations();
  told = [];
  isOpen = false;
  const way = {
    family: 'v4',
    clusterIp: '10.96.0.10',
    vip: '10.96.0.10:53',
    address: '127.0.0.1',
    port,
    endpoints: [{ address, port: Number(serverPort) }],
  } as const;
  const facts = {
    settings: DEFAULT_SETTINGS,
    dnsForwarding: {
      peek: (): DnsForwarding => ({
        service: 'kube-system/kube-dns',
        ways: [
          { ...way, protocol: 'UDP' },
          { ...way, protocol: 'TCP' },
        ],
        serviceWays: [
          { ...way, protocol: 'UDP' },
          { ...way, protocol: 'TCP' },
        ],
        networks: [],
        named: [],
        isInside: true,
        isOpen,
      }),
    },
    dnsForwarders: {
      put: (_key: string, value: object | undefined) => {
        const isOther = isOpen !== (value !== undefined);
        isOpen = value !== undefined;
        return isOther;
      },
    },
  } as unknown as ZoneFacts;
  forwarder = new DnsForwarder({
    node: 'n1',
    names: {
      installations,
      rulesAbout: (name) => (name === 'www.example.org' ? [name] : []),
      told: (one) => {
        told.push(one);
        return installations.changed();
      },
    },
    log: silent,
    onChange: () => undefined,
  });
  stop = new AbortController();
  running = forwarder.start(facts, systemClock, stop.signal);
});
afterEach(async () => {
  stop.abort();
  await running;
  await server[Symbol.asyncDispose]();
});

const ask = async (query: Buffer): Promise<Buffer> => {
  const socket = createSocket('udp4');
  try {
    socket.send(query, port, '127.0.0.1');
    const [answer] = (await once(socket, 'message')) as [Buffer];
    return answer;
  } finally {
    socket.close();
  }
};
const codeOf = (answer: Buffer): number => answer.readUInt16BE(2) & 15;
const opened = (): Promise<unknown> => until('the forwarder', () => isOpen);

test('what no rule is about passes as it is', async () => {
  await opened();
  const query = queryOf('other.example.org', 'A', 0x4242);
  const answer = await ask(query);
  expect(codeOf(answer)).toBe(3);
  expect(answer.readUInt16BE(0)).toBe(0x4242);
  expect(told).toEqual([]);
});

test('what pods ask while the daemon is at something else is answered when it is through', async () => {
  await opened();
  const [pods, questions] = [4, 110];
  const sockets = await Promise.all(
    Array.from({ length: pods }, async (_, pod) => {
      const socket = createSocket('udp4').bind(0, `127.0.1.${pod + 1}`);
      await once(socket, 'listening');
      socket.connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    }),
  );
  const answered = new Set<string>();
  for (const [pod, socket] of sockets.entries())
    socket.on('message', (answer) => answered.add(`${pod} ${answer.readUInt16BE(0)}`));
  // All of them before the forwarder reads the first: it has the same thread.
  for (const socket of sockets)
    for (let id = 1; id <= questions; id += 1) socket.send(queryOf('other.example.org', 'A', id));
  await until('all answers', () => answered.size === pods * questions, {
    output: () => `${answered.size} of ${pods * questions}`,
  });
  for (const socket of sockets) socket.close();
});

test('an answer about a name of a rule waits until what it says is in the data plane', async () => {
  await opened();
  let isAnswered = false;
  const answer = ask(queryOf('www.example.org')).finally(() => (isAnswered = true));
  await until('what is told', () => told.length === 1);
  expect(told[0]).toMatchObject({
    rule: 'www.example.org',
    answers: { v4: [{ address: '192.0.2.7', ttl: 30 }] },
  });
  // Whoever asks later about what no rule is about is answered meanwhile.
  await ask(queryOf('other.example.org'));
  expect(isAnswered).toBe(false);
  installations.sent(installations.change, 1);
  installations.reached(1);
  expect(codeOf(await answer)).toBe(0);
});

test('one that is not in force in time is not given: who asked is to ask again', async () => {
  await opened();
  expect(codeOf(await ask(queryOf('www.example.org')))).toBe(2);
});

test('while no endpoint answers, pods are sent to the endpoints, and that is told', async () => {
  zone = undefined;
  await until('the problem', () => forwarder.problems().length > 0, { limit: 20_000 });
  expect(isOpen).toBe(false);
  expect(forwarder.problems()[0]?.message).toContain('no endpoint of Service kube-system/kube-dns');
  zone = {};
  await until('the forwarder', () => isOpen, { limit: 20_000 });
  expect(forwarder.problems()).toEqual([]);
});

test('an endpoint that the host can not send to does not answer', async () => {
  // Nobody may send there without asking for it.
  const endpoint = { address: '255.255.255.255', port: 53 };
  expect(await new DnsRelay().ask(queryOf('a.example'), 'UDP', [endpoint], stop.signal)).toBe(
    undefined,
  );
});

test('over TCP nobody answers here: that is told as a failure', async () => {
  await opened();
  const socket = connect({ host: '127.0.0.1', port });
  const answer = new Promise<Buffer>((resolve) => {
    const stream = new DnsStream(resolve);
    socket.on('data', (bytes) => stream.push(bytes));
  });
  socket.write(DnsStream.framed(queryOf('www.example.org')));
  expect(codeOf(await answer)).toBe(2);
  socket.destroy();
});
