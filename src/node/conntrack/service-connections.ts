/** Which tracked connections belong to a service: those that go to its addresses. What becomes stale is worked out from before and after. Pure. */
import { familyOf, withoutPrefix, type Family } from '../../allocators/addresses.ts';
import { feature } from '../../desired/features.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Targets } from '../../model/rules/backends.ts';
import { exposedHostPorts } from '../exposed-host-ports.ts';
import { serviceIn, targetsIn, type ExposedPort, type Target } from '../exposed-services.ts';
import { plainAddress } from '../plain-address.ts';
import type { RowOf } from '../reconcile/claims.ts';

/** Name of the "database" whose rows are ports of services. */
export const CONNECTIONS = 'connections';

/** Row of a port of a service. */
export interface ConnectionColumns {
  readonly protocol: ExposedPort['protocol'];
  /** Where clients send to. */
  readonly destinations: readonly Target[];
  /** Not of TCP, which says by itself that it begins anew. */
  readonly endpoints: readonly Target[];
  /** Those to which clients are sent that stay on this node: one that is ending is among them alone while others are ready elsewhere. */
  readonly local: readonly Target[];
  /** Of SCTP: those that take nobody new any more, and go on with whom they know. */
  readonly listed?: readonly Target[];
}

export type ConnectionRow = RowOf<{ readonly port: ConnectionColumns }>;

/** Connections that lead where nobody answers. */
export interface StaleConnections {
  readonly object: string;
  readonly protocol: ExposedPort['protocol'];
  readonly destination: Target;
  /** Only those that this address answers. */
  readonly endpoint?: string;
}

export const serviceConnections = feature({
  name: 'host/connections',
  over: (facts: ZoneFacts) => facts.backends,
  objects: (_facts, [, key]) => [`Service ${key}`],
  rules: {
    forget: {
      text: 'When a service goes, or an endpoint of UDP or SCTP, the connections that led there are forgotten; when a service of UDP or SCTP gets its first endpoint, those that clients began before.',
      source: 'reference/node.md §4.6',
    },
  },
  claims: [],
  build(facts, [network, key], out) {
    const on = serviceIn(facts, network, key);
    const backends = facts.backends.get(network, key);
    if (on === undefined || backends === undefined) return;
    const { ports, isEntry } = backends;
    const ofHost = facts
      .own('hostAddresses')
      .flatMap((address) => plainAddress(withoutPrefix(address)) ?? [])
      .map((address) => ({ family: familyOf(address), address }));
    for (const [index, { protocol, port, nodePort }] of on.ports.entries()) {
      const atNodes =
        nodePort === undefined || !isEntry ? [] : ofHost.map((one) => ({ ...one, port: nodePort }));
      const atAddresses = [...on.clusterIps, ...on.externalIps].map((one) => ({ ...one, port }));
      const found = protocol === 'tcp' ? undefined : ports[index];
      const columns: ConnectionColumns = {
        protocol,
        destinations: [...atAddresses, ...atNodes],
        endpoints: found === undefined ? [] : endpointsIn(found.anywhere, found.own),
        local: found === undefined ? [] : endpointsIn(found.local, found.ownLocal),
        ...(found?.listed === undefined ? {} : { listed: endpointsIn(found.listed) }),
      };
      out.row({
        database: CONNECTIONS,
        table: 'port',
        key: `${key} ${protocol} ${port}`,
        columns: columns as unknown as DesiredRow['columns'],
        containers: [],
        rule: 'forget',
        object: `Service ${key}`,
      });
    }
  },
});

export const hostPortConnections = feature({
  name: 'host/host-port-connections',
  over: (facts: ZoneFacts) => facts.hostPorts,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: {
    forget: {
      text: 'When a pod goes, the connections to ports of the node that led to it are forgotten.',
      source: 'reference/node.md §4.6',
    },
  },
  claims: [],
  build(facts, [namespace, pod], out) {
    const exposed = exposedHostPorts(facts, namespace, pod);
    for (const { at, protocol, target, fromHost } of exposed?.ports ?? []) {
      const endpoints = protocol === 'tcp' ? [] : [target];
      const columns: ConnectionColumns = {
        protocol,
        destinations: fromHost === undefined ? [at] : [at, fromHost],
        endpoints,
        local: endpoints,
      };
      out.row({
        database: CONNECTIONS,
        table: 'port',
        key: `${namespace}/${pod} ${protocol} ${at.address} ${at.port}`,
        columns: columns as unknown as DesiredRow['columns'],
        containers: [],
        rule: 'forget',
        object: `Pod ${namespace}/${pod}`,
      });
    }
  },
});

