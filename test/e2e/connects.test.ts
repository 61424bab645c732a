import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { whileAsking } from '../support/lab/request-loop.ts';
import { Tenants } from '../support/lab/tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 300 };
/** A packet that a busy machine drops once is sent again: so many of a way may be late. */
const LATE = 2;
const FIXTURES = join(import.meta.dirname, 'fixtures/connects');
const [BLUE_IP, RED_IP] = ['172.16.1.80', '172.16.1.81'];

const service = (namespace: string, ip: string, nodePort?: number): string => `apiVersion: v1
kind: Service
metadata: { name: web, namespace: ${namespace} }
spec:
  type: ${nodePort === undefined ? 'ClusterIP' : 'NodePort'}
  clusterIP: ${ip}
  clusterIPs: [${ip}]
  selector: { role: server }
  ports: [{ port: 80, targetPort: ${SERVER_PORT}, protocol: TCP${nodePort === undefined ? '' : `, nodePort: ${nodePort}`} }]
`;
/** As Kubernetes writes it: with addresses on the default network. */
const slice = (namespace: string, pods: readonly (readonly [string, string])[]): string => `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  namespace: ${namespace}
  labels:
    kubernetes.io/service-name: web
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
addressType: IPv4
ports: [{ name: "", port: ${SERVER_PORT}, protocol: TCP }]
endpoints:
${pods
  .map(
    ([name, nodeName], index) => `  - addresses: [10.128.0.${200 + index}]
    nodeName: ${nodeName}
    conditions: { ready: true }
    targetRef: { kind: Pod, namespace: ${namespace}, name: ${name} }
`,
  )
  .join('')}`;

/** A connection of ClusterUserDefinedNetworks with these colors, and of blue's networks. */
const connect = (
  name: string,
  range: string,
  colors: readonly string[],
  connectivity = 'PodNetwork, ServiceNetwork',
): string => `apiVersion: k8s.ovn.org/v1
kind: ClusterNetworkConnect
metadata: { name: ${name} }
spec:
  connectSubnets: [{ cidr: ${range}, networkPrefix: 24 }]
  connectivity: [${connectivity}]
  networkSelectors:
    - networkSelectionType: ClusterUserDefinedNetworks
      clusterUserDefinedNetworkSelector:
        networkSelector: { matchExpressions: [{ key: color, operator: In, values: [${colors.join(', ')}] }] }
    - networkSelectionType: PrimaryUserDefinedNetworks
      primaryUserDefinedNetworkSelector:
        namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: blue } }
`;

const POLICY = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: from-west, namespace: blue }
spec:
  podSelector: { matchLabels: { role: server } }
  policyTypes: [Ingress]
  ingress:
    - from:
        - namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: west } }
        - podSelector: { matchLabels: { role: client } }
