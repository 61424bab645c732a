/** Annotations of NADs, ClusterNetworkConnects and EgressIPs (reference/api.md §5.4, §7.3). */
import type { Annotated, Reading } from './annotations.ts';
import {
  annotationOf,
  asAddress,
  asFamilyCidrs,
  asInteger,
  asList,
  asName,
  asObject,
  asText,
  familyCidrsJson,
  formatEntries,
  parseJson,
  problem,
  readAnnotation,
  readEntries,
} from './annotations.ts';
import type { FamilyCidrs } from '../nad/network-config.ts';
import { errorText } from '../error-text.ts';
import { own } from '../plain-object.ts';
import { MAX_NETWORK_ID } from '../../allocators/ids.ts';
import { formatValue } from '../validation/field-errors.ts';

export const NETWORK_NAME = 'k8s.ovn.org/network-name';
export const NETWORK_ID = 'k8s.ovn.org/network-id';
export const TUNNEL_KEYS = 'k8s.ovn.org/tunnel-keys';
/** `true`: the network is known only to nodes where something uses it (docs/decisions/networks-on-demand.md); absent for the others. */
export const ON_DEMAND = 'k8s.ovn.org/network-on-demand';
/** On a NAD that is being deleted while it is looked up which pods use it: it gives no addresses meanwhile (reference/api.md §4.4). */
export const REMOVAL = 'k8s.ovn.org/network-removal';
export const CONNECT_SUBNETS = 'k8s.ovn.org/network-connect-subnet';
/** Older key of the same value (reference/api.md §5.4). */
const CONNECT_SUBNETS_OLD = 'k8s.ovn.org/network-subnets';
/** Networks of a ClusterNetworkConnect that share services over the external bridge, and have no link (decisions/overlapping-services.md): a list of ids. */
export const CONNECT_BRIDGED = 'k8s.ovn.org/network-connect-bridged';
export const CONNECT_TUNNEL_KEY = 'k8s.ovn.org/connect-router-tunnel-key';
/** Of a ClusterNetworkConnect that two NetworkConnects have made: the two networks, as `<namespace>/<name> <namespace>/<name>`. */
export const TENANT_NETWORKS = 'k8s.ovn.org/tenant-networks';
/** By which hosts tell the traffic of an EgressIP from that of others (reference/egress.md §1.1). */
export const EGRESS_MARK = 'k8s.ovn.org/egressip-mark';
/** Addresses of the EgressIP that move from node to node, and how far they are. */
export const EGRESS_MOVES = 'k8s.ovn.org/egressip-moves';
export const FIRST_EGRESS_MARK = 50_000;
export const LAST_EGRESS_MARK = 54_999;
/** Label of nodes that may get egress addresses, whatever its value. */
export const EGRESS_ASSIGNABLE_LABEL = 'k8s.ovn.org/egress-assignable';
/** Label of namespaces whose pods have a primary user-defined network; set at creation only. */
export const PRIMARY_NETWORK_LABEL = 'k8s.ovn.org/primary-user-defined-network';
/** Label of networks whose pods are told the addresses of their own networks by DNS, `true` or `false`; NADs have it from their objects. */
export const NETWORK_NAMES_LABEL = 'k8s.ovn.org/network-names';

/** Label of networks whose services pods of the namespaces of `default-network-access` reach, `true` or `false`; NADs have it from their objects. */
export const DEFAULT_ACCESS_LABEL = 'k8s.ovn.org/default-network-access';

/** Ranges of addresses that a network has for its services, separated by commas; NADs have it from their objects (decisions/service-pools.md). */
export const SERVICE_POOL = 'k8s.ovn.org/service-pool';

/** A way out of a secondary network, `{"routes": ["203.0.113.0/24"]}`; NADs have it from their objects (decisions/secondary-gateways.md). */
export const SECONDARY_GATEWAY = 'k8s.ovn.org/secondary-gateway';

/** A label by which the owner of a network asks for something, `true` or `false`. */
interface NetworkWish {
  readonly label: string;
  /** What is so while its value says nothing. */
  readonly otherwise: string;
  /** Of what networks can't be asked for. */
  readonly elsewhere: string;
}

const NAMES_WISH: NetworkWish = {
  label: NETWORK_NAMES_LABEL,
  otherwise: "names of the network are what the cluster's DNS says",
  elsewhere: 'names are answered on primary networks alone',
};
const ACCESS_WISH: NetworkWish = {
  label: DEFAULT_ACCESS_LABEL,
  otherwise: 'the default network reaches no service of the network',
  elsewhere: 'services are on primary networks alone',
};

type Labels = Readonly<Record<string, string>>;

const asks =
  ({ label }: NetworkWish) =>
  (labels: Labels = {}): boolean =>
    own(labels, label) === 'true';

/** What is wrong with how the labels of a network of that role say it. */
const wishProblem =
  ({ label, otherwise, elsewhere }: NetworkWish) =>
  (labels: Labels = {}, role: string): string | undefined => {
    const value = own(labels, label);
    if (value === undefined || value === 'false') return undefined;
    if (value !== 'true')
      return `label ${label}: ${formatValue(value)} is neither "true" nor "false"; ${otherwise}`;
    return role === 'primary' ? undefined : `label ${label}: ${elsewhere}; remove the label`;
  };

/** Whether a network's names are to be answered by nodes, as its labels say. */
export const asksForNames = asks(NAMES_WISH);
export const namesLabelProblem = wishProblem(NAMES_WISH);

