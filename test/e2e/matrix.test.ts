/** What each kind of network promises its pods, with packets: a row for each promise, a column for each kind, IPv4 and IPv6. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { table } from '../../src/cli/output.ts';
import { probe, type Endpoint, type Probe, type ProbeResult } from '../../src/lab/connectivity.ts';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { hasVrfs } from '../../src/lab/status.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab.ts';
import { ownFolder } from '../support/left-behind.ts';
import {
  API,
  balanced,
  clusterIps,
  DNS,
  healthPort,
  localPort,
  nodeAddresses,
  nodePort,
  NODES,
  podKey,
  PODS,
  policyObject,
  serviceObjects,
  SERVICES,
  sliceObjects,
  systemObjects,
  systemServices,
  tenantObjects,
  TENANTS,
  type NodeName,
  type PodName,
  type ServiceEndpoint,
  type ServiceName,
  type Tenant,
} from '../support/matrix-tenants.ts';
import { Tenants } from '../support/tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 300 };
/** For packets that should not arrive. */
const SECONDS = 4;
const NOBODY = 'nobody';

/** One packet's way, for a tenant: who should answer, and whom it should see. */
interface Way extends Probe {
  readonly tenant: Tenant;
  readonly expected: string;
}

const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');
const withNetwork = TENANTS.filter(({ topology }) => topology !== undefined);

const server = ({ answer }: ProbeResult): string => answer?.server ?? NOBODY;
const serverAndPeer = ({ answer }: ProbeResult): string =>
  answer === null ? NOBODY : `${answer.server} saw ${answer.peer}`;