`;

describe.skipIf(whyNoLab !== undefined)(
  `networks that meet${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    const end = (pod: string): Endpoint => {
      const found = ends.find((one) => one.pod === pod);
      if (found === undefined) throw new Error(`${pod} has no interface`);
      return found;
    };
    const at = (pod: string): string => end(pod).addresses[0] ?? '';
    const answer = async (from: string, to: string, port = SERVER_PORT): Promise<string | null> => {
      const [result] = await probe(lab.record, [{ from: end(from).namespace, to, port }], 3);
      return result?.answer?.server ?? null;
    };
    const reaches = async (from: string, to: string): Promise<boolean> =>
      (await answer(from, at(to))) === to;
    const declare = (file: string, text: string): void =>
      writeFileSync(join(tenants.manifests, file), text);
    const withdraw = (file: string): void => rmSync(join(tenants.manifests, file), { force: true });
    const colorOf = (pod: string): string =>
      /^(east|west)\//.test(pod) ? 'yellow' : (pod.split('/')[0] ?? '');

    beforeAll(async () => {
      lab = await testLab('e2e-connects');
      tenants = new Tenants(lab.record, { folder: FIXTURES });
      await tenants.start();
      ends = await tenants.endpoints();
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    describe('several primary networks of one namespace', () => {
      test('a pod is on the one that it asks for, else on the first one', () => {
        expect(
          ends
            .filter(({ pod }) => pod.startsWith('blue/'))
            .map(({ pod, nadKey }) => `${pod} ${nadKey}`)
            .sort(),
        ).toEqual([
          'blue/any-2 blue/more',
          'blue/more-1 blue/more',
          'blue/more-3 blue/more',
          'blue/web-1 blue/net',
          'blue/web-2 blue/net',
        ]);
      });

      test('of namespaces that share several a pod is on the one that it asks for, too', () => {
        expect(
          ends
            .filter(({ pod }) => /^(east|west)\//.test(pod))
            .map(({ pod, nadKey }) => `${pod} ${nadKey}`)
            .sort(),
        ).toEqual([
          'east/more-1 east/yellow-more',
          'east/web-1 east/yellow',
          'west/more-3 west/yellow-more',
          'west/web-2 west/yellow',
          'west/web-3 west/yellow',
        ]);
      });

      test('a pod of a namespace without the label is on the default network alone, whatever it asks for', async () => {
        expect(
          ends
            .filter(({ pod }) => pod.startsWith('plain/'))
            .map(({ pod, nadKey }) => [pod, nadKey]),
        ).toEqual([
          ['plain/asks-1', 'default'],
          ['plain/asks-2', 'default'],
        ]);
        const devices = ['pod', 'plain/asks-1', 'ls', '/sys/class/net'];
        expect((await outputInside(lab.record, devices)).split(/\s+/)).not.toContain('ovn-udn1');
      });

      test('its pods reach each other, whichever they are on, and no other namespace', async () => {
        expect(await tenants.unexpectedBy((from, to) => colorOf(from) === colorOf(to))).toEqual([]);
      });

      test('each pod has the default route of its own network', async () => {
        const routeOf = async (pod: string): Promise<string | undefined> =>
          /default via (\S+)/.exec(
            await outputInside(lab.record, ['pod', pod, 'ip', '-4', 'route', 'show', 'default']),
          )?.[1];
        expect(await routeOf('blue/more-1')).toBe('10.21.0.1');
        expect(await routeOf('blue/web-1')).toBe(at('blue/web-1').replace(/\d+$/, '1'));
      });

      test('a service is reached from all of them with its endpoints on all', async () => {
        declare('service.yaml', service('blue', BLUE_IP) + slice('blue', [['more-3', 'n3']]));
        for (const pod of ['blue/web-1', 'blue/web-2', 'blue/more-1'])
          await expect.poll(() => answer(pod, BLUE_IP, 80), SOON).toBe('blue/more-3');
        declare('service.yaml', service('blue', BLUE_IP) + slice('blue', [['web-1', 'n1']]));
        for (const pod of ['blue/web-2', 'blue/more-1', 'blue/more-3'])
          await expect.poll(() => answer(pod, BLUE_IP, 80), SOON).toBe('blue/web-1');
        expect(await answer('west/web-3', BLUE_IP, 80)).toBeNull();
      });

      test('from outside it is reached at every node, on one of the networks alone', async () => {
        const nodePort = 30_080;
        const endpoints = [
          ['web-1', 'n1'],
          ['more-3', 'n3'],
        ] as const;
        declare('service.yaml', service('blue', BLUE_IP, nodePort) + slice('blue', endpoints));
        const atNodes = async (): Promise<readonly (string | undefined)[]> => {
          const ways = ['172.18.0.11', '172.18.0.12', '172.18.0.13'].flatMap((to) =>
            Array.from({ length: 6 }, () => ({ from: 'ext', to, port: nodePort, ping: false })),
          );
          const results = await probe(lab.record, ways, 3);
          return results.map(({ answer: found }) => found?.server);
        };
        const entry = new Set(['blue/web-1', 'blue/more-3']);
        // Each network has one endpoint: whichever is asked at first is asked ever after.
        await expect
          .poll(async () => [...new Set(await atNodes())], SOON)
          .toEqual([expect.toSatisfy((server: string) => entry.has(server))]);
        // A pod of another network asks like anybody outside, at other nodes than its own.
        for (const node of ['172.18.0.11', '172.18.0.12'])
          await expect
            .poll(() => answer('west/web-3', node, nodePort), SOON)
            .toSatisfy((server: string) => entry.has(server));
        declare('service.yaml', service('blue', BLUE_IP) + slice('blue', [['web-1', 'n1']]));
        await expect.poll(() => answer('blue/more-3', BLUE_IP, 80), SOON).toBe('blue/web-1');
      });

      test('a policy lets in peers of both, and nobody else', async () => {
        declare('policy.yaml', POLICY);
        await expect.poll(() => reaches('blue/more-3', 'blue/web-1'), SOON).toBe(false);
        expect(await reaches('blue/more-1', 'blue/web-1')).toBe(true);
        expect(await reaches('blue/web-2', 'blue/more-3')).toBe(true);
        expect(await reaches('blue/web-1', 'blue/more-3')).toBe(false);
        withdraw('policy.yaml');
        await expect.poll(() => reaches('blue/more-3', 'blue/web-1'), SOON).toBe(true);
      });
    });

    describe('a connection, asked all the time', () => {
      /** Ways that stay open as long as blue and yellow are connected. */
      const open = () =>
        [
          ['blue/web-1', at('west/web-3'), SERVER_PORT],
          ['blue/more-3', at('west/web-2'), SERVER_PORT],
          ['west/web-3', at('blue/web-1'), SERVER_PORT],
          ['east/web-1', BLUE_IP, 80],
        ] as const;
      /** Ways that are never open: red is connected with blue at times, and never with yellow. */
      const closed = () =>
        [
          ['west/web-3', at('red/web-1'), SERVER_PORT],
          ['red/web-3', at('east/web-1'), SERVER_PORT],
          ['west/web-2', RED_IP, 80],
        ] as const;
      const isNobody = (who: string): boolean => who.startsWith('nobody');
      const lost = (answers: Record<string, Record<string, number>>): string[] =>
        Object.entries(answers).flatMap(([way, seen]) =>
          Object.keys(seen).some(isNobody) || (seen['late'] ?? 0) > LATE
            ? [`${way} ${JSON.stringify(seen)}`]
            : [],
        );
      const nothing = (answers: Record<string, Record<string, number>>): string[] =>
        Object.entries(answers).flatMap(([way, seen]) =>
          Object.keys(seen).every(isNobody) ? [] : [`${way} ${JSON.stringify(seen)}`],
        );

      test('loses nothing that stays connected, and lets nothing through that is not', async () => {
        // A second try begins where the first one did.
        for (const file of ['connect.yaml', 'other.yaml']) withdraw(file);
        declare('red-service.yaml', service('red', RED_IP) + slice('red', [['web-3', 'n3']]));
        await expect.poll(() => answer('red/web-1', RED_IP, 80), SOON).toBe('red/web-3');
        await expect.poll(() => reaches('blue/web-1', 'west/web-3'), SOON).toBe(false);
        declare('connect.yaml', connect('meeting', '192.168.0.0/16', ['yellow']));
        for (const [from, to, port] of open())
          await expect.poll(() => answer(from, to, port), SOON).not.toBeNull();
        const answers = await whileAsking(lab.record, [...open(), ...closed()], async () => {
          // A second connection, which shares blue: red is reached from there, and from nowhere else.
          declare('other.yaml', connect('other', '192.169.0.0/16', ['red']));
          await expect.poll(() => reaches('blue/web-2', 'red/web-3'), SOON).toBe(true);
          await expect.poll(() => answer('blue/more-1', RED_IP, 80), SOON).toBe('red/web-3');
          withdraw('other.yaml');
          await expect.poll(() => reaches('blue/web-2', 'red/web-3'), SOON).toBe(false);
        });
        expect(nothing(Object.fromEntries(Object.entries(answers).slice(open().length)))).toEqual(
          [],
        );
        const opened = Object.fromEntries(Object.entries(answers).slice(0, open().length));
        expect(lost(opened)).toEqual([]);
        expect(Object.values(opened).map((seen) => Object.keys(seen)[0])).toEqual(
          open().map(([, to]) =>
            to === BLUE_IP ? 'blue/web-1' : ends.find(({ addresses }) => addresses[0] === to)?.pod,
          ),
        );
      });

      test('a network that joins and leaves disturbs nobody else', async () => {
        const answers = await whileAsking(lab.record, open(), async () => {
          declare('connect.yaml', connect('meeting', '192.168.0.0/16', ['yellow', 'red']));
          await expect.poll(() => reaches('red/web-3', 'west/web-3'), SOON).toBe(true);
          expect(await reaches('red/web-1', 'blue/more-3')).toBe(true);
          declare('connect.yaml', connect('meeting', '192.168.0.0/16', ['yellow']));
          await expect.poll(() => reaches('red/web-3', 'west/web-3'), SOON).toBe(false);
        });
        expect(lost(answers)).toEqual([]);
      });

      test('of two connections of one pair each keeps it connected when the other one goes', async () => {
        const ranges = { 'connect.yaml': '192.168.', 'other.yaml': '192.169.' } as const;
        const first = connect('meeting', '192.168.0.0/16', ['yellow']);
        /** Whether there are links of the connection of that file on a node. */
        const hasLinks = async (file: keyof typeof ranges): Promise<boolean> =>
          (await tenants.rows('n1', 'OVN_Northbound', ['Logical_Router_Port'])).some((row) =>
            row.includes(ranges[file]),
          );
        const answers = await whileAsking(lab.record, [...open(), ...closed()], async () => {
          declare('other.yaml', connect('other', '192.169.0.0/16', ['yellow']));
          await expect.poll(() => hasLinks('other.yaml'), SOON).toBe(true);
          withdraw('connect.yaml');
          await expect.poll(() => hasLinks('connect.yaml'), SOON).toBe(false);
          expect(await reaches('blue/web-1', 'west/web-3')).toBe(true);
          declare('connect.yaml', first);
          await expect.poll(() => hasLinks('connect.yaml'), SOON).toBe(true);
          withdraw('other.yaml');
          await expect.poll(() => hasLinks('other.yaml'), SOON).toBe(false);
        });
        const entries = Object.entries(answers);
        expect(lost(Object.fromEntries(entries.slice(0, open().length)))).toEqual([]);
        expect(nothing(Object.fromEntries(entries.slice(open().length)))).toEqual([]);
      });

      test('a policy is for peers on connected networks, too', async () => {
        declare('policy.yaml', POLICY);
        await expect.poll(() => reaches('east/web-1', 'blue/web-1'), SOON).toBe(false);
        expect(await reaches('west/web-3', 'blue/web-1')).toBe(true);
        expect(await reaches('west/web-2', 'blue/more-3')).toBe(true);
        withdraw('policy.yaml');
        await expect.poll(() => reaches('east/web-1', 'blue/web-1'), SOON).toBe(true);
      });

      test('with services alone, services go on and pods are closed; the namespace of several networks stays one', async () => {
        const services = [
          ['east/web-1', BLUE_IP, 80],
          ['west/web-3', BLUE_IP, 80],
        ] as const;
        const within = [
          ['blue/web-1', at('blue/more-3'), SERVER_PORT],
          ['blue/more-1', at('blue/more-3'), SERVER_PORT],
          ['blue/web-2', at('blue/web-1'), SERVER_PORT],
        ] as const;
        // A second try begins where the first one did.
        declare('connect.yaml', connect('meeting', '192.168.0.0/16', ['yellow']));
        await expect.poll(() => reaches('west/web-3', 'blue/web-1'), SOON).toBe(true);
        const answers = await whileAsking(lab.record, [...services, ...within], async () => {
          declare(
            'connect.yaml',
            connect('meeting', '192.168.0.0/16', ['yellow'], 'ServiceNetwork'),
          );
          await expect.poll(() => reaches('west/web-3', 'blue/web-1'), SOON).toBe(false);
          expect(await reaches('blue/web-1', 'west/web-3')).toBe(false);
        });
        expect(lost(answers)).toEqual([]);
      });

      test('after its end nothing passes, and nothing is left', async () => {
        withdraw('connect.yaml');
        await expect.poll(() => answer('west/web-3', BLUE_IP, 80), SOON).toBeNull();
        expect(await tenants.unexpectedBy((from, to) => colorOf(from) === colorOf(to))).toEqual([]);
        expect(await tenants.mentions('connect_router')).toEqual([]);
      });
    });
  },
);
