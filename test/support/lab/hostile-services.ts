/** Services of tenants who name external addresses that are not theirs, and those services and hosts to whom these belong. */
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import type { HostileLab, HostilePod, Way } from './hostile-lab.ts';
import { API, DNS, nodeAddresses, PORTS, service, sliceObjects } from './matrix-tenants.ts';

type Addresses = readonly [string, string];

/** An API server beside the nodes: the host outside has these addresses, too. */
const API_SERVER: Addresses = ['172.18.0.200', 'fd00:172:18::200'];
/** Of services of plain and green. */
const SHOP: Addresses = ['172.16.1.64', 'fd00:10:96::64'];
const GREEN: Addresses = ['172.16.1.65', 'fd00:10:96::65'];
/** External addresses of the shop, which had them first. */
const SHOP_OUTSIDE: Addresses = ['203.0.113.64', '2001:db8:113::64'];

interface Thief {
  readonly pod: HostilePod;
  readonly clusterIps: Addresses;
  /** External addresses of his own: where they lead to him, his service is in force. */
  readonly own: Addresses;
  /** Older than the shop, which had its addresses before all the same, or younger. */
  readonly created: string;
}
const THIEVES: readonly Thief[] = [
  {
    pod: 'plain/attacker',
    clusterIps: ['172.16.1.201', 'fd00:10:96::201'],
    own: ['203.0.113.71', '2001:db8:113::71'],
    created: '2025-01-01T00:00:00Z',
  },
  {
    pod: 'blue/attacker',
    clusterIps: ['172.16.1.202', 'fd00:10:96::202'],
    own: ['203.0.113.72', '2001:db8:113::72'],
    created: '2026-01-01T00:00:00Z',
  },
];
const SHOP_CREATED = '2025-06-01T00:00:00Z';

/** All that they want to take, and on which ports. */
const TAKEN = [
  SHOP,
  GREEN,
  DNS.ips,
  API.ips,
  API_SERVER,
  nodeAddresses('n1'),
  nodeAddresses('n2'),
  [OUTSIDE.v4, OUTSIDE.v6],
  SHOP_OUTSIDE,
].flat();
const TAKEN_PORTS = [80, 443, SERVER_PORT].flatMap((port) =>
  PORTS.map((one) => ({ ...one, name: `${one.name}-${port}`, port })),
);

/** A service and its endpoint. */
function served(
  lab: HostileLab,
  key: string,
  ips: Addresses,
  pod: HostilePod | typeof DNS.pod,
  {
    created,
    ports = PORTS,
    status,
    ...spec
  }: Readonly<Record<string, unknown>> & {
    readonly created?: string;
    readonly ports?: typeof PORTS;
    readonly status?: object;
  } = {},
): readonly object[] {
  const { node, addresses } = lab.onDefault(pod);
  const made = service(key, ips, { ports, ...spec }, status);
  return [
    created === undefined ? made : dated(made, created),
    ...sliceObjects(key, [{ pod, node, addresses }]).map((slice) => ({
      ...slice,
      ports: ports.map(({ name, targetPort: port, protocol }) => ({ name, port, protocol })),
    })),
  ];
}
const dated = (made: object, creationTimestamp: string): object => ({
  ...made,
  metadata: { ...('metadata' in made ? (made.metadata as object) : {}), creationTimestamp },
});

/** To whom the addresses belong. */
const owners = (lab: HostileLab): readonly object[] => [
  ...served(lab, 'plain/shop', SHOP, 'plain/far', {
    created: SHOP_CREATED,
    externalIPs: SHOP_OUTSIDE,
  }),
  ...served(lab, 'green/web', GREEN, 'green/far'),
  ...served(lab, 'kube-system/kube-dns', DNS.ips, DNS.pod),
  service('default/kubernetes', API.ips, {
    ports: [{ name: 'tcp', port: 443, targetPort: SERVER_PORT, protocol: 'TCP' }],
  }),
  ...sliceObjects('default/kubernetes', [{ addresses: API_SERVER }]),
];