describe.skipIf(whyNoLab !== undefined)(
  `the matrix of networks${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-matrix');
    /** Cells by what they prove: names of the tenants for which it is so. */
    const proved = new Map<string, readonly Tenant[]>();
    let lab: TestLab;
    let tenants: Tenants;
    let primary: ReadonlyMap<string, Endpoint>;
    let onDefault: ReadonlyMap<string, Endpoint>;

    const endOf = (tenant: Tenant, pod: PodName): Endpoint => {
      const found = primary.get(podKey(tenant, pod));
      if (found === undefined) throw new Error(`${podKey(tenant, pod)} has no interface`);
      return found;
    };
    const inPod = (key: string, line: string): ReturnType<typeof runInside> =>
      runInside(lab.record, ['pod', key, ...line.split(' ')]);

    const ask = (ways: readonly Way[]): Promise<ProbeResult[]> =>
      probe(
        lab.record,
        ways.map((way) => ({ ...way, ping: false })),
        SECONDS,
      );

    /** Sends what the ways say until all is as expected, and notes it for the table. */
    async function prove(
      words: string,
      ways: readonly Way[],
      seen: (result: ProbeResult) => string = server,
    ): Promise<void> {
      const text = ({ tenant, from, to, protocol = 'tcp' }: Way, what: string): string =>
        `${tenant.name}: ${from} ${protocol} ${to}: ${what}`;
      const expected = ways.map((way) => text(way, way.expected));
      let found: string[] = [];
      try {
        await expect
          .poll(async () => {
            const results = await ask(ways);
            found = ways.map((way, n) => text(way, seen(results[n] as ProbeResult)));
            return found;
          }, SOON)
          .toEqual(expected);
      } finally {
        const isWrong = (_: Way, n: number): boolean => found[n] !== expected[n];
        const wrong = new Set(ways.filter(isWrong).map(({ tenant }) => tenant));
        const tried = new Set(ways.map(({ tenant }) => tenant));
        proved.set(
          words,
          [...tried].filter((tenant) => !wrong.has(tenant)),
        );
      }
    }

    /** Ways to a pod's addresses on its network. */
    const toPod = (tenant: Tenant, from: PodName, to: PodName, expected: string): Way[] =>
      endOf(tenant, to).addresses.map((address) => ({
        tenant,
        from: endOf(tenant, from).namespace,
        to: address,
        port: SERVER_PORT,
        expected,
      }));
    const toService = (
      tenant: Tenant,
      from: PodName,
      service: ServiceName,
      expected: string,
      protocols: readonly ('tcp' | 'udp')[] = ['tcp', 'udp'],
    ): Way[] =>
      clusterIps(tenant, service).flatMap((to) =>
        protocols.map((protocol) => ({
          tenant,
          from: endOf(tenant, from).namespace,
          to,
          port: 80,
          protocol,
          expected,
        })),
      );
    const fromOutside = (
      tenant: Tenant,
      addresses: readonly string[],
      port: number,
      expected: (family: number) => string,
    ): Way[] =>
      addresses.map((to, family) => ({
        tenant,
        from: 'ext',
        to,
        port,
        expected: expected(family),
      }));

    /** Endpoints of the tenants' services; `moved` puts all of them on one pod. */
    function writeSlices(moved?: PodName): void {
      const endpointOf = (key: string): ServiceEndpoint => {
        const end = onDefault.get(key);
        if (end === undefined) throw new Error(`${key} has no address`);
        return { pod: key, node: end.node, addresses: end.addresses };
      };
      const slices = TENANTS.flatMap((tenant) =>
        Object.entries(SERVICES).flatMap(([name, { endpoints }]) =>
          sliceObjects(
            `${tenant.name}/${name}`,
            // A service selects pods of its own namespace.
            (moved === undefined ? endpoints : [moved])
              .map((pod) => podKey(tenant, pod))
              .filter((key) => key.startsWith(`${tenant.name}/`))
              .map(endpointOf),
          ),
        ),
      );
      const objects = [...slices, ...systemServices(endpointOf(DNS.pod))];
      writeFileSync(join(tenants.manifests, 'slices.yaml'), manifest(objects));
    }

    beforeAll(async () => {
      const objects = [...TENANTS.flatMap(tenantObjects), ...systemObjects('n3')];
      writeFileSync(join(folder, 'tenants.yaml'), manifest(objects));
      lab = await testLab('e2e-matrix', { families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      await serveOutward(lab.record);
      const byPod = async (which: 'primary' | 'default'): Promise<ReadonlyMap<string, Endpoint>> =>
        new Map((await tenants.endpoints(which)).map((end) => [end.pod, end]));
      [primary, onDefault] = [await byPod('primary'), await byPod('default')];
      const services = manifest(TENANTS.flatMap(serviceObjects));
      writeFileSync(join(tenants.manifests, 'services.yaml'), services);
      writeSlices();
    });
    afterAll(async () => {
      const rows = [...proved].map(([words, right]) => [
        words,
        ...TENANTS.map((tenant) => (right.includes(tenant) ? 'yes' : '-')),
      ]);
      process.stdout.write(`${table(['', ...TENANTS.map(({ name }) => name)], rows)}\n`);
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('pods of a network reach each other on one node and on two, and no pod of another network', async () => {
      const ofPod = new Map(
        TENANTS.flatMap((tenant) =>
          Object.keys(PODS).map((pod) => [podKey(tenant, pod as PodName), tenant.name]),
        ),
      ).set(DNS.pod, 'default-net');
      await expect
        .poll(() => tenants.unexpectedBy((from, to) => ofPod.get(from) === ofPod.get(to)), SOON)
        .toEqual([]);
      proved.set('pods reach their own network, and no other', TENANTS);
    });

    test('the default network leads to no pod that has a network of its own', async () => {
      await prove(
        'closed on the default network',
        withNetwork.flatMap((tenant) =>
          (onDefault.get(podKey(tenant, 'on-n2'))?.addresses ?? []).flatMap((to) =>
            ['default-net/on-n1', podKey(tenant, 'on-n1')].map((from) => ({
              tenant,
              from: onDefault.get(from)?.namespace ?? '',
              to,
              port: SERVER_PORT,
              expected: NOBODY,
            })),
          ),
        ),
      );
    });

    test('processes of a host reach pods of the default network, and no pod that has a network of its own', async () => {
      await prove(
        'closed to processes of hosts',
        TENANTS.flatMap((tenant) =>
          (['on-n1', 'on-n2'] as const).flatMap((pod) =>
            (onDefault.get(podKey(tenant, pod))?.addresses ?? []).map((to) => ({
              tenant,
              from: 'n1',
              to,
              port: SERVER_PORT,
              expected: tenant.topology === undefined ? podKey(tenant, pod) : NOBODY,
            })),
          ),
        ),
      );
    });

    test('a host outside is reached from every node, and sees the node', async () => {
      await prove(
        'reaches outside as its node',
        TENANTS.flatMap((tenant) =>
          (['on-n1', 'on-n2', 'on-n3'] as const).flatMap((pod) =>
            [OUTSIDE.v4, OUTSIDE.v6].map((to, family) => ({
              tenant,
              from: endOf(tenant, pod).namespace,
              to,
              port: SERVER_PORT,
              expected: `outside saw ${nodeAddresses(PODS[pod])[family]}`,
            })),
          ),
        ),
        serverAndPeer,
      );
    });

    test('nobody outside reaches a pod at its own address, also by way of its node', async () => {
      const [via4, via6] = nodeAddresses('n1');
      for (const { subnet } of withNetwork)
        for (const route of [`10.${subnet}.0.0/16 via ${via4}`, `fd${subnet}::/48 via ${via6}`])
          await outputInside(lab.record, `ip -n ext route replace ${route}`.split(' '));
      await prove(
        'closed to the outside',
        withNetwork.flatMap((tenant) =>
          fromOutside(tenant, endOf(tenant, 'on-n1').addresses, SERVER_PORT, () => NOBODY),
        ),
      );
    });

    test('a cluster IP is answered by the pod behind it, from the node of that pod and from others', async () => {
      await prove(
        'cluster IP',
        TENANTS.flatMap((tenant) =>
          (['on-n1', 'beside', 'on-n2', 'on-n3'] as const).flatMap((pod) =>
            toService(tenant, pod, 'all', podKey(tenant, 'on-n2')),
          ),
        ),
      );
    });

    test('a pod reaches itself behind a cluster IP', async () => {
      await prove(
        'hairpin',
        TENANTS.flatMap((tenant) =>
          toService(tenant, 'on-n2', 'local', podKey(tenant, 'on-n2'), ['tcp']),
        ),
      );
    });

    test('the cluster IP of a network is not answered in another one', async () => {
      await prove(
        "not the others' cluster IPs",
        withNetwork.flatMap((tenant) =>
          TENANTS.filter((other) => other !== tenant)
            .flatMap((other) => clusterIps(other, 'all'))
            .map((to) => ({
              tenant,
              from: endOf(tenant, 'on-n1').namespace,
              to,
              port: 80,
              expected: NOBODY,
            })),
        ),
      );
    });

    test('the API server and DNS are reached, from networks of one’s own through a VRF where the kernel has them', async () => {
      const reached = (await hasVrfs(lab.record))
        ? TENANTS
        : TENANTS.filter(({ topology }) => topology === undefined);
      await prove(
        'API server and DNS',
        reached.flatMap((tenant) =>
          (['on-n1', 'on-n2'] as const).flatMap((pod) => {
            const from = endOf(tenant, pod).namespace;
            return [
              ...API.ips.map((to) => ({ tenant, from, to, port: 443, expected: API.node })),
              ...DNS.ips.flatMap((to) =>
                (['tcp', 'udp'] as const).map((protocol) => ({
                  tenant,
                  from,
                  to,
                  port: 80,
                  protocol,
                  expected: DNS.pod,
                })),
              ),
            ];
          }),
        ),
      );
    });

    test('with a local internal policy a cluster IP leads to the pods of the client’s node alone', async () => {
      await prove(
        'cluster IP, local',
        TENANTS.flatMap((tenant) => [
          ...toService(tenant, 'on-n2', 'inside', podKey(tenant, 'on-n2')),
          ...toService(tenant, 'on-n1', 'inside', NOBODY, ['tcp']),
          ...toService(tenant, 'on-n3', 'inside', NOBODY, ['tcp']),
        ]),
      );
    });

    test('connections to a cluster IP are spread over its pods; with session affinity a client keeps its one', async () => {
      const TIMES = 10;
      const waysTo = (service: ServiceName): Way[] =>
        TENANTS.flatMap((tenant) => toService(tenant, 'on-n1', service, '', ['tcp']));
      const askedOf = async (service: ServiceName): Promise<ReadonlyMap<string, Set<string>>> => {
        const ways = waysTo(service);
        const seen = new Map<string, Set<string>>();
        for (let time = 0; time < TIMES; time++) {
          const results = await ask(ways);
          for (const [n, { tenant, to }] of ways.entries()) {
            const key = `${tenant.name} ${to.includes(':') ? 'IPv6' : 'IPv4'}`;
            const servers = seen.get(key) ?? new Set();
            seen.set(key, servers.add(server(results[n] as ProbeResult)));
          }
        }
        return seen;
      };
      const behind = new Set(
        TENANTS.flatMap((tenant) =>
          (['on-n1', 'on-n2', 'on-n3'] as const).map((pod) => podKey(tenant, pod)),
        ),
      );
      const spread = await askedOf('spread');
      // OVN learns a client's pod from the first packet, and drops what is of that connection.
      await ask(waysTo('sticky'));
      const kept = await askedOf('sticky');
      for (const [name, found] of Object.entries({ spread, kept }))
        for (const [key, servers] of found) {
          const what = `${name}: ${key} by ${[...servers].join(' ')}`;
          expect(
            [...servers].filter((one) => !behind.has(one)),
            what,
          ).toEqual([]);
          expect(servers.size > 1, what).toBe(name === 'spread');
        }
      proved.set('spread over endpoints', TENANTS);
      proved.set('session affinity', TENANTS);
    });

    test('a node port is answered from outside at every node', async () => {
      await prove(
        'node port',
        TENANTS.flatMap((tenant) =>
          NODES.flatMap((node) =>
            fromOutside(tenant, nodeAddresses(node), nodePort(tenant), () =>
              podKey(tenant, 'on-n2'),
            ),
          ),
        ),
      );
    });

    test('a node port is answered in its own network, at every node', async () => {
      await prove(
        'node port, from pods',
        TENANTS.flatMap((tenant) =>
          (['on-n1', 'on-n3'] as const).flatMap((pod) =>
            NODES.flatMap((node) =>
              fromOutside(tenant, nodeAddresses(node), nodePort(tenant), () =>
                podKey(tenant, 'on-n2'),
              ).map((way) => ({ ...way, from: endOf(tenant, pod).namespace })),
            ),
          ),
        ),
      );
    });

    test('with a local external policy only where the pod is, and the pod sees who asks', async () => {
      const clients = [OUTSIDE.v4, OUTSIDE.v6];
      await prove(
        'node port, local',
        TENANTS.flatMap((tenant) =>
          NODES.flatMap((node) =>
            fromOutside(tenant, nodeAddresses(node), localPort(tenant), (family) =>
              node === 'n2' ? `${podKey(tenant, 'on-n2')} saw ${clients[family]}` : NOBODY,
            ),
          ),
        ),
        serverAndPeer,
      );
    });

    test('the address of a load balancer is answered by way of the node to which it leads', async () => {
      for (const tenant of TENANTS) {
        const route = `${balanced(tenant)}/32 via ${nodeAddresses('n2')[0]}`;
        await outputInside(lab.record, `ip -n ext route replace ${route}`.split(' '));
      }
      await prove(
        'load balancer',
        TENANTS.flatMap((tenant) =>
          fromOutside(
            tenant,
            [balanced(tenant)],
            80,
            () => `${podKey(tenant, 'on-n2')} saw ${OUTSIDE.v4}`,
          ),
        ),
        serverAndPeer,
      );
    });

    test('a network policy lets in whom it names, also at the service, and without it everybody is', async () => {
      const file = join(tenants.manifests, 'policies.yaml');
      const ways = (isClosed: boolean): Way[] =>
        TENANTS.flatMap((tenant) => {
          const open = podKey(tenant, 'on-n2');
          const others = isClosed ? NOBODY : open;
          return [
            ...toPod(tenant, 'on-n1', 'on-n2', open),
            ...toService(tenant, 'on-n1', 'all', open, ['tcp']),
            ...toPod(tenant, 'beside', 'on-n2', others),
            ...toPod(tenant, 'on-n3', 'on-n2', others),
            ...toService(tenant, 'on-n3', 'all', others, ['tcp']),
            ...toPod(tenant, 'on-n3', 'beside', podKey(tenant, 'beside')),
          ];
        });
      writeFileSync(file, manifest(TENANTS.map(policyObject)));
      try {
        await prove('network policy', ways(true));
      } finally {
        rmSync(file);
      }
      await prove('network policy taken back', ways(false));
    });

    test('a packet of the MTU passes between nodes, and a larger one is not sent', async () => {
      const works: Tenant[] = [];
      for (const tenant of TENANTS) {
        const { pod } = endOf(tenant, 'on-n1');
        const device = tenant.topology === undefined ? 'eth0' : 'ovn-udn1';
        const link = await outputInside(lab.record, ['pod', pod, 'ip', 'link', 'show', device]);
        const mtu = Number(/mtu (\d+)/.exec(link)?.[1]);
        for (const to of endOf(tenant, 'on-n2').addresses) {
          const headers = to.includes(':') ? 48 : 28;
          const ping = `ping -n -c 2 -i 0.2 -W 3 -M do`;
          const fits = await inPod(pod, `${ping} -s ${mtu - headers} ${to}`);
          expect(fits.code, `${tenant.name} ${to}: ${fits.stdout}${fits.stderr}`).toBe(0);
          const large = await inPod(pod, `${ping} -s ${mtu - headers + 1} ${to}`);
          expect(large.code, `${tenant.name} ${to}`).not.toBe(0);
          expect(large.stderr + large.stdout).toMatch(/too long|mtu/i);
        }
        works.push(tenant);
      }
      proved.set('MTU', works);
    });

    test('load balancers learn on each node whether it has endpoints, and follow endpoints that move', async () => {
      const none = TENANTS.map(() => '503 0');
      const one = TENANTS.map(() => '200 1');
      await expect.poll(() => health('n2'), SOON).toEqual(one);
      expect(await health('n1')).toEqual(none);
      writeSlices('on-n1');
      await expect.poll(() => health('n1'), SOON).toEqual(one);
      await expect.poll(() => health('n2'), SOON).toEqual(none);
      await prove(
        'endpoints that move',
        TENANTS.flatMap((tenant) => [
          ...toService(tenant, 'on-n3', 'all', podKey(tenant, 'on-n1')),
          ...fromOutside(tenant, nodeAddresses('n1'), localPort(tenant), () =>
            podKey(tenant, 'on-n1'),
          ),
        ]),
      );
    });

    test('services that are gone are answered nowhere', async () => {
      rmSync(join(tenants.manifests, 'services.yaml'));
      await expect.poll(() => health('n1'), SOON).toEqual(TENANTS.map(() => NOBODY));
      await prove(
        'services that are gone',
        TENANTS.flatMap((tenant) => [
          ...toService(tenant, 'on-n3', 'all', NOBODY),
          ...NODES.flatMap((node) =>
            fromOutside(tenant, nodeAddresses(node), nodePort(tenant), () => NOBODY),
          ),
        ]),
      );
    });

    /** Status and number of endpoints that a load balancer gets from a node for each tenant. */
    async function health(node: NodeName): Promise<string[]> {
      const program = `
import json, sys, urllib.error, urllib.request
for port in sys.argv[2:]:
    try:
        with urllib.request.urlopen(f'http://{sys.argv[1]}:{port}/', timeout=3) as answer:
            print(answer.status, json.load(answer)['localEndpoints'])
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)['localEndpoints'])
    except OSError:
        print('${NOBODY}')
`;
      const ports = TENANTS.map((tenant) => String(healthPort(tenant)));
      const argv = ['ip', 'netns', 'exec', 'ext', 'python3', '-c', program];
      const text = await outputInside(lab.record, [...argv, nodeAddresses(node)[0], ...ports]);
      return text.trim().split('\n');
    }
  },
);
