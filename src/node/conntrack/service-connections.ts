/** Which tracked connections belong to a service: those that go to its addresses. What becomes stale is worked out from before and after. Pure. */
import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import { feature } from '../../desired/features.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Targets } from '../../model/rules/backends.ts';
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
  /** Addresses of endpoints; only of UDP: what else begins anew says so itself. */
  readonly endpoints: readonly string[];
  /** Those to which clients are sent that stay on this node: one that is ending is among them alone while others are ready elsewhere. */
  readonly local: readonly string[];
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
      text: 'When a service goes, or an endpoint of UDP, the connections that led there are forgotten; when a service of UDP gets its first endpoint, those that clients began before.',
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
      const found = protocol === 'udp' ? ports[index] : undefined;
      const columns: ConnectionColumns = {
        protocol,
        destinations: [...atAddresses, ...atNodes],
        endpoints: found === undefined ? [] : endpointsIn(found.anywhere, found.own),
        local: found === undefined ? [] : endpointsIn(found.local, found.ownLocal),
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

const endpointsIn = (...targets: readonly Targets[]): readonly string[] => [
  ...new Set(
    targets
      .flatMap(({ v4, v6 }) => [...targetsIn(v4), ...targetsIn(v6)])
      .map(({ address }) => address),
  ),
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
  // What else is connected ends by itself: its packets are answered with a reset, or not at all.
  if (protocol !== 'udp') return [];
  const left = after === undefined ? had.destinations : has.destinations;
  const kept = new Set(left.map(textOf));
  const known = new Set(had.destinations.map(textOf));
  const ended = [...new Set([...had.endpoints, ...had.local])].filter(
    (endpoint) => !has.endpoints.includes(endpoint) && !has.local.includes(endpoint),
  );
  return [
    ...had.destinations.flatMap((one) => (kept.has(textOf(one)) ? [] : stale(one))),
    ...left.flatMap((destination) => {
      const isOfFamily = (endpoint: string): boolean => familyOf(endpoint) === destination.family;
      const isKnown = known.has(textOf(destination));
      const isFirst = (which: 'endpoints' | 'local'): boolean =>
        has[which].some(isOfFamily) && !(isKnown && had[which].some(isOfFamily));
      // As if the service's address were a host's: nobody has it.
      const begun = isFirst('endpoints') || isFirst('local') ? [destination.address] : [];
      return [...begun, ...ended.filter(isOfFamily)].map((one) => stale(destination, one));
    }),
  ];
}

const NO_COLUMNS: ConnectionColumns = {
  protocol: 'tcp',
  destinations: [],
  endpoints: [],
  local: [],
};

const textOf = ({ address, port }: Target): string => `${address} ${port}`;
