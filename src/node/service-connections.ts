/** Which tracked connections belong to a service: those that go to its addresses. What becomes stale is worked out from before and after. Pure. */
import { familyOf, withoutPrefix } from '../allocators/addresses.ts';
import type { Feature } from '../desired/features.ts';
import type { DesiredRow } from '../desired/rows.ts';
import type { ZoneFacts } from '../model/facts.ts';
import type { Targets } from '../model/backends.ts';
import { exposedService, targetsIn, type ExposedPort, type Target } from './exposed-services.ts';
import { plainAddress } from './plain-address.ts';

/** Name of the "database" whose rows are ports of services. */
export const CONNECTIONS = 'connections';

/** Row of a port of a service. */
export interface ConnectionColumns {
  readonly protocol: ExposedPort['protocol'];
  /** Where clients send to. */
  readonly destinations: readonly Target[];
  /** Addresses of endpoints; only of UDP: what else begins anew says so itself. */
  readonly endpoints: readonly string[];
}

/** Connections that lead nowhere any more. */
export interface StaleConnections {
  readonly object: string;
  readonly protocol: ExposedPort['protocol'];
  readonly destination: Target;
  /** Only those that this address answers. */
  readonly endpoint?: string;
}

export const serviceConnections: Feature<ZoneFacts> = {
  name: 'host/connections',
  over: (facts) => facts.backends,
  rules: {
    forget: {
      text: 'When a service goes, or an endpoint of UDP, the connections that led there are forgotten.',
      source: 'node.md §4.6',
    },
  },
  claims: [],
  build(facts, [network = '', key = ''], out) {
    const on = exposedService(facts, network, key);
    if (on === undefined) return;
    const ports = facts.backends.get(network, key)?.ports ?? [];
    const ofHost = facts
      .own('hostAddresses')
      .flatMap((address) => plainAddress(withoutPrefix(address)) ?? [])
      .map((address) => ({ family: familyOf(address), address }));
    for (const [index, { protocol, port, nodePort }] of on.ports.entries()) {
      const atNodes =
        nodePort === undefined ? [] : ofHost.map((one) => ({ ...one, port: nodePort }));
      const atAddresses = [...on.clusterIps, ...on.externalIps].map((one) => ({ ...one, port }));
      const all = ports[index]?.all;
      const columns: ConnectionColumns = {
        protocol,
        destinations: [...atAddresses, ...atNodes],
        endpoints: protocol === 'udp' && all !== undefined ? endpointsIn(all) : [],
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
};

const endpointsIn = ({ v4, v6 }: Targets): readonly string[] => [
  ...new Set([...targetsIn(v4), ...targetsIn(v6)].map(({ address }) => address)),
];

/** What nobody answers any more after a unit's rows were `before` and are `after`. */
export function staleConnections(
  before: readonly DesiredRow[],
  after: readonly DesiredRow[],
): readonly StaleConnections[] {
  const now = new Map(after.map((row) => [row.key, columnsOf(row)]));
  return before.flatMap((row) => {
    const { protocol, destinations, endpoints } = columnsOf(row);
    const left = now.get(row.key);
    const stale = (destination: Target, endpoint?: string): StaleConnections => ({
      object: row.object,
      protocol,
      destination,
      ...(endpoint === undefined ? {} : { endpoint }),
    });
    if (left === undefined) return destinations.map((destination) => stale(destination));
    // What else is connected ends by itself: its packets are answered with a reset, or not at all.
    if (protocol !== 'udp') return [];
    const kept = new Set(left.destinations.map(textOf));
    const gone = destinations.filter((destination) => !kept.has(textOf(destination)));
    const ended = endpoints.filter((endpoint) => !left.endpoints.includes(endpoint));
    return [
      ...gone.map((destination) => stale(destination)),
      ...left.destinations.flatMap((destination) =>
        ended
          .filter((endpoint) => familyOf(endpoint) === destination.family)
          .map((endpoint) => stale(destination, endpoint)),
      ),
    ];
  });
}

const columnsOf = ({ columns }: DesiredRow): ConnectionColumns =>
  columns as unknown as ConnectionColumns;

const textOf = ({ address, port }: Target): string => `${address} ${port}`;
