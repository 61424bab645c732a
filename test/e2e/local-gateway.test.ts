/** What local gateway mode promises beside the matrix, with packets: networks with one address leave a node by its kernel, and stay apart there (docs/host.md, "Gateway modes"). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Probe } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { readObjects } from '../../src/lab/objects.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import {
  LIMIT,
  namespace,
  network,
  NODE,
  pod,
  startHostTenants,
  type HostTenants,
} from '../support/lab/host-tenants.ts';
import { addCards } from '../support/lab/egress-nodes.ts';
import { testLab, whyNoVirtualMachine, type TestLab } from '../support/lab/lab.ts';
import {
  API,
  DNS,
  nodeAddresses,
  PORTS,
  service,
  sliceObjects,
} from '../support/lab/matrix-tenants.ts';
import { proveNamesOnNetworks } from '../support/lab/names-on-networks.ts';

/** Their numbers are those of their ports and addresses. */
const TENANTS = [
  { name: 'blue', id: 1, topology: 'Layer3', cidrs: ['10.20.0.0/16', 'fd20::/48'] },
  { name: 'green', id: 2, topology: 'Layer3', cidrs: ['10.20.0.0/16', 'fd20::/48'] },
  { name: 'red', id: 3, topology: 'Layer2', cidrs: ['10.20.0.0/16', 'fd20:0:0:1::/64'] },
] as const;
type Tenant = (typeof TENANTS)[number];

const web = ({ name }: Tenant): string => `${name}/web`;
const clusterIps = ({ id }: Tenant): readonly string[] => [
  `172.16.1.${20 + id}`,
  `fd00:10:96::${20 + id}`,
];
const nodePort = ({ id }: Tenant): number => 30_080 + id;
/** The same pods by services with a local external policy. */
const localIps = ({ id }: Tenant): readonly string[] => [
  `172.16.1.${30 + id}`,
  `fd00:10:96::${30 + id}`,
];
const localPort = ({ id }: Tenant): number => 30_180 + id;
/** And with a local internal policy. */
const insideIps = ({ id }: Tenant): readonly string[] => [
  `172.16.1.${40 + id}`,
  `fd00:10:96::${40 + id}`,
];

/** Addresses of load balancers. */
const balancers = ({ id }: Tenant): readonly string[] => [
  `172.18.0.${60 + id}`,
  `fd00:172:18::${60 + id}`,
];
/** The node in the network of its other card. */
const ON_CARD = ['10.9.0.1', 'fd00:10:9::1'];

const hostPort = (id: number): number => 31_080 + id;
/** A pod on the default network. */
const PLAIN = 'plain/web';

/** Secondary networks with a way to the outside host, and their pods, which have everything else by the default network. */
const WAYS_OUT = [
  {
    name: 'out',
    spec: {
      topology: 'Layer3',
      layer3: {
        role: 'Secondary',
        subnets: [
          { cidr: '10.74.0.0/16', hostSubnet: 24 },
          { cidr: 'fd00:74::/48', hostSubnet: 64 },
        ],
      },
    },
  },
  {
    name: 'flat',
    spec: {
      topology: 'Layer2',
      layer2: { role: 'Secondary', subnets: ['10.75.0.0/16', 'fd00:75::/64'] },
    },
  },
] as const;
const wayOut = ({ name, spec }: (typeof WAYS_OUT)[number]): readonly object[] => [
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: {
      namespace: 'plain',
      name,
      annotations: {
        'k8s.ovn.org/secondary-gateway': JSON.stringify({
          routes: [`${OUTSIDE.v4}/32`, `${OUTSIDE.v6}/128`],
        }),
      },
    },
    spec,
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: 'plain',
      name,
      annotations: { 'k8s.v1.cni.cncf.io/networks': name },
    },
    spec: { nodeName: NODE, containers: [{ name: 'web', image: 'web' }] },
  },
];

const OBJECTS = [
  ...TENANTS.flatMap(({ name, topology, cidrs, id }) => [
    namespace(name),
    network(name, 'net', topology, cidrs),
    pod(name, 'web', 'net', hostPort(id)),
  ]),
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'plain' } },
  pod('plain', 'web', undefined, hostPort(0)),
  ...WAYS_OUT.flatMap(wayOut),
];

