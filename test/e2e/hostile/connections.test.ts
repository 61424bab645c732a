/** A pod that opens as many connections as it can: it has those that `max-pod-connections` lets it have, other tenants have theirs, and it is told. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { heddleCommand, outputInside, runInside } from '../../../src/lab/exec.ts';
import { settingsFile } from '../../../src/lab/objects.ts';
import { attachedPods } from '../../../src/lab/pods.ts';
import { sayHeld, type Attack } from '../../support/lab/held-table.ts';
import { network } from '../../support/lab/host-tenants.ts';
import { testLab, whyNoLab, type TestLab } from '../../support/lab/lab.ts';
import { Tenants } from '../../support/lab/tenants.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const MOST = 300;
const TRIED = 3000;
const OUTSIDE = '172.18.0.100';
/** Until tables were looked at, and what was found is told. */
const TOLD = { timeout: 60_000, interval: 500 };

/** Sends one datagram each from many ports. */
const OPEN = `
import socket, sys
for port in range(20000, 20000 + int(sys.argv[2])):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(('', port))
    one.sendto(b'x', (sys.argv[1], 9))
    one.close()
`;

const namespace = (name: string, isOwn: boolean): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: isOwn ? { 'k8s.ovn.org/primary-user-defined-network': '' } : {} },
});
const pod = (key: string): object => {
  const [space, name] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: space },
    spec: { nodeName: 'n1', containers: [{ name: 'web', image: 'web' }] },
  };
};
/** On the default network, a primary Layer3 and a primary Layer2 network. */
const ATTACKERS = ['plain', 'blue', 'green'] as const;
const OBJECTS = [
  namespace('plain', false),
  namespace('quiet', false),
  namespace('blue', true),
  namespace('green', true),
  network('blue', 'net', 'Layer3', ['10.20.0.0/16']),
  network('green', 'net', 'Layer2', ['10.40.0.0/16']),
  ...ATTACKERS.flatMap((name) => [pod(`${name}/attacker`), pod(`${name}/neighbour`)]),
  pod('quiet/from'),
];

describe.skipIf(whyNoLab !== undefined)(
  `a pod with many connections${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    const attacks: Attack[] = [];
    afterAll(() => sayHeld('connections', attacks));

    beforeAll(async () => {
      const folder = ownFolder('heddle-connections');
      writeFileSync(join(folder, 'all.yaml'), OBJECTS.map((one) => stringify(one)).join('---\n'));
      lab = await testLab('e2e-connections', { nodes: 1 });
      const daemonArguments = [`--max-pod-connections=${MOST}`];
      const tenants = new Tenants(lab.record, { folder, daemonArguments });
      rmSync(folder, { recursive: true });
      await tenants.start();
      return async () => {
        await lab[Symbol.asyncDispose]();
      };
    });

    const onNode = (...words: string[]): Promise<string> =>
      outputInside(lab.record, ['on', 'n1', ...words]);
    /** Connections in the table of the node's datapath from an address, by the zone in which they are. */
    const connectionsOf = async (address: string): Promise<ReadonlyMap<string, number>> => {
      const all = await onNode('ovs-appctl', 'dpctl/dump-conntrack');
      const zones = all
        .split('\n')
        .filter((line) => line.includes(`orig=(src=${address},`))
        .map((line) => /zone=(\d+)/.exec(line)?.[1] ?? '0');
      return new Map(
        [...Map.groupBy(zones, (zone) => zone)].map(([zone, { length }]) => [zone, length]),
      );
    };
    const zoneOf = async (port: string): Promise<string> => {
      const list = await onNode('ovn-appctl', '-t', 'ovn-controller', 'ct-zone-list');
      const line = list.split('\n').find((one) => one.startsWith(`${port} `));
      return line?.split(' ')[1] ?? `no zone of ${port}: ${list}`;
    };
    const isAnswered = async (from: string): Promise<boolean> => {
      const echo = `ping -q -c 3 -i 0.2 -W 2 ${OUTSIDE} > /dev/null && echo answered || true`;
      return (await outputInside(lab.record, ['pod', from, 'sh', '-c', echo])).includes('answered');
    };

    const flood = async (name: (typeof ATTACKERS)[number]): Promise<void> => {
      const argv = ['python3', '-c', OPEN, OUTSIDE, String(TRIED)];
      await outputInside(lab.record, ['pod', `${name}/attacker`, ...argv]);
    };
    const status = async (): Promise<string> => {
      const argv = ['status', '--config', settingsFile(lab.record.name)];
      // With problems it ends with 1.
      return (await runInside(lab.record, heddleCommand(lab.record, argv))).stdout;
    };
    const metrics = (): Promise<string> => onNode('curl', '-sf', 'http://127.0.0.1:9476/metrics');

    test.each(ATTACKERS)('of %s has as many as it may, and others have theirs', async (name) => {
      const key = `${name}/attacker`;
      const nad = name === 'plain' ? 'default' : `${name}/net`;
      const own = attachedPods(lab.record)
        .find((one) => one.name === key)
        ?.interfaces.find(({ nadKey }) => nadKey === nad);
      const address = own?.addresses[0]?.split('/')[0] ?? expect.unreachable('no address');
      await flood(name);
      const zone = await zoneOf(
        name === 'plain' ? 'plain_attacker' : `${name}.net_${name}_attacker`,
      );
      const found = (await connectionsOf(address)).get(zone) ?? 0;
      // Some end meanwhile.
      const isHeld = found > MOST / 2 && found <= MOST;
      attacks.push({ kind: 'connections from ever new ports', by: name, isHeld });
      expect(isHeld, `zone ${zone} has ${found}`).toBe(true);
      expect(await isAnswered('quiet/from')).toBe(true);
      expect(await isAnswered(`${name}/neighbour`)).toBe(true);
    });

    test('those who have all of theirs are named, each with its own port', async () => {
      await Promise.all(ATTACKERS.map(flood));
      const named = async (): Promise<readonly string[]> =>
        [...(await status()).matchAll(/Pod (\S+): its port .*max-pod-connections.*\(300\)/g)]
          .map(([, pod = '']) => pod)
          .toSorted();
      const all = ATTACKERS.map((name) => `${name}/attacker`).toSorted();
      await expect.poll(named, TOLD).toEqual(all);
    });

    test('a table that is full is told of, with figures, until there is room', async () => {
      const most = (await onNode('ovs-appctl', 'dpctl/ct-get-maxconns')).trim();
      const full = /Node n1: the table of connections of Open vSwitch's userspace datapath is full/;
      await onNode('ovs-appctl', 'dpctl/ct-set-maxconns', String(MOST));
      try {
        await expect.poll(status, TOLD).toMatch(full);
        const seen = await metrics();
        expect(seen).toContain(`heddle_host_connections_limit{table="userspace"} ${MOST}\n`);
        const there = /^heddle_host_connections\{table="userspace"\} (\d+)$/m.exec(seen)?.[1];
        expect(Number(there)).toBeGreaterThanOrEqual(MOST);
      } finally {
        await onNode('ovs-appctl', 'dpctl/ct-set-maxconns', most);
      }
      await expect.poll(status, TOLD).not.toMatch(full);
    });
  },
);