const endpointsIn = (...targets: readonly Targets[]): readonly Target[] =>
  distinct(targets.flatMap(({ v4, v6 }) => [...targetsIn(v4), ...targetsIn(v6)]));

const distinct = (targets: readonly Target[]): readonly Target[] => [
  ...new Map(targets.map((target) => [textOf(target), target])).values(),
];

/**
 * What leads where nobody answers after a unit's rows were `before` and are `after`: also datagrams that clients began to send before an endpoint
 * was there. Those are tracked as they were sent, and so would be whatever comes behind them. `isElsewhere`: whether a port, by its row's key, is on
 * another network, too: then its addresses lead somewhere, and only endpoints are gone.
 */
export function staleConnections(
  before: readonly ConnectionRow[],
  after: readonly ConnectionRow[],
  isElsewhere: (key: string) => boolean = () => false,
): readonly StaleConnections[] {
  const had = new Map(before.map((row) => [row.key, row]));
  const has = new Map(after.map((row) => [row.key, row]));
  return [...new Set([...had.keys(), ...has.keys()])].flatMap((key) =>
    staleOfPort(had.get(key), has.get(key), isElsewhere(key)),
  );
}

function staleOfPort(
  before: ConnectionRow | undefined,
  after: ConnectionRow | undefined,
  isElsewhere: boolean,
): readonly StaleConnections[] {
  const of = after ?? before;
  if (of === undefined) return [];
  const { protocol } = of.columns;
  const [had, has] = [before?.columns ?? NO_COLUMNS, after?.columns ?? NO_COLUMNS];
  const stale = (destination: Target, endpoint?: string): StaleConnections => ({
    object: of.object,
    protocol,
    destination,
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  const isGone = after === undefined && !isElsewhere;
  if (isGone) return had.destinations.map((destination) => stale(destination));
  // TCP ends by itself: its packets are answered with a reset, or not at all, and a SYN makes a new connection of an old one. An INIT does not (nf_conntrack_proto_sctp.c).
  if (protocol === 'tcp') return [];
  const left = after === undefined ? had.destinations : has.destinations;
  const kept = new Set(left.map(textOf));
  const known = new Set(had.destinations.map(textOf));
  const stays = new Set(answering(has).map(textOf));
  // One that has another port now answers nobody at the old one.
  const ended = [
    ...new Set(
      answering(had)
        .filter((target) => !stays.has(textOf(target)))
        .map(({ address }) => address),
    ),
  ];
  return [
    ...had.destinations.flatMap((one) => (kept.has(textOf(one)) ? [] : stale(one))),
    ...left.flatMap((destination) => {
      const { family } = destination;
      const isKnown = known.has(textOf(destination));
      const isFirst = (which: 'endpoints' | 'local'): boolean =>
        ofFamily(has[which], family) && !(isKnown && ofFamily(had[which], family));
      // As if the service's address were a host's: nobody has it.
      const begun = isFirst('endpoints') || isFirst('local') ? [destination.address] : [];
      return [...begun, ...ended.filter((address) => familyOf(address) === family)].map((one) =>
        stale(destination, one),
      );
    }),
  ];
}

const ofFamily = (targets: readonly Target[], family: Family): boolean =>
  targets.some((target) => target.family === family);

const NO_COLUMNS: ConnectionColumns = {
  protocol: 'tcp',
  destinations: [],
  endpoints: [],
  local: [],
};

const answering = ({ endpoints, local, listed = [] }: ConnectionColumns): readonly Target[] => [
  ...endpoints,
  ...local,
  ...listed,
];

const textOf = ({ address, port }: Target): string => `${address} ${port}`;
