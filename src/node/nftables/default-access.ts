/**
 * The way from pods of the default network to services of primary networks, on the host (decisions/default-network-access.md): what comes by its port on
 * the default network is marked for the network of the service, as what its own processes send is, and goes on as that does.
 */
import { familyOf, formatAddress, parsePrefix, type Family } from '../../allocators/addresses.ts';
import { networkMasquerade } from '../../allocators/node-addresses.ts';
import { feature, type Feature } from '../../desired/features.ts';
import { SETTINGS } from '../../desired/rows.ts';
import { ONE } from '../../facts/keys.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { managementDevice } from '../names.ts';
import { DEFAULT_NETWORK_ID } from '../numbers.ts';
import { plainAddress } from '../plain-address.ts';
import { ipWord, NftRows } from './nft-rows.ts';
import { ofFamily } from './ruleset.ts';

const FROM_DEFAULT = `iifname "${managementDevice(DEFAULT_NETWORK_ID)}"`;
/** Rules of chains of others begin with 0; there is one for each family. */
const BEFORE_OTHERS = -2;
/** Pods that may. */
const PODS = 'default-access-pods';
/** Cluster addresses, protocols and ports that they may reach. */
export const ACCESS_SERVICES = 'default-access-services';

/** What matches packets of their connections, in either direction and with errors, by family; none where nobody is named. */
export const accessConnections = (settings: ClusterSettings): readonly string[] =>
  settings.defaultAccess.length === 0
    ? []
    : clusterFamilies(settings).map((family) => {
        const ip = ipWord(family);
        return `ct original ${ip} saddr @${ofFamily(PODS, family)} ct original ${ip} daddr . ct protocol . ct original proto-dst @${ofFamily(ACCESS_SERVICES, family)}`;
      });

/** The masquerade addresses of all primary networks, as nft writes a range; undefined where the masquerade subnet has room for none. */
export function networkRange(settings: ClusterSettings, family: Family): string | undefined {
  const subnet = parsePrefix(settings.masqueradeSubnets[family] ?? '');
  return subnet && networkMasquerade(subnet)?.map(formatAddress).join('-');
}

/** What matches packets of connections that have an address of some primary network, by family. */
export const networkConnections = (settings: ClusterSettings): readonly string[] =>
  clusterFamilies(settings).flatMap((family) => {
    const range = networkRange(settings, family);
    return range === undefined ? [] : [`ct reply ${ipWord(family)} daddr ${range}`];
  });

/** Has EgressServices leave packets of these connections as they are; the first rule of each chain comes at `order`. */
export function keepFromEgress(rows: NftRows, connections: readonly string[], order: number): void {
  for (const [index, connection] of connections.entries())
    for (const [chain, verdict] of [
      ['egress-services', 'return'],
      ['egress-service-filter', 'accept'],
    ] as const) {
      const text = `${connection} ${verdict}`;
      rows.rule(text, { chain, text, order: order + index });
    }
}

export const defaultAccess: Feature<ZoneFacts> = {
  name: 'nft/default-access',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    mark: {
      text: "What pods of the namespaces of default-network-access send to services of primary networks that let the default network in is marked for the service's network.",
      source: 'reference/node.md §3.10',
    },
    egress: {
      text: 'It does not leave the cluster: EgressServices of these pods leave it as it is.',
      source: 'reference/node.md §3.10',
    },
  },
  claims: [],
  build({ settings }, _args, out) {
    if (settings.defaultAccess.length === 0) return;
    const rows = new NftRows(out, SETTINGS, 'mark');
    const egress = new NftRows(out, SETTINGS, 'egress');
    for (const [index, family] of clusterFamilies(settings).entries()) {
      const ip = ipWord(family);
      for (const set of [PODS, ACCESS_SERVICES] as const) rows.set(set, family);
      const text = `${FROM_DEFAULT} ${ip} saddr @${ofFamily(PODS, family)} ${ip} daddr . meta l4proto . th dport @${ofFamily(ACCESS_SERVICES, family)} ${ip} daddr vmap @${ofFamily('udn-mark-cluster-ips', family)}`;
      rows.rule(text, { chain: 'udn-service-prerouting', text, order: 1 + index });
    }
    keepFromEgress(egress, accessConnections(settings), BEFORE_OTHERS);
  },
};

export const defaultAccessPods = feature({
  name: 'nft/default-access-pod',
  over: ({ accessPods }: ZoneFacts) => accessPods,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: {
    pod: {
      text: 'A pod of a namespace of default-network-access is known by its addresses on the default network, which port security holds it to.',
      source: 'reference/node.md §3.10',
    },
  },
  claims: [],
  build(facts, [namespace, pod, nad], out) {
    const rows = new NftRows(out, `Pod ${namespace}/${pod}`, 'pod');
    const families = new Set(clusterFamilies(facts.settings));
    for (const text of facts.accessPods.get(namespace, pod, nad)?.addresses ?? []) {
      const element = plainAddress(text);
      const family = familyOf(text);
      if (element !== undefined && families.has(family))
        rows.element({ set: ofFamily(PODS, family), element });
    }
  },
});
