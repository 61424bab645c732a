/**
 * The fence of egress addresses on the external bridge: one flow by which whatever has such an address passes. Where another node could have the address, Open
 * vSwitch removes it by itself when nobody writes it again (OpenFlow 1.3 §5.5, hard_timeout). Its cookie is none of those that are compared: a difference never
 * touches it.
 */
import { EGRESS_FENCE } from '../../model/rules/egress-health.ts';
import { PASS_FENCE } from './flow-actions.ts';
import type { FlowChange } from './flow-plan.ts';
import { COOKIE_FENCE, PIPELINE } from './pipeline.ts';
import type { OfctlProgram } from './ofctl-program.ts';

/** Between what comes from outside and what drops. */
const OPEN = `table=${PIPELINE.fence.id},priority=100`;

/** How long it is open without anybody who opens it again: for EGRESS_FENCE, or until it is shut. */
export type FenceTerm = 'timed' | 'lasting';

const lineOf = (term: FenceTerm): string =>
  [
    `add ${OPEN}`,
    `cookie=${COOKIE_FENCE}`,
    ...(term === 'timed' ? [`hard_timeout=${EGRESS_FENCE / 1000}`] : []),
    `actions=${PASS_FENCE.join(',')}`,
  ].join(',');

/** Line of a bundle by which it is open for a while. */
export const FENCE_OPEN = lineOf('timed');
const CLOSE = `delete_strict ${OPEN}`;

const { table, priority } = PIPELINE.classify.at.egressFence;
const IS_FENCED = new RegExp(` table=(?:${PIPELINE.fence.id},|${table},priority=${priority},)`);

/** True for flows that ask the fence, and for the fence itself: they are there before an address is. */
export const isFenceFlow = ({ table: kind, key }: Pick<FlowChange, 'table' | 'key'>): boolean =>
  kind === 'flow' && IS_FENCED.test(key);

/** Of one bridge. Each throws OfctlError when Open vSwitch does not answer in time. */
export interface BridgeFence {
  open(bridge: string, term: FenceTerm): Promise<void>;
  close(bridge: string): Promise<void>;
  /** Undefined where it is shut. */
  termOf(bridge: string): Promise<FenceTerm | undefined>;
}

/** `ofctl` has to give up before long: what it sends late holds late. */
export const bridgeFence = (ofctl: Pick<OfctlProgram, 'bundle' | 'flows'>): BridgeFence => ({
  open: (bridge, term) => ofctl.bundle(bridge, [lineOf(term)]),
  close: (bridge) => ofctl.bundle(bridge, [CLOSE]),
  async termOf(bridge) {
    const [flow] = await ofctl.flows(bridge, `${COOKIE_FENCE}/-1`);
    if (flow === undefined) return undefined;
    return flow.includes('hard_timeout=') ? 'timed' : 'lasting';
  },
});
