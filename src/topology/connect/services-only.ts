/** What keeps pods of connected networks apart where only services are connected (topology.md §19.2). */

import { FAMILIES, familyOf, ipOf, type Family } from '../../allocators/addresses.ts';
import type { Rule } from '../../desired/features.ts';
import type { Network } from '../../model/model.ts';
import { podSwitch } from '../../model/names.ts';
import { ACL_CLAIM, addAcl, anyOf, type Acl } from '../acls.ts';
import { addAddressSet, ADDRESS_SET_CLAIM, type AddressSet } from '../address-sets.ts';
import {
  ACL_CONNECT_DROP,
  ACL_CONNECT_OWN,
  ACL_CONNECT_SERVICE,
  TIER_ISOLATION,
} from '../numbers.ts';
import { hashedName, OBJECT_ID, objectIds } from '../object-ids.ts';
import { holds, type Rows } from '../rows.ts';
import { CONNECT_CONTROLLER, CONNECT_TYPE, subnetsIn } from './connect-rows.ts';

export const SERVICES_ONLY_RULES: Readonly<Record<string, Rule>> = {
  'services-only': {
    text: 'Where only services are connected, what pods begin with pods of another network of the connection is dropped.',
    source: 'topology.md §19.2',
  },
};
export const SERVICES_ONLY_CLAIMS = [ACL_CLAIM, ADDRESS_SET_CLAIM];

/** Pods of all networks of a connection, of one family. */
function podSet(connect: string, family: Family): AddressSet {
  const ids = objectIds(CONNECT_CONTROLLER, CONNECT_TYPE, { name: connect, 'ip-family': family });
  return { name: hashedName(ids[OBJECT_ID]), ids };
}

const destinations = (subnets: readonly string[]): readonly string[] =>
  subnets.map((subnet) => `${ipOf(subnet)}.dst == ${subnet}`);

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
  serviceSubnets: readonly string[],
  node: string,
): void {
  const { connected, here, reachedFrom } = networks;
  const families = FAMILIES.filter((family) =>
    connected.some(({ subnets }) => subnets.some(({ cidr }) => familyOf(cidr) === family)),
  );
  for (const family of families)
    addAddressSet(
      rows,
      podSet(connect, family),
      connected.flatMap((network) => subnetsIn(network, family)),
    );
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
      match: `(${destinations(serviceSubnets).join(' || ')})`,
    }),
    ...onSwitches(here),
  );
  for (const network of here)
    addAcl(
      rows,
      acl(`pass-same-network-${network.id}`, {
        priority: ACL_CONNECT_OWN,
        action: 'pass',
        match: destinations(
          [network, ...reachedFrom(network)].flatMap(({ subnets }) =>
            subnets.map(({ cidr }) => cidr),
          ),
        ).join(' || '),
      }),
      ...onSwitches([network]),
    );
  const toPods = families.map(
    (family) => `${family === 'v4' ? 'ip4' : 'ip6'}.dst == $${podSet(connect, family).name}`,
  );
  addAcl(
    rows,
    acl('drop-pod', {
      priority: ACL_CONNECT_DROP,
      action: 'drop',
      match: `${anyOf(toPods)} && ct.new`,
    }),
    ...onSwitches(here),
  );
}