/** Who takes: one by `externalIPs`, the other as a load balancer. */
const thieves = (lab: HostileLab): readonly object[] =>
  THIEVES.flatMap(({ pod, clusterIps, own, created }, index) => {
    const addresses = [...own, ...TAKEN];
    const [namespaceName] = pod.split('/');
    return served(lab, `${namespaceName}/taking`, clusterIps, pod, {
      created,
      ports: TAKEN_PORTS,
      ...(index === 0
        ? { externalIPs: addresses }
        : {
            type: 'LoadBalancer',
            status: { loadBalancer: { ingress: addresses.map((ip) => ({ ip })) } },
          }),
    });
  });

/** Ways to addresses of both families, from pods and by the names of nodes, with who is to answer. */
function ways(
  lab: HostileLab,
  senders: readonly (HostilePod | 'n1' | 'n2' | 'ext')[],
  addresses: Addresses,
  port: number,
  expected: string,
  protocols: readonly ('tcp' | 'udp')[] = ['tcp'],
): readonly Way[] {
  return senders.flatMap((sender) => {
    const from = sender.includes('/') ? lab.on(sender as HostilePod).namespace : sender;
    return addresses.flatMap((to) =>
      protocols.map((protocol) => ({ from, to, port, protocol, expected })),
    );
  });
}

/** What belongs to others, asked by pods of the default network and of primary ones, by processes of nodes and from outside. */
const whatIsTaken = (lab: HostileLab): readonly Way[] => [
  ...ways(lab, ['plain/beside', 'plain/far', 'n1', 'n2'], SHOP, 80, 'plain/far'),
  ...ways(lab, ['plain/beside', 'n1', 'n2', 'ext'], SHOP_OUTSIDE, 80, 'plain/far'),
  ...ways(lab, ['green/beside', 'n1', 'n2'], GREEN, 80, 'green/far'),
  ...ways(lab, ['plain/far', 'green/beside', 'blue/attacker', 'n1', 'n2'], DNS.ips, 80, DNS.pod, [
    'tcp',
    'udp',
  ]),
  ...ways(lab, ['plain/beside', 'n1', 'n2'], API.ips, 443, 'outside'),
  ...ways(lab, ['plain/beside', 'n1', 'n2'], API_SERVER, SERVER_PORT, 'outside'),
  ...ways(lab, ['plain/beside', 'n1', 'ext'], nodeAddresses('n2'), SERVER_PORT, 'n2'),
  ...ways(lab, ['plain/far', 'n2', 'ext'], nodeAddresses('n1'), SERVER_PORT, 'n1'),
  ...ways(lab, ['plain/beside', 'n1', 'n2'], [OUTSIDE.v4, OUTSIDE.v6], SERVER_PORT, 'outside'),
];

/** That the thieves' services are in force on both nodes: their own addresses lead to them. */
const inForce = (lab: HostileLab): readonly Way[] =>
  THIEVES.flatMap(({ pod, clusterIps, own }) => [
    ...ways(lab, ['n1', 'n2', 'ext'], own, 80, pod),
    ...ways(lab, ['n1', 'n2'], clusterIps, SERVER_PORT, pod),
  ]);

/** Has tenants take what is not theirs, and proves that all of it goes where it went before. */
export async function takeWhatIsNotTheirs(lab: HostileLab): Promise<void> {
  const [v4, v6] = nodeAddresses('n1');
  const outside = [
    ...[SHOP_OUTSIDE, ...THIEVES.map(({ own }) => own)].flatMap(([own4, own6]) => [
      `route replace ${own4}/32 via ${v4}`,
      `route replace ${own6}/128 via ${v6}`,
    ]),
    `address replace ${API_SERVER[0]}/24 dev eth0`,
    // Never the source of what the host outside sends itself.
    `address replace ${API_SERVER[1]}/64 dev eth0 nodad preferred_lft 0`,
  ];
  for (const words of outside) await lab.ip('ext', words);
  lab.write('services', owners(lab));
  await lab.untilAnswered(whatIsTaken(lab));
  lab.write('services', [...owners(lab), ...thieves(lab)]);
  await lab.untilAnswered(inForce(lab));
  await lab.proveAnswers('what services take', whatIsTaken(lab));
  lab.write('services', []);
}
