/**
 * Node ports between the default network and primary ones at the pod's own node, on the host. At other nodes such a packet comes in from outside; here it
 * comes by the host's port on the pod's network, and goes on as what processes of the host send: into a primary network with its mark, into the default
 * network with the host's address.
 */
import { familyOf, nthAddress, type Family } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { SETTINGS } from '../../desired/rows.ts';
import type { Feature } from '../../desired/features.ts';
import { ONE } from '../../facts/keys.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { managementDevice } from '../names.ts';
import { DEFAULT_NETWORK_ID } from '../numbers.ts';
import { keepFromEgress, networkRange } from './default-access.ts';
import { OWN_ADDRESSES } from './node-addresses.ts';
import { ipWord, NftRows } from './nft-rows.ts';
import { ofFamily, type SetName } from './ruleset.ts';

/** Protocols and node ports of services of primary networks. */
export const NETWORK_NODE_PORTS = 'udn-node-ports';
/** And of those of the default network. */
export const DEFAULT_NODE_PORTS = 'default-node-ports';
/** The chain's own rule begins with 0, and those of default-network-access come after it. */
const AFTER_OTHERS = 10;
/** The chain's own rules begin with 0, and leave what does not go to the port. */
const BEFORE_PORT = -1;
/** There is one for each family, before those of egress. */
const BEFORE_OTHERS = -4;

/** What matches packets of such connections, in either direction and with errors, by family: what the host led from a node port of its own to a network's service. */
export const nodePortConnections = (settings: ClusterSettings): readonly string[] =>
  clusterFamilies(settings).map((family) => ledFrom(family, NETWORK_NODE_PORTS));

/** What matches packets of connections that began at one of these ports of this node, and were led elsewhere. */
const ledFrom = (family: Family, ports: SetName): string =>
  `ct status dnat ct original ${ipWord(family)} daddr @${ofFamily(OWN_ADDRESSES, family)} ct protocol . ct original proto-dst @${ports}`;

export const nodePortAccess: Feature<ZoneFacts> = {
  name: 'nft/node-port-access',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    mark: {
      text: "What pods of the default network send to a node port of their own node that is of a primary network's service is marked for the network.",
      source: 'reference/node.md §3.4',
    },
    source: {
      text: "What pods of primary networks send to a node port of their own node that is of the default network's service goes there with the host's address: with one of a network nothing gets into the default network.",
      source: 'reference/node.md §3.4, §4.3',
    },
    egress: {
      text: 'What pods of the default network so send does not leave the cluster: EgressServices of these pods leave it as it is.',
      source: 'reference/egress.md §4.3',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const { settings } = facts;
    const rows = new NftRows(out, SETTINGS, 'mark');
    const egress = new NftRows(out, SETTINGS, 'egress');
    for (const ports of [NETWORK_NODE_PORTS, DEFAULT_NODE_PORTS] as const) rows.set(ports);
    for (const [index, family] of clusterFamilies(settings).entries()) {
      const text = `iifname "${managementDevice(DEFAULT_NETWORK_ID)}" ${ipWord(family)} daddr @${ofFamily(OWN_ADDRESSES, family)} meta l4proto . th dport vmap @udn-mark-nodeports`;
      rows.rule(text, { chain: 'udn-service-prerouting', text, order: AFTER_OTHERS + index });
    }
    const bridge = facts.own('gateway')?.bridge;
    if (bridge !== undefined) buildSources(new NftRows(out, SETTINGS, 'source'), settings, bridge);
    keepFromEgress(egress, nodePortConnections(settings), BEFORE_OTHERS);
  },
};

/** What is marked for a network has another source by then. */
function buildSources(rows: NftRows, settings: ClusterSettings, bridge: string): void {
  for (const subnet of settings.serviceSubnets) {
    const family = familyOf(subnet);
    const range = networkRange(settings, family);
    const masquerade = settings.masqueradeSubnets[family];
    if (range === undefined || masquerade === undefined) continue;
    const host = nthAddress(masquerade, MASQUERADE_OFFSETS.host);
    if (host === undefined || !clusterFamilies(settings).includes(family)) continue;
    const ip = ipWord(family);
    const text = `oifname "${bridge}" meta mark 0 ${ledFrom(family, DEFAULT_NODE_PORTS)} ${ip} saddr ${range} ${ip} daddr ${subnet} snat ${ip} to ${host}`;
    rows.rule(text, { chain: 'mgmtport-snat', text, order: BEFORE_PORT });
  }
}
