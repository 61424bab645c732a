/**
 * Which tracked connections of pods leave with another source than they should: they keep the one with which they began, whatever comes under an EgressIP, or goes
 * from one. What is wrong is worked out from before and after, and from the source that a connection has: what is right stays, also when the daemon starts. Pure.
 */
import type { Connection, Tuple } from 'rtnetlink-ts';
import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import { feature } from '../../desired/features.ts';
import { SETTINGS, type DesiredRow } from '../../desired/rows.ts';
import { ONE } from '../../facts/keys.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { RowOf } from '../reconcile/claims.ts';
import { CONNECTIONS } from './service-connections.ts';

/** Row of an address of a pod that an EgressIP serves. */
interface SourceColumns {
  readonly source: string;
  /** On a primary network: for what the gateway router translates it, before the bridge gives it another one. */
  readonly via?: string;
  /** With which it may leave. */
  readonly right: readonly string[];
}

/** Row of the addresses of nodes: to these pods leave with their node's address, EgressIP or not. */
export interface NodeColumns {
  readonly own: readonly string[];
  readonly all: readonly string[];
}

export type SourceRow = RowOf<{ readonly source: SourceColumns }>;
export type NodesRow = RowOf<{ readonly nodes: NodeColumns }>;

/** A pod's address that an EgressIP serves from now on, or no longer. */
export interface StaleSource extends SourceColumns {
  readonly object: string;
  /** With which it left before. */
  readonly wrong: readonly string[];
  readonly isServed: boolean;
}

/** Connections that a pod's address began, by the sources with which they must not leave. */
export interface SourceConnections {
  readonly source: string;
  readonly via?: string;
  readonly wrong: readonly string[];
  /** To whom they may. */
  readonly nodes: ReadonlySet<string>;
}

export const egressConnections = feature({
  name: 'host/egress-connections',
  over: ({ egressPorts }: ZoneFacts) => egressPorts,
  objects(facts, key) {
    const egressIp = facts.egressPorts.peek(...key)?.egressIp;
    return egressIp === undefined ? undefined : [`EgressIP ${egressIp}`];
  },
  rules: {
    'forget-source': {
      text: 'When a pod comes under an EgressIP, or goes from one, its connections that leave with another source than is in force are forgotten.',
      source: 'reference/egress.md §1.12',
    },
  },
  claims: [],
  build(facts, key, out) {
    const port = facts.egressPorts.get(...key);
    const network = port && facts.rendered.get(port.network);
    // What leaves as an EgressService says has its address.
    if (port === undefined || network === undefined || facts.egressServicePorts.get(...key)) return;
    const requested = facts.requestedEgress.part(port.egressIp, 'addresses') ?? [];
    for (const source of port.addresses) {
      const family = familyOf(source);
      const via = network.masquerade[family]?.gatewayRouter;
      const link = facts.cardLink(port.egressIp, family);
      const columns: SourceColumns = {
        source,
        ...(via === undefined ? {} : { via }),
        right: [
          ...requested.filter((address) => familyOf(address) === family),
          ...(link === undefined ? [] : [link]),
        ],
      };
      out.row({
        database: CONNECTIONS,
        table: 'source',
        key: sourceKey(columns),
        columns: columns as unknown as DesiredRow['columns'],
        containers: [],
        rule: 'forget-source',
        object: `EgressIP ${port.egressIp}`,
      });
    }
  },
});

export const nodesOfConnections = feature({
  name: 'host/nodes-of-connections',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'keep-to-nodes': {
      text: "Connections of pods to nodes keep their node's address, EgressIP or not.",
      source: 'reference/egress.md §1.12',
    },
  },
  claims: [],
  build(facts: ZoneFacts, _key, out) {
    if (!facts.settings.features.egressIp) return;
    const own = facts.own('hostAddresses').map(withoutPrefix);
    const others = facts.remoteNodes.all().flatMap(({ hostAddresses }) => hostAddresses);
    const columns: NodeColumns = { own, all: [...own, ...others.map(withoutPrefix)] };
    out.row({
      database: CONNECTIONS,
      table: 'nodes',
      key: 'nodes',
      columns: columns as unknown as DesiredRow['columns'],
      containers: [],
      rule: 'keep-to-nodes',
      object: SETTINGS,
    });
  },
});

