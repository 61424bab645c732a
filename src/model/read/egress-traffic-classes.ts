/** Destinations outside of the cluster that EgressIPs select, as values (OKEP-6227, reference/egress.md §1.15). */
import { canonicalCidr, parsePrefix } from '../../allocators/addresses.ts';
import { egressTrafficClasses } from '../../api/kinds.ts';
import type { EgressTrafficClass } from '../../api/types.ts';
import { formatFieldError, type FieldError } from '../../api/validation/field-errors.ts';
import type { ObjectKind } from './object-kind.ts';
import type { ObjectReading } from './reading.ts';

export interface TrafficClass {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** In canonical form. */
  readonly cidrs: readonly string[];
}

/** What an EgressIP is told that selects no class. */
export const NO_TRAFFIC_CLASS =
  'no EgressTrafficClass has such labels: nothing leaves with its addresses; create one, or correct the labels';

const UNTIL_THEN = 'until then its destinations are those that were read last';

/** What a definition of ovn-kubernetes may have let in. */
function problemOf({ spec }: EgressTrafficClass): FieldError | undefined {
  for (const [index, { cidr, protocols = [] }] of spec.destinations.entries()) {
    const path = ['spec', 'destinations', index];
    const canonical = parsePrefix(cidr) && canonicalCidr(cidr);
    if (canonical === undefined)
      return {
        type: 'Invalid',
        path: [...path, 'cidr'],
        value: cidr,
        detail: 'must be an IPv4 or IPv6 network',
      };
    if (protocols.length > 0)
      return {
        type: 'Forbidden',
        path: [...path, 'protocols'],
        detail:
          'protocols and ports (OKEP-6227) are not supported; take protocols out, and the destination is for all of its traffic',
      };
  }
  return undefined;
}

function readTrafficClass(object: EgressTrafficClass): ObjectReading<TrafficClass> {
  const error = problemOf(object);
  if (error !== undefined)
    return { kind: 'problem', message: `${formatFieldError(error)}; ${UNTIL_THEN}` };
  const { name, labels = {} } = object.metadata;
  const cidrs = object.spec.destinations.map(({ cidr }) => canonicalCidr(cidr));
  return { kind: 'value', value: { name, labels, cidrs: [...new Set(cidrs)].sort() } };
}

export const egressTrafficClassKind = {
  kind: egressTrafficClasses,
  table: 'trafficClasses',
  read: readTrafficClass,
  onUnreadable: 'keep',
} as const satisfies ObjectKind<EgressTrafficClass, TrafficClass>;
