/** What each kind of network promises its pods, with packets: a row for each promise, a column for each kind, IPv4 and IPv6. The same for both gateway modes. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { ProbeResult } from '../../../src/lab/connectivity.ts';
import { runInside } from '../../../src/lab/exec.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import { hasVrfs } from '../../../src/lab/status.ts';
import { DatagramSender } from '../host/datagram-sender.ts';
import { addCards, labelNodes, ON_CARD } from './egress-nodes.ts';
import { whyNoLab, whyNoVirtualMachine } from './lab.ts';
import {
  fromOutside,
  MatrixLab,
  NOBODY,
  server,
  serverAndPeer,
  tenantOfPod,
  type MatrixMode,
  type Way,
} from './matrix-lab.ts';
import {
  API,
  balanced,
  clusterIps,
  DNS,
  localPort,
  nodeAddresses,
  nodePort,
  NODES,
  podKey,
  PODS,
  policyObject,
  TENANTS,
  type NodeName,
  type ServiceName,
  type Tenant,
} from './matrix-tenants.ts';

const withNetwork = TENANTS.filter(({ topology }) => topology !== undefined);

/** Declares the tests of the matrix for nodes that are run like this; prints its table at the end. */
export function describeMatrix(mode: MatrixMode): void {
  const { gatewayMode, kind, seconds, senders } = mode;
  const whyNot = kind === 'vm' ? whyNoVirtualMachine : whyNoLab;
  const name = `the matrix of networks in ${gatewayMode} gateway mode`;

  describe.skipIf(whyNot !== undefined)(
    `${name}${whyNot === undefined ? '' : ` (${whyNot})`}`,
    { timeout: 600_000 },
    () => {
      let matrix: MatrixLab;

      beforeAll(async () => {
        matrix = await MatrixLab.start(mode);
        return async () => {
          process.stdout.write(`${matrix.text}\n`);
          await matrix[Symbol.asyncDispose]();
        };
      }, 2_400_000);

      test('pods of a network reach each other on one node and on two, and no pod of another network', async () => {
        const ofPod = tenantOfPod().set(DNS.pod, 'default-net');
        const isTogether = (from: string, to: string): boolean => ofPod.get(from) === ofPod.get(to);
        const from = new Set(tenantOfPod(senders).keys());
        await expect
          .poll(() => matrix.tenants.unexpectedBy(isTogether, 2 * seconds, from), matrix.soon)
          .toEqual([]);
        matrix.note('pods reach their own network, and no other', TENANTS);
      });

      test('the default network leads to no pod that has a network of its own', async () => {
        await matrix.prove(
          'closed on the default network',
          withNetwork.flatMap((tenant) =>
            (matrix.onDefault.get(podKey(tenant, 'on-n2'))?.addresses ?? []).flatMap((to) =>
              ['default-net/on-n1', podKey(tenant, 'on-n1')].map((from) => ({
                tenant,
                from: matrix.onDefault.get(from)?.namespace ?? '',
                to,
                port: SERVER_PORT,
                expected: NOBODY,
              })),
            ),
          ),
        );
      });

      test('processes of a host reach pods of the default network, and no pod that has a network of its own', async () => {
        await matrix.prove(
          'closed to processes of hosts',
          TENANTS.flatMap((tenant) =>
            (['on-n1', 'on-n2'] as const).flatMap((pod) =>
              (matrix.onDefault.get(podKey(tenant, pod))?.addresses ?? []).map((to) => ({
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
        await matrix.prove(
          'reaches outside as its node',
          TENANTS.flatMap((tenant) =>
            (['on-n1', 'on-n2', 'on-n3'] as const).flatMap((pod) =>
              [OUTSIDE.v4, OUTSIDE.v6].map((to, family) => ({
                tenant,
                from: matrix.endOf(tenant, pod).namespace,
                to,
                port: SERVER_PORT,
                expected: `outside saw ${nodeAddresses(PODS[pod])[family]}`,
              })),
            ),
          ),
          serverAndPeer,
        );
      });

      // In shared gateway mode egress-ip.test.ts has more of it.
      test.runIf(gatewayMode === 'local')(
        'an EgressIP has pods leave with its addresses, by their own node and by others, at the bridge and by another network card; while no node may have it nothing leaves',
        async () => {
          const leaving = (seenAs: (node: NodeName, family: number) => string | undefined): Way[] =>
            TENANTS.flatMap((tenant) =>
              (['on-n1', 'on-n2', 'on-n3'] as const).flatMap((pod) =>
                [OUTSIDE.v4, OUTSIDE.v6].map((to, family) => {
                  const address = seenAs(PODS[pod], family);
                  return {
                    tenant,
                    from: matrix.endOf(tenant, pod).namespace,
                    to,
                    port: SERVER_PORT,
                    expected: address === undefined ? NOBODY : `outside saw ${address}`,
                  };
                }),
              ),
            );
          const egressIp = (addresses: readonly string[]): void => {
            matrix.write('egress-ip', [
              {
                apiVersion: 'k8s.ovn.org/v1',
                kind: 'EgressIP',
                metadata: { name: 'fixed' },
                spec: { egressIPs: addresses, namespaceSelector: {} },
              },
            ]);
          };
          const atBridge = ['172.18.0.50', 'fd00:172:18::50'];
          const byCard = Object.values(ON_CARD);
          egressIp(atBridge);
          await matrix.prove(
            'EgressIP without a node',
            leaving(() => undefined),
            serverAndPeer,
          );
          await addCards(matrix.record, ['n2', 'n3']);
          // A node has one of its addresses: n1 none of either family.
          labelNodes(matrix.record, { 'k8s.ovn.org/egress-assignable': '' }, ['n2', 'n3']);
          await matrix.prove(
            'EgressIP',
            leaving((_node, family) => atBridge[family]),
            serverAndPeer,
          );
          egressIp(byCard);
          await matrix.prove(
            'EgressIP by another card',
            leaving((_node, family) => byCard[family]),
            serverAndPeer,
          );
          matrix.remove('egress-ip');
          await matrix.prove(
            'EgressIP taken back',
            leaving((node, family) => nodeAddresses(node)[family]),
            serverAndPeer,
          );
        },
      );

      test('nobody outside reaches a pod at its own address, also by way of its node', async () => {
        const [via4, via6] = nodeAddresses('n1');
        for (const { subnet } of withNetwork)
          for (const route of [`10.${subnet}.0.0/16 via ${via4}`, `fd${subnet}::/48 via ${via6}`])
            await matrix.routeOutside(route);
        await matrix.prove(
          'closed to the outside',
          withNetwork.flatMap((tenant) =>
            fromOutside(tenant, matrix.endOf(tenant, 'on-n1').addresses, SERVER_PORT, () => NOBODY),
          ),
        );
      });

      test('a cluster IP is answered by the pod behind it, from the node of that pod and from others', async () => {
        await matrix.prove(
          'cluster IP',
          TENANTS.flatMap((tenant) =>
            (['on-n1', 'beside', 'on-n2', 'on-n3'] as const).flatMap((pod) =>
              matrix.toService(tenant, pod, 'all', podKey(tenant, 'on-n2')),
            ),
          ),
        );
      });

      test('a pod reaches itself behind a cluster IP', async () => {
        await matrix.prove(
          'hairpin',
          TENANTS.flatMap((tenant) =>
            matrix.toService(tenant, 'on-n2', 'local', podKey(tenant, 'on-n2'), ['tcp']),
          ),
        );
      });

      test('the cluster IP of a network is not answered in another one', async () => {
        await matrix.prove(
          "not the others' cluster IPs",
          withNetwork.flatMap((tenant) =>
            TENANTS.filter((other) => other !== tenant)
              .flatMap((other) => clusterIps(other, 'all'))
              .map((to) => ({
                tenant,
                from: matrix.endOf(tenant, 'on-n1').namespace,
                to,
                port: 80,
                expected: NOBODY,
              })),
          ),
        );
      });

      test('the API server and DNS are reached, from networks of one’s own through a VRF where the kernel has them', async () => {
        const reached = (await hasVrfs(matrix.record))
          ? TENANTS
          : TENANTS.filter(({ topology }) => topology === undefined);
        await matrix.prove(
          'API server and DNS',
          reached.flatMap((tenant) =>
            (['on-n1', 'on-n2'] as const).flatMap((pod) => {
              const from = matrix.endOf(tenant, pod).namespace;
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

      test('pods of a named namespace of the default network reach services of networks that let them in, nobody else does; when a network takes that back, also what has begun ends', async () => {
        const { namespace: named = '' } = matrix.onDefault.get(DNS.pod) ?? {};
        const { namespace: other = '' } = matrix.onDefault.get('default-net/on-n3') ?? {};
        const [layer3, twin] = withNetwork;
        if (layer3 === undefined || twin === undefined) throw new Error('no networks');
        const ways = (from: string, isOpen: (tenant: Tenant) => boolean): Way[] =>
          withNetwork.flatMap((tenant) =>
            clusterIps(tenant, 'all').flatMap((to) =>
              (['tcp', 'udp'] as const).map((protocol) => ({
                tenant,
                from,
                to,
                port: 80,
                protocol,
                expected: isOpen(tenant) ? podKey(tenant, 'on-n2') : NOBODY,
              })),
            ),
          );
        const nobody = ways(other, () => false);
        await matrix.prove(
          'closed to the default network',
          ways(named, () => false),
        );
        matrix.letDefaultIn(withNetwork);
        await matrix.prove('reached from the default network', [
          ...ways(named, () => true),
          ...nobody,
        ]);
        await using ends = new AsyncDisposableStack();
        const streams = clusterIps(twin, 'all').map((address, family) =>
          ends.use(
            new DatagramSender(matrix.record, {
              from: DNS.pod,
              address,
              port: 80,
              source: 4567 + family,
            }),
          ),
        );
        const server = podKey(twin, 'on-n2');
        await expect
          .poll(() => streams.map(({ answeredBy }) => answeredBy), matrix.soon)
          .toEqual([server, server]);
        matrix.letDefaultIn([layer3]);
        await expect.poll(() => streams.every(({ isSilent }) => isSilent), matrix.soon).toBe(true);
        await matrix.prove('… by network', [
          ...ways(named, (tenant) => tenant === layer3),
          ...nobody,
        ]);
        matrix.letDefaultIn([]);
        await matrix.prove(
          '… taken back',
          ways(named, () => false),
        );
      });

      test('with a local internal policy a cluster IP leads to the pods of the client’s node alone', async () => {
        await matrix.prove(
          'cluster IP, local',
          TENANTS.flatMap((tenant) => [
            ...matrix.toService(tenant, 'on-n2', 'inside', podKey(tenant, 'on-n2')),
            ...matrix.toService(tenant, 'on-n1', 'inside', NOBODY, ['tcp']),
            ...matrix.toService(tenant, 'on-n3', 'inside', NOBODY, ['tcp']),
          ]),
        );
      });

      test('connections to a cluster IP are spread over its pods; with session affinity a client keeps its one', async () => {
        const TIMES = 10;
        const waysTo = (service: ServiceName): Way[] =>
          TENANTS.flatMap((tenant) => matrix.toService(tenant, 'on-n1', service, '', ['tcp']));
        const askedOf = async (service: ServiceName): Promise<ReadonlyMap<string, Set<string>>> => {
          const ways = waysTo(service);
          const seen = new Map<string, Set<string>>();
          for (let time = 0; time < TIMES; time++) {
            const results = await matrix.ask(ways);
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
        await matrix.ask(waysTo('sticky'));
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
        matrix.note('spread over endpoints', TENANTS);
        matrix.note('session affinity', TENANTS);
      });

      test('a node port is answered from outside at every node', async () => {
        await matrix.prove(
          'node port',
          TENANTS.flatMap((tenant) =>
            NODES.flatMap((node) =>
              fromOutside(
                tenant,
                nodeAddresses(node),
                nodePort(tenant),
                () => podKey(tenant, 'on-n2'),
                ['tcp', 'udp'],
              ),
            ),
          ),
        );
      });

      test('a node port is answered in its own network, at every node', async () => {
        await matrix.prove(
          'node port, from pods',
          TENANTS.flatMap((tenant) =>
            (['on-n1', 'on-n3'] as const).flatMap((pod) =>
              NODES.flatMap((node) =>
                fromOutside(tenant, nodeAddresses(node), nodePort(tenant), () =>
                  podKey(tenant, 'on-n2'),
                ).map((way) => ({ ...way, from: matrix.endOf(tenant, pod).namespace })),
              ),
            ),
          ),
        );
      });

      test('between the default network and primary ones a node port is answered at every node, from a primary network at the own where the kernel has VRFs', async () => {
        const [onDefault] = TENANTS.filter(({ topology }) => topology === undefined);
        const isWithVrfs = await hasVrfs(matrix.record);
        await matrix.prove(
          'node port, of others',
          withNetwork.flatMap((tenant) =>
            [
              [onDefault, tenant],
              [tenant, onDefault],
            ].flatMap(([client = tenant, owner = tenant]) =>
              NODES.flatMap((node) =>
                fromOutside(
                  tenant,
                  nodeAddresses(node),
                  nodePort(owner),
                  () =>
                    node !== PODS['on-n1'] || client === onDefault || isWithVrfs
                      ? podKey(owner, 'on-n2')
                      : NOBODY,
                  ['tcp', 'udp'],
                ).map((way) => ({ ...way, from: matrix.endOf(client, 'on-n1').namespace })),
              ),
            ),
          ),
        );
      });

      test('with a local external policy only where the pod is, and the pod sees who asks', async () => {
        const clients = [OUTSIDE.v4, OUTSIDE.v6];
        await matrix.prove(
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
          await matrix.routeOutside(`${balanced(tenant)}/32 via ${nodeAddresses('n2')[0]}`);
        }
        await matrix.prove(
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
        const ways = (isClosed: boolean): Way[] =>
          TENANTS.flatMap((tenant) => {
            const open = podKey(tenant, 'on-n2');
            const others = isClosed ? NOBODY : open;
            return [
              ...matrix.toPod(tenant, 'on-n1', 'on-n2', open),
              ...matrix.toService(tenant, 'on-n1', 'all', open, ['tcp']),
              ...matrix.toPod(tenant, 'beside', 'on-n2', others),
              ...matrix.toPod(tenant, 'on-n3', 'on-n2', others),
              ...matrix.toService(tenant, 'on-n3', 'all', others, ['tcp']),
              ...matrix.toPod(tenant, 'on-n3', 'beside', podKey(tenant, 'beside')),
            ];
          });
        matrix.write('policies', TENANTS.map(policyObject));
        try {
          await matrix.prove('network policy', ways(true));
        } finally {
          matrix.remove('policies');
        }
        await matrix.prove('network policy taken back', ways(false));
      });

      test('a packet of the MTU passes between nodes, and a larger one is not sent', async () => {
        const works: Tenant[] = [];
        for (const tenant of TENANTS) {
          const { pod } = matrix.endOf(tenant, 'on-n1');
          const inPod = (line: string): ReturnType<typeof runInside> =>
            runInside(matrix.record, ['pod', pod, ...line.split(' ')]);
          const device = tenant.topology === undefined ? 'eth0' : 'ovn-udn1';
          const { stdout: link } = await inPod(`ip link show ${device}`);
          const mtu = Number(/mtu (\d+)/.exec(link)?.[1]);
          for (const to of matrix.endOf(tenant, 'on-n2').addresses) {
            const headers = to.includes(':') ? 48 : 28;
            const ping = `ping -n -c 2 -i 0.2 -W ${seconds} -M do`;
            const fits = await inPod(`${ping} -s ${mtu - headers} ${to}`);
            expect(fits.code, `${tenant.name} ${to}: ${fits.stdout}${fits.stderr}`).toBe(0);
            const large = await inPod(`${ping} -s ${mtu - headers + 1} ${to}`);
            expect(large.code, `${tenant.name} ${to}`).not.toBe(0);
            expect(large.stderr + large.stdout).toMatch(/too long|mtu/i);
          }
          works.push(tenant);
        }
        matrix.note('MTU', works);
      });

      test('load balancers learn on each node whether it has endpoints, and follow endpoints that move', async () => {
        const none = TENANTS.map(() => '503 0');
        const one = TENANTS.map(() => '200 1');
        await expect.poll(() => matrix.health('n2'), matrix.soon).toEqual(one);
        expect(await matrix.health('n1')).toEqual(none);
        matrix.writeSlices('on-n1');
        await expect.poll(() => matrix.health('n1'), matrix.soon).toEqual(one);
        await expect.poll(() => matrix.health('n2'), matrix.soon).toEqual(none);
        await matrix.prove(
          'endpoints that move',
          TENANTS.flatMap((tenant) => [
            ...matrix.toService(tenant, 'on-n3', 'all', podKey(tenant, 'on-n1')),
            ...fromOutside(tenant, nodeAddresses('n1'), localPort(tenant), () =>
              podKey(tenant, 'on-n1'),
            ),
          ]),
        );
      });

      test('services that are gone are answered nowhere', async () => {
        matrix.remove('services');
        await expect
          .poll(() => matrix.health('n1'), matrix.soon)
          .toEqual(TENANTS.map(() => NOBODY));
        await matrix.prove(
          'services that are gone',
          TENANTS.flatMap((tenant) => [
            ...matrix.toService(tenant, 'on-n3', 'all', NOBODY),
            ...NODES.flatMap((node) =>
              fromOutside(tenant, nodeAddresses(node), nodePort(tenant), () => NOBODY),
            ),
          ]),
        );
      });
    },
  );
}
