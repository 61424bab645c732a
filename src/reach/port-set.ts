/** Sets of protocols and ports: what one end of a packet may send to the other. Pure. */
import type { PolicyPort, Protocol } from '../model/read/policies.ts';

/** Both ends belong to it. */
type Range = readonly [first: number, last: number];

const PROTOCOLS: readonly Protocol[] = ['tcp', 'udp', 'sctp'];
const EVERY_PORT: Range = [0, 65_535];

type Ranges = Readonly<Record<Protocol, readonly Range[]>>;

const NO_RANGES: Ranges = { tcp: [], udp: [], sctp: [] };

export class PortSet {
  static readonly NONE = new PortSet(NO_RANGES, false);
  static readonly ALL = new PortSet(
    { tcp: [EVERY_PORT], udp: [EVERY_PORT], sctp: [EVERY_PORT] },
    true,
  );
  /** What has no ports: ICMP. */
  static readonly ICMP = new PortSet(NO_RANGES, true);

  /** Sorted; none touches the next one. */
  readonly #ranges: Ranges;
  readonly #hasIcmp: boolean;

  private constructor(ranges: Ranges, hasIcmp: boolean) {
    this.#ranges = ranges;
    this.#hasIcmp = hasIcmp;
  }

  static of(protocol: Protocol, first: number, last = first): PortSet {
    return new PortSet({ ...NO_RANGES, [protocol]: [[first, last]] }, false);
  }

  /**
   * What the ports of a rule mean; all of them, and ICMP, where it names none. `numberOf`: which number a name is at the end that is reached, if that has one
   * of it.
   */
  static ofRule(
    ports: readonly PolicyPort[],
    numberOf: (protocol: Protocol, name: string) => number | undefined,
  ): PortSet {
    if (ports.length === 0) return PortSet.ALL;
    return ports.reduce<PortSet>((all, { protocol, port, endPort, name }) => {
      const first = name === undefined ? (port ?? EVERY_PORT[0]) : numberOf(protocol, name);
      if (first === undefined) return all;
      const isEvery = name === undefined && port === undefined;
      return all.or(PortSet.of(protocol, first, isEvery ? EVERY_PORT[1] : (endPort ?? first)));
    }, PortSet.NONE);
  }

  get isEmpty(): boolean {
    return !this.#hasIcmp && PROTOCOLS.every((protocol) => this.#ranges[protocol].length === 0);
  }

  or(other: PortSet): PortSet {
    return this.#with(other, joined, this.#hasIcmp || other.#hasIcmp);
  }

  and(other: PortSet): PortSet {
    return this.#with(other, common, this.#hasIcmp && other.#hasIcmp);
  }

  without(other: PortSet): PortSet {
    return this.#with(other, left, this.#hasIcmp && !other.#hasIcmp);
  }

  #with(
    other: PortSet,
    combined: (a: readonly Range[], b: readonly Range[]) => readonly Range[],
    hasIcmp: boolean,
  ): PortSet {
    const of = (protocol: Protocol): readonly Range[] =>
      combined(this.#ranges[protocol], other.#ranges[protocol]);
    return new PortSet({ tcp: of('tcp'), udp: of('udp'), sctp: of('sctp') }, hasIcmp);
  }

  has(protocol: Protocol, port: number): boolean {
    return this.#ranges[protocol].some(([first, last]) => first <= port && port <= last);
  }

  /** `everything`, `everything but tcp 80`, or `tcp 80, 443, 8000-8010` for each protocol, and `icmp`: whatever is shorter. */
  texts(): readonly string[] {
    const rest = PortSet.ALL.without(this);
    if (rest.isEmpty) return ['everything'];
    const [own, others] = [this.#own(), rest.#own()];
    const isShort = others.join().length < own.join().length;
    return isShort ? [`everything but ${others.join(', ')}`] : own;
  }

  #own(): readonly string[] {
    const texts = PROTOCOLS.flatMap((protocol) => {
      const ranges = this.#ranges[protocol];
      return ranges.length === 0 ? [] : `${protocol} ${rangesText(ranges)}`;
    });
    return this.#hasIcmp ? [...texts, 'icmp'] : texts;
  }
}

function rangesText(ranges: readonly Range[]): string {
  const [first] = ranges;
  if (first?.[0] === EVERY_PORT[0] && first[1] === EVERY_PORT[1]) return 'all ports';
  return ranges.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(', ');
}

function joined(a: readonly Range[], b: readonly Range[]): readonly Range[] {
  const all = [...a, ...b].toSorted(([x], [y]) => x - y);
  const found: Range[] = [];
  for (const [first, last] of all) {
    const before = found.at(-1);
    if (before !== undefined && first <= before[1] + 1)
      found[found.length - 1] = [before[0], Math.max(before[1], last)];
    else found.push([first, last]);
  }
  return found;
}

const common = (a: readonly Range[], b: readonly Range[]): readonly Range[] =>
  a.flatMap(([first, last]) =>
    b.flatMap(([from, to]): readonly Range[] => {
      const [low, high] = [Math.max(first, from), Math.min(last, to)];
      return low <= high ? [[low, high]] : [];
    }),
  );

const left = (a: readonly Range[], b: readonly Range[]): readonly Range[] =>
  b.reduce<readonly Range[]>(
    (rest, [from, to]) =>
      rest.flatMap(([first, last]): readonly Range[] => [
        ...(first < from ? [[first, Math.min(last, from - 1)] as const] : []),
        ...(last > to ? [[Math.max(first, to + 1), last] as const] : []),
      ]),
    a,
  );
