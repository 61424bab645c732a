/**
 * A tenant whose services name addresses that are not his: cluster IPs, those of nodes, those of older services. Packets go where they went before,
 * from pods, from processes of nodes and from outside.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { probe, type Endpoint } from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { stateFolder } from '../../../src/lab/paths.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import { sayHeld, type Attack } from '../../support/lab/held-table.ts';
import { testLab, whyNoLab, type TestLab } from '../../support/lab/lab.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { nodeAddresses } from '../../support/lab/matrix-tenants.ts';
import { Tenants } from '../../support/lab/tenants.ts';

const SOON = { timeout: 30_000, interval: 200 };
const SECONDS = 2;
const NODES = ['n1', 'n2'] as const;
const [N1] = nodeAddresses('n1');
const [N2] = nodeAddresses('n2');
/** A port of nodes that something answers on: as an API server does. */
const API = 6443;
const HOST = 'process-of-n2';
/** Routed to n1 from outside. */
const OUTSIDE = ['203.0.113.60', '203.0.113.61', '203.0.113.62'] as const;
/** So often each way is tried: a load balancer between two would show. */
const TIMES = 6;

const PRIMARY = 'k8s.ovn.org/primary-user-defined-network';
const space = (name: string, labels: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});
const pod = (namespace: string, name: string, nodeName: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name },
  spec: { nodeName, containers: [{ name: 'main', image: 'main' }] },
});
const OBJECTS = [
  space('victim'),
  pod('victim', 'web', 'n2'),
  pod('victim', 'client', 'n1'),
  space('mallory'),
  pod('mallory', 'thief', 'n1'),
  space('blue', { [PRIMARY]: '' }),
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { namespace: 'blue', name: 'net' },
    spec: {
      topology: 'Layer3',
      layer3: { role: 'Primary', subnets: [{ cidr: '10.41.0.0/16', hostSubnet: 24 }] },
    },
  },
  pod('blue', 'thief', 'n1'),
  pod('blue', 'client', 'n2'),
];

interface Made {
  readonly key: string;
  readonly clusterIp: string;
  readonly externalIPs?: readonly string[];
  readonly ports: readonly number[];
  /** Pod that answers. */
  readonly to: string;
  readonly created?: string;
}

