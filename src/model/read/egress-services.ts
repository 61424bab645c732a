/** EgressService objects → which service's pods leave with the address of its load balancer, or by which routing table, and from where. Pure. */
import { egressServices } from '../../api/kinds.ts';
import type { EgressService } from '../../api/types.ts';
import { formatValue } from '../../api/validation/field-errors.ts';
import type { ObjectKind } from './object-kind.ts';

/** `status.host` of a service whose pods leave by their own nodes. */
export const EVERY_HOST = 'ALL';

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
  readonly table?: number;
  /** Why there is none that could be used: nothing leaves. */
  readonly tableProblem?: string;
}

/** Tables that rules may lead into: what an `ip rule` takes, but for the kernel's own. */
const HIGHEST_TABLE = 2 ** 32 - 1;
const LOCAL_TABLE = 255;
/** Of Heddle on every host: services that stay on the node, and DNS of primary networks. */
const OWN_TABLES: readonly number[] = [7, 8];
const REMEDY =
  'no pod of it leaves; name the number of a routing table that an administrator keeps on the nodes';

/** `spec.network`: tables of networks, whose numbers `isNetworkTable` knows, are tenants'. */
export function routingTable(network: string): {
  readonly table?: number;
  readonly problem?: string;
} {
  const problem = (why: string) => ({
    problem: `spec.network: ${formatValue(network)} ${why}: ${REMEDY}`,
  });
  if (!/^[1-9][0-9]{0,9}$/.test(network)) return problem('is not the number of a routing table');
  const table = Number(network);
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
