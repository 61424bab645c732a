/** What a change of objects opens and closes: the same question asked of what is and of what would be. Pure. */
import { containsPrefix, formatPrefix, parsePrefix, type Prefix } from '../allocators/addresses.ts';
import { withoutPrefixes } from '../allocators/prefix-subtraction.ts';
import type { MemberClass } from './member-classes.ts';
import type { Member } from './members.ts';
import { PortSet } from './port-set.ts';
import { ReachLines, type ReachLine } from './reach-lines.ts';
import type { Passage, ReachWorld } from './reach-world.ts';
import { OUTSIDE, type Join, type Way } from './way.ts';

export interface ReachChange {
  readonly opens: readonly ReachLine[];
  readonly closes: readonly ReachLine[];
  /** Objects that let something into a network, or out of one, as a whole. */
  readonly opensWays: readonly (Way | Join)[];
  readonly closesWays: readonly (Way | Join)[];
}

/** Objects as they are, and what follows from them. */
export interface Reach {
  readonly world: ReachWorld;
  readonly ways: readonly (Way | Join)[];
}

/** Members that are of one class before the change, and of one after it. */
interface Kin {
  readonly network: string;
  readonly before: MemberClass | undefined;
  readonly after: MemberClass | undefined;
  readonly members: Member[];
}

export function reachChange(before: Reach, after: Reach): ReachChange {
  const kin = kinOf(before.world, after.world);
  const byNetwork = Map.groupBy(kin, ({ network }) => network);
  const opens = new ReachLines();
  const closes = new ReachLines();
  for (const from of kin) {
    const networks = new Set([
      ...before.world.networksFrom(from.network),
      ...after.world.networksFrom(from.network),
    ]);
    for (const network of networks)
      for (const to of byNetwork.get(network) ?? []) {
        const was = passages(before.world, from.before, to.before);
        const is = passages(after.world, from.after, to.after);
        opens.add(from.members, to.members, more(is, was));
        closes.add(from.members, to.members, more(was, is));
      }
  }
  const ranges = rangesOutside(before.world, after.world);
  for (const from of kin) {
    const [was, is] = [
      passagesOut(before.world, from.before, ranges),
      passagesOut(after.world, from.after, ranges),
    ];
    opens.addOutside(from.members, rangesText(is, was));
    closes.addOutside(from.members, rangesText(was, is));
  }
  const [had, has] = [new Map(before.ways.map(keyed)), new Map(after.ways.map(keyed))];
  return {
    opens: opens.lines(),
    closes: closes.lines(),
    opensWays: [...has].filter(([key]) => !had.has(key)).map(([, way]) => way),
    closesWays: [...had].filter(([key]) => !has.has(key)).map(([, way]) => way),
  };
}

const keyed = (way: Way | Join): readonly [string, Way | Join] => [JSON.stringify(way), way];

function kinOf(before: ReachWorld, after: ReachWorld): readonly Kin[] {
  const keyOf = ({ pod, network, role }: Member): string => JSON.stringify([pod, network, role]);
  const was = new Map(before.members.map((member) => [keyOf(member), member]));
  const is = new Map(after.members.map((member) => [keyOf(member), member]));
  const found = new Map<MemberClass | undefined, Map<MemberClass | undefined, Kin>>();
  const kin: Kin[] = [];
  for (const [key, member] of new Map([...was, ...is])) {
    const [old, fresh] = [was.get(key), is.get(key)];
    const a = old && before.classOf(old);
    const b = fresh && after.classOf(fresh);
    const known = found.get(a) ?? new Map<MemberClass | undefined, Kin>();
    found.set(a, known);
    const own = known.get(b);
    if (own !== undefined) {
      own.members.push(member);
      continue;
    }
    const one = { network: member.network, before: a, after: b, members: [member] };
    known.set(b, one);
    kin.push(one);
  }
  return kin;
}

const passages = (
  world: ReachWorld,
  from: MemberClass | undefined,
  to: MemberClass | undefined,
): readonly Passage[] => (from === undefined || to === undefined ? [] : world.passages(from, to));

/** What the first ones let through and the second ones don't. */
const more = (some: readonly Passage[], others: readonly Passage[]): readonly Passage[] =>
  some.flatMap((one) => {
    const same = others.filter(({ by }) => by === one.by);
    const ports = same.reduce((rest, other) => rest.without(other.ports), one.ports);
    return ports.isEmpty ? [] : { ...one, ports };
  });

/** A range without those in it that rules tell from it. */
interface Range {
  readonly prefix: Prefix;
  readonly holes: readonly Prefix[];
}

/** Everything outside, cut where a rule of one of the two cuts it. */
function rangesOutside(before: ReachWorld, after: ReachWorld): readonly Range[] {
  const prefixes = [...new Set([...before.outside, ...after.outside])]
    .map(parsePrefix)
    .filter((prefix) => prefix !== undefined);
  return prefixes
    .map((prefix) => ({
      prefix,
      holes: prefixes.filter((one) => one !== prefix && containsPrefix(prefix, one)),
    }))
    .filter(({ prefix, holes }) => withoutPrefixes(prefix, holes).next().done !== true);
}

const passagesOut = (
  world: ReachWorld,
  from: MemberClass | undefined,
  ranges: readonly Range[],
): ReadonlyMap<Range, PortSet> =>
  new Map(
    ranges.map((range) => [
      range,
      from === undefined ? PortSet.NONE : world.passageOut(from, formatPrefix(range.prefix)),
    ]),
  );

/** What is let through to ranges, by their text; ranges with the same ports are one. */
function rangesText(
  some: ReadonlyMap<Range, PortSet>,
  others: ReadonlyMap<Range, PortSet>,
): ReadonlyMap<string, readonly string[]> {
  const found = [...some].flatMap(([range, ports]) => {
    const rest = ports.without(others.get(range) ?? PortSet.NONE);
    return rest.isEmpty ? [] : { range, texts: rest.texts() };
  });
  const byPorts = Map.groupBy(found, ({ texts }) => texts.join('; '));
  return new Map(
    [...byPorts.values()].map((same) => [
      textOf(same.map(({ range }) => range)),
      same[0]?.texts ?? [],
    ]),
  );
}

/** A range in which another one is stands for that, too; what is left out of it is named. */
function textOf(ranges: readonly Range[]): string {
  const own = new Set(ranges.map(({ prefix }) => prefix));
  const outer = ranges.filter(
    ({ prefix }) =>
      !ranges.some(({ prefix: other, holes }) => other !== prefix && holes.includes(prefix)),
  );
  const texts = outer.map(({ prefix, holes }) => {
    const left = holes.filter((hole) => !own.has(hole));
    const outermost = left.filter(
      (hole) => !left.some((other) => other !== hole && containsPrefix(other, hole)),
    );
    const but = outermost.length === 0 ? '' : ` but ${outermost.map(formatPrefix).join(', ')}`;
    return `${formatPrefix(prefix)}${but}`;
  });
  return `${OUTSIDE} ${texts.join(', ')}`;
}
