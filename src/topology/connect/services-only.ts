/** What keeps pods of connected networks apart where only services are connected (reference/topology.md §19.2). */

import { FAMILIES, familyOf, ipOf } from '../../allocators/addresses.ts';
import type { Rule } from '../../desired/features.ts';
import type { Network } from '../../model/model.ts';
import { podSwitch } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl, anyOf, type Acl } from '../rows/acls.ts';
import { ACL_CONNECT_DROP, ACL_CONNECT_SERVICE, TIER_ISOLATION } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { holds, type Rows } from '../rows/unit-rows.ts';
import { CONNECT_CONTROLLER, CONNECT_TYPE, subnetsBeyond } from './connect-rows.ts';

export const SERVICES_ONLY_RULES: Readonly<Record<string, Rule>> = {
  'services-only': {
    text: 'Where only services are connected, what pods begin with pods of another network of the connection is dropped.',
    source: 'reference/topology.md §19.2',
  },
};
export const SERVICES_ONLY_CLAIMS = [ACL_CLAIM];

const destinations = (subnets: readonly string[]): readonly string[] =>
  subnets.map((subnet) => `${ipOf(subnet)}.dst == ${subnet}`);

const toAddresses = (addresses: readonly string[]): readonly string[] =>
  FAMILIES.flatMap((family) => {
    const found = [...new Set(addresses.filter((one) => familyOf(one) === family))].sort();
    return found.length === 0
      ? []
      : `${family === 'v4' ? 'ip4' : 'ip6'}.dst == {${found.join(', ')}}`;
  });

/**
 * Rows of one connection: `connected` are all its networks that are known, `here` those with a switch on this node.
 */
export function addServicesOnly(
  rows: Rows,
  connect: string,
  networks: {
    readonly connected: readonly Network[];
    readonly here: readonly Network[];
    /** Networks whose pods a network reaches otherwise. */
    readonly reachedFrom: (network: Network) => readonly Network[];
  },
  services: {
    readonly subnets: readonly string[];
    /** Addresses of pools that services of the networks have in subnets of their own. */
    readonly pooled: readonly string[];
  },
  node: string,
): void {
  const { connected, here, reachedFrom } = networks;
  const onSwitches = (of: readonly Network[]) =>
    of.map((network) => holds('Logical_Switch', podSwitch(network, node), 'acls'));
  const acl = (type: string, rest: Pick<Acl, 'priority' | 'action' | 'match'>): Acl => ({
    ids: objectIds(CONNECT_CONTROLLER, CONNECT_TYPE, { name: connect, type }),
    direction: 'Egress',
    tier: TIER_ISOLATION,
    ...rest,
  });
  addAcl(
    rows,
    acl('pass-service', {
      priority: ACL_CONNECT_SERVICE,
      action: 'pass',
      match: `(${[...destinations(services.subnets), ...toAddresses(services.pooled)].join(' || ')})`,
    }),
    ...onSwitches(here),
  );
  for (const network of here) {
    const reached = new Set([network, ...reachedFrom(network)].map(({ name }) => name));
    const others = connected.filter(({ name }) => !reached.has(name));
    const toPods = FAMILIES.flatMap((family) => {
      const subnets = others.flatMap((other) => subnetsBeyond(network, other, family));
      if (subnets.length === 0) return [];
      return `${family === 'v4' ? 'ip4' : 'ip6'}.dst == {${subnets.join(', ')}}`;
    });
    if (toPods.length === 0) continue;
    // Names what is dropped: an ACL that passed the own network would keep OVN from tracking its connections.
    addAcl(
      rows,
      acl(`drop-pod-${network.id}`, {
        priority: ACL_CONNECT_DROP,
        action: 'drop',
        match: `${anyOf(toPods)} && ct.new`,
      }),
      ...onSwitches([network]),
    );
  }
}
