/** What must not leave a network, and what nobody else decides on. */
import type { BridgePart } from './bridge-network.ts';
import { familyOf } from '../../allocators/addresses.ts';
import { firstFlows } from './first-flows.ts';
import { DROP, NORMAL, PASS_PATH_MTU, resubmit } from './flow-actions.ts';
import {
  ALL_EGRESS_MARKS,
  ALL_SERVICE_MARKS,
  EGRESS_BY_GATEWAY,
  NO_COOKIE,
  PAST_PATH_MTU,
  PIPELINE,
  TO_NEXT_HOP,
} from './pipeline.ts';
import { plainAddress } from '../plain-address.ts';

const { asNode, classify, pathMtu } = PIPELINE;

/** "Packet is too big" (RFC 792, RFC 4443 §3.2). */
const TOO_BIG = {
  v4: ['icmp', 'icmp_type=3', 'icmp_code=4'],
  v6: ['icmp6', 'icmp_type=2', 'icmp_code=0'],
} as const;

export const dropFlows: BridgePart = {
  rules: {
    'path-mtu': {
      text: 'No network tells another node that packets are too large: the way between nodes is not its own.',
      source: 'reference/node.md §4.3, 700',
    },
    'services-outside': {
      text: 'What a network has no service for does not leave the node.',
      source: 'reference/node.md §4.3, 115',
    },
    'pod-sources': {
      text: "No address of a pod, of OVN's routers between each other or of masquerading ever leaves the node, whatever features are on.",
      source: 'reference/node.md §4.3, 103',
    },
    'egress-address-alone': {
      text: 'What is marked for an EgressIP or EgressService leaves with its address or not at all: with that of the node it never does.',
      source: 'reference/egress.md §1.13, G2',
    },
    'nothing-else': {
      text: 'What no flow lets a network send is dropped.',
      source: 'reference/node.md §4.3, 9 and 60',
    },
    'as-the-node': {
      text: 'With the MAC address of the node the host sends, and a network what its own flows let out: a port of OVN without flows sends nothing.',
      source: 'reference/node.md §4.3, 1 and 2',
    },
    normal: {
      text: 'What concerns no network is switched as on any bridge.',
      source: 'reference/node.md §4.3, 0',
    },
  },
  common(rows, { mac, mode, families }) {
    for (const { fields, nodeAddress } of families)
      rows
        .by('egress-address-alone')
        .flow(
          asNode.at.egressAsNode,
          [fields.ip, `${fields.src}=${nodeAddress}`, `pkt_mark=${ALL_EGRESS_MARKS}`],
          [DROP],
        );
    if (mode === 'shared') rows.by('path-mtu').flow(pathMtu.at.others, [], PASS_PATH_MTU);
    for (const { place, fields, actions } of firstFlows(mac))
      rows.by('as-the-node').flow(place, fields, actions);
    rows.by('normal').flow(classify.at.normal, [], [NORMAL], NO_COOKIE);
  },
  node(rows, on, ends) {
    if (on.mode !== 'shared') return;
    for (const { family, fields, addresses } of on.families)
      for (const end of new Set(ends.map(plainAddress)))
        if (end !== undefined && familyOf(end) === family && !addresses.includes(end))
          rows.by('path-mtu').flow(pathMtu.at.nodes, [fields.ip, `${fields.dst}=${end}`], [DROP]);
  },
  network(rows, { on, port, from: tagged, network, isDefault }) {
    const from = `in_port=${port}`;
    for (const { family, fields, services, ...own } of on.families) {
      const { ip, src, dst } = fields;
      if (on.mode === 'shared')
        rows
          .by('path-mtu')
          .flow(
            classify.at.pathMtu,
            [...TOO_BIG[family], ...tagged, PAST_PATH_MTU.notYet],
            [resubmit(pathMtu.id)],
          );
      for (const service of services) {
        const drop = rows.by('services-outside');
        drop.flow(classify.at.servicesOutside, [ip, from, `${dst}=${service}`], [DROP]);
        if (on.mode === 'local' && isDefault)
          drop.flow(
            classify.at.servicesByNextHops,
            [ip, from, `${dst}=${service}`, `pkt_mark=${TO_NEXT_HOP}`],
            [DROP],
          );
      }
      const inner = network.subnets
        .map(({ cidr }) => cidr)
        .filter((cidr) => familyOf(cidr) === family);
      // Of a primary network nothing else leaves but what has its own masquerade address.
      if (isDefault) inner.push(...own.betweenRouters, own.masquerade);
      for (const cidr of inner)
        rows.by('pod-sources').flow(classify.at.podSources, [ip, from, `${src}=${cidr}`], [DROP]);
    }
    // The default network has marks of EgressIPs for classes of destinations alone.
    for (const marks of [ALL_EGRESS_MARKS, isDefault ? EGRESS_BY_GATEWAY : ALL_SERVICE_MARKS])
      rows
        .by('egress-address-alone')
        .flow(
          isDefault && on.mode === 'local'
            ? classify.at.unknownEgressLocally
            : classify.at.unknownEgress,
          [from, `pkt_mark=${marks}`],
          [DROP],
        );
    rows
      .by('nothing-else')
      .flow(isDefault ? classify.at.nothingElseOfDefault : classify.at.nothingElse, [from], [DROP]);
  },
};
