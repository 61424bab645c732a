/**
 * A virtual machine of KubeVirt that moves between nodes on a physical network (localnet). The switch between the nodes is a Linux bridge that learns MAC
 * addresses, and somebody outside sends to the machine all the time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outputInside } from '../../src/lab/exec.ts';
import { attachedPods } from '../../src/lab/pods.ts';
import { whileStreaming } from '../support/host/streams.ts';
import { whileHearing } from '../support/lab/group-streams.ts';
import {
  announceGuest,
  askByDhcp,
  prepareGuest,
  runGuest,
  startGuest,
} from '../support/lab/guests.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { MachineLab } from '../support/lab/machine-lab.ts';
import { ipamClaim, launcherPod } from '../support/lab/machines.ts';
import { until } from '../support/run/until.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000 };
/** Milliseconds for which packets are counted behind what happens. */
const MOMENT_MS = 2000;
const SPACE = 'plant';
const NETWORK = 'lan';
const CLAIM = 'vm.lan';
const GUEST = 'guest-lan';
const OUTSIDE = '192.168.90.250';
const ARRIVED = { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' };
const NETWORKS = 'k8s.v1.cni.cncf.io/networks';

const lan = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name: NETWORK },
  spec: {
    namespaceSelector: { matchLabels: { floor: SPACE } },
    network: {
      topology: 'Localnet',
      localnet: {
        role: 'Secondary',
        physicalNetworkName: 'physnet',
        subnets: ['192.168.90.0/24'],
        excludeSubnets: [`${OUTSIDE}/32`],
        ipam: { lifecycle: 'Persistent' },
      },
    },
  },
};
/** Pods of the machine, in the order in which they are made. */
const launcher = (name: string, nodeName: string, annotations: object = {}): object =>
  launcherPod({
    namespace: SPACE,
    name,
    nodeName,
    machine: 'vm',
    day: 'abc'.indexOf(name) + 1,
    annotations: {
      [NETWORKS]: JSON.stringify([{ name: NETWORK, 'ipam-claim-reference': CLAIM }]),
      ...annotations,
    },
  });
/** A pod beside the machine, on the node that it leaves first. */
const partner = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: SPACE, name: 'partner', annotations: { [NETWORKS]: NETWORK } },
  spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'box' }] },
};

