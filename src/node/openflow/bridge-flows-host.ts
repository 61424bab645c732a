/** Traffic between the host and OVN: the host's way to services, and OVN's to the addresses of the node (reference/node.md §4.3, §4.4). */
import type { BridgePart } from './bridge-network.ts';
import { conntrack, destination, DROP, MARK_INTO_OVN, output } from './flow-actions.ts';
import { PIPELINE, ZONES } from './pipeline.ts';

const { classify, toOvn, toHost, hairpin, hairpinReplies } = PIPELINE;

export const hostFlows: BridgePart = {
  rules: {
    'host-to-services': {
      text: "The host's traffic to services goes into OVN with the host's masquerade address.",
      source: 'reference/node.md §4.3, 500 and 550',
    },
    'host-to-network': {
      text: "What nftables marked for a network comes with the masquerade address of the network's gateway router: it gets the mark, which a port of the userspace datapath does not pass on, and the host's masquerade address.",
      source: 'reference/node.md §4.3, 560',
    },
    'choice-of-network': {
      text: "The host reaches a network by the network's packet mark, which goes no further, and the default network otherwise; in OVN all of it has one mark.",
      source: 'reference/node.md §4.4, table 2',
    },
    'shared-services': {
      text: 'Pods of every primary network reach the services that all may use through the default network.',
      source: 'reference/node.md §4.4, table 2, 300',
    },
    'other-networks-services': {
      text: 'What comes from the host address of a primary network reaches nothing else of the default network.',
      source: 'reference/node.md §4.4, table 2, 200',
    },
    'to-host': {
      text: 'What OVN sends to the host has the MAC addresses that the host expects.',
      source: 'reference/node.md §4.4, table 3',
    },
    hairpin: {
      text: "What OVN sends to an address of the node has OVN's masquerade address as its source, so that the reply comes back.",
      source: 'reference/node.md §4.3, 500 and 175; §4.4, tables 4 and 5',
    },
  },
  common(rows, on) {
    const { outside, fromHost, toHost: onHost, push } = on.vlan;
    for (const { fields, services, sharedServices, ...family } of on.families) {
      const { ip, src, dst } = fields;
      const toServices = rows.by('host-to-services');
      for (const service of services) {
        const common = { commit: true, table: toOvn.id, zone: ZONES.services } as const;
        const match = [ip, ...fromHost, `${dst}=${service}`];
        toServices.flow(
          classify.at.masqueradedToServices,
          [...match, `${src}=${family.masquerade}`],
          [conntrack(common)],
        );
        toServices.flow(classify.at.hostAndOvn, match, [
          conntrack({ ...common, nat: `src=${family.hostMasquerade}` }),
        ]);
      }
      const back = rows.by('hairpin');
      back.flow(
        classify.at.hostAndOvn,
        [ip, ...fromHost, `${dst}=${family.ovnMasquerade}`],
        [conntrack({ table: hairpinReplies.id, zone: ZONES.hairpin, nat: '' })],
      );
      back.flow(
        hairpin.at.all,
        [ip],
        [
          conntrack({
            commit: true,
            table: toHost.id,
            zone: ZONES.hairpin,
            nat: `src=${family.ovnMasquerade}`,
          }),
        ],
      );
      back.flow(
        hairpinReplies.at.all,
        [ip],
        [conntrack({ commit: true, table: toOvn.id, zone: ZONES.services, nat: '' })],
      );
      for (const address of new Set(sharedServices))
        rows
          .by('shared-services')
          .flow(
            toOvn.at.sharedServices,
            [ip, `${dst}=${address}`],
            [MARK_INTO_OVN, destination(on.mac), ...push, output(on.defaultPort)],
          );
    }
    rows
      .by('choice-of-network')
      .flow(
        toOvn.at.defaultNetwork,
        [],
        [MARK_INTO_OVN, destination(on.mac), ...push, output(on.defaultPort)],
      );
    rows
      .by('to-host')
      .flow(toHost.at.all, outside, [
        'move:NXM_OF_ETH_DST[]->NXM_OF_ETH_SRC[]',
        destination(on.mac),
        ...onHost,
      ]);
  },
  network(rows, { on, port, from, network, isDefault, packetMark }) {
    for (const { family, fields, nodeAddress, otherAddresses, ...own } of on.families) {
      const { ip, src, dst, tcp, udp, sctp } = fields;
      const back = rows.by('hairpin');
      const fromNode = [ip, ...from, `${src}=${nodeAddress}`];
      const track = { commit: true, table: hairpin.id, zone: ZONES.services } as const;
      back.flow(
        classify.at.hostAndOvn,
        [...fromNode, `${dst}=${own.hostMasquerade}`],
        [conntrack({ ...track, nat: `dst=${nodeAddress}` })],
      );
      for (const address of otherAddresses)
        back.flow(classify.at.hostAndOvn, [...fromNode, `${dst}=${address}`], [conntrack(track)]);
      for (const service of own.services)
        rows
          .by('host-to-services')
          .flow(
            classify.at.hostAndOvn,
            [ip, ...from, `${src}=${service}`, `${dst}=${own.masquerade}`],
            [conntrack({ table: toHost.id, zone: ZONES.services, nat: '' })],
          );
      if (on.mode === 'local')
        for (const protocol of [tcp, udp, sctp])
          back.flow(
            classify.at.toNodeLocally,
            [protocol, ...from, `${src}=${nodeAddress}`],
            [conntrack({ table: hairpin.id, zone: ZONES.services })],
          );
      if (isDefault) continue;
      const ofRouter = network.masquerade[family]?.gatewayRouter;
      for (const service of ofRouter === undefined ? [] : own.services)
        rows.by('host-to-network').flow(
          classify.at.hostToNetwork,
          [ip, ...on.vlan.fromHost, `${src}=${ofRouter}`, `${dst}=${service}`],
          [
            `set_field:${packetMark}->pkt_mark`,
            conntrack({
              commit: true,
              table: toOvn.id,
              zone: ZONES.services,
              nat: `src=${own.hostMasquerade}`,
            }),
          ],
        );
      rows
        .by('choice-of-network')
        .flow(
          toOvn.at.networks,
          [ip, `pkt_mark=${packetMark}`],
          [MARK_INTO_OVN, destination(on.mac), ...on.vlan.push, output(port)],
        );
      const masquerade = network.masquerade[family]?.managementPort;
      if (masquerade !== undefined)
        rows
          .by('other-networks-services')
          .flow(toOvn.at.otherServices, [ip, `${src}=${masquerade}`], [DROP]);
    }
  },
};
