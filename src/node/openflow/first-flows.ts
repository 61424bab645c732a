/**
 * Flows that the external bridge has before its uplink: gateway routers have the MAC address of the bridge, and on a node that boots they have rows of before,
 * so nothing with that address leaves but what the host itself sends, until a port has flows of its own. They stay below all others.
 */
import { DROP, NORMAL } from './flow-actions.ts';
import { addLine } from './flow-plan.ts';
import { LOCAL, matchText } from './flow-rows.ts';
import { COOKIE, PIPELINE, type FlowPlace } from './pipeline.ts';

export interface FirstFlow {
  readonly place: FlowPlace;
  readonly fields: readonly string[];
  readonly actions: readonly string[];
}

/** `mac`: of the bridge. */
export const firstFlows = (mac: string): readonly FirstFlow[] => [
  { place: PIPELINE.classify.at.restOfHost, fields: [`in_port=${LOCAL}`], actions: [NORMAL] },
  { place: PIPELINE.classify.at.asTheNode, fields: [`dl_src=${mac}`], actions: [DROP] },
];

/** What a bridge has that no daemon gave flows since it was made: these, and the one that Open vSwitch makes. */
export const isOfNewBridge = ({
  table,
  priority,
}: Pick<FlowPlace, 'table' | 'priority'>): boolean =>
  table === PIPELINE.classify.id && priority <= PIPELINE.classify.at.restOfHost.priority;

/** Lines of a bundle. */
export const firstFlowLines = (mac: string): readonly string[] =>
  firstFlows(mac).map(({ place: { table, priority }, fields, actions }) =>
    addLine({ table, priority, cookie: COOKIE, match: matchText(fields), actions: actions.join() }),
  );
