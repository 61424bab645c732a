/** Names of networks on real sockets: two tenants with one subnet, whose pods ask the cluster's DNS service by the host's ports of their networks. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { NamesBed } from '../../../support/host/names-bed.ts';
import { queryOf, readRecords, withEdns } from '../../../support/run/dns-messages.ts';
import { until } from '../../../support/run/until.ts';

const NAMES = [
  'web-1.web.t1.svc.cluster.local',
  'web-1.web.t2.svc.cluster.local',
  'www.example.org',
] as const;
/** As CoreDNS has them, on the default network. */
const CLUSTER = {
  [NAMES[0]]: ['10.244.1.5'],
  [NAMES[1]]: ['10.244.2.5'],
  [NAMES[2]]: ['192.0.2.80'],
};

describe.skipIf(whyNoNamespace !== undefined)('pods of two networks', () => {
  let bed: NamesBed;

  beforeAll(async () => {
    bed = await NamesBed.start(2, 2);
    bed.say(CLUSTER);
    bed.startCluster();
    await bed.startForwarder();
  });
  afterAll(async () => {
    await bed[Symbol.asyncDispose]();
  });

  const queries = NAMES.map((name, id) => withEdns(queryOf(name, 'A', id), { size: 1232 }));
  /** Addresses, or the code of the answer. */
  const told = (id: number, protocol: 'udp' | 'tcp'): readonly string[] =>
    bed.ask(id, protocol, queries).answers.map((hex) => {
      const message = Buffer.from(hex, 'hex');
      if (message.length === 0) return 'nothing';
      const code = message.readUInt16BE(2) & 15;
      const addresses = readRecords(message).filter(({ type }) => type === 1);
      return code > 0 ? `code ${code}` : addresses.map(({ data }) => [...data].join('.')).join();
    });

  test('are told of their own network, of another tenant nothing, and of the world what the cluster says', async () => {
    for (const [id, expected] of [
      [1, ['103.103.1.5', 'code 3', '192.0.2.80']],
      [2, ['code 3', '103.103.1.5', '192.0.2.80']],
    ] as const)
      await until(`network ${id}`, () => told(id, 'udp').join() === expected.join(), {
        output: () => told(id, 'udp').join(),
      });
  });

  test('also over TCP, where several questions come at once', () => {
    // Nobody answers for the cluster over TCP here.
    expect(new Set(told(1, 'tcp'))).toEqual(new Set(['103.103.1.5', 'code 3', 'code 2']));
  });

  test('are told what the cluster says as soon as the forwarder is gone', async () => {
    await bed.killForwarder();
    const expected = Object.values(CLUSTER).flat();
    expect(told(1, 'udp')).toEqual(expected);
    expect(told(2, 'udp')).toEqual(expected);
    await bed.startForwarder();
    await until('it again', () => told(1, 'udp')[0] === '103.103.1.5');
  });
});
