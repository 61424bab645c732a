/**
 * Services of networks that are connected and overlap: from one network's gateway router by the host to the other's, and back (reference/node.md §4.10).
 * The host only passes on: straight from router to router a packet would be looked up more often than Open vSwitch's userspace datapath allows.
 */
import type { Rule } from '../../desired/features.ts';
import type { ExposedService } from '../exposed-services.ts';
import type { BridgeNetwork, BridgePart, ExternalBridge } from './bridge-network.ts';
import { destination, DROP, MARK_INTO_OVN, output, resubmit, source } from './flow-actions.ts';
import type { FlowRows } from './flow-rows.ts';
import { PIPELINE } from './pipeline.ts';

const { classify, toHost } = PIPELINE;

const RULES = {
  'connected-services': {
    text: "Where networks of a connection overlap, what one's gateway router sends to a cluster IP and port of the other's goes by the host to the other's gateway router, and what that answers goes back.",
    source: 'reference/node.md §4.10',
  },
  strangers: {
    text: 'Nobody outside has an address by which networks are known here: the host would pass it on as if a network had sent it.',
    source: 'reference/node.md §4.10',
  },
  redirects: {
    text: 'The host tells nobody that such a packet could have gone another way.',
    source: 'reference/node.md §4.10',
  },
} as const satisfies Readonly<Record<string, Rule>>;

export const connectedFlows: BridgePart = {
  rules: RULES,
  common(rows, { families, vlan }) {
    for (const { family, fields, hostMasquerade, masquerade } of families) {
      rows
        .by('strangers')
        .flow(
          classify.at.connectedByHost,
          [fields.ip, ...vlan.fromUplink, `${fields.src}=${masquerade}`],
          [DROP],
        );
      if (family === 'v4')
        rows
          .by('redirects')
          .flow(
            classify.at.connectedByHost,
            ['icmp', 'icmp_type=5', ...vlan.fromHost, `${fields.src}=${hostMasquerade}`],
            [DROP],
          );
    }
  },
};

/** Ports of a service that are open. */
type OpenPorts = readonly Pick<ExposedService['ports'][number], 'protocol' | 'port'>[];

/** Flows of a service for one client; both networks have their gateway router here. What the service answers goes to the host as all that services answer it. */
export function connectedServiceFlows(
  all: FlowRows,
  on: ExternalBridge,
  { client, server }: { readonly client: BridgeNetwork; readonly server: BridgeNetwork },
  { clusterIps, ports }: Pick<ExposedService, 'clusterIps'> & { readonly ports: OpenPorts },
): void {
  const rows = all.by('connected-services');
  // Pods that leave by next hops answer the MAC address that asked; that of the bridge, which the host has, their gateway router has itself.
  const into = ({ port }: BridgeNetwork, forwarderMac: string): readonly string[] => [
    MARK_INTO_OVN,
    source(forwarderMac),
    destination(on.mac),
    ...on.vlan.push,
    output(port),
  ];
  for (const { family, fields, forwarderMac } of on.families) {
    const asker = client.network.masquerade[family]?.gatewayRouter;
    if (asker === undefined) continue;
    for (const { address } of clusterIps.filter((one) => one.family === family)) {
      for (const { protocol, port } of ports) {
        const asks = [`${fields.src}=${asker}`, `${fields.dst}=${address}`, `tp_dst=${port}`];
        rows.flow(
          classify.at.connectedToHost,
          [fields[protocol], ...client.from, ...asks],
          [MARK_INTO_OVN, resubmit(toHost.id)],
        );
        rows.flow(
          classify.at.connectedByHost,
          [fields[protocol], ...on.vlan.fromHost, ...asks],
          into(server, forwarderMac),
        );
      }
      // Whatever it is: also that nobody is behind a port.
      rows.flow(
        classify.at.connectedByHost,
        [fields.ip, ...on.vlan.fromHost, `${fields.src}=${address}`, `${fields.dst}=${asker}`],
        into(client, forwarderMac),
      );
    }
  }
}
