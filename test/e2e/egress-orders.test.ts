/** Hostile and hasty orders of egress addresses while pods send: nobody is seen outside with a source that no object says, and no two nodes answer for an address. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { startDaemon } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { stateFolder } from '../../src/lab/paths.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { labelNodes, statusText } from '../support/lab/egress-nodes.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { whileAskingForOwners, type Ownership } from '../support/lab/neighbour-owners.ts';
import { manifestsText, podOn, spaceObjects, type Space } from '../support/lab/network-spaces.ts';
import { whileSendingOut } from '../support/lab/sources-outside.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 200 };
/** Where pods are; the second node may have addresses, too, and the first one has the cluster manager. */
const NODE = 'n3';
const OTHER = 'n2';
const OWN = { v4: nodeAddresses(NODE)[0], v6: nodeAddresses(NODE)[1] };
const E = '172.18.0.60';
const F = '172.18.0.61';
const E_V6 = 'fd00:172:18::60';
const BALANCED = '172.18.0.80';
const EXPOSED = '172.18.0.70';
const SECOND = '172.18.0.77';

const egressIp = (name: string, address: string, apps = ['a', 'b'], leaves = 'here'): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name },
  spec: {
    egressIPs: [address],
    namespaceSelector: { matchLabels: { leaves } },
    podSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: apps }] },
  },
});
const service = (name: string, clusterIP: string, more: object, status = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'plain', name },
  spec: {
    clusterIP,
    clusterIPs: [clusterIP],
    selector: { app: 'a' },
    ports: [{ name: 'web', port: 80, targetPort: SERVER_PORT }],
    ...more,
  },
  status,
});
const egressService = [
  service(
    'balanced',
    '172.16.1.71',
    { type: 'LoadBalancer' },
    { loadBalancer: { ingress: [{ ip: BALANCED }] } },
  ),
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressService',
    metadata: { namespace: 'plain', name: 'balanced' },
    spec: { sourceIPBy: 'LoadBalancerIP' },
  },
];

/** One that answers between two answers of another one does so beside it. */
const besides = (found: readonly Ownership[]): readonly Ownership[] =>
  found.filter(
    ({ from, to }, n) => from === to && n > 0 && found[n - 1]?.mac === found[n + 1]?.mac,
  );

