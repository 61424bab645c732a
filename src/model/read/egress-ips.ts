/** EgressIPs as values: which pods leave the cluster with which addresses, and by which nodes (reference/egress.md §1). */
import { FAMILIES, formatAddress, parseAddress, type Family } from '../../allocators/addresses.ts';
import { complaint } from '../../api/annotations/annotations.ts';
import {
  egressMark,
  egressMoves,
  type EgressMove,
} from '../../api/annotations/network-annotations.ts';
import { egressIPs } from '../../api/kinds.ts';
import { labelSelectorProblem } from '../../api/label-selector.ts';
import type { EgressIP, LabelSelector } from '../../api/types.ts';
import { formatFieldError } from '../../api/validation/field-errors.ts';
import type { ObjectKind, ObjectPart } from './object-kind.ts';
import type { ObjectReading } from './reading.ts';

/** An address, in canonical form, and the node that pods leave by with it. */
export interface EgressAddress {
  readonly node: string;
  readonly address: string;
}

/** An address at a node that gives it to what leaves, or is to. */
export interface EgressExit extends EgressAddress {
  /**
   * `holder`: it answers for the address. `next`: everything is in place there but that. `last`: it lets through what is on its way yet
   * (docs/decisions/egress-moves.md).
   */
  readonly role: 'holder' | 'next' | 'last';
  /** The other node of a move: one of both knows each connection. */
  readonly peer?: string;
}

export interface EgressIp {
  readonly name: string;
  /** When the object was made: of several that select a pod the oldest serves it. */
  readonly created: string;
  readonly namespaceSelector: LabelSelector;
  readonly podSelector: LabelSelector;
  /** Classes of destinations that it is for; absent: it is for all. */
  readonly trafficSelector?: LabelSelector;
  /** By which the bridge knows its traffic from user-defined networks; absent while the cluster manager gave it none. */
  readonly mark?: number;
  /** Families of the addresses that it asks for: only what is of these is its. Of what is no address, both. */
  readonly families: readonly Family[];
  /** What the cluster manager assigned; of a family without any, pods send nothing out of their network. */
  readonly items: readonly EgressAddress[];
  /** Those that move; absent if none does. */
  readonly moves?: readonly EgressMove[];
  /** One of them leaves by this node, or is to. */
  readonly isHere: boolean;
}

const UNTIL_THEN = 'until then its pods leave as they did when it was read last';

const canonical = (text: string): string[] => {
  const address = parseAddress(text);
  return address === undefined ? [] : [formatAddress(address)];
};

/** Only what the object asks for: whoever may write it may write its status, too. */
function itemsOf({ spec, status }: EgressIP): readonly EgressAddress[] {
  const requested = new Set(spec.egressIPs.flatMap(canonical));
  return (status?.items ?? []).flatMap(({ node, egressIP }) =>
    canonical(egressIP)
      .filter((address) => requested.has(address))
      .map((address) => ({ node, address })),
  );
}

/** While an address moves it has two. */
export function exitsOf({
  items,
  moves = [],
}: Pick<EgressIp, 'items' | 'moves'>): readonly EgressExit[] {
  return items.flatMap((item): readonly EgressExit[] => {
    const { node, address } = item;
    const move = moves.find((one) => one.address === address);
    // Where the status and the annotation differ, the status counts.
    if (move === undefined || node !== (move.step === 'prepare' ? move.from : move.to))
      return [{ ...item, role: 'holder' }];
    const peer = move.from === node ? move.to : move.from;
    return [
      { ...item, role: move.step === 'switch' ? 'next' : 'holder', peer },
      { node: peer, address, role: move.step === 'prepare' ? 'next' : 'last', peer: node },
    ];
  });
}

const selectsAll = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  Object.keys(matchLabels).length + matchExpressions.length === 0;

export function readEgressIp(egressIp: EgressIP, nodeName: string): ObjectReading<EgressIp> {
  const { metadata, spec } = egressIp;
  const { name, creationTimestamp: created = '' } = metadata;
  const { namespaceSelector, podSelector = {}, trafficSelector } = spec;
  const selectors = {
    namespaceSelector,
    podSelector,
    ...(trafficSelector === undefined ? {} : { trafficSelector }),
  };
  for (const [field, selector] of Object.entries(selectors)) {
    const detail =
      labelSelectorProblem(selector) ??
      (field === 'trafficSelector' && selectsAll(selector)
        ? 'must have matchLabels or matchExpressions; take it out for all destinations'
        : undefined);
    if (detail === undefined) continue;
    const error = { type: 'Invalid', path: ['spec', field], value: selector, detail } as const;
    return { kind: 'problem', message: `${formatFieldError(error)}; ${UNTIL_THEN}` };
  }
  const mark = egressMark(egressIp);
  const items = itemsOf(egressIp);
  const moves = egressMoves(egressIp).value ?? [];
  const value = {
    name,
    created,
    namespaceSelector,
    podSelector,
    ...(trafficSelector === undefined ? {} : { trafficSelector }),
    ...(mark.value === undefined ? {} : { mark: mark.value }),
    families: FAMILIES.filter((family) =>
      spec.egressIPs.some((text) => (parseAddress(text)?.family ?? family) === family),
    ),
    items,
    ...(moves.length === 0 ? {} : { moves }),
    isHere: exitsOf({ items, moves }).some(({ node }) => node === nodeName),
  };
  const warning = complaint(mark);
  return { kind: 'value', value, ...(warning === undefined ? {} : { warning }) };
}

/** Addresses of an EgressIP that nodes have: nobody else's meanwhile. */
export interface AssignedEgress {
  readonly name: string;
  readonly addresses: readonly string[];
}

const assignedPart = {
  table: 'assignedEgress',
  texts: ({ spec, status }) => [spec.egressIPs, status?.items],
  read(egressIp, { settings }): AssignedEgress | undefined {
    const addresses = settings.features.egressIp
      ? itemsOf(egressIp).map(({ address }) => address)
      : [];
    return addresses.length === 0 ? undefined : { name: egressIp.metadata.name, addresses };
  },
} as const satisfies ObjectPart<EgressIP, AssignedEgress>;

/** All addresses that an EgressIP asks for, whoever has them. */
export interface RequestedEgress {
  readonly name: string;
  /** In canonical form. */
  readonly addresses: readonly string[];
}

const requestedPart = {
  table: 'requestedEgress',
  texts: ({ spec }) => spec.egressIPs,
  read: ({ metadata: { name }, spec }): RequestedEgress => ({
    name,
    addresses: [...new Set(spec.egressIPs.flatMap(canonical))],
  }),
} as const satisfies ObjectPart<EgressIP, RequestedEgress>;

const OFF =
  "EgressIPs are off (enable-egress-ip): this object is not in force, its pods keep their node's address as source";

export const egressIpKind = {
  kind: egressIPs,
  table: 'egressIps',
  read(egressIp, { nodeName, settings }) {
    const reading = readEgressIp(egressIp, nodeName);
    return settings.features.egressIp || reading.kind !== 'value'
      ? reading
      : { ...reading, warning: OFF };
  },
  also: [assignedPart, requestedPart],
  onUnreadable: 'keep',
  // They come here to leave with its address.
  needsOtherPods: ({ isHere }) => isHere,
} as const satisfies ObjectKind<EgressIP, EgressIp>;