/** Pods of two networks may have one address. */
export const sourceKey = ({ source, via = '' }: Pick<SourceColumns, 'source' | 'via'>): string =>
  `${source} ${via}`;

/** Whose source is another one after a unit's rows were `before` and are `after`. */
export function staleSources(
  before: readonly SourceRow[],
  after: readonly SourceRow[],
): readonly StaleSource[] {
  const had = new Map(before.map((row) => [row.key, row]));
  const has = new Map(after.map((row) => [row.key, row]));
  const gone = before.flatMap(({ key, object, columns }): readonly StaleSource[] =>
    has.has(key) ? [] : [{ ...columns, object, right: [], wrong: columns.right, isServed: false }],
  );
  return [
    ...gone,
    ...after.flatMap(({ key, object, columns }): readonly StaleSource[] => {
      const last = had.get(key);
      const wrong = without(last?.columns.right ?? [], columns.right);
      return last !== undefined && wrong.length === 0
        ? []
        : [{ ...columns, object, wrong, isServed: true }];
    }),
  ];
}

/** Both of the same address, the `later` one being in force. */
export const bothStale = (earlier: StaleSource, later: StaleSource): StaleSource => ({
  ...later,
  wrong: without([...new Set([...earlier.wrong, ...later.wrong])], later.right),
});

/** What of its connections is wrong; `own` are addresses of this node, `nodes` those of all. */
export function sourceConnections(
  { source, via, right, wrong, isServed }: StaleSource,
  { own }: Pick<NodeColumns, 'own'>,
  nodes: ReadonlySet<string>,
): SourceConnections {
  return {
    source,
    ...(via === undefined ? {} : { via }),
    wrong: without(isServed ? [...wrong, ...own] : wrong, right),
    nodes,
  };
}

const without = (all: readonly string[], some: readonly string[]): readonly string[] =>
  all.filter((one) => !some.includes(one));

type Tracked = Pick<Connection, 'original' | 'reply'>;

/**
 * Finds connections with a wrong source by two looks at what is tracked. On the default network one entry has the pod's address and the source with which it leaves.
 * What leaves a primary network has an entry of the gateway router, and behind that one of the bridge: all are looked at by `isWrong`, and then by `isWrongBehind`.
 */
export class WrongSources {
  /** By the row's key. */
  readonly #stale: ReadonlyMap<string, SourceConnections>;
  /** Wrong sources of what the bridge has yet to translate, by what it gets. */
  readonly #behind = new Map<string, readonly string[]>();

  constructor(stale: readonly SourceConnections[]) {
    this.#stale = new Map(stale.map((one) => [sourceKey(one), one]));
  }

  /** Whether this one is to be forgotten; notes what is behind it. */
  isWrong({ original: { source }, reply }: Tracked): boolean {
    const direct = this.#stale.get(sourceKey({ source }));
    if (direct !== undefined && isWrongIn(direct, reply)) return true;
    const first = this.#stale.get(sourceKey({ source, via: reply.destination }));
    if (first !== undefined && !first.nodes.has(reply.source))
      this.#behind.set(flowKey(answered(reply)), first.wrong);
    return false;
  }

  /** Where a second look is needed: by whom what is behind was sent. */
  get ways(): readonly string[] {
    if (this.#behind.size === 0) return [];
    return [...new Set([...this.#stale.values()].flatMap(({ via }) => via ?? []))];
  }

  isWrongBehind({ original, reply }: Tracked): boolean {
    return this.#behind.get(flowKey(original))?.includes(reply.destination) ?? false;
  }
}

const isWrongIn = ({ wrong, nodes }: SourceConnections, reply: Tuple): boolean =>
  wrong.includes(reply.destination) && !nodes.has(reply.source);

/** Whom an answer answers: what was sent, as translated. */
const answered = ({
  source,
  destination,
  sourcePort,
  destinationPort,
  ...reply
}: Tuple): Tuple => ({
  ...reply,
  source: destination,
  destination: source,
  sourcePort: destinationPort,
  destinationPort: sourcePort,
});

/** An ICMP answer has another type, and the number of what it answers. */
const flowKey = (tuple: Tuple): string => {
  const { source, destination, protocol, sourcePort, destinationPort, icmp } = tuple;
  return [protocol, source, destination, sourcePort, destinationPort, icmp?.id].join(' ');
};
