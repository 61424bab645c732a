/**
 * What comes from outside to node ports and external addresses of services (reference/node.md §4.6). It is looked at after replies: a packet of a
 * connection that a network opened is never taken for one to a service, whatever ports the two have.
 */
import type { BridgeFamily, BridgePart, ExternalBridge } from './bridge-network.ts';
import type { ExposedHostPort } from '../exposed-host-ports.ts';
import type { ExposedPort, ExposedService, FamilyAddress, Target } from '../exposed-services.ts';
import { conntrack, output } from './flow-actions.ts';
import { UPLINK, type FlowRows } from './flow-rows.ts';
import { PIPELINE, ZONES } from './pipeline.ts';

const { classify, replies, toHostEndpoint, fromHostEndpoint } = PIPELINE;

/** Who asks for an address, and what says that a packet to it was too big, or that nobody is behind a port of it. */
const MESSAGES = {
  v4: {
    question: ['arp', 'arp_op=1'],
    target: 'arp_tpa',
    tooBig: ['icmp', 'icmp_type=3', 'icmp_code=4'],
    refusal: ['icmp', 'icmp_type=3', 'icmp_code=3'],
  },
  v6: {
    question: ['icmp6', 'icmp_type=135', 'icmp_code=0'],
    target: 'nd_target',
    tooBig: ['icmp6', 'icmp_type=2', 'icmp_code=0'],
    refusal: ['icmp6', 'icmp_type=1', 'icmp_code=4'],
  },
} as const;

export const serviceWays: BridgePart = {
  rules: {
    'to-service': {
      text: 'In shared gateway mode what comes from outside to a node port or external address of a service, or a port of the node that a pod has, goes to the network of the service or pod, and its answers leave with that address.',
      source: 'reference/node.md §4.6, node port and external IP',
    },
    refusal: {
      text: 'A primary network may say, with an address of the node or the external one of a service, that nobody is behind a port: the sender of a datagram learns it at once.',
      source: 'reference/node.md §4.6, refusal',
    },
    'external-address': {
      text: 'Who asks for the external address of a service asks the host, not OVN: others announce it.',
      source: 'reference/node.md §4.6, ARP bypass',
    },
    'host-endpoint': {
      text: "With a local external traffic policy and an endpoint that is the host's own, the host gets it with the address of the client.",
      source: 'reference/node.md §4.6, ETP=Local with a local host-network endpoint',
    },
  },
  common(rows, { vlan: { outside, toHost, push } }) {
    rows.by('host-endpoint').flow(toHostEndpoint.at.all, outside, toHost);
    rows.by('host-endpoint').flow(fromHostEndpoint.at.all, [], [...push, output(UPLINK)]);
  },
  network(rows, { on, from, isDefault }) {
    if (isDefault || on.mode !== 'shared') return;
    for (const family of on.families)
      for (const address of [...family.addresses, ...family.otherAddresses])
        addRefusal(rows, { on, family }, from, address);
  },
};

/** `from`: a network's patch port, as a match. */
function addRefusal(
  rows: FlowRows,
  { on, family: { family, fields } }: Omit<ServedPort, 'one'>,
  from: readonly string[],
  address: string,
): void {
  rows
    .by('refusal')
    .flow(
      classify.at.services,
      [...MESSAGES[family].refusal, ...from, `dl_src=${on.mac}`, `${fields.src}=${address}`],
      [output(UPLINK)],
    );
}