describe.skipIf(whyNoLab !== undefined).each([
  { mode: 'shared', spaces: ['plain', 'routed'] },
  // In local gateway mode networks of users leave by VRFs, which this kernel need not have.
  { mode: 'local', spaces: ['plain'] },
] satisfies { mode: string; spaces: Space[] }[])(
  `hostile orders of egress addresses, in $mode gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 240_000 },
  ({ mode, spaces }) => {
    const folder = ownFolder(`heddle-egress-orders-${mode}`);
    const daemonArguments = [`--gateway-mode=${mode}`, '--egressip-reachability-total-timeout=5'];
    const pods = spaces.flatMap((space) => [`${space}/a`, `${space}/b`]);
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;

    const file = (name: string): string => join(tenants.manifests, `${name}.yaml`);
    const write = (name: string, ...objects: readonly object[]): void =>
      writeFileSync(file(name), manifestsText(objects));
    const remove = (name: string): void => rmSync(file(name), { force: true });
    const label = (...nodes: readonly string[]): void =>
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, nodes);
    const objects = (leaves = 'here', app?: string): readonly object[] =>
      spaces.flatMap((space) => [
        ...spaceObjects(space, { leaves }),
        ...['a', 'b'].map((name) => podOn(NODE, space, name, {}, app ?? name)),
      ]);
    const sendings = (to: string, of: readonly string[]) =>
      of.map((pod) => ({ from: ends.get(pod)?.namespace ?? '', to }));
    /** As whom the host outside sees these pods. */
    const seen = async (of: readonly string[] = pods, to: string = OUTSIDE.v4) => {
      const asked = sendings(to, of).map((one) => ({ ...one, port: SERVER_PORT, ping: false }));
      return (await probe(lab.record, asked, 1)).map(({ answer }) => answer?.peer ?? 'nobody');
    };
    const become = (source: string, of: readonly string[] = pods, to: string = OUTSIDE.v4) =>
      expect.poll(() => seen(of, to), SOON).toEqual(of.map(() => source));
    /** While something happens pods are seen as these and nobody else, and one node at a time answers for each address. */
    const expectOnly = async (
      allowed: (pod: string) => readonly string[],
      addresses: readonly string[],
      happens: () => Promise<void>,
      to: string = OUTSIDE.v4,
    ): Promise<void> => {
      let owners: ReadonlyMap<string, readonly Ownership[]> = new Map();
      const sources = await whileSendingOut(lab.record, sendings(to, pods), async () => {
        owners = await whileAskingForOwners(lab.record, addresses, `orders-${mode}`, happens);
      });
      const others = sources.map((one, n) =>
        Object.keys(one).filter((source) => !allowed(pods[n] ?? '').includes(source)),
      );
      expect(others).toEqual(pods.map(() => []));
      for (const found of owners.values()) expect(besides(found)).toEqual([]);
    };

    beforeAll(async () => {
      writeFileSync(join(folder, 'objects.yaml'), manifestsText(objects()));
      lab = await testLab(`e2e-egress-orders-${mode}`, { nodes: 3, families: 'dual' });
      tenants = new Tenants(lab.record, { folder, daemonArguments });
      // Who starts first manages the cluster.
      await startDaemon(lab.record, 'n1', daemonArguments);
      await tenants.start();
      await serveOutward(lab.record);
      ends = new Map((await tenants.endpoints()).map((end) => [end.pod, end]));
      label(OTHER, NODE);
    }, 180_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });
    afterEach(async () => {
      for (const name of ['first', 'second', 'services']) remove(name);
      write('objects', ...objects());
      label(OTHER, NODE);
      await become(OWN.v4);
    });

    test('an address that two objects name is the second’s once the first is deleted', async () => {
      const [of, ofOther] = ['a', 'b'].map((app) => pods.filter((pod) => pod.endsWith(`/${app}`)));
      write('first', egressIp('first', E, ['a']));
      await become(E, of);
      await expectOnly(
        () => [OWN.v4, E],
        [E],
        async () => {
          write('second', egressIp('second', E, ['b']));
          await expect
            .poll(() => statusText(lab.record), SOON)
            .toContain(`"${E}" for EgressIP: second is already allocated for EgressIP: first`);
          await become('nobody', ofOther);
          remove('first');
          await become(OWN.v4, of);
          await become(E, ofOther);
        },
      );
    });

    test('an address that is somebody else’s is given to nobody, and its object is told whose it is', async () => {
      write('services', service('exposed', '172.16.1.70', { externalIPs: [EXPOSED] }));
      const second = ['dev', 'breth0'];
      await outputInside(lab.record, ['on', OTHER, 'ip', 'addr', 'add', `${SECOND}/24`, ...second]);
      const stateOf = join(stateFolder(lab.record.name), `state/objects/nodes/${OTHER}.json`);
      await expect.poll(() => readFileSync(stateOf, 'utf8'), SOON).toContain(SECOND);
      const ofPod = ends.get('plain/b')?.addresses[0] ?? '';
      for (const [taken, told] of [
        [ofPod, `"${ofPod}" for object EgressIP: first is in the cluster subnet`],
        ['10.60.0.1', 'which can host any of the egress IPs: [10.60.0.1]'],
        [EXPOSED, 'conflicting with an external address of Service plain/exposed'],
        [SECOND, `conflicting with a host (${OTHER}) IP address`],
        [OUTSIDE.v4, 'conflicting with the next hop of node'],
      ] as const) {
        await expectOnly(
          () => [OWN.v4],
          [SECOND, EXPOSED],
          async () => {
            write('first', egressIp('first', taken));
            await expect.poll(() => statusText(lab.record), SOON).toContain(told);
            await become('nobody');
          },
        );
        remove('first');
        await become(OWN.v4);
      }
      await outputInside(lab.record, ['on', OTHER, 'ip', 'addr', 'del', `${SECOND}/24`, ...second]);
    });

    test('the label of nodes comes and goes', async () => {
      write('first', egressIp('first', E));
      await become(E);
      await expectOnly(
        () => [E],
        [E],
        async () => {
          for (let n = 0; n < 60; n += 1) {
            label(...([[OTHER], [OTHER, NODE], [NODE], []][n % 4] ?? []));
            await pause(300);
          }
          label(OTHER);
          await become(E);
        },
      );
    });

    test('an object is deleted and made again, with its address and with another one', async () => {
      write('first', egressIp('first', E));
      await become(E);
      await expectOnly(
        () => [E, F, OWN.v4],
        [E, F],
        async () => {
          for (let n = 0; n < 12; n += 1) {
            remove('first');
            await pause(n * 150);
            write('first', egressIp('first', n % 3 === 2 ? F : E));
            await pause(n * 150);
          }
          await become(F);
        },
      );
    });

    const eitherOf = (): readonly string[] => [E, F];

    test('a namespace comes under another object while the manager is away', async () => {
      write('first', egressIp('first', E), egressIp('other', F, ['a', 'b'], 'there'));
      await become(E);
      await expectOnly(eitherOf, [E, F], async () => {
        await stopDaemon(lab.record, 'n1', 'kill');
        write('objects', ...objects('there'));
        await become(F);
        await startDaemon(lab.record, 'n1', daemonArguments);
        await tenants.settle();
        await become(F);
      });
    });

    test('labels of pods come and go', async () => {
      write('first', egressIp('first', E), egressIp('other', F, ['c']));
      await become(E);
      await expectOnly(eitherOf, [E, F], async () => {
        for (let n = 0; n < 120; n += 1) {
          write('objects', ...objects('here', n % 2 === 0 ? 'c' : undefined));
          // Before, while and after what was sent as before is forgotten.
          await pause(100 + ((n * 137) % 600));
        }
        write('objects', ...objects('here', 'c'));
        await become(F);
      });
    });

    test.each([
      { family: 'v4', first: E, next: E_V6 },
      { family: 'v6', first: E_V6, next: E },
    ] as const)(
      'an address becomes one of the other family, and back ($family)',
      async ({ family, first, next }) => {
        const to = OUTSIDE[family];
        write('first', egressIp('first', first));
        await become(first, pods, to);
        await expectOnly(
          () => [first, OWN[family]],
          [E, E_V6],
          async () => {
            write('first', egressIp('first', next));
            await become(OWN[family], pods, to);
            write('first', egressIp('first', first));
            await become(first, pods, to);
          },
          to,
        );
      },
    );

    test('an EgressService and an EgressIP come at one moment, and either goes', async () => {
      await expectOnly(
        (pod) => (pod === 'plain/a' ? [E, OWN.v4, BALANCED] : [E, OWN.v4]),
        [E],
        async () => {
          write('first', egressIp('first', E));
          write('services', ...egressService);
          await become(E, pods.slice(1));
          remove('first');
          await become(OWN.v4, pods.slice(1));
          write('first', egressIp('first', E));
          await become(E, pods.slice(1));
          remove('services');
          await become(E);
        },
      );
    });
  },
);