describe.skipIf(whyNoLab !== undefined)(
  `services of a tenant who takes what is not his${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 240_000 },
  () => {
    const folder = ownFolder('heddle-hostile-services');
    let lab: TestLab;
    let tenants: Tenants;
    /** By pod: where it asks from. */
    let ends: ReadonlyMap<string, Endpoint>;
    let onDefault: ReadonlyMap<string, Endpoint>;

    const objectsOf = ({
      key,
      clusterIp,
      externalIPs = [],
      ports,
      to,
      created,
    }: Made): object[] => {
      const [namespace = '', name = ''] = key.split('/');
      const end = onDefault.get(to);
      const listed = ports.map((port) => ({ name: `p${port}`, port, protocol: 'TCP' }));
      return [
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: {
            namespace,
            name,
            ...(created === undefined ? {} : { creationTimestamp: created }),
          },
          spec: { clusterIP: clusterIp, clusterIPs: [clusterIp], externalIPs, ports: listed },
        },
        {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: {
            namespace,
            name: `${name}-a`,
            labels: {
              'kubernetes.io/service-name': name,
              'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
            },
          },
          addressType: 'IPv4',
          ports: listed.map((port) => ({ ...port, port: SERVER_PORT })),
          endpoints: [
            {
              addresses: end?.addresses.slice(0, 1) ?? [],
              nodeName: end?.node,
              conditions: { ready: true },
              targetRef: { kind: 'Pod', namespace: to.split('/')[0], name: to.split('/')[1] },
            },
          ],
        },
      ];
    };
    const write = (...made: readonly Made[]): void =>
      writeFileSync(
        join(tenants.manifests, 'services.yaml'),
        made
          .flatMap(objectsOf)
          .map((object) => stringify(object))
          .join('---\n'),
      );

    /** Who answers at an address, each asked several times: pods, processes of nodes (`n1`), and the host outside (`ext`). */
    const answers = async (
      ways: readonly (readonly [from: string, to: string, port: number])[],
    ): Promise<string[]> => {
      const probes = ways.flatMap(([from, to, port]) =>
        Array.from({ length: TIMES }, () => ({
          from: ends.get(from)?.namespace ?? from,
          to,
          port,
          ping: false,
        })),
      );
      const results = await probe(lab.record, probes, SECONDS);
      return ways.map(([from, to, port], n) => {
        const who = results
          .slice(n * TIMES, (n + 1) * TIMES)
          .map(({ answer }) => answer?.server ?? 'nobody');
        return `${from} → ${to}:${port}: ${[...new Set(who)].toSorted().join(', ')}`;
      });
    };
    const attacks: Attack[] = [];
    /** Ways that a thief wants for himself, and who answered on them: held where that is who should. */
    const tried = (
      kind: string,
      ways: readonly (readonly [from: string, to: string, port: number])[],
      found: readonly string[],
      right: readonly string[],
    ): void => {
      for (const [n, [by]] of ways.entries())
        attacks.push({ kind, by, isHeld: found[n] === right[n] });
    };
    const stored = (...path: string[]): string =>
      join(stateFolder(lab.record.name), 'state', 'objects', ...path);
    const problemsOf = (node: string): Promise<string> =>
      outputInside(lab.record, ['cat', stored('zonestatuses.k8s.ovn.org', `${node}.json`)]);
    const eventsOf = (namespace: string): Promise<string> =>
      outputInside(lab.record, ['sh', '-c', `cat ${stored('events', namespace)}/*.json`]);

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'tenants.yaml'),
        OBJECTS.map((object) => stringify(object)).join('---\n'),
      );
      lab = await testLab('e2e-hostile-services', { nodes: NODES.length });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      const byPod = async (which: 'primary' | 'default'): Promise<ReadonlyMap<string, Endpoint>> =>
        new Map((await tenants.endpoints(which)).map((end) => [end.pod, end]));
      [ends, onDefault] = [await byPod('primary'), await byPod('default')];
      await outputInside(lab.record, ['lab-serve'], {
        input: JSON.stringify({ servers: [{ namespace: 'n2', name: HOST }], port: API }),
      });
      for (const address of OUTSIDE)
        await outputInside(
          lab.record,
          `ip -n ext route replace ${address}/32 via ${N1}`.split(' '),
        );
    }, 200_000);
    afterAll(async () => {
      sayHeld('services', attacks);
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    const thiefs = ['mallory/thief', 'blue/thief'] as const;
    /** In force as soon as an address of its own leads to it. */
    const stealing = (
      thief: (typeof thiefs)[number],
      externalIPs: readonly string[],
      ports: readonly number[],
    ): Made => ({
      key: `${thief.split('/')[0]}/taking`,
      clusterIp: thief === 'mallory/thief' ? '172.16.1.201' : '172.16.1.202',
      externalIPs: [thief === 'mallory/thief' ? OUTSIDE[1] : OUTSIDE[2], ...externalIPs],
      ports,
      to: thief,
    });
    const inForce = async (port: number): Promise<void> => {
      const ways = thiefs.map(
        (thief, n) => ['ext', n === 0 ? OUTSIDE[1] : OUTSIDE[2], port, thief] as const,
      );
      await expect
        .poll(() => answers(ways.map(([from, to, at]) => [from, to, at])), SOON)
        .toEqual(ways.map(([from, to, at, thief]) => `${from} → ${to}:${at}: ${thief}`));
    };

    test('a cluster IP leads to its own service, whether it was there before or comes later: for pods, processes of nodes, and cluster DNS', async () => {
      const dns: Made = {
        key: 'victim/dns',
        clusterIp: '172.16.1.53',
        ports: [53],
        to: 'victim/web',
      };
      const later: Made = { ...dns, key: 'victim/later', clusterIp: '172.16.1.54' };
      const taken = [dns.clusterIp, later.clusterIp];
      const attack = thiefs.map((thief) => stealing(thief, taken, [53]));
      write(dns);
      await expect
        .poll(() => answers([['n1', dns.clusterIp, 53]]), SOON)
        .toEqual([`n1 → ${dns.clusterIp}:53: victim/web`]);
      write(dns, ...attack);
      await inForce(53);
      write(dns, ...attack, later);
      const ways = taken.flatMap((address) =>
        ['victim/client', 'mallory/thief', 'n1', 'n2'].map(
          (from): readonly [string, string, number] => [from, address, 53],
        ),
      );
      const right = ways.map(([from, to]) => `${from} → ${to}:53: victim/web`);
      let found: readonly string[] = [];
      try {
        await expect.poll(async () => (found = await answers(ways)), SOON).toEqual(right);
      } finally {
        tried('cluster IPs', ways, found, right);
      }
      const refused = /172\.16\.1\.53\W+ is in the service subnet/;
      for (const node of NODES) expect(await problemsOf(node)).toMatch(refused);
      await expect.poll(() => eventsOf('mallory'), SOON).toMatch(refused);
    });

    test('a port of a node is that of its processes: from outside, from pods, and from other nodes', async () => {
      const ways = ['ext', 'victim/client', 'n1', 'blue/client'].map(
        (from): readonly [string, string, number] => [from, N2, API],
      );
      const before = await answers(ways);
      const reached = before.filter((text) => text.endsWith(HOST));
      expect(reached.length).toBeGreaterThanOrEqual(3);
      write(...thiefs.map((thief) => stealing(thief, [N1, N2], [API, 22])));
      await inForce(API);
      const found = await answers(ways);
      tried('ports of nodes', ways, found, before);
      expect(found.filter((text) => text.endsWith(HOST))).toEqual(reached);
      // Nobody answers there on n1, and no thief does.
      expect(await answers([['ext', N1, 22]])).toEqual([`ext → ${N1}:22: nobody`]);
    });

    test('an external address is that of the service that had it first, on all networks', async () => {
      const [address] = OUTSIDE;
      const own: Made = {
        key: 'victim/outside',
        clusterIp: '172.16.1.60',
        externalIPs: [address],
        ports: [80],
        to: 'victim/web',
        created: '2025-06-01T00:00:00Z',
      };
      const attack = thiefs.map((thief) => ({
        ...stealing(thief, [address], [80]),
        created: thief === 'mallory/thief' ? '2025-01-01T00:00:00Z' : '2026-01-01T00:00:00Z',
      }));
      write(own);
      const ways = ['ext', 'victim/client', 'mallory/thief', 'n2'].map(
        (from): readonly [string, string, number] => [from, address, 80],
      );
      const right = ways.map(([from, to]) => `${from} → ${to}:80: victim/web`);
      await expect.poll(() => answers(ways), SOON).toEqual(right);
      write(own, ...attack);
      await inForce(80);
      const found = await answers(ways);
      tried('external addresses of others', ways, found, right);
      expect(found).toEqual(right);
    });

    test('a service of thousands of addresses leads to its cluster IP alone, and adds no flow for any of them', async () => {
      const flows = async (): Promise<number> => {
        const words = ['on', 'n1', 'ovs-ofctl', '-O', 'OpenFlow13', 'dump-flows', 'breth0'];
        return (await outputInside(lab.record, words)).split('\n').length;
      };
      write();
      const before = await flows();
      const huge: Made = {
        key: 'mallory/huge',
        clusterIp: '172.16.1.70',
        externalIPs: Array.from({ length: 3000 }, (_, n) => `198.18.${n >> 8}.${n & 255}`),
        ports: [80, 81, 82],
        to: 'mallory/thief',
      };
      write(huge);
      await expect
        .poll(() => answers([['victim/client', huge.clusterIp, 82]]), SOON)
        .toEqual([`victim/client → ${huge.clusterIp}:82: mallory/thief`]);
      expect(await answers([['n1', '198.18.0.7', 80]])).toEqual(['n1 → 198.18.0.7:80: nobody']);
      expect(await flows()).toBeLessThanOrEqual(before);
      await expect.poll(() => problemsOf('n1'), SOON).toContain('--max-service-entries');
    });
  },
);
