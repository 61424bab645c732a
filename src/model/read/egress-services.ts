/** EgressService objects → which service's pods leave with the address of its load balancer, or by which routing table, and from where. Pure. */
import { egressServices } from '../../api/kinds.ts';
import type { EgressService } from '../../api/types.ts';
import { formatValue } from '../../api/validation/field-errors.ts';
import type { ObjectKind } from './object-kind.ts';

/** `status.host` of a service whose pods leave by their own nodes. */
export const EVERY_HOST = 'ALL';

/** A routing table by its number, or by the name of the VRF on the host whose table it is. */
export type NamedTable = number | string;

export interface EgressServiceFacts {
  /** `<namespace>/<name>`, also of the Service. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** When the object was made: of several that have a pod the oldest one serves it. */
  readonly created: string;
  /** Pods leave with the address of the network that they leave by: no address is given to them. */
  readonly isByNetwork: boolean;
  /** The node that pods leave by, EVERY_HOST, or empty while the cluster manager chose none. */
  readonly host: string;
  /** It is this node. */
  readonly isHere: boolean;
  /** Routing table by which they leave; absent for the host's own. */
  readonly table?: NamedTable;
  /** Why there is none that could be used: nothing leaves. */
  readonly tableProblem?: string;
}

/** Tables that rules may lead into: what an `ip rule` takes, but for the kernel's own. */
const HIGHEST_TABLE = 2 ** 32 - 1;
const LOCAL_TABLE = 255;
/** Numbers of those that iproute2 has a name for everywhere (linux/rtnetlink.h, rt_class_t). */
const KNOWN_TABLES: ReadonlyMap<string, number> = new Map([
  ['default', 253],
  ['main', 254],
  ['local', LOCAL_TABLE],
]);
/** Of a device (IFNAMSIZ of linux/if.h, without the zero at its end); what begins with a digit would be a number of some kind. */
const VRF_NAME = /^[A-Za-z_][\w.@+%=-]{0,14}$/;
/** Of Heddle on every host: services that stay on the node, and DNS of primary networks. */
const OWN_TABLES: readonly number[] = [7, 8];
const REMEDY =
  'no pod of it leaves; name a VRF, or the number of a routing table, that an administrator keeps on the nodes';

/** `spec.network`: tables of networks, whose numbers hosts know, are tenants'. */
export function routingTable(network: string): {
  readonly table?: NamedTable;
  readonly problem?: string;
} {
  const problem = (why: string) => ({
    problem: `spec.network: ${formatValue(network)} ${why}: ${REMEDY}`,
  });
  const known = KNOWN_TABLES.get(network);
  if (known === undefined && VRF_NAME.test(network)) return { table: network };
  if (known === undefined && !/^[1-9][0-9]{0,9}$/.test(network))
    return problem('is neither the number of a routing table nor the name of a VRF');
  const table = known ?? Number(network);
  if (table > HIGHEST_TABLE) return problem(`is more than ${HIGHEST_TABLE}`);
  if (table === LOCAL_TABLE) return problem("is the kernel's table of local addresses");
  if (OWN_TABLES.includes(table)) return problem('is a table of Heddle');
  return { table };
}

export function readEgressService(
  { metadata, spec = {}, status }: EgressService,
  nodeName: string,
): EgressServiceFacts {
  const { namespace = '', name, creationTimestamp: created = '' } = metadata;
  const host = status?.host ?? '';
  const { network = '', sourceIPBy } = spec;
  const { table, problem } = network === '' ? {} : routingTable(network);
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    created,
    isByNetwork: sourceIPBy === 'Network',
    host,
    isHere: host === nodeName,
    ...(table === undefined ? {} : { table }),
    ...(problem === undefined ? {} : { tableProblem: problem }),
  };
}

const OFF =
  "EgressServices are off (enable-egress-service): this object is not in force, pods of its service keep their node's address as source";

export const egressServiceKind = {
  kind: egressServices,
  table: 'egressServices',
  read(egressService, { nodeName, settings }) {
    const value = readEgressService(egressService, nodeName);
    const warning = settings.features.egressService ? value.tableProblem : OFF;
    return { kind: 'value', value, ...(warning === undefined ? {} : { warning }) };
  },
  onUnreadable: 'keep',
  // They come here to leave.
  needsOtherPods: ({ isHere }) => isHere,
} as const satisfies ObjectKind<EgressService, EgressServiceFacts>;