/** Of a service whose ports are those of nodes, too. */
const atNodePort = (nodePort: number): object => ({
  type: 'NodePort',
  ports: PORTS.map((port) => ({ ...port, nodePort })),
});

const ARGUMENTS = ['--render=everywhere', '--gateway-mode=local', '--secondary-gateways=true'];

const NOBODY = 'nobody';
const SOON = { timeout: LIMIT, interval: 500 };

/** One packet's way, and what should come of it. */
interface Way extends Probe {
  readonly expected: string;
}

describe.skipIf(whyNoVirtualMachine !== undefined)(
  `local gateway mode${whyNoVirtualMachine === undefined ? '' : ` (${whyNoVirtualMachine})`}`,
  { timeout: 600_000 },
  () => {
    let lab: TestLab;
    let tenants: HostTenants;

    const namespaceOf = (key: string): string => tenants.ends.get(key)?.namespace ?? '';
    const addressesOf = (key: string): readonly string[] => tenants.ends.get(key)?.addresses ?? [];

    /** Ids of networks, by the keys of their NADs. */
    async function idsOf(keys: readonly string[]): Promise<readonly number[]> {
      const { nads } = await readObjects(lab.record.name);
      return keys.map((key) =>
        Number(
          nads.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key)?.metadata
            .annotations?.['k8s.ovn.org/network-id'],
        ),
      );
    }

    let sourcePort = 40_000;
    /** Sends what the ways say until all is as expected. All of it is from one port; of a last try this is still known everywhere. */
    async function prove(
      ways: readonly Way[],
      { seconds = 8, seesPeer = false }: { seconds?: number; seesPeer?: boolean } = {},
    ): Promise<void> {
      const text = ({ from, protocol = 'tcp', to, port = 0 }: Way, what: string): string =>
        `${from} ${protocol} ${to} ${port}: ${what}`;
      await expect
        .poll(async () => {
          sourcePort += 1;
          const probes = ways.map((way) => ({ ...way, sourcePort, ping: false }));
          const results = await probe(lab.record, probes, seconds);
          return ways.map((way, n) => {
            const answer = results[n]?.answer;
            const peer = seesPeer ? ` saw ${answer?.peer}` : '';
            return text(way, answer ? `${answer.server}${peer}` : NOBODY);
          });
        }, SOON)
        .toEqual(ways.map((way) => text(way, way.expected)));
    }

    /** Connections of the node's conntrack zones to the server outside. */
    async function connections(
      family: number,
    ): Promise<ReadonlyMap<string, { source: string; mark: string }[]>> {
      const to = [OUTSIDE.v4, OUTSIDE.v6][family] ?? '';
      const list = `conntrack -L -f ${family === 0 ? 'ipv4' : 'ipv6'} -p tcp --orig-dst ${to}`;
      const text = await outputInside(lab.record, ['on', NODE, ...list.split(' ')]);
      const word = (line: string, name: string): string =>
        new RegExp(` ${name}=(\\S+)`).exec(line)?.[1] ?? '0';
      const found = text
        .trim()
        .split('\n')
        .map((line) => ({
          zone: word(line, 'zone'),
          source: word(line, 'src'),
          mark: word(line, 'mark'),
        }));
      return Map.groupBy(found, ({ zone }) => zone);
    }

    beforeAll(async () => {
      lab = await testLab('e2e-local-gateway', { kind: 'vm', nodes: 2, families: 'dual' });
      tenants = await startHostTenants(lab.record, OBJECTS, ARGUMENTS);
      const objects = TENANTS.flatMap((tenant) => {
        const addresses = tenants.onDefault.get(web(tenant))?.addresses ?? [];
        const of = (name: string, ips: readonly string[], spec: object): object[] => {
          const key = `${tenant.name}/${name}`;
          return [
            service(key, ips, { ports: PORTS, ...spec }),
            ...sliceObjects(key, [{ pod: web(tenant), node: NODE, addresses }]),
          ];
        };
        return [
          ...of('web', clusterIps(tenant), atNodePort(nodePort(tenant))),
          ...of('local', localIps(tenant), {
            ...atNodePort(localPort(tenant)),
            externalTrafficPolicy: 'Local',
          }),
          ...of('inside', insideIps(tenant), { internalTrafficPolicy: 'Local' }),
        ];
      });
      tenants.write('tenant-services.yaml', objects);
    }, 1_200_000);
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('pods of three networks with one address reach a host outside from one port at the same time, which sees the node; the host knows each network by its own address', async () => {
      const [blue, ...others] = TENANTS.map((tenant) => addressesOf(web(tenant)));
      expect(blue).toHaveLength(2);
      for (const addresses of others) expect(addresses).toEqual(blue);
      const ways = [...TENANTS.map(web), DNS.pod].flatMap((key) =>
        [OUTSIDE.v4, OUTSIDE.v6].map((to, family) => ({
          from: namespaceOf(key),
          to,
          port: SERVER_PORT,
          expected: `outside saw ${nodeAddresses(NODE)[family]}`,
        })),
      );
      await prove(ways, { seesPeer: true });
      const ids = await idsOf(TENANTS.map(({ name }) => `${name}/net`));
      for (const [family, masquerade] of [
        (id: number) => `169.254.0.${10 + 2 * id}`,
        (id: number) => `fd69::${(10 + 2 * id).toString(16)}`,
      ].entries()) {
        const known = await connections(family);
        const senders = [...ids.map(masquerade), addressesOf(DNS.pod)[family] ?? ''];
        expect(new Set(known.get('0')?.map(({ source }) => source))).toEqual(new Set(senders));
        // On the bridge all of it is the host's.
        expect(new Set(known.get('64000')?.map(({ mark }) => mark))).toEqual(new Set(['2']));
      }
    });

    test('pods of secondary networks with a gateway reach it too, and the host knows each network by its own address', async () => {
      const ways = WAYS_OUT.flatMap(({ name }) =>
        [OUTSIDE.v4, OUTSIDE.v6].map((to, family) => ({
          from: namespaceOf(`plain/${name}`),
          to,
          port: SERVER_PORT,
          expected: `outside saw ${nodeAddresses(NODE)[family]}`,
        })),
      );
      await prove(ways, { seesPeer: true });
      const ids = await idsOf(WAYS_OUT.map(({ name }) => `plain/${name}`));
      const sources = (await connections(0)).get('0')?.map(({ source }) => source);
      expect(sources).toEqual(expect.arrayContaining(ids.map((id) => `169.254.0.${10 + 2 * id}`)));
    });

    test('services on secondary networks with a gateway are reached from outside and by the host, at a port of its node by the default network, and not at cluster IPs by others; who asks is seen where the policy is local', async () => {
      const on = (object: object, network: string): object => ({
        ...object,
        metadata: {
          ...(object as { metadata: object }).metadata,
          annotations: { 'k8s.v1.cni.cncf.io/service-network': network },
        },
      });
      const outside = [OUTSIDE.v4, OUTSIDE.v6];
      const services = WAYS_OUT.flatMap(({ name }, n) =>
        (['Cluster', 'Local'] as const).map((policy, m) => {
          const number = 90 + 2 * n + m;
          const key = `plain/${name}-${policy.toLowerCase()}`;
          return {
            name,
            policy,
            key,
            port: 30_200 + number,
            ips: [`172.16.1.${number}`, `fd00:10:96::${number}`],
          };
        }),
      );
      tenants.write(
        'secondary-services.yaml',
        services.flatMap(({ name, policy, key, port, ips }) => [
          on(service(key, ips, { ...atNodePort(port), externalTrafficPolicy: policy }), name),
          ...sliceObjects(key, [
            {
              pod: `plain/${name}`,
              node: NODE,
              addresses: tenants.onDefault.get(`plain/${name}`)?.addresses ?? [],
            },
          ]),
        ]),
      );
      const protocols = ['tcp', 'udp'] as const;
      await prove(
        services.flatMap(({ name, port, ips }) =>
          protocols.flatMap((protocol) =>
            nodeAddresses(NODE).flatMap((node, family): Way[] => {
              const expected = `plain/${name}`;
              const ip = ips[family] ?? '';
              return [
                { from: 'ext', to: node, port, protocol, expected },
                { from: NODE, to: ip, port: 80, protocol, expected },
                { from: namespaceOf(PLAIN), to: node, port, protocol, expected },
                { from: namespaceOf(PLAIN), to: ip, port: 80, protocol, expected: NOBODY },
                { from: namespaceOf('blue/web'), to: ip, port: 80, protocol, expected: NOBODY },
              ];
            }),
          ),
        ),
      );
      await prove(
        services
          .filter(({ policy }) => policy === 'Local')
          .flatMap(({ name, port }) =>
            nodeAddresses(NODE).map((to, family) => ({
              from: 'ext',
              to,
              port,
              expected: `plain/${name} saw ${outside[family]}`,
            })),
          ),
        { seesPeer: true },
      );
      tenants.write('secondary-services.yaml', []);
    });

    test('pods of every network reach hosts at a second network card of their node and behind its static routes, as soon as it has them and as long', async () => {
      const far = { v4: ['172.30.0.2', '198.18.5.1'], v6: ['fc00:30::2', 'fc00:31::1'] } as const;
      const own = ['172.30.0.3', 'fc00:30::3'];
      const routes = ['198.18.0.0/16 via 172.30.0.2', 'fc00:31::/64 via fc00:30::2'];
      const ip = (command: string): Promise<string> =>
        outputInside(lab.record, ['ip', ...command.split(' ')]);
      await ip('netns add far');
      await ip(`link add eth1 netns ${NODE} type veth peer name eth0 netns far`);
      for (const [netns, device, addresses] of [
        [NODE, 'eth1', ['172.30.0.3/24', 'fc00:30::3/64']],
        ['far', 'eth0', ['172.30.0.2/24', 'fc00:30::2/64']],
        ['far', 'lo', ['198.18.5.1/32', 'fc00:31::1/128']],
      ] as const) {
        await ip(`-n ${netns} link set ${device} up`);
        for (const address of addresses)
          await ip(`-n ${netns} address add ${address} dev ${device} nodad`);
      }
      const serving = { servers: [{ namespace: 'far', name: 'far' }], port: SERVER_PORT };
      await outputInside(lab.record, ['lab-serve'], { input: JSON.stringify(serving) });
      const senders = [...TENANTS.map(web), DNS.pod];
      const ways = (hasRoutes: boolean): Way[] =>
        senders.flatMap((key) =>
          [far.v4, far.v6].flatMap((addresses, family) =>
            addresses.map((to, n) => ({
              from: namespaceOf(key),
              to,
              port: SERVER_PORT,
              expected: n === 0 || hasRoutes ? `far saw ${own[family]}` : NOBODY,
            })),
          ),
        );
      const withPeer = (all: readonly Way[]): Promise<void> => prove(all, { seesPeer: true });
      await withPeer(ways(false));
      for (const route of routes) await ip(`-n ${NODE} route add ${route}`);
      await withPeer(ways(true));
      for (const route of routes) await ip(`-n ${NODE} route del ${route}`);
      await withPeer(ways(false));
      await ip(`-n ${NODE} link del eth1`);
      await withPeer(ways(false).map((way) => ({ ...way, expected: NOBODY })));
    });

    test('a pod of any network, also the default one, reaches node ports of every network at its own node, also over IPv4 out of a VRF', async () => {
      await prove(
        [...TENANTS.map(web), DNS.pod].flatMap((from) =>
          TENANTS.flatMap((tenant) =>
            nodeAddresses(NODE).flatMap((to) =>
              [nodePort(tenant), localPort(tenant)].map((port) => ({
                from: namespaceOf(from),
                to,
                port,
                expected: web(tenant),
              })),
            ),
          ),
        ),
      );
    });

    test('a port of the node leads to the pod that has it, also from a process of the host; who asks from outside is seen', async () => {
      const ways = (from: string, expected: (pod: string, family: number) => string): Way[] =>
        [PLAIN, ...TENANTS.map(web)].flatMap((to, id) =>
          nodeAddresses(NODE).flatMap((address, family) =>
            (['tcp', 'udp'] as const).map((protocol) => ({
              from,
              to: address,
              port: hostPort(id),
              protocol,
              expected: expected(to, family),
            })),
          ),
        );
      const outside = [OUTSIDE.v4, OUTSIDE.v6];
      await prove(
        ways('ext', (to, family) => `${to} saw ${outside[family]}`),
        { seesPeer: true },
      );
      await prove(ways(NODE, (to) => to));
    });

    test('a process of the host gets to services with a local internal policy in the networks that they are of, whose pods have one address', async () => {
      const ways = TENANTS.flatMap((tenant) =>
        insideIps(tenant).flatMap((to) =>
          (['tcp', 'udp'] as const).map((protocol) => ({
            from: NODE,
            to,
            port: 80,
            protocol,
            expected: web(tenant),
          })),
        ),
      );
      await prove(ways);
    });

    test('the API server and DNS answer all three from one port at the same time', async () => {
      await prove(
        TENANTS.flatMap((tenant) => {
          const from = namespaceOf(web(tenant));
          return [
            ...API.ips.map((to) => ({ from, to, port: 443, expected: API.node })),
            ...DNS.ips.flatMap((to) =>
              (['tcp', 'udp'] as const).map((protocol) => ({
                from,
                to,
                port: 80,
                protocol,
                expected: DNS.pod,
              })),
            ),
          ];
        }),
      );
    });

    test('pods of EgressServices leave by a routing table with the address of their load balancer, and by the network with that of the node there', async () => {
      const script = [
        ...Object.entries({ v4: '10.9.0.100', v6: 'fd00:10:9::100' }).map(
          ([family, via]) =>
            `ip -n ${NODE} ${family === 'v6' ? '-6 ' : ''}route add default via ${via} dev card table 1200`,
        ),
        `ip netns exec ${NODE} sysctl -qw net.ipv4.conf.card.forwarding=1 net.ipv4.conf.card.rp_filter=2`,
        ...TENANTS.flatMap((tenant) =>
          balancers(tenant).map(
            (address, n) =>
              `ip -n ext route replace ${address} via ${ON_CARD[n]} dev cards src ${[OUTSIDE.v4, OUTSIDE.v6][n]}`,
          ),
        ),
      ];
      await addCards(lab.record, [NODE]);
      await outputInside(lab.record, ['sh', '-ec', script.join('\n')]);
      const ways = (expected: (tenant: Tenant, family: number) => string): Way[] =>
        TENANTS.flatMap((tenant) =>
          [OUTSIDE.v4, OUTSIDE.v6].map((to, family) => ({
            from: namespaceOf(web(tenant)),
            to,
            port: SERVER_PORT,
            expected: `outside saw ${expected(tenant, family)}`,
          })),
        );
      const write = (spec: object): void =>
        tenants.write(
          'egress-services.yaml',
          TENANTS.flatMap((tenant) => {
            const key = `${tenant.name}/out`;
            const { addresses = [] } = tenants.onDefault.get(web(tenant)) ?? {};
            const ingress = balancers(tenant).map((ip) => ({ ip }));
            return [
              service(
                key,
                [`172.16.1.${50 + tenant.id}`, `fd00:10:96::${50 + tenant.id}`],
                { type: 'LoadBalancer', ports: PORTS },
                { loadBalancer: { ingress } },
              ),
              ...sliceObjects(key, [{ pod: web(tenant), node: NODE, addresses }]),
              {
                apiVersion: 'k8s.ovn.org/v1',
                kind: 'EgressService',
                metadata: { namespace: tenant.name, name: 'out' },
                spec: { network: '1200', ...spec },
              },
            ];
          }),
        );
      const here = { matchLabels: { 'kubernetes.io/hostname': NODE } };
      write({ sourceIPBy: 'LoadBalancerIP', nodeSelector: here });
      await prove(
        ways((tenant, family) => balancers(tenant)[family] ?? ''),
        { seesPeer: true },
      );
      write({ sourceIPBy: 'Network' });
      await prove(
        ways((_tenant, family) => ON_CARD[family] ?? ''),
        { seesPeer: true },
      );
      tenants.write('egress-services.yaml', []);
    });

    test('names in EgressFirewalls are in force before pods of each are told, also after the daemon was killed, when they are told at once', async () => {
      const pods = TENANTS.map(web);
      const servers = DNS.ips;
      await proveNamesOnNetworks({
        lab: lab.record,
        tenants,
        pods,
        servers,
        daemonArguments: ARGUMENTS,
      });
    });
  },
);
