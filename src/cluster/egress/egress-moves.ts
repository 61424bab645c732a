/**
 * How addresses move from node to node while both work, so that no packet is lost (docs/decisions/egress-moves.md): the new node has everything in place
 * before anybody sends to it, and the old one lets through what is on its way for a time. Pure.
 */
import type { EgressAssignment, EgressItem } from '../../allocators/egress-addresses.ts';
import type { EgressMove } from '../../api/annotations/network-annotations.ts';

/** A move, and since when it is at its step. */
export interface EgressMoveState extends EgressMove {
  /** Milliseconds on the caller's clock. */
  readonly since: number;
}

export interface EgressMoveFacts {
  /** `away`: whoever would do what is asked is not there, and may come back. `lost`: it is not waited for. */
  readonly workOf: (node: string) => 'working' | 'away' | 'lost';
  readonly isPrepared: (node: string, address: string) => boolean;
  /** By what it says of itself. */
  readonly isAnswering: (node: string, address: string) => boolean;
  readonly now: number;
}

/** A node that is not ready for an address by then gets it as one does whose address is nowhere: it may be of another make, or can't have all of it. */
const LONGEST_PREPARATION = 30_000;
/** The old node lets through what it knows for so long: answers to connections that have been silent since the address moved. */
const SETTLING = 60_000;

export interface MovedAddresses {
  /** What the object has. */
  readonly items: readonly EgressItem[];
  readonly moves: readonly EgressMoveState[];
}

/** `held`: what the object has had so far. */
export function moveEgressAddresses(
  assignment: EgressAssignment,
  held: readonly EgressItem[],
  before: readonly EgressMoveState[],
  { workOf, isPrepared, isAnswering, now }: EgressMoveFacts,
): MovedAddresses {
  const items = [...assignment.items];
  const moves: EgressMoveState[] = [];
  for (const [address, why] of assignment.unassigned) {
    const from = held.find((item) => item.address === address)?.node;
    if (why.kind !== 'leaving' || from !== why.from || workOf(from) === 'lost') continue;
    const { to } = why;
    const known = before.find((move) => isMove(move, address, from, to));
    const since = workOf(from) === 'working' ? (known?.since ?? now) : now;
    if (workOf(from) === 'working' && isPrepared(to, address)) {
      items.push({ node: to, address });
      moves.push({ address, from, to, step: 'switch', since: now });
    } else if (now - since < LONGEST_PREPARATION) {
      items.push({ node: from, address });
      moves.push({ address, from, to, step: 'prepare', since });
    }
  }
  for (const { node, address } of assignment.items) {
    const move = before.find((one) => one.address === address && one.to === node);
    if (move === undefined || move.step === 'prepare') continue;
    if (move.step === 'switch')
      moves.push(isAnswering(move.from, address) ? move : { ...move, step: 'settle', since: now });
    else if (now - move.since < SETTLING) moves.push(move);
  }
  return { items, moves };
}

const isMove = (move: EgressMove, address: string, from: string, to: string): boolean =>
  move.address === address && move.from === from && move.to === to && move.step === 'prepare';

/** When a move goes on by itself at the earliest; Infinity if none does. */
export const nextStepAt = (moves: readonly EgressMoveState[]): number =>
  Math.min(
    ...moves.flatMap(({ step, since }) =>
      step === 'switch' ? [] : [since + (step === 'settle' ? SETTLING : LONGEST_PREPARATION)],
    ),
    Infinity,
  );
