/** What must not leave a network, and what nobody else decides on. */
import type { BridgePart } from './bridge-network.ts';
import { familyOf } from '../../allocators/addresses.ts';
import { DROP, NORMAL } from './flow-actions.ts';
import { COOKIE_PATH_MTU, FLOW_TABLES } from '../numbers.ts';

const { classify } = FLOW_TABLES;

/** "Packet is too big" (RFC 792, RFC 4443 §3.2). */
const TOO_BIG = {
  v4: ['icmp', 'icmp_type=3', 'icmp_code=4'],
  v6: ['icmp6', 'icmp_type=2', 'icmp_code=0'],
} as const;

/** After every way that a primary network has, before what the bridge does for all: nothing of such a network gets there. */
const BELOW_WAYS_OUT = 60;

/** An unmanaged flow. */
const NOBODYS = '0x0';

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
      text: "A pod's own address never leaves the node, whatever features are on.",
      source: 'reference/node.md §4.3, 103',
    },
    'nothing-else': {
      text: 'What no flow lets a network send is dropped.',
      source: 'reference/node.md §4.3, 9 and 60',
    },
    normal: {
      text: 'What concerns no network is switched as on any bridge.',
      source: 'reference/node.md §4.3, 0',
    },
  },
  common(rows) {
    rows.by('normal').flow(classify, 0, [], [NORMAL], NOBODYS);
  },
  network(rows, { on, port, network, isDefault }) {
    const from = `in_port=${port}`;
    for (const { family, fields, services, otherNodes } of on.families) {
      const { ip, src, dst } = fields;
      if (on.mode === 'shared')
        for (const address of otherNodes())
          rows
            .by('path-mtu')
            .flow(
              classify,
              700,
              [...TOO_BIG[family], from, `${dst}=${address}`],
              [DROP],
              COOKIE_PATH_MTU,
            );
      for (const service of services)
        rows.by('services-outside').flow(classify, 115, [ip, from, `${dst}=${service}`], [DROP]);
      for (const { cidr } of network.subnets)
        if (familyOf(cidr) === family)
          rows.by('pod-sources').flow(classify, 103, [ip, from, `${src}=${cidr}`], [DROP]);
    }
    rows.by('nothing-else').flow(classify, isDefault ? 9 : BELOW_WAYS_OUT, [from], [DROP]);
  },
};
