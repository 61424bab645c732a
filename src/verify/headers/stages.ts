/** What the ACLs of a switch let pass at a port: tier by tier, the highest priority first, as ovn-northd arranges them (ovn-nb(5), ACL). */
import { member, pairs, text, type Row } from '../rows.ts';
import {
  box,
  difference,
  EMPTY,
  intersection,
  STATE,
  STATES,
  TooManyBoxes,
  union,
  withoutState,
  type HeaderSet,
} from './boxes.ts';
import { matched, type MatchContext, type Matched } from './matched.ts';
import { groupsIn, MatchError, parseMatch, type Match } from './match.ts';
import { between } from './ranges.ts';

export type Direction = 'from-lport' | 'to-lport';

/** An ACL as it was read; without a match: it can't be read, and why. */
export interface ReadAcl {
  readonly row: Row;
  readonly direction: string;
  readonly tier: number;
  readonly priority: number;
  readonly action: string;
  /** From the port: after load balancing. */
  readonly isLate: boolean;
  readonly match: Match | undefined;
  /** Names of port groups in the match. */
  readonly groups: readonly string[];
  readonly why: string;
}

/** What a match says: the tree, or why there is none. */
type ReadMatch = Pick<ReadAcl, 'match' | 'why'>;

/** Matches that were read last: trees of all rows would take more memory than the rest of a proof that is kept. */
const read = new Map<string, ReadMatch>();
const MOST_READ = 2048;

function readMatch(text: string): ReadMatch {
  const known = read.get(text);
  if (known !== undefined) return known;
  if (read.size >= MOST_READ) read.clear();
  const found = matchOf(text);
  read.set(text, found);
  return found;
}

function matchOf(text: string): ReadMatch {
  try {
    return { match: parseMatch(text), why: '' };
  } catch (error) {
    if (!(error instanceof MatchError)) throw error;
    return { match: undefined, why: error.message };
  }
}

export function readAcl(row: Row): ReadAcl {
  const { match, why } = readMatch(text(row, 'match'));
  return {
    row,
    direction: text(row, 'direction'),
    tier: Number(text(row, 'tier') || '0'),
    priority: Number(text(row, 'priority')),
    action: text(row, 'action'),
    isLate: member(row, 'options', 'apply-after-lb') === 'true',
    match,
    groups: match === undefined ? [] : groupsIn(match),
    why,
  };
}

/** Headers that one row lets pass; without a row: no ACL is about them. */
interface Passing {
  readonly headers: HeaderSet;
  readonly row: Row | undefined;
}

/** What of the packets that come to the ACLs passes. */
export interface Passed {
  /** What may pass, each header by one row. */
  readonly perhaps: readonly Passing[];
  readonly surely: HeaderSet;
  /** Rows because of which it is not known, and why. */
  readonly undecided: ReadonlyMap<Row, string>;
}

/** What happens to packets: those that surely get so far, and those that may. */
interface Flow {
  readonly surely: HeaderSet;
  readonly perhaps: HeaderSet;
}

const LETS: ReadonlySet<string> = new Set(['allow', 'allow-related', 'allow-stateless']);

/** What an ACL decides; actions that are not known decide something that can't be told. */
const verdictOf = ({ action }: ReadAcl): 'allow' | 'pass' | 'stop' | undefined =>
  LETS.has(action)
    ? 'allow'
    : action === 'pass'
      ? 'pass'
      : action === 'drop' || action === 'reject'
        ? 'stop'
        : undefined;

const TIERS = [0, 1, 2, 3];

export interface AtPort {
  readonly acls: readonly ReadAcl[];
  readonly direction: Direction;
  readonly context: MatchContext;
  /** What no ACL is about is dropped (`NB_Global`, option `default_acl_drop`). */
  readonly isClosed: boolean;
}

