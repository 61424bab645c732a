/**
 * A change of flows in pieces, so that none of them keeps the switch from its other work for long. Within a piece all or nothing is done;
 * between two, no packet may get where it gets neither before nor after. Pure.
 */
import type { FlowChange } from './flow-plan.ts';

/** Open vSwitch 3.5 takes some 0.2 s for so many on a slow machine. */
const PIECE = 1000;

/**
 * What drops comes before what it protects, and goes after it. What comes does so from the highest priority down: a flow that decides on some
 * packets is there before the one that decides on all the others. What goes does so from the lowest up.
 */
export function piecesOf(
  changes: readonly FlowChange[],
  size = PIECE,
): readonly (readonly FlowChange[])[] {
  const step = ({ action, isDrop }: FlowChange): number =>
    action === 'remove' ? (isDrop ? 3 : 1) : isDrop ? 0 : 2;
  const inStep = ({ action, priority }: FlowChange): number =>
    action === 'remove' ? priority : -priority;
  const sorted = changes.toSorted((a, b) => step(a) - step(b) || inStep(a) - inStep(b));
  return Array.from({ length: Math.ceil(sorted.length / size) }, (_, n) =>
    sorted.slice(n * size, (n + 1) * size),
  );
}
