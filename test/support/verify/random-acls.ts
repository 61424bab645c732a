/** ACLs at random, as rows, and what becomes of one packet by each: no set of headers is worked out here. */
import * as fc from 'fast-check';
import type { STATES } from '../../../src/verify/headers/boxes.ts';
import type { Direction } from '../../../src/verify/headers/stages.ts';
import type { Row } from '../../../src/verify/rows.ts';

export interface Packet {
  readonly source: number;
  readonly destination: number;
  readonly protocol: number;
  readonly port: number;
  readonly state: keyof typeof STATES;
}

/** A condition as OVN writes it, and what it says of one packet. */
export interface Term {
  readonly text: string;
  readonly holds: (packet: Packet) => boolean;
}

export interface RandomAcl {
  readonly term: Term;
  readonly direction: Direction;
  readonly tier: number;
  readonly priority: number;
  readonly action: 'allow' | 'allow-related' | 'allow-stateless' | 'drop' | 'reject' | 'pass';
  readonly isLate: boolean;
}

/** Address sets: last numbers of addresses of both ends. */
export const SETS: Readonly<Record<string, readonly number[]>> = {
  low: [1, 2, 3],
  odd: [1, 3, 5, 7],
};
export type End = 'source' | 'destination';
export const addressOf = (of: End, last: number): string =>
  `10.0.${of === 'source' ? 0 : 1}.${last}`;
export const setOf = (name: string): readonly string[] =>
  (SETS[name] ?? []).flatMap((last) => [addressOf('source', last), addressOf('destination', last)]);
const PROTOCOLS = { tcp: 6, udp: 17 } as const;

const last = fc.integer({ min: 1, max: 7 });
const end = fc.constantFrom<End[]>('source', 'destination');
const fieldOf = (of: End): string => `ip4.${of === 'source' ? 'src' : 'dst'}`;

const leaf: fc.Arbitrary<Term> = fc.oneof(
  fc
    .record({ of: end, values: fc.uniqueArray(last, { minLength: 1, maxLength: 3 }) })
    .map(({ of, values }) => ({
      text: `${fieldOf(of)} == {${values.map((one) => addressOf(of, one)).join(', ')}}`,
      holds: (packet: Packet) => values.includes(packet[of]),
    })),
  fc.record({ of: end, value: last }).map(({ of, value }) => ({
    text: `${fieldOf(of)} != ${addressOf(of, value)}`,
    holds: (packet: Packet) => packet[of] !== value,
  })),
  fc
    .record({ of: end, bits: fc.integer({ min: 0, max: 3 }), value: last })
    .map(({ of, bits, value }) => ({
      text: `${fieldOf(of)} == ${addressOf(of, (value >> bits) << bits)}/${32 - bits}`,
      holds: (packet: Packet) => packet[of] >> bits === value >> bits,
    })),
  fc.record({ of: end, set: fc.constantFrom('low', 'odd') }).map(({ of, set }) => ({
    text: `${fieldOf(of)} == $${set}`,
    holds: (packet: Packet) => SETS[set]?.includes(packet[of]) === true,
  })),
  fc.constantFrom<Term[]>(
    { text: 'tcp', holds: ({ protocol }) => protocol === 6 },
    { text: 'udp', holds: ({ protocol }) => protocol === 17 },
    { text: 'icmp4', holds: ({ protocol }) => protocol === 1 },
    { text: 'ip6', holds: () => false },
    { text: 'ct.new', holds: ({ state }) => state === 'new' },
    { text: '!ct.est', holds: ({ state }) => state !== 'established' },
    { text: '(inport == @mine || outport == @mine)', holds: () => true },
    { text: 'inport == @theirs', holds: () => false },
  ),
  fc
    .record({
      protocol: fc.constantFrom<'tcp' | 'udp'>('tcp', 'udp'),
      relation: fc.constantFrom('==', '!=', '<', '<=', '>', '>='),
      value: fc.integer({ min: 0, max: 4 }),
    })
    .map(({ protocol, relation, value }) => ({
      text: `${protocol}.dst ${relation} ${value}`,
      holds: (packet: Packet) =>
        packet.protocol === PROTOCOLS[protocol] && compare(packet.port, relation, value),
    })),
);

function compare(a: number, relation: string, b: number): boolean {
  if (relation === '==') return a === b;
  if (relation === '!=') return a !== b;
  if (relation === '<') return a < b;
  if (relation === '<=') return a <= b;
  return relation === '>' ? a > b : a >= b;
}

const term: fc.Arbitrary<Term> = fc.oneof(
  { weight: 1, arbitrary: leaf },
  {
    weight: 2,
    arbitrary: fc
      .record({
        terms: fc.array(leaf, { minLength: 2, maxLength: 4 }),
        isAll: fc.boolean(),
        more: leaf,
      })
      .map(({ terms, isAll, more }) => ({
        text: `${more.text} ${isAll ? '||' : '&&'} (${terms.map((one) => one.text).join(isAll ? ' && ' : ' || ')})`,
        holds: (packet: Packet) => {
          const inner = isAll
            ? terms.every((one) => one.holds(packet))
            : terms.some((one) => one.holds(packet));
          return isAll ? more.holds(packet) || inner : more.holds(packet) && inner;
        },
      })),
  },
);

export const aclsWith = (
  actions: readonly RandomAcl['action'][],
): fc.Arbitrary<readonly RandomAcl[]> =>
  fc.uniqueArray(
    fc.record<RandomAcl>({
      term,
      direction: fc.constantFrom<Direction[]>('from-lport', 'to-lport'),
      tier: fc.integer({ min: 0, max: 3 }),
      priority: fc.integer({ min: 0, max: 5 }),
      action: fc.constantFrom(...actions),
      isLate: fc.boolean(),
    }),
    // Of two with one priority OVN takes any.
    {
      maxLength: 10,
      selector: ({ direction, tier, priority }) => `${direction} ${tier} ${priority}`,
    },
  );

export const rowOf = ({
  term: { text },
  direction,
  tier,
  priority,
  action,
  isLate,
}: RandomAcl): Row => ({
  direction,
  tier,
  priority,
  action,
  match: text,
  options: ['map', isLate ? [['apply-after-lb', 'true']] : []],
});

/** What becomes of one packet, one ACL after the other. */
export function passes(packet: Packet, all: readonly RandomAcl[], direction: Direction): boolean {
  const own = all.filter((one) => one.direction === direction);
  const stages =
    direction === 'to-lport'
      ? [own]
      : [own.filter((one) => !one.isLate), own.filter((one) => one.isLate)];
  return stages.every((stage) => {
    for (const tier of [0, 1, 2, 3]) {
      const first = stage
        .filter((one) => one.tier === tier && one.term.holds(packet))
        .toSorted((a, b) => b.priority - a.priority)[0];
      if (first === undefined || first.action === 'pass') continue;
      return first.action === 'allow' || first.action === 'allow-related';
    }
    return true;
  });
}

export const packet: fc.Arbitrary<Packet> = fc.record({
  source: last,
  destination: last,
  protocol: fc.constantFrom(6, 17, 1),
  port: fc.integer({ min: 0, max: 5 }),
  state: fc.constantFrom<Packet['state'][]>('new', 'established'),
});