/** Whether the default network may reach services of a network, as its labels say. */
export const letsDefaultIn = asks(ACCESS_WISH);
export const accessLabelProblem = wishProblem(ACCESS_WISH);

const BY_MANAGER = 'remove the annotation: the cluster manager writes it again';

const MOST_NETWORK_ID = MAX_NETWORK_ID;
/** Largest tunnel key of an OVN datapath: 2^24 − 1. */
const MOST_TUNNEL_KEY = 16777215;

/** A reader whose problems begin with a fixed text, as the events of the NAD controller do. */
function prefixed<T>(prefix: string, read: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return read(text);
    } catch (error) {
      return problem(`${prefix}: ${errorText(error)}`);
    }
  };
}

/** Network that the annotations of a NAD belong to. */
export const annotatedNetworkName = (nad: Annotated): Reading<string> =>
  readAnnotation(nad, NETWORK_NAME, BY_MANAGER, asText);

/** 0 is the cluster default network. */
export const networkId = (nad: Annotated): Reading<number> =>
  readAnnotation(
    nad,
    NETWORK_ID,
    BY_MANAGER,
    prefixed('failed to parse annotated network ID', (text) => asInteger(text, 0, MOST_NETWORK_ID)),
  );

/** Anything but `true` is not. */
export const isOnDemand = (nad: Annotated): boolean => annotationOf(nad, ON_DEMAND) === 'true';

export const tunnelKeys = (nad: Annotated): Reading<readonly number[]> =>
  readAnnotation(
    nad,
    TUNNEL_KEYS,
    BY_MANAGER,
    prefixed('failed to parse annotated tunnel keys', (text) =>
      asList(parseJson(text)).map((key) =>
        typeof key === 'number'
          ? asInteger(key, 1, MOST_TUNNEL_KEY)
          : problem('must be a JSON list of numbers'),
      ),
    ),
  );

/** Mark of an EgressIP. */
export const egressMark = (egressIp: Annotated): Reading<number> =>
  readAnnotation(egressIp, EGRESS_MARK, BY_MANAGER, (text) =>
    asInteger(text, FIRST_EGRESS_MARK, LAST_EGRESS_MARK),
  );

const EGRESS_STEPS = ['prepare', 'switch', 'settle'] as const;

/** How far an address is that moves (docs/decisions/egress-moves.md). */
type EgressStep = (typeof EGRESS_STEPS)[number];

/** An address of an EgressIP that moves while both nodes work. */
export interface EgressMove {
  /** In canonical form. */
  readonly address: string;
  readonly from: string;
  readonly to: string;
  readonly step: EgressStep;
}

/** Moves of an EgressIP. */
export const egressMoves = (egressIp: Annotated): Reading<readonly EgressMove[]> =>
  readAnnotation(egressIp, EGRESS_MOVES, BY_MANAGER, (text) =>
    asList(parseJson(text)).map((entry) => {
      const move = asObject(entry);
      const step = EGRESS_STEPS.find((one) => one === own(move, 'step'));
      if (step === undefined)
        return problem(
          `step must be one of ${EGRESS_STEPS.join(', ')}, is ${formatValue(own(move, 'step'))}`,
        );
      return {
        address: asAddress(own(move, 'egressIP')),
        from: asName(own(move, 'from')),
        to: asName(own(move, 'to')),
        step,
      };
    }),
  );

/** Undefined for none: the annotation goes. */
export const formatEgressMoves = (moves: readonly EgressMove[]): string | undefined =>
  moves.length === 0
    ? undefined
    : JSON.stringify(
        moves.map(({ address, from, to, step }) => ({ egressIP: address, from, to, step })),
      );

export const formatTunnelKeys = (keys: readonly number[]): string => JSON.stringify(keys);

/** Subnets that a ClusterNetworkConnect has given, by `<topology>_<network id>`. */
export const connectSubnets = (connect: Annotated): Reading<ReadonlyMap<string, FamilyCidrs>> => {
  const key =
    annotationOf(connect, CONNECT_SUBNETS) === undefined ? CONNECT_SUBNETS_OLD : CONNECT_SUBNETS;
  return readEntries(connect, key, BY_MANAGER, (value, owner) =>
    /^(layer2|layer3)_(0|[1-9][0-9]{0,4})$/.test(owner)
      ? asFamilyCidrs(value)
      : problem('must be layer2_<network id> or layer3_<network id>'),
  );
};

export const formatConnectSubnets = (subnets: ReadonlyMap<string, FamilyCidrs>): string =>
  formatEntries(subnets, familyCidrsJson) ?? '{}';

/** Ids of the networks that share services over the external bridge; absent for none. */
export const connectBridged = (connect: Annotated): Reading<readonly number[]> =>
  readAnnotation(connect, CONNECT_BRIDGED, BY_MANAGER, (text) =>
    asList(parseJson(text)).map((id) =>
      typeof id === 'number'
        ? asInteger(id, 1, MOST_NETWORK_ID)
        : problem('must be a JSON list of network ids'),
    ),
  );

/** Undefined for none: the annotation goes. */
export const formatConnectBridged = (ids: readonly number[]): string | undefined =>
  ids.length === 0 ? undefined : JSON.stringify(ids);

/** Tunnel key of the connect router. */
export const connectTunnelKey = (connect: Annotated): Reading<number> =>
  readAnnotation(connect, CONNECT_TUNNEL_KEY, BY_MANAGER, (text) =>
    asInteger(text, 0, MOST_TUNNEL_KEY),
  );