/** What of `from` passes the ACLs of a direction. Of those the field `STATE` says how they are tracked. */
export function passing(from: Passed, at: AtPort): Passed {
  const acls = at.acls.filter(({ direction }) => direction === at.direction);
  const isLate = (acl: ReadAcl): boolean => acl.isLate && at.direction === 'from-lport';
  const [late, early] = [acls.filter(isLate), acls.filter((acl) => !isLate(acl))];
  try {
    return [early, late]
      .filter(({ length }) => length > 0)
      .reduce((passed, own) => stage(passed, own, at), from);
  } catch (error) {
    if (!(error instanceof TooManyBoxes)) throw error;
    const undecided = new Map(from.undecided);
    for (const { row } of acls) undecided.set(row, error.message);
    return { perhaps: from.perhaps, surely: EMPTY, undecided };
  }
}

/** The row that stops a packet, of which there is one header; undefined where none does, or it can't be told. */
export function stoppingRow(packet: HeaderSet, at: AtPort): Row | undefined {
  const own = at.acls.filter(({ direction }) => direction === at.direction);
  const isLate = (acl: ReadAcl): boolean => acl.isLate && at.direction === 'from-lport';
  const decided = [own.filter((acl) => !isLate(acl)), own.filter(isLate)].map((acls) =>
    firstMatch(packet, acls, at.context),
  );
  return decided.find((acl) => acl !== undefined && verdictOf(acl) === 'stop')?.row;
}

function firstMatch(
  packet: HeaderSet,
  acls: readonly ReadAcl[],
  context: MatchContext,
): ReadAcl | undefined {
  const flow: Flow = { surely: packet, perhaps: packet };
  for (const tier of TIERS) {
    const first = acls
      .filter((acl) => acl.tier === tier)
      .toSorted((a, b) => b.priority - a.priority)
      .find((acl) => within(acl, context, flow, new Map()).surely.length > 0);
    if (first !== undefined && verdictOf(first) !== 'pass') return first;
  }
  return undefined;
}

/** Packets that have met no ACL yet. */
export const arriving = (headers: HeaderSet): Passed => ({
  perhaps: headers.length === 0 ? [] : [{ headers, row: undefined }],
  surely: headers,
  undecided: new Map(),
});

/** Headers of what may pass at all. */
export const perhapsOf = ({ perhaps }: Passed): HeaderSet =>
  perhaps.reduce<HeaderSet>((sum, { headers }) => union(sum, headers), EMPTY);

/** Of what has to pass several stages the row is named that let it pass first. */
const named = ({ headers, row }: Passing, before: readonly Passing[]): readonly Passing[] =>
  before
    .map((one) => ({ headers: intersection(headers, one.headers), row: one.row ?? row }))
    .filter((one) => one.headers.length > 0);

/** Levels of a tier but for those behind which there is none and that only pass on: what they are not about goes on as well. */
function deciding(
  levels: readonly (readonly [priority: number, acls: readonly ReadAcl[]])[],
): readonly (readonly ReadAcl[])[] {
  const last = levels.findLastIndex(([, acls]) => acls.some(({ action }) => action !== 'pass'));
  return levels.slice(0, last + 1).map(([, acls]) => acls);
}

function stage(from: Passed, acls: readonly ReadAcl[], { context, isClosed }: AtPort): Passed {
  const undecided = new Map(from.undecided);
  const perhaps: Passing[] = [];
  let surely: HeaderSet = EMPTY;
  const all = perhapsOf(from);
  const isDecided = difference(all, from.surely).length === 0;
  let left: Flow = { surely: isDecided ? all : from.surely, perhaps: all };
  for (const tier of TIERS) {
    const byPriority = Map.groupBy(
      acls.filter((acl) => acl.tier === tier),
      ({ priority }) => priority,
    );
    let handedOn: Flow = { surely: EMPTY, perhaps: EMPTY };
    for (const level of deciding([...byPriority].toSorted(([a], [b]) => b - a))) {
      const found = level.map((acl) => ({ acl, ...within(acl, context, left, undecided) }));
      for (const [index, { acl, ...mine }] of found.entries()) {
        const verdict = verdictOf(acl);
        // Of rows of one priority that decide otherwise OVN takes any.
        const others = found
          .filter((one, other) => other !== index && verdictOf(one.acl) !== verdict)
          .reduce<HeaderSet>((sum, one) => union(sum, one.perhaps), EMPTY);
        const alone = difference(mine.surely, others);
        if (verdict !== 'stop' && intersection(mine.perhaps, others).length > 0)
          undecided.set(acl.row, 'another row of its tier and priority decides otherwise');
        if (verdict === undefined)
          undecided.set(acl.row, `has action ${JSON.stringify(acl.action)}`);
        if (verdict === 'allow' || verdict === undefined) {
          const seen = perhaps.reduce((rest, one) => difference(rest, one.headers), mine.perhaps);
          if (seen.length > 0) perhaps.push({ headers: seen, row: acl.row });
          if (verdict === 'allow') surely = union(surely, alone);
        } else if (verdict === 'pass')
          handedOn = {
            surely: union(handedOn.surely, alone),
            perhaps: union(handedOn.perhaps, mine.perhaps),
          };
      }
      for (const one of found)
        left = {
          surely: difference(left.surely, one.perhaps),
          perhaps: difference(left.perhaps, one.surely),
        };
    }
    left = {
      surely: union(left.surely, handedOn.surely),
      perhaps: union(left.perhaps, handedOn.perhaps),
    };
  }
  if (!isClosed) {
    const seen = perhaps.reduce((rest, one) => difference(rest, one.headers), left.perhaps);
    if (seen.length > 0) perhaps.push({ headers: seen, row: undefined });
    surely = union(surely, left.surely);
  }
  return { perhaps: perhaps.flatMap((one) => named(one, from.perhaps)), surely, undecided };
}

