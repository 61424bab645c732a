/** Services on secondary networks with a gateway, with packets: where they are reached from, and by whom. */
import { beforeAll, describe, expect, test } from 'vitest';
import { probe, type Probe } from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { PORTS, service, sliceObjects } from './matrix-tenants.ts';
import { proofOf } from './proof.ts';
import { NODE, SOON, type SecondaryLab } from './secondary-lab.ts';

/** Networks `out` and `flat` of `alpha` have a gateway and pools 198.18.7.0/28 and 198.18.7.16/28; `side` of `gamma` has one beside a primary network. */
export function describeSecondaryServices(started: () => SecondaryLab): void {
  describe('a service on a secondary network with a gateway', () => {
    let lab: SecondaryLab;
    beforeAll(() => {
      lab = started();
    });
    /** A network with a gateway, the pod on n1 that asks, and the pod behind the services. */
    const NETWORKS = [
      { name: 'out', client: 'alpha/one', server: 'alpha/two', node: 'n2', number: 50 },
      { name: 'flat', client: 'alpha/four', server: 'alpha/three', node: 'n3', number: 52 },
    ] as const;
    const NAMED = 'k8s.v1.cni.cncf.io/service-network';
    const ips = (number: number): string[] => [`172.16.1.${number}`, `fd00:10:96::${number}`];
    const port = (number: number): number => 30_200 + number;
    /** Of the load balancer; the outside host has routes to them by n1. */
    const external = (number: number): string[] => [`203.0.113.${number}`, `2001:db8::${number}`];
    const onNetwork = (object: object, network: string): object => {
      const { metadata } = object as { metadata: object };
      return { ...object, metadata: { ...metadata, annotations: { [NAMED]: network } } };
    };
    const of = (key: string, pods: Readonly<Record<string, string>>): object[] =>
      sliceObjects(
        key,
        Object.entries(pods).map(([pod, node]) => ({
          pod,
          node,
          addresses: lab.end(pod, 'default').addresses,
        })),
      );
    /** One that has an address of its network's pool, and its key and that address. */
    const pooled = ({ name, server, node, number }: (typeof NETWORKS)[number]) => {
      const key = `alpha/${name}-pool`;
      const at = `198.18.7.${name === 'out' ? 5 : 21}`;
      const one = service(key, ips(number + 4), {
        type: 'LoadBalancer',
        loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
        loadBalancerIP: at,
        allocateLoadBalancerNodePorts: false,
        ports: PORTS,
      });
      return { at, objects: [onNetwork(one, name), ...of(key, { [server]: node })] };
    };
    /** `network`: as the annotation says it; absent: without. */
    const objects = (network?: (name: string) => string): object[] =>
      NETWORKS.flatMap(({ name, client, server, node, number }) => {
        const made = (suffix: string, at: number, spec: object, both = false): object[] => {
          const key = `alpha/${name}${suffix}`;
          const ingress = external(at).map((ip) => ({ ip }));
          const one = service(
            key,
            ips(at),
            {
              type: 'LoadBalancer',
              ports: PORTS.map((known) => ({ ...known, nodePort: port(at) })),
              ...spec,
            },
            { loadBalancer: { ingress } },
          );
          return [
            network === undefined ? one : onNetwork(one, network(name)),
            ...of(key, { [server]: node, ...(both ? { [client]: 'n1' } : {}) }),
          ];
        };
        return [
          ...made('', number, {}),
          ...made(
            '-local',
            number + 1,
            {
              externalTrafficPolicy: 'Local',
              sessionAffinity: 'ClientIP',
            },
            true,
          ),
        ];
      });
    const expectAnswers = (...ways: readonly (readonly [Probe, string])[]): Promise<void> =>
      expect
        .poll(() => lab.answersTo(ways.map(([way]) => ({ ...way, ping: false }))), SOON)
        .toEqual(ways.map(([, answer]) => answer));
    const protocols = ['tcp', 'udp'] as const;
    /** What comes from outside by a node's port and by an address that is routed to n1, each protocol and family. */
    const fromOutside = (answer: (server: string) => string): (readonly [Probe, string])[] =>
      NETWORKS.flatMap(({ server, number }) =>
        protocols.flatMap((protocol) => [
          ...[...NODE, '172.18.0.13', 'fd00:172:18::13'].map(
            (to) => [{ from: 'ext', to, port: port(number), protocol }, answer(server)] as const,
          ),
          ...external(number).map(
            (to) => [{ from: 'ext', to, port: 80, protocol }, answer(server)] as const,
          ),
        ]),
      );

    beforeAll(async () => {
      for (const { number } of NETWORKS)
        for (const at of [number, number + 1])
          for (const [n, ip] of external(at).entries())
            await outputInside(lab.record, [
              'ip',
              '-n',
              'ext',
              ...`route replace ${ip} via ${NODE[n]}`.split(' '),
            ]);
      lab.declare('services.yaml', ...objects((name) => name));
    });

    test('is reached from outside by ports of nodes and by its external addresses', () =>
      expectAnswers(...fromOutside((server) => server)));

    test('with externalTrafficPolicy Local sees who asks, by the nodes that have a pod of it alone', async () => {
      const ways = NETWORKS.flatMap(({ number }) =>
        [...NODE, '172.18.0.12', '172.18.0.13'].map((to): Probe => ({
          from: 'ext',
          to,
          port: port(number + 1),
          ping: false,
        })),
      );
      const seen = async (): Promise<string[]> =>
        (await probe(lab.record, ways, 3)).map(({ answer }) =>
          answer === null ? 'nobody' : `${answer.server} ${answer.peer}`,
        );
      await expect
        .poll(seen, SOON)
        .toEqual([
          `alpha/one ${OUTSIDE.v4}`,
          `alpha/one ${OUTSIDE.v6}`,
          `alpha/two ${OUTSIDE.v4}`,
          'nobody',
          `alpha/four ${OUTSIDE.v4}`,
          `alpha/four ${OUTSIDE.v6}`,
          'nobody',
          `alpha/three ${OUTSIDE.v4}`,
        ]);
    });

    test('is reached at its cluster IPs by pods that send with their address on the network and by the host, and by nobody else', async () => {
      const ways = NETWORKS.flatMap(({ name, client, server, number }) => {
        const sources = lab.end(client, `alpha/${name}`).addresses;
        return ips(number).flatMap((to, n) =>
          protocols.flatMap((protocol) => {
            const way = { to, port: 80, protocol };
            const source = sources[n] ?? '';
            return [
              [{ ...way, from: lab.networkNamespace(client), source }, server] as const,
              [{ ...way, from: lab.networkNamespace(client) }, 'nobody'] as const,
              [{ ...way, from: lab.networkNamespace('beta/two') }, 'nobody'] as const,
              [{ ...way, from: 'n1' }, server] as const,
              // By the node port of its own node the default network gets there, as to primary networks.
              [
                {
                  ...way,
                  from: lab.networkNamespace(client),
                  to: NODE[n] ?? '',
                  port: port(number),
                },
                server,
              ] as const,
            ];
          }),
        );
      });
      await expectAnswers(...ways);
    });

    test('has an address of the pool of its network, by which pods there reach it, and nobody else', async () => {
      lab.declare('pooled.yaml', ...NETWORKS.flatMap((network) => pooled(network).objects));
      const ways = NETWORKS.flatMap((network) =>
        protocols.flatMap((protocol) => {
          const way = { to: pooled(network).at, port: 80, protocol };
          return [
            [{ ...way, from: lab.networkNamespace(network.client) }, network.server] as const,
            ...[lab.networkNamespace('beta/two'), 'ext', 'n1'].map(
              (from) => [{ ...way, from }, 'nobody'] as const,
            ),
          ];
        }),
      );
      await expectAnswers(...ways);
      lab.withdraw('pooled.yaml');
    });

    test('with affinity keeps a pod with one of its endpoints', async () => {
      for (const { name, client, number } of NETWORKS) {
        const [source = ''] = lab.end(client, `alpha/${name}`).addresses;
        const [to = ''] = ips(number + 1);
        const way = { from: lab.networkNamespace(client), source, to, port: 80, ping: false };
        // OVN drops the first packet of a client of which it learns the endpoint.
        const found = async (): Promise<string> =>
          [...new Set(await lab.answersTo(Array.from({ length: 8 }, () => way)))].join(' ');
        await expect.poll(found, SOON).toMatch(/^alpha\/\S+$/);
      }
    });

    test('joins no networks, as a proof of each node finds', async () => {
      for (const node of ['n1', 'n2', 'n3']) {
        const { code, verdict } = await proofOf(lab.record, node, ['--secondary-gateways=true']);
        expect([node, code, verdict.violations]).toEqual([node, 0, []]);
      }
    });

    test('is beside one on the primary network of the same pod, by whose networks answers go back', async () => {
      const nodePorts = { own: 30_260, side: 30_261, local: 30_262 };
      lab.declare(
        'beside-services.yaml',
        ...Object.entries(nodePorts).flatMap(([name, nodePort], n) => {
          const one = service(`gamma/${name}`, ips(60 + n), {
            type: 'NodePort',
            externalTrafficPolicy: name === 'local' ? 'Local' : 'Cluster',
            ports: PORTS.map((known) => ({ ...known, nodePort })),
          });
          return [
            name === 'own' ? one : onNetwork(one, 'side'),
            ...of(`gamma/${name}`, { 'gamma/web': 'n2' }),
          ];
        }),
      );
      const at = (node: readonly string[], nodePort: number, protocol: 'tcp' | 'udp') =>
        node.map((to) => [{ from: 'ext', to, port: nodePort, protocol }, 'gamma/web'] as const);
      const n2 = ['172.18.0.12', 'fd00:172:18::12'];
      // The pods' server of datagrams does not say from which address it answers: the kernel chooses that of the primary network.
      await expectAnswers(
        ...protocols.flatMap((protocol) => at(NODE, nodePorts.own, protocol)),
        ...at(NODE, nodePorts.side, 'tcp'),
        ...at(n2, nodePorts.local, 'tcp'),
      );
      for (const file of ['beside-services.yaml', 'beside.yaml']) lab.withdraw(file);
    });

    test('has endpoints nowhere while it names a network that it can not be on, and says so', async () => {
      lab.declare('services.yaml', ...objects((name) => (name === 'out' ? 'routed' : 'beta/mesh')));
      await expectAnswers(...fromOutside(() => 'nobody'));
      await expect
        .poll(() => lab.problems(), SOON)
        .toEqual(
          expect.arrayContaining([
            expect.stringMatching(/Service alpha\/out: .*"routed" is of network .* no gateway/),
            expect.stringMatching(/Service alpha\/flat: .*"beta\/mesh" is of namespace beta/),
          ]),
        );
    });

    test('is on the default network as any other one without the annotation', async () => {
      lab.declare('services.yaml', ...objects());
      await expectAnswers(...fromOutside((server) => server));
      const ofDefault = NETWORKS.map(
        ({ client, server, number }) =>
          [
            { from: lab.networkNamespace(client), to: ips(number)[0] ?? '', port: 80 },
            server,
          ] as const,
      );
      await expectAnswers(...ofDefault);
      lab.withdraw('services.yaml');
      await expect.poll(() => lab.tenants.mentions('Service_alpha'), SOON).toEqual([]);
    });
  });
}
