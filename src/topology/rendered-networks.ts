/** Which networks of a zone get rows: those whose OVN names nobody else has. */

import type { Network, Zone } from '../model/model.ts';
import { isDefault, localNames } from './names.ts';

/** A network without rows in this zone, and why. */
export interface RefusedNetwork {
  readonly network: Network;
  /** For people: what clashes and what to do. */
  readonly reason: string;
}

export interface RenderedNetworks {
  readonly networks: ReadonlyMap<string, Network>;
  readonly refused: readonly RefusedNetwork[];
}

/**
 * Networks in the order of their ids; a later one whose switches would have the name of an earlier one's is refused:
 * UDNs `a-b` and `a.b` have one prefix, a node `join` would have the join switch for its pods.
 */
export function renderedNetworks(zone: Pick<Zone, 'node' | 'networks'>): RenderedNetworks {
  const networks = new Map<string, Network>();
  const refused: RefusedNetwork[] = [];
  const owners = new Map<string, string>();
  const inOrder = [...zone.networks]
    .filter((network) => network.topology === 'layer3' || isDefault(network))
    .sort((a, b) => a.id - b.id || (a.name < b.name ? -1 : 1));
  for (const network of inOrder) {
    const names = localNames(network.name, zone.node.name);
    const switches = [
      names.nodeSwitch,
      names.joinSwitch,
      names.externalSwitch,
      names.transitSwitch,
    ];
    const taken = switches.find((name) => owners.has(name));
    if (taken !== undefined) {
      refused.push({
        network,
        reason: `network "${network.name}": its switch "${taken}" would have the name of one of network "${owners.get(taken)}"; rename one of the two`,
      });
    } else if (new Set(switches).size < switches.length) {
      refused.push({
        network,
        reason: `network "${network.name}": node "${zone.node.name}" has the name of a switch of every network; rename the node`,
      });
    } else {
      networks.set(network.name, network);
      for (const name of switches) owners.set(name, network.name);
    }
  }
  return { networks, refused };
}
