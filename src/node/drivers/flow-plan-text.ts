/** A plan of flows for people and for programs, as those of databases are. */
import { OPENFLOW } from '../flow-rows.ts';
import type { FlowChange, FlowPlan } from './flow-plan.ts';

const ACTIONS = { add: 'insert', change: 'update', remove: 'delete' } as const;
const SIGNS = { add: '+', change: '~', remove: '-' } as const;
const WORDS = { add: 'to add', change: 'to change', remove: 'to remove' } as const;

/**
 * ```
 * bridge br-ex: 1 to add
 *   + table=0,priority=9,in_port=2 actions=drop
 * ```
 */
export function renderFlowPlan({ changes, problems, isEmpty }: FlowPlan): string {
  const lines: string[] = [];
  for (const [bridge, all] of Map.groupBy(changes, (change) => change.bridge)) {
    const counts = (Object.keys(WORDS) as (keyof typeof WORDS)[]).flatMap((action) => {
      const count = all.filter((change) => change.action === action).length;
      return count === 0 ? [] : [`${count} ${WORDS[action]}`];
    });
    lines.push(`bridge ${bridge}: ${counts.join(', ')}`, ...all.map(changeText));
  }
  if (isEmpty) lines.push('Nothing to do.');
  for (const { message } of problems) lines.push(`! ${message}`);
  return `${lines.join('\n')}\n`;
}

function changeText({ action, table, key, before, after }: FlowChange): string {
  const name = table === 'port' ? `port ${key.slice(key.indexOf(' ') + 1)}: ` : '';
  const text = action === 'change' ? `${before ?? ''} → ${after}` : (after ?? before);
  return `  ${SIGNS[action]} ${name}${text}`;
}

export const flowPlanToJson = ({ changes, problems, isEmpty, heldBack }: FlowPlan): unknown => ({
  database: OPENFLOW,
  empty: isEmpty,
  changes: changes.map(({ action, table, key, unit, object, rule, before, after }) => ({
    action: ACTIONS[action],
    table,
    key,
    unit,
    object,
    rule,
    before,
    after,
  })),
  problems,
  heldBack,
});