/** ovn-controller can't read a match on a switch none of whose ports is in a group that it names: there is no such group in Southbound, and the row does nothing. */
const isInForce = ({ groups }: ReadAcl, { hasGroup }: MatchContext): boolean =>
  groups.every(hasGroup);

/** What an ACL matches of the packets that come to it. */
function within(
  acl: ReadAcl,
  context: MatchContext,
  left: Flow,
  undecided: Map<Row, string>,
): Matched {
  if (!isInForce(acl, context)) return { surely: EMPTY, perhaps: EMPTY };
  if (acl.match === undefined) {
    undecided.set(acl.row, acl.why);
    return { surely: EMPTY, perhaps: left.perhaps };
  }
  const found = matched(acl.match, context);
  const perhaps = intersection(left.perhaps, found.perhaps);
  if (found.surely === found.perhaps && left.surely === left.perhaps)
    return { surely: perhaps, perhaps };
  const surely = intersection(left.surely, found.surely);
  if (
    found.surely !== found.perhaps &&
    difference(perhaps, found.surely).length > 0 &&
    !undecided.has(acl.row)
  )
    undecided.set(acl.row, 'asks for more than addresses, protocol, ports and connection');
  return { surely, perhaps };
}

/**
 * Headers of packets that begin something, or (`established`) belong to what has begun, as connection tracking of the switch shows them to ACLs: where nothing is
 * tracked, and of what an `allow-stateless` matches, all are untracked (ovn-northd(8), `ls_in_pre_acl`).
 */
export function tracked(
  headers: HeaderSet,
  state: 'new' | 'established',
  { acls, direction, context }: AtPort,
  isTracking: boolean,
): HeaderSet {
  const at = (set: HeaderSet, value: number): HeaderSet =>
    intersection(set, [box({ [STATE]: between(value, value) })]);
  if (!isTracking) return at(headers, STATES.untracked);
  const stateless = acls
    .filter((acl) => acl.action === 'allow-stateless' && acl.direction === direction)
    .filter((acl) => isInForce(acl, context))
    .map(({ match }) => (match === undefined ? EMPTY : matched(match, context).surely))
    // OVN asks before it looks a connection up.
    .map((one) => withoutState(at(one, STATES.untracked)))
    .reduce<HeaderSet>((sum, one) => union(sum, one), EMPTY);
  if (stateless.length === 0) return at(headers, STATES[state]);
  return union(
    at(intersection(headers, stateless), STATES.untracked),
    at(difference(headers, stateless), STATES[state]),
  );
}

/** True when rows of the switch have OVN track connections: an `allow-related`, or a load balancer that answers for addresses. */
export const tracks = (acls: readonly ReadAcl[], balancers: readonly Row[]): boolean =>
  acls.some(({ action }) => action === 'allow-related') ||
  balancers.some((row) => Object.keys(pairs(row, 'vips')).length > 0);
