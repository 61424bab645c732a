/** A virtual machine of KubeVirt that moves between nodes on a secondary Layer2 network, and the pods of both nodes that talk with it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whileStreaming } from '../support/host/streams.ts';
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

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000 };
/** Milliseconds for which packets are counted behind what happens. */
const MOMENT_MS = 2000;
const SPACE = 'shop';
const NETWORK = 'back';
const CLAIM = 'vm.back';
const GUEST = 'guest-back';
const ARRIVED = { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' };
const NETWORKS = 'k8s.v1.cni.cncf.io/networks';

const network = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { namespace: SPACE, name: NETWORK },
  spec: {
    topology: 'Layer2',
    layer2: {
      role: 'Secondary',
      subnets: ['10.90.0.0/16'],
      ipam: { lifecycle: 'Persistent' },
    },
  },
};
const launcher = (name: 'a' | 'b', nodeName: string, annotations: object = {}): object =>
  launcherPod({
    namespace: SPACE,
    name,
    nodeName,
    machine: 'vm',
    day: name === 'a' ? 1 : 2,
    annotations: {
      [NETWORKS]: JSON.stringify([{ name: NETWORK, 'ipam-claim-reference': CLAIM }]),
      ...annotations,
    },
  });
const PARTNERS = { left: 'n1', joined: 'n2' } as const;

describe.skipIf(whyNoLab !== undefined)(
  `a virtual machine on a secondary network${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 180_000 },
  () => {
    let lab: MachineLab;
    let address: string;

    /** `enabled` of each of the machine's ports: each is in the database of its node alone. */
    const ports = async (): Promise<Record<string, string>> => ({
      ...(await lab.enabled('n1', 'a', 'b')),
      ...(await lab.enabled('n2', 'a', 'b')),
    });

    beforeAll(async () => {
      lab = await MachineLab.start({
        name: 'e2e-machine-secondary',
        nodes: 2,
        nad: `${SPACE}/${NETWORK}`,
        objects: [
          { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SPACE } },
          network,
          ipamClaim(SPACE, CLAIM, `${SPACE}_${NETWORK}`),
          ...Object.entries(PARTNERS).map(([name, nodeName]) => ({
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { namespace: SPACE, name, annotations: { [NETWORKS]: NETWORK } },
            spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
          })),
        ],
      });
      lab.declare('a', launcher('a', 'n1'));
      await lab.tenants.settle();
      ({ address } = lab.end('a'));
      await startGuest(lab.record, GUEST, lab.end('a').mac);
      await prepareGuest(lab.record, GUEST, lab.end('a'));
      await runGuest(lab.record, GUEST, lab.end('a'));
      expect(await askByDhcp(lab.record, GUEST)).toMatchObject({ ip: address });
    });
    afterAll(() => lab[Symbol.asyncDispose]());

    test('that moves keeps its connections with pods of the node that it leaves and of the one that it comes to, and is answered for in one place', async () => {
      lab.declare('b', launcher('b', 'n2'));
      await lab.tenants.settle();
      await prepareGuest(lab.record, GUEST, lab.end('b'));
      expect([lab.end('b').mac, lab.end('b').address]).toEqual([lab.end('a').mac, address]);
      expect(await ports()).toMatchObject({ b: 'false' });
      const all = await whileStreaming(
        lab.record,
        Object.keys(PARTNERS).map((from) => ({ from, to: GUEST, address })),
        async (answered) => {
          await runGuest(lab.record, GUEST, lab.end('b'), lab.end('a'));
          lab.declare('b', launcher('b', 'n2', ARRIVED));
          await announceGuest(lab.record, GUEST, address);
          await expect.poll(ports, SOON).toEqual({ a: 'false', b: 'true' });
          await answered();
          await sleep(MOMENT_MS);
        },
        (who) => (who === GUEST ? ['ip', 'netns', 'exec', who] : ['pod', `${SPACE}/${who}`]),
      );
      for (const streamed of all) expect(streamed).toMatchObject({ broken: 0, twice: 0 });
      const losses = all.map(({ lost, echoes }) => `${lost} of ${lost + echoes}`).join(', ');
      process.stderr.write(`a machine that moved lost of echoes, one every 20 ms: ${losses}\n`);
    });

    test('has its address where it is now once the pod that it left has gone', async () => {
      lab.withdraw('a');
      await lab.tenants.settle();
      await expect.poll(ports, SOON).toEqual({ b: '[]' });
      expect(await askByDhcp(lab.record, GUEST)).toMatchObject({ ip: address });
    });
  },
);
