/** Sets of packets' headers: each is a union of boxes, each box a set of values for each field. */
import {
  ALL_ADDRESSES,
  between,
  both,
  either,
  isSame,
  V4,
  V6,
  without,
  type Ranges,
} from './ranges.ts';

/** Fields of a header, as places in a box. */
export const SOURCE = 0;
export const DESTINATION = 1;
export const PROTOCOL = 2;
/** Of TCP, UDP and SCTP; of other protocols they are any. */
export const SOURCE_PORT = 3;
export const PORT = 4;
/** How connection tracking sees the packet: see `STATES`. */
export const STATE = 5;

export type Field =
  | typeof SOURCE
  | typeof DESTINATION
  | typeof PROTOCOL
  | typeof SOURCE_PORT
  | typeof PORT
  | typeof STATE;

/** Values of the field `STATE`. `established`: of the direction that began the connection; `reply`: of the other one. */
export const STATES = {
  untracked: 0,
  new: 1,
  established: 2,
  reply: 3,
  related: 4,
  invalid: 5,
} as const;

export const ANY: readonly Ranges[] = [
  ALL_ADDRESSES,
  ALL_ADDRESSES,
  between(0, 255),
  between(0, 65_535),
  between(0, 65_535),
  between(0, 5),
];

/** A set of values for each field. */
export type Box = readonly Ranges[];

/** Boxes that have no header in common. */
export type HeaderSet = readonly Box[];

export const EMPTY: HeaderSet = [];

/** Sets that would take more boxes are given up: their rows are told as not read. */
const MOST_BOXES = 1024;

export class TooManyBoxes extends Error {}

/** Headers with these values, and any of the fields that are not named. */
export const box = (fields: Readonly<Partial<Record<Field, Ranges>>>): Box =>
  ANY.map((any, field) => fields[field as Field] ?? any);

/** Every packet of IP: both addresses are of one family. */
export const EVERYTHING: HeaderSet = [V4, V6].map((family) =>
  box({ [SOURCE]: family, [DESTINATION]: family }),
);

/** Headers that are in both; undefined when there are none. */
function common(a: Box, b: Box): Box | undefined {
  const fields: Ranges[] = [];
  for (const [field, mine] of a.entries()) {
    const other = b[field] ?? mine;
    const shared = mine === other || other === ANY[field] ? mine : both(mine, other);
    if (shared.length === 0) return undefined;
    fields.push(shared);
  }
  return fields;
}

/** `a` without `b`: by each field what of it is outside of `b`, where the fields before are inside. */
function remainder(a: Box, b: Box): HeaderSet {
  const inside = common(a, b);
  if (inside === undefined) return [a];
  const found: Box[] = [];
  for (const [field, mine] of a.entries()) {
    const rest = without(mine, inside[field] ?? mine);
    if (rest.length === 0) continue;
    found.push(
      a.map((any, other) =>
        other < field ? (inside[other] ?? any) : other === field ? rest : any,
      ),
    );
  }
  return found;
}

function bounded(boxes: Box[]): HeaderSet {
  if (boxes.length > MOST_BOXES)
    throw new TooManyBoxes(`its headers are more than ${MOST_BOXES} sets`);
  return boxes;
}

export function intersection(a: HeaderSet, b: HeaderSet): HeaderSet {
  if (a === b) return a;
  const found: Box[] = [];
  for (const one of a)
    for (const other of b) {
      const shared = common(one, other);
      if (shared !== undefined) found.push(shared);
    }
  return bounded(found);
}

export function difference(a: HeaderSet, b: HeaderSet): HeaderSet {
  let left = a;
  for (const other of b) {
    if (left.length === 0) return left;
    left = bounded(left.flatMap((one) => remainder(one, other)));
  }
  return left;
}

export function union(a: HeaderSet, b: HeaderSet): HeaderSet {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  return bounded([...a, ...difference(b, a)]);
}

/** The same headers in whatever state. */
export const withoutState = (set: HeaderSet): HeaderSet =>
  set.reduce<HeaderSet>(
    (sum, one) =>
      union(sum, [one.map((ranges, field) => (field === STATE ? between(0, 5) : ranges))]),
    EMPTY,
  );

/** The same headers in fewer boxes where some differ in one field alone. */
export function merged(set: HeaderSet): HeaderSet {
  const boxes = [...set];
  for (let i = 0; i < boxes.length;) {
    const [one = []] = [boxes[i]];
    const other = boxes.findIndex((box, at) => at > i && joinedBox(one, box) !== undefined);
    if (other < 0) {
      i += 1;
      continue;
    }
    boxes[i] = joinedBox(one, boxes[other] ?? []) ?? one;
    boxes.splice(other, 1);
    // One that is larger now may be one with those before it.
    i = 0;
  }
  return boxes;
}

function joinedBox(a: Box, b: Box): Box | undefined {
  const others = [...a.keys()].filter((field) => !isSame(a[field] ?? [], b[field] ?? []));
  if (others.length === 0) return a;
  const [field] = others;
  if (others.length > 1 || field === undefined) return undefined;
  const [mine, its] = [a[field] ?? [], b[field] ?? []];
  const all = either(mine, its);
  return a.map((ranges, at) => (at === field ? all : ranges));
}
