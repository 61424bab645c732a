/** With which address pods leave to classes of destinations, and to others, with packets: on the default network and on primary ones of both layers. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { checkout } from '../../src/lab/paths.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { labelNodes, statusText } from '../support/lab/egress-nodes.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import {
  manifestsText,
  podOn,
  SPACES,
  spaceObjects,
  type Space,
} from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 200 };
const SECONDS = 2;
const NODES = ['n1', 'n2'] as const;
type NodeName = (typeof NODES)[number];

const EXAMPLE = join(checkout, 'examples/egress-classes');
/** What its README.md says: where to, and with which address. */
const TABLE = [
  ...readFileSync(join(EXAMPLE, 'README.md'), 'utf8').matchAll(
    /^\| ([\da-f.:]+)[^|]* \| (?:([\d.]+)|the address of its node)[^|]* \|/gm,
  ),
].map(([, to = '', as = 'node']) => ({ to, as }));
/** Of the host outside, too: the class has the first one alone. */
const DESTINATIONS = TABLE.map(({ to }) => to);
const [IN_CLASS = ''] = DESTINATIONS;

/** For the class, and for the rest; the third one is in the network of another card. */
const [TO_CLASS, TO_OTHERS, BY_CARD] = ['172.18.0.60', '172.18.0.61', '10.9.0.60'];

const objectsOf = (namespace: Space): readonly object[] => [
  ...spaceObjects(namespace, { leaves: 'as-exchange' }),
  podOn('n1', namespace, 'near'),
  podOn('n2', namespace, 'far'),
];
const egressIp = (name: string, address: string, rest: object = {}): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name },
  spec: {
    egressIPs: [address],
    namespaceSelector: { matchLabels: { leaves: 'as-exchange' } },
    ...rest,
  },
});
const byClass = (address: string): object =>
  egressIp('to-class', address, { trafficSelector: { matchLabels: { group: 'some' } } });
const CLASS = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressTrafficClass',
  metadata: { name: 'some', labels: { group: 'some' } },
  spec: { destinations: [{ cidr: '198.51.100.0/24' }, { cidr: '192.0.2.0/24' }] },
};

/** A network that a node has another card in, and the host outside. */
async function addCard(lab: TestLab['record'], node: NodeName): Promise<void> {
  const run = (line: string): Promise<string> => outputInside(lab, line.split(' '));
  await run(`ip -n ext link add cards type veth peer name card netns ${node}`);
  await run('ip -n ext link set cards up');
  await run('ip netns exec ext ethtool -K cards tx off');
  await run(`ip -n ${node} address add 10.9.0.${node.slice(1)}/24 dev card`);
  await run(`ip -n ${node} link set card up`);
  await run(`ip netns exec ${node} ethtool -K card tx off`);
  await run(`ip -n ${node} route add default via 10.9.0.100 dev card metric 2000`);
  await run('ip -n ext address add 10.9.0.100/24 dev cards');
}

describe.skipIf(whyNoLab !== undefined).each([
  { mode: 'shared', spaces: SPACES },
  // In local gateway mode networks of users leave by VRFs, which this kernel need not have.
  { mode: 'local', spaces: ['plain'] },
] as const)(
  `EgressIPs for classes of destinations in $mode gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  ({ mode, spaces }) => {
    const folder = ownFolder(`heddle-egress-classes-${mode}`);
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];

    const write = (...objects: readonly object[]): void =>
      writeFileSync(join(tenants.manifests, 'egress.yaml'), manifestsText(objects));
    const label = (...labelled: readonly NodeName[]): void =>
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, labelled);
    /** As whom the host outside sees each pod, by each of these addresses of its own. */
    const seenBy = async (destinations: readonly string[]): Promise<readonly string[]> => {
      const asked = ends.flatMap((end) => destinations.map((to) => ({ end, to })));
      const results = await probe(
        lab.record,
        asked.map(({ end, to }) => ({ from: end.namespace, to, port: SERVER_PORT, ping: false })),
        SECONDS,
      );
      return asked.map(
        ({ end, to }, index) =>
          `${end.pod} to ${to} as ${results[index]?.answer?.peer ?? 'nobody'}`,
      );
    };
    const expectedBy = (
      destinations: readonly string[],
      addresses: readonly string[],
    ): readonly string[] =>
      ends.flatMap(({ pod: key, node }) => {
        const [v4, v6] = nodeAddresses(node as NodeName);
        return destinations.map((to, index) => {
          const as = addresses[index];
          return `${key} to ${to} as ${as === 'node' ? (to.includes(':') ? v6 : v4) : as}`;
        });
      });
    /** An address in the class, and another one. */
    const BOTH = [IN_CLASS, OUTSIDE.v4];
    const seen = (): Promise<readonly string[]> => seenBy(BOTH);
    const expected = (...addresses: readonly string[]): readonly string[] =>
      expectedBy(BOTH, addresses);

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText(spaces.flatMap((space) => objectsOf(space))),
      );
      lab = await testLab(`e2e-egress-classes-${mode}`, { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder, daemonArguments: [`--gateway-mode=${mode}`] });
      await tenants.start();
      for (const to of DESTINATIONS)
        await outputInside(lab.record, `ip -n ext address add ${to} dev lo`.split(' '));
      await serveOutward(lab.record);
      ends = await tenants.endpoints();
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('what is for the class leaves with its address, whichever node has it, and is dropped while none has', async () => {
      write(byClass(TO_CLASS));
      await expect.poll(seen, SOON).toEqual(expected('node', 'node'));
      await expect
        .poll(() => statusText(lab.record), SOON)
        .toContain('no EgressTrafficClass has such labels');
      write(byClass(TO_CLASS), CLASS);
      await expect.poll(seen, SOON).toEqual(expected('nobody', 'node'));
      for (const node of NODES) {
        label(node);
        await expect.poll(seen, SOON).toEqual(expected(TO_CLASS, 'node'));
      }
    });

    test('beside one for all destinations each has its own, as the table of the example says', async () => {
      expect(TABLE.length).toBe(3);
      label();
      writeFileSync(
        join(tenants.manifests, 'egress.yaml'),
        readFileSync(join(EXAMPLE, 'exchange.yaml')),
      );
      const table = (): Promise<readonly string[]> => seenBy(DESTINATIONS);
      const none = TABLE.map(({ as }) => (as === 'node' ? as : 'nobody'));
      await expect.poll(table, SOON).toEqual(expectedBy(DESTINATIONS, none));
      label('n1', 'n2');
      const own = TABLE.map(({ as }) => as);
      await expect.poll(table, SOON).toEqual(expectedBy(DESTINATIONS, own));
    });

    test('by another network card it leaves with an address of its network', async () => {
      await addCard(lab.record, 'n1');
      write(byClass(BY_CARD), CLASS, egressIp('to-others', TO_OTHERS));
      await expect.poll(seen, SOON).toEqual(expected(BY_CARD, TO_OTHERS));
    });

    test('when it goes pods leave as their nodes, and nothing is left', async () => {
      write();
      await expect.poll(seen, SOON).toEqual(expected('node', 'node'));
      for (const node of NODES) {
        const rows = await tenants.rows(node, 'OVN_Northbound', ['Logical_Router_Policy']);
        expect(rows.filter((row) => row.includes('to-class'))).toEqual([]);
      }
    });
  },
);