describe.skipIf(whyNoLab !== undefined)(
  `a virtual machine on a physical network${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 180_000 },
  () => {
    let lab: MachineLab;
    let address: string;
    let mac: string;

    const inGuest = (line: string): Promise<string> =>
      outputInside(lab.record, ['ip', 'netns', 'exec', GUEST, ...line.split(' ')]);
    const fromOutside = (line: string): Promise<string> =>
      outputInside(lab.record, ['ip', '-n', 'ext', ...line.split(' ')]);
    /** The node behind the port at which the physical switch has the machine. */
    const learnt = async (): Promise<string> => {
      const table = await outputInside(lab.record, ['bridge', 'fdb', 'show', 'br', 'underlay']);
      const line = table.split('\n').find((one) => one.startsWith(`${mac} `));
      return / dev u-(\S+)/.exec(line ?? '')?.[1] ?? 'unknown';
    };
    /** `enabled` of each of the machine's ports: each is in the database of its node alone. */
    const ports = async (): Promise<Record<string, string>> => ({
      ...(await lab.enabled('n1', 'a', 'b', 'c')),
      ...(await lab.enabled('n2', 'a', 'b', 'c')),
    });
    const prepare = async (name: string, node: string): Promise<void> => {
      lab.declare(name, launcher(name, node));
      await lab.tenants.settle();
      await prepareGuest(lab.record, GUEST, lab.end(name));
      expect(await ports()).toMatchObject({ [name]: 'false' });
    };

    beforeAll(async () => {
      lab = await MachineLab.start({
        name: 'e2e-machine-lan',
        nodes: 2,
        nad: `${SPACE}/${NETWORK}`,
        objects: [
          {
            apiVersion: 'v1',
            kind: 'Namespace',
            metadata: { name: SPACE, labels: { floor: SPACE } },
          },
          lan,
          ipamClaim(SPACE, CLAIM, `cluster_udn_${NETWORK}`),
          partner,
        ],
      });
      lab.declare('a', launcher('a', 'n1'));
      // No node tells of networks of pods that are on their way.
      await until(
        'pods to be on the physical network',
        async () => {
          await lab.tenants.settle();
          return (
            attachedPods(lab.record).filter(({ interfaces }) => interfaces.length > 1).length === 2
          );
        },
        SOON.timeout,
      );
      ({ address, mac } = lab.end('a'));
      await fromOutside(`address add ${OUTSIDE}/24 dev eth0`);
      await startGuest(lab.record, GUEST, mac);
      await prepareGuest(lab.record, GUEST, lab.end('a'));
      await runGuest(lab.record, GUEST, lab.end('a'));
      expect(await askByDhcp(lab.record, GUEST)).toMatchObject({ ip: address });
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('that moves keeps its connections with a host outside and with a pod of the node that it leaves, and is answered for in one place', async () => {
      await prepare('b', 'n2');
      const all = await whileStreaming(
        lab.record,
        ['ext', 'partner'].map((from) => ({ from, to: GUEST, address })),
        async (answered) => {
          expect(await learnt()).toBe('n1');
          await runGuest(lab.record, GUEST, lab.end('b'), lab.end('a'));
          lab.declare('b', launcher('b', 'n2', ARRIVED));
          await announceGuest(lab.record, GUEST, address);
          await expect.poll(ports, SOON).toEqual({ a: 'false', b: 'true' });
          await answered();
          await sleep(MOMENT_MS);
        },
        (who) => (who === 'partner' ? ['pod', `${SPACE}/${who}`] : ['ip', 'netns', 'exec', who]),
      );
      for (const streamed of all) expect(streamed).toMatchObject({ broken: 0, twice: 0 });
      const losses = all.map(({ lost, echoes }) => `${lost} of ${lost + echoes}`).join(', ');
      process.stderr.write(
        `a machine that moved on a physical network lost of echoes, one every 20 ms: ${losses}\n`,
      );
      expect(await learnt()).toBe('n2');
      lab.withdraw('a');
      await lab.tenants.settle();
      await expect.poll(ports, SOON).toEqual({ b: '[]' });
    });

    test('that says nothing is found at its new place: its node announces it there', async () => {
      await prepare('c', 'n1');
      // Nobody asks for it, and it tells nothing of itself.
      await fromOutside(`neighbour replace ${address} lladdr ${mac} dev eth0 nud permanent`);
      await inGuest('ip link set eth0 arp off');
      await inGuest('sysctl -q -w net.ipv6.conf.all.disable_ipv6=1');
      const heard = await whileHearing(
        lab.record,
        {
          sender: { where: ['ip', 'netns', 'exec', 'ext'], device: 'eth0' },
          member: { where: ['ip', 'netns', 'exec', GUEST], device: 'eth0' },
          group: address,
        },
        async (heardAgain) => {
          expect(await learnt()).toBe('n2');
          await runGuest(lab.record, GUEST, lab.end('c'), lab.end('b'));
          lab.declare('c', launcher('c', 'n1', ARRIVED));
          await expect.poll(learnt, SOON).toBe('n1');
          await heardAgain();
          await sleep(MOMENT_MS);
        },
      );
      expect(heard.twice).toBe(0);
      process.stderr.write(
        `a silent one lost ${heard.missed} of ${heard.missed + heard.heard} datagrams, one every 10 ms\n`,
      );
      expect(await ports()).toEqual({ b: 'false', c: 'true' });
      expect(await learnt()).toBe('n1');
    });
  },
);
