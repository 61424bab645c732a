/**
 * What Kubernetes' own end-to-end cases ask of services, with packets, as far as the matrix of networks doesn't show it: on the cluster default
 * network and on a primary network at once.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { probe, type Endpoint, type Probe, type ProbeResult } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { DatagramSender } from '../support/host/datagram-sender.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { Tenants } from '../support/lab/tenants.ts';
import {
  NETWORKS,
  servePorts,
  spaceName,
  tableObjects,
  type NetworkName,
  type Place,
} from '../support/lab/truth-table.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 100 };
const SECONDS = 2;
const NOBODY = 'nobody';
/** Refused at once, so that nobody waits. */
const REFUSED = 'refused';

type Key = Place['key'];
interface Port {
  readonly name: string;
  readonly port: number;
  readonly protocol?: 'TCP' | 'UDP';
  readonly nodePort?: number;
}

/** Some endpoints with the numbers that ports have there. */
interface Slice {
  readonly ports: Readonly<Record<string, number>>;
  readonly endpoints: readonly (Key | readonly [Key, object])[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** A service of namespace x; a number tells its addresses and node ports from those of others. */
interface ServiceCase {
  readonly name?: string;
  readonly number: number;
  readonly ports?: readonly Port[];
  readonly spec?: object;
  readonly labels?: Readonly<Record<string, string>>;
  readonly slices: readonly Slice[];
}

/** Who asks, at which address, and who should answer: one of these, or nobody. */
interface Way {
  readonly from: Key | 'ext' | 'n1' | 'n2';
  readonly to: 'cluster' | 'n1' | 'n2' | 'n3' | { readonly ip: string };
  readonly port?: number;
  readonly protocol?: 'tcp' | 'udp';
  readonly number?: number;
  readonly answer: string | readonly string[];
}

const HTTP: Port = { name: 'http', port: 80 };
const READY = { ready: true, serving: true, terminating: false };
const ENDING = { ready: false, serving: true, terminating: true };
const ENDED = { ready: false, serving: false, terminating: true };
const UNREADY = { ready: false, serving: false, terminating: false };
const CLIENTS = ['y/a', 'y/c'] as const;

const networkNumber = (network: NetworkName): number => NETWORKS.indexOf(network);
const clusterIp = (network: NetworkName, number: number): string =>
  `172.16.1.${20 + 100 * networkNumber(network) + number}`;
/** Node ports of both networks are those of the same nodes. */
const onNode = (network: NetworkName, nodePort: number): number =>
  nodePort + 1000 * networkNumber(network);

/** Ports of the node that pods have: of x/a one at every address, of x/b by UDP, and at the loopback address that of y/b, which has it at its node's address alone. */
const HOST_PORT = 31_500;
function hostPortsOf(network: NetworkName, place: Key): readonly object[] {
  const port = { containerPort: 80, hostPort: onNode(network, HOST_PORT) };
  if (place === 'x/a') return [port];
  if (place === 'x/b')
    return [
      { ...port, protocol: 'UDP' },
      { ...port, hostIP: '127.0.0.1' },
    ];
  return place === 'y/b' ? [{ ...port, hostIP: nodeAddresses('n2')[0] }] : [];
}

/** Of the primary network, for services that have their addresses inside of it. */
const POOL = '198.18.5.0/28';

const text = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

describe.skipIf(whyNoLab !== undefined)(
  `services${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-services');
    let lab: TestLab;
    let tenants: Tenants;
    /** By namespace and pod. */
    let onNetwork: ReadonlyMap<string, Endpoint>;
    let onDefault: ReadonlyMap<string, Endpoint>;

    const endOf = (network: NetworkName, key: Key, from = onNetwork): Endpoint => {
      const [space, pod] = key.split('/');
      const found = from.get(`${spaceName(network, space as 'x')}/${pod}`);
      if (found === undefined) throw new Error(`${network} ${key} has no address`);
      return found;
    };

    const serviceObject = (network: NetworkName, one: ServiceCase): object => {
      const ports = (one.ports ?? [HTTP]).map((port) => ({
        ...port,
        ...(port.nodePort === undefined ? {} : { nodePort: onNode(network, port.nodePort) }),
      }));
      const ip = clusterIp(network, one.number);
      return {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {
          namespace: spaceName(network, 'x'),
          name: one.name ?? 'case',
          labels: one.labels ?? {},
        },
        spec: { clusterIP: ip, clusterIPs: [ip], ports, ...one.spec },
      };
    };
    const sliceObjects = (network: NetworkName, one: ServiceCase): object[] =>
      one.slices.map(({ ports, endpoints, labels = {} }, n) => ({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          namespace: spaceName(network, 'x'),
          name: `${one.name ?? 'case'}-${n}`,
          labels: {
            'kubernetes.io/service-name': one.name ?? 'case',
            'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
            ...labels,
          },
        },
        addressType: 'IPv4',
        ports: (one.ports ?? [HTTP]).flatMap(({ name, protocol = 'TCP' }) =>
          ports[name] === undefined ? [] : [{ name, protocol, port: ports[name] }],
        ),
        endpoints: endpoints.map((endpoint) => {
          const [key, conditions] = typeof endpoint === 'string' ? [endpoint, READY] : endpoint;
          const end = endOf(network, key, onDefault);
          return {
            addresses: end.addresses.slice(0, 1),
            nodeName: end.node,
            conditions,
            targetRef: { kind: 'Pod', namespace: spaceName(network, 'x'), name: key.split('/')[1] },
          };
        }),
      }));

    const write = (...services: readonly ServiceCase[]): void => {
      const objects = NETWORKS.flatMap((network) =>
        services.flatMap((one) => [serviceObject(network, one), ...sliceObjects(network, one)]),
      );
      writeFileSync(join(tenants.manifests, 'services.yaml'), text(objects));
    };

    /** The node whose processes ask, a client outside, or a pod. */
    const probeOf = (network: NetworkName, number: number, way: Way): Probe => {
      const { from, to, port = 80, protocol = 'tcp' } = way;
      return {
        from: from.includes('/') ? endOf(network, from as Key).namespace : from,
        to:
          typeof to === 'object'
            ? to.ip
            : to === 'cluster'
              ? clusterIp(network, way.number ?? number)
              : nodeAddresses(to)[0],
        port: to === 'cluster' || typeof to === 'object' ? port : onNode(network, port),
        protocol,
        ping: false,
      };
    };
    /** Pod `x/a` for whichever network. */
    const whoAnswered = ({ answer, error }: ProbeResult): string => {
      if (answer !== null) return answer.server.replace(/^\w+-/, '');
      return error === 'Connection refused' ? REFUSED : NOBODY;
    };
    const ask = (number: number, ways: readonly Way[]): Promise<ProbeResult[]> =>
      probe(
        lab.record,
        NETWORKS.flatMap((network) => ways.map((way) => probeOf(network, number, way))),
        SECONDS,
      );

    /** Writes services, the first of which is asked, and sends packets until the answers are these. */
    async function expectAnswers(
      services: ServiceCase | readonly ServiceCase[],
      ways: readonly Way[],
    ): Promise<void> {
      const all = Array.isArray(services)
        ? (services as readonly ServiceCase[])
        : [services as ServiceCase];
      write(...all);
      const wrong = async (): Promise<string[]> => {
        const results = await ask(all[0]?.number ?? 0, ways);
        return NETWORKS.flatMap((network, n) =>
          ways.flatMap((way, index) => {
            const result = results[n * ways.length + index] as ProbeResult;
            const who = whoAnswered(result);
            const expected = [way.answer].flat();
            // Who is not answered may also be told so.
            if (expected.includes(who) || (who === REFUSED && expected.includes(NOBODY))) return [];
            const what = `${network}: ${way.from} ${way.protocol ?? 'tcp'} ${JSON.stringify(way.to)} ${way.port ?? ''}`;
            return [`${what}: ${who} instead of ${expected.join(' or ')}`];
          }),
        );
      };
      await expect.poll(wrong, SOON).toEqual([]);
    }
    const fromClients = (answer: Way['answer'], more: Partial<Way> = {}): Way[] =>
      CLIENTS.map((from) => ({ from, to: 'cluster', answer, ...more }));

    /** How many pods answer each network when one asks often. */
    async function answering(number: number, way: Omit<Way, 'answer'>): Promise<number[]> {
      const servers = NETWORKS.map(() => new Set<string>());
      for (let time = 0; time < 8; time++) {
        const ways = Array.from({ length: 2 }, () => ({ ...way, answer: '' }));
        const results = await ask(number, ways);
        for (const [n, result] of results.entries())
          servers[Math.floor(n / ways.length)]?.add(whoAnswered(result));
      }
      return servers.map(({ size }) => size);
    }

    beforeAll(async () => {
      const objects = tableObjects({}, hostPortsOf).replace(
        'metadata:\n  name: table\n',
        `metadata:\n  name: table\n  annotations: {k8s.ovn.org/service-pool: ${POOL}}\n`,
      );
      expect(objects).toContain(POOL);
      writeFileSync(join(folder, 'table.yaml'), objects);
      lab = await testLab('e2e-services');
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      const byPod = async (which: 'primary' | 'default'): Promise<ReadonlyMap<string, Endpoint>> =>
        new Map((await tenants.endpoints(which)).map((end) => [end.pod, end]));
      [onNetwork, onDefault] = [await byPod('primary'), await byPod('default')];
      await servePorts(tenants, [...onNetwork.values()]);
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('each port of a service leads to its endpoints, and ports come, change and go', async () => {
      const other: Port = { name: 'other', port: 81 };
      const two: ServiceCase = {
        number: 1,
        ports: [HTTP, other],
        slices: [
          { ports: { http: 80 }, endpoints: ['x/a'] },
          { ports: { other: 81 }, endpoints: ['x/b'] },
        ],
      };
      await expectAnswers(two, [...fromClients('x/a'), ...fromClients('x/b', { port: 81 })]);
      await expectAnswers({ ...two, ports: [HTTP] }, [
        ...fromClients('x/a'),
        ...fromClients(NOBODY, { port: 81 }),
      ]);
      await expectAnswers({ ...two, ports: [HTTP, { ...other, port: 82 }] }, [
        ...fromClients('x/a'),
        ...fromClients('x/b', { port: 82 }),
        ...fromClients(NOBODY, { port: 81 }),
      ]);
    });

    test('a port that pods call by its name is another number on each', async () => {
      const named: ServiceCase = {
        number: 2,
        slices: [
          { ports: { http: 80 }, endpoints: ['x/a'] },
          { ports: { http: 81 }, endpoints: ['x/c'] },
        ],
      };
      await expectAnswers(named, fromClients(['x/a', 'x/c']));
      await expect.poll(() => answering(2, { from: 'y/b', to: 'cluster' }), SOON).toEqual([2, 2]);
    });

    test('without endpoints a connection is refused at once: by pods, and at node ports; endpoints come one by one and go', async () => {
      const ports: Port[] = [
        { ...HTTP, nodePort: 30_103 },
        { name: 'udp', port: 80, protocol: 'UDP', nodePort: 30_103 },
      ];
      const having = (...endpoints: Key[]): ServiceCase => ({
        number: 3,
        ports,
        spec: { type: 'NodePort' },
        slices: endpoints.length === 0 ? [] : [{ ports: { http: 80, udp: 80 }, endpoints }],
      });
      const ways = (answer: Way['answer']): Way[] => [
        ...fromClients(answer),
        ...fromClients(answer, { protocol: 'udp' }),
        { from: 'ext', to: 'n1', port: 30_103, answer },
        { from: 'ext', to: 'n3', port: 30_103, protocol: 'udp', answer },
      ];
      await expectAnswers(having(), ways(REFUSED));
      await expectAnswers(having('x/a'), ways('x/a'));
      await expectAnswers(having('x/a', 'x/b'), ways(['x/a', 'x/b']));
      await expectAnswers(having('x/b'), ways('x/b'));
      await expectAnswers(having(), ways(REFUSED));
    });

    test('who sends datagrams without a pause, also before there is a service, is answered by the endpoint that it has', async () => {
      const nodePort = 30_115;
      const having = (endpoint: Key): ServiceCase => ({
        number: 15,
        ports: [{ name: 'udp', port: 80, protocol: 'UDP', nodePort }],
        spec: { type: 'NodePort' },
        slices: [{ ports: { udp: 80 }, endpoints: [endpoint] }],
      });
      const [node] = nodeAddresses('n1');
      await using senders = new AsyncDisposableStack();
      const sending = NETWORKS.flatMap((network, n) =>
        [
          {
            from: endOf(network, 'y/a').namespace,
            address: clusterIp(network, 15),
            port: 80,
            source: 4000,
          },
          { from: 'ext', address: node, port: onNode(network, nodePort), source: 4001 + n },
        ].map((datagrams) => ({
          network,
          way: `${datagrams.from} to ${datagrams.address}`,
          sender: senders.use(new DatagramSender(lab.record, datagrams)),
        })),
      );
      await expect.poll(() => sending.every(({ sender }) => sender.isSending), SOON).toBe(true);
      for (const endpoint of ['x/a', 'x/c', 'x/b'] as const) {
        write(having(endpoint));
        await expect
          .poll(() => sending.map(({ way, sender }) => `${way}: ${sender.answeredBy}`), SOON)
          .toEqual(
            sending.map(
              ({ way, network }) => `${way}: ${spaceName(network, 'x')}/${endpoint.split('/')[1]}`,
            ),
          );
      }
    });

    test('session affinity is switched on and off, at the cluster IP and at a node port', async () => {
      const kept = (sessionAffinity: string): ServiceCase => ({
        number: 4,
        ports: [{ ...HTTP, nodePort: 30_104 }],
        spec: { type: 'NodePort', sessionAffinity },
        slices: [{ ports: { http: 80 }, endpoints: ['x/a', 'x/b', 'x/c'] }],
      });
      const ways: Omit<Way, 'answer'>[] = [
        { from: 'y/a', to: 'cluster' },
        { from: 'ext', to: 'n2', port: 30_104 },
      ];
      for (const affinity of ['None', 'ClientIP', 'None']) {
        write(kept(affinity));
        for (const way of ways) {
          const several = async (): Promise<boolean[]> =>
            (await answering(4, way)).map((count) => count > 1);
          const isSeveral = affinity === 'None';
          await expect.poll(several, SOON).toEqual([isSeveral, isSeveral]);
        }
      }
    });

    test('a service changes its type: an external name, a cluster IP, a node port, an external name', async () => {
      const nodePort = 30_105;
      const of = (type: string, ports: readonly Port[] = [HTTP]): ServiceCase => ({
        number: 5,
        ports,
        spec:
          type === 'ExternalName'
            ? { type, externalName: 'example.org', clusterIP: undefined, clusterIPs: undefined }
            : { type },
        slices: [{ ports: { http: 80 }, endpoints: ['x/b'] }],
      });
      const ways = (cluster: string, node: string): Way[] => [
        ...fromClients(cluster),
        { from: 'ext', to: 'n1', port: nodePort, answer: node },
      ];
      await expectAnswers(of('ExternalName'), ways(NOBODY, NOBODY));
      await expectAnswers(of('ClusterIP'), ways('x/b', NOBODY));
      await expectAnswers(of('NodePort', [{ ...HTTP, nodePort }]), ways('x/b', 'x/b'));
      await expectAnswers(of('ExternalName'), ways(NOBODY, NOBODY));
    });

    test('one number is a node port of a service by TCP and of another one by UDP', async () => {
      const nodePort = 30_106;
      const udp: Port = { name: 'udp', port: 80, protocol: 'UDP', nodePort };
      const spec = { type: 'NodePort' };
      const services: ServiceCase[] = [
        {
          number: 6,
          ports: [{ ...HTTP, nodePort }],
          spec,
          slices: [{ ports: { http: 80 }, endpoints: ['x/a'] }],
        },
        {
          name: 'udp',
          number: 7,
          ports: [udp],
          spec,
          slices: [{ ports: { udp: 80 }, endpoints: ['x/b'] }],
        },
      ];
      await expectAnswers(
        services,
        (['n1', 'n3'] as const).flatMap((to): Way[] => [
          { from: 'ext', to, port: nodePort, answer: 'x/a' },
          { from: 'ext', to, port: nodePort, protocol: 'udp', answer: 'x/b' },
        ]),
      );
    });

    test('endpoints that are not ready answer where the service wants that, ending ones while nobody is ready', async () => {
      const having = (endpoints: Slice['endpoints'], spec: object = {}): ServiceCase => ({
        number: 8,
        spec,
        slices: [{ ports: { http: 80 }, endpoints }],
      });
      const publish = { publishNotReadyAddresses: true };
      await expectAnswers(having([['x/a', UNREADY]]), fromClients(REFUSED));
      await expectAnswers(having([['x/a', UNREADY]], publish), fromClients('x/a'));
      await expectAnswers(having([['x/a', ENDED]], publish), fromClients('x/a'));
      await expectAnswers(having([['x/a', ENDED]]), fromClients(REFUSED));
      await expectAnswers(having([['x/a', ENDING], 'x/b']), fromClients('x/b'));
      await expectAnswers(having([['x/a', ENDING]]), fromClients('x/a'));
    });

    test('with local policies an ending endpoint of the node answers while none of the node is ready', async () => {
      const nodePort = 30_109;
      const ending: ServiceCase = {
        number: 9,
        ports: [{ ...HTTP, nodePort }],
        spec: { type: 'NodePort', internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' },
        slices: [{ ports: { http: 80 }, endpoints: [['x/a', ENDING], 'x/b'] }],
      };
      await expectAnswers(ending, [
        { from: 'y/a', to: 'cluster', answer: 'x/a' },
        { from: 'y/b', to: 'cluster', answer: 'x/b' },
        { from: 'y/c', to: 'cluster', answer: NOBODY },
        { from: 'ext', to: 'n1', port: nodePort, answer: 'x/a' },
        { from: 'ext', to: 'n2', port: nodePort, answer: 'x/b' },
        { from: 'ext', to: 'n3', port: nodePort, answer: NOBODY },
      ]);
    });

    test('processes of a node reach it by its cluster address, and by its node port at every node', async () => {
      const nodePort = 30_115;
      const one: ServiceCase = {
        number: 15,
        ports: [{ ...HTTP, nodePort }],
        spec: { type: 'NodePort' },
        slices: [{ ports: { http: 80 }, endpoints: ['x/a'] }],
      };
      await expectAnswers(one, [
        { from: 'n1', to: 'cluster', answer: 'x/a' },
        { from: 'n2', to: 'cluster', answer: 'x/a' },
        { from: 'n1', to: 'n1', port: nodePort, answer: 'x/a' },
        { from: 'n2', to: 'n2', port: nodePort, answer: 'x/a' },
        { from: 'n1', to: 'n2', port: nodePort, answer: 'x/a' },
      ]);
    });

    test.each(['service.kubernetes.io/headless', 'service.kubernetes.io/service-proxy-name'])(
      'a service that is labelled %s is not served, until the label is gone',
      async (label) => {
        const plain: ServiceCase = {
          number: 10,
          slices: [{ ports: { http: 80 }, endpoints: ['x/c'] }],
        };
        await expectAnswers(plain, fromClients('x/c'));
        await expectAnswers({ ...plain, labels: { [label]: 'other' } }, fromClients(NOBODY));
        await expectAnswers(plain, fromClients('x/c'));
      },
    );

    test('without a selector, with a slice that somebody made, a service leads outside of the cluster: from pods and from hosts, on either network', async () => {
      const [name, number] = ['database', 14];
      const ways = [...CLIENTS, 'n1' as const].map((from): Way => ({
        from,
        to: 'cluster',
        answer: 'outside',
      }));
      const slices = NETWORKS.map((network) => ({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          namespace: spaceName(network, 'x'),
          name,
          labels: { 'kubernetes.io/service-name': name },
        },
        addressType: 'IPv4',
        ports: [{ name: HTTP.name, port: SERVER_PORT }],
        endpoints: [{ addresses: [OUTSIDE.v4] }],
      }));
      const services = NETWORKS.map((network) =>
        serviceObject(network, { name, number, slices: [] }),
      );
      await serveOutward(lab.record);
      writeFileSync(join(tenants.manifests, 'services.yaml'), text([...services, ...slices]));
      const answers = async (): Promise<readonly string[]> =>
        (await ask(number, ways)).map((result) => whoAnswered(result));
      await expect
        .poll(answers, SOON)
        .toEqual(NETWORKS.flatMap(() => ways.map((way) => way.answer)));
    });

    test('a pod of one network does not get to the cluster address of a service on another one, nor do pods of the default network', async () => {
      const slices: Slice[] = [{ ports: { http: 80 }, endpoints: ['x/a'] }];
      await expectAnswers({ number: 15, slices }, fromClients('x/a'));
      const probes = NETWORKS.map((network, n): Probe => {
        const other = NETWORKS[1 - n] as NetworkName;
        const to = clusterIp(other, 15);
        return { from: endOf(network, 'y/a').namespace, to, port: 80, ping: false };
      });
      const answers = await probe(lab.record, probes, SECONDS);
      expect(answers.map((result) => result.answer)).toEqual([null, null]);
    });

    test('a service that was made anew answers at its new address, and no longer at the old one', async () => {
      const slices: Slice[] = [{ ports: { http: 80 }, endpoints: ['x/a'] }];
      await expectAnswers({ number: 11, slices }, fromClients('x/a'));
      await expectAnswers({ number: 12, slices }, [
        ...fromClients('x/a'),
        ...fromClients(NOBODY, { number: 11 }),
      ]);
    });

    test('an external address of no node is answered from outside and by pods; without endpoints it is refused at once', async () => {
      const ip = '203.0.113.50';
      await outputInside(
        lab.record,
        `ip -n ext route replace ${ip}/32 via ${nodeAddresses('n1')[0]}`.split(' '),
      );
      for (const port of [80, 81]) {
        // Both networks can't have one address: each on a port of its own.
        const having = (...endpoints: Key[]): ServiceCase => ({
          number: 13,
          ports: [
            { ...HTTP, port },
            { name: 'udp', port, protocol: 'UDP' },
          ],
          spec: { externalIPs: [ip] },
          slices: endpoints.length === 0 ? [] : [{ ports: { http: 80, udp: 80 }, endpoints }],
        });
        const network = NETWORKS[port - 80] as NetworkName;
        const ways = ['ext', endOf(network, 'y/c').namespace].flatMap((from) =>
          (['tcp', 'udp'] as const).map((protocol): Probe => ({
            from,
            to: ip,
            port,
            protocol,
            ping: false,
          })),
        );
        for (const one of [having('x/b'), having()]) {
          writeFileSync(
            join(tenants.manifests, 'services.yaml'),
            text([serviceObject(network, one), ...sliceObjects(network, one)]),
          );
          const who = async (): Promise<string[]> =>
            (await probe(lab.record, ways, SECONDS)).map(
              (result, n) => `${ways[n]?.from} ${ways[n]?.protocol} ${whoAnswered(result)}`,
            );
          const answer = ({ from, protocol }: Probe): string => {
            if (one.slices.length > 0) return 'x/b';
            // OVN gives its reset the address of the gateway router (lb_force_snat_ip), of which the client knows nothing.
            return from === 'ext' && protocol === 'tcp' ? NOBODY : REFUSED;
          };
          await expect
            .poll(who, SOON)
            .toEqual(ways.map((way) => `${way.from} ${way.protocol} ${answer(way)}`));
        }
      }
    });

    test('an address of the pool of a network is answered by its pods, on every node, and by pods of no other', async () => {
      const ip = '198.18.5.7';
      const one: ServiceCase = {
        number: 14,
        ports: [HTTP, { name: 'udp', port: 80, protocol: 'UDP' }],
        spec: {
          type: 'LoadBalancer',
          loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
          loadBalancerIP: ip,
          allocateLoadBalancerNodePorts: false,
          // Whoever asks is a pod: neither policy is about that.
          internalTrafficPolicy: 'Local',
          externalTrafficPolicy: 'Local',
        },
        slices: [{ ports: { http: 80, udp: 80 }, endpoints: ['x/b'] }],
      };
      write(one);
      const expected = new Map<string, string>();
      const probes: Probe[] = [];
      const asks = (from: string, who: string, port = 80): void => {
        for (const protocol of ['tcp', 'udp'] as const) {
          probes.push({ from, to: ip, port, protocol, ping: false });
          expected.set(`${from} ${protocol} ${port}`, who);
        }
      };
      for (const key of ['x/a', 'x/b', 'x/c', 'y/a', 'y/b', 'y/c'] as const)
        asks(endOf('primary', key).namespace, 'x/b');
      asks(endOf('primary', 'y/a').namespace, NOBODY, 81);
      for (const from of [endOf('default', 'y/a').namespace, 'ext', 'n1']) asks(from, NOBODY);
      const who = async (): Promise<ReadonlyMap<string, string>> =>
        new Map(
          (await probe(lab.record, probes, SECONDS)).map((result, n) => {
            const { from, protocol, port } = probes[n] as Probe;
            return [`${from} ${protocol} ${port}`, whoAnswered(result)] as const;
          }),
        );
      await expect.poll(who, SOON).toEqual(expected);
      // Two networks have nothing in common by it: the default network's service has no pool.
      write();
      for (const key of expected.keys()) expected.set(key, NOBODY);
      await expect.poll(who, SOON).toEqual(expected);
    });

    test('a port of the node leads to the pod that has it: from outside, from pods and from hosts; who asks from outside is seen', async () => {
      write();
      const port = HOST_PORT;
      const ways: Way[] = [
        { from: 'ext', to: 'n1', port, answer: 'x/a' },
        { from: 'y/c', to: 'n1', port, answer: 'x/a' },
        { from: 'n2', to: 'n1', port, answer: 'x/a' },
        { from: 'x/a', to: 'n1', port, answer: 'x/a' },
        { from: 'ext', to: 'n1', port, protocol: 'udp', answer: NOBODY },
        { from: 'ext', to: 'n2', port, answer: 'y/b' },
        { from: 'ext', to: 'n2', port, protocol: 'udp', answer: 'x/b' },
        { from: 'y/b', to: 'n2', port, protocol: 'udp', answer: 'x/b' },
        { from: 'ext', to: 'n3', port, answer: NOBODY },
        { from: 'n1', to: 'n1', port, answer: 'x/a' },
        { from: 'n2', to: 'n2', port, answer: 'y/b' },
        { from: 'n2', to: 'n2', port, protocol: 'udp', answer: 'x/b' },
      ];
      await expectAnswers([], ways);
      const [seen] = await ask(0, ways.slice(0, 1));
      expect(seen?.answer?.peer).toBe(OUTSIDE.v4);
    });

    test('a pod behind a cluster IP sees the address of the pod that asks', async () => {
      write({ number: 14, slices: [{ ports: { http: 80 }, endpoints: ['x/b'] }] });
      const seen = async (): Promise<(string | undefined)[]> =>
        (await ask(14, fromClients('x/b'))).map(({ answer }) => answer?.peer);
      const clients = NETWORKS.flatMap((network) =>
        CLIENTS.map((key) => endOf(network, key).addresses[0]),
      );
      await expect.poll(seen, SOON).toEqual(clients);
    });
  },
);