/** Flows of one service. `port`: the patch port of the service's network. */
export function serviceFlows(
  rows: FlowRows,
  on: ExternalBridge,
  exposed: ExposedService,
  port: string,
): void {
  for (const family of on.families) {
    const isFamily = (one: FamilyAddress): boolean => one.family === family.family;
    if (!exposed.clusterIps.some(isFamily)) continue;
    const external = exposed.externalIps.filter(isFamily).map(({ address }) => address);
    for (const address of external) addQuestion(rows, { on, family }, address);
    for (const one of exposed.ports) {
      const host = exposed.service.isExternallyLocal ? one.onHost.find(isFamily) : undefined;
      const ways = [
        ...(one.nodePort === undefined
          ? []
          : [...family.addresses, ...family.otherAddresses].map(
              (address) => [address, one.nodePort ?? 0] as const,
            )),
        ...external.map((address) => [address, one.port] as const),
      ];
      for (const way of ways)
        if (host !== undefined) addToHost(rows, { on, family, one }, way, host);
        else if (on.mode === 'shared') addToNetwork(rows, { on, family, one, port }, way);
      if (host !== undefined && ways.length > 0) addFromHost(rows, { on, family, one }, host);
    }
    if (on.mode !== 'shared') continue;
    for (const address of external) {
      rows
        .by('to-service')
        .flow(
          replies.at.services,
          [
            ...MESSAGES[family.family].tooBig,
            ...on.vlan.fromUplink,
            `${family.fields.dst}=${address}`,
          ],
          [output(port)],
        );
      if (!exposed.isDefaultNetwork)
        addRefusal(rows, { on, family }, [`in_port=${port}`, ...on.vlan.outside], address);
    }
  }
}

/** Flows of ports of the node that lead to a pod. `port`: the patch port of its network. */
export function hostPortFlows(
  rows: FlowRows,
  on: ExternalBridge,
  ports: readonly ExposedHostPort[],
  port: string,
): void {
  if (on.mode !== 'shared') return;
  for (const family of on.families)
    for (const one of ports)
      if ([...family.addresses, ...family.otherAddresses].includes(one.at.address))
        addToNetwork(rows, { on, family, one, port }, [one.at.address, one.at.port]);
}

type Way = readonly [address: string, port: number];

/** A port of a service on the bridge, in one address family. */
interface ServedPort {
  readonly on: ExternalBridge;
  readonly family: BridgeFamily;
  readonly one: ExposedPort;
}

function addToNetwork(
  rows: FlowRows,
  {
    on,
    family: { fields },
    one: { protocol },
    port,
  }: Pick<ServedPort, 'on' | 'family'> & {
    readonly one: Pick<ExposedPort, 'protocol'>;
    readonly port: string;
  },
  [address, number]: Way,
): void {
  const ip = fields[protocol];
  rows
    .by('to-service')
    .flow(
      replies.at.services,
      [ip, ...on.vlan.fromUplink, `${fields.dst}=${address}`, `tp_dst=${number}`],
      [output(port)],
    );
  rows
    .by('to-service')
    .flow(
      classify.at.services,
      [
        ip,
        `in_port=${port}`,
        ...on.vlan.outside,
        `dl_src=${on.mac}`,
        `${fields.src}=${address}`,
        `tp_src=${number}`,
      ],
      [output(UPLINK)],
    );
}

function addToHost(
  rows: FlowRows,
  { on, family: { fields, family }, one: { protocol } }: ServedPort,
  [address, number]: Way,
  target: Target,
): void {
  const to =
    family === 'v6' ? `[${target.address}]:${target.port}` : `${target.address}:${target.port}`;
  rows.by('host-endpoint').flow(
    replies.at.services,
    [fields[protocol], ...on.vlan.fromUplink, `${fields.dst}=${address}`, `tp_dst=${number}`],
    [
      conntrack({
        commit: true,
        table: toHostEndpoint.id,
        zone: ZONES.hostEndpoint,
        nat: `dst=${to}`,
      }),
    ],
  );
}

function addFromHost(
  rows: FlowRows,
  { on, family: { fields }, one: { protocol } }: ServedPort,
  { address, port }: Target,
): void {
  rows
    .by('host-endpoint')
    .flow(
      classify.at.services,
      [fields[protocol], ...on.vlan.fromHost, `${fields.src}=${address}`, `tp_src=${port}`],
      [conntrack({ table: fromHostEndpoint.id, zone: ZONES.hostEndpoint, nat: '' })],
    );
}

function addQuestion(
  rows: FlowRows,
  { on, family }: Omit<ServedPort, 'one'>,
  address: string,
): void {
  const { question, target } = MESSAGES[family.family];
  rows
    .by('external-address')
    .flow(
      classify.at.services,
      [...question, ...on.vlan.fromUplink, `${target}=${address}`],
      on.vlan.toHost,
    );
}
