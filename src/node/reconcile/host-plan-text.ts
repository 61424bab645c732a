/** A plan of the network stack, of nftables, or of flows, for people and for programs, as those of databases are. */
import { visibleText } from '../../api/visible-text.ts';
import type { HostPlan, PlannedChange } from './host-plan.ts';

const ACTIONS = { add: 'insert', change: 'update', remove: 'delete' } as const;
const SIGNS = { add: '+', change: '~', remove: '-' } as const;
const WORDS = { add: 'to add', change: 'to change', remove: 'to remove' } as const;

/** Where it is: a bridge, or a kind of object of the host. */
const placeOf = (change: PlannedChange): string =>
  change.bridge === undefined ? change.table : `bridge ${change.bridge}`;

/**
 * ```
 * rule: 1 to add
 *   + priority 2000 fwmark 0x1001 lookup 10001
 * ```
 */
export function renderHostPlan({ changes, problems, isEmpty }: HostPlan): string {
  const lines: string[] = [];
  const places = Map.groupBy<string, PlannedChange>(changes, placeOf);
  for (const [place, all] of [...places].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const counts = (Object.keys(WORDS) as (keyof typeof WORDS)[]).flatMap((action) => {
      const count = all.filter((change) => change.action === action).length;
      return count === 0 ? [] : [`${count} ${WORDS[action]}`];
    });
    lines.push(`${place}: ${counts.join(', ')}`, ...all.map(changeText));
  }
  if (isEmpty) lines.push('Nothing to do.');
  for (const { message } of problems) lines.push(`! ${message}`);
  return `${lines.map(visibleText).join('\n')}\n`;
}

/** The text of an object names it, but for devices, settings, and ports. */
function changeText({ action, table, key, before, after }: PlannedChange): string {
  const name =
    table === 'link' || table === 'sysctl'
      ? `${key}: `
      : table === 'port'
        ? `port ${key.slice(key.indexOf(' ') + 1)}: `
        : '';
  const text = action === 'change' ? `${before ?? ''} → ${after}` : (after ?? before);
  return `  ${SIGNS[action]} ${name}${text}`;
}

export const hostPlanToJson = (
  database: string,
  { changes, problems, isEmpty, heldBack }: HostPlan,
): unknown => ({
  database,
  empty: isEmpty,
  changes: changes.map(
    ({ action, table, key, unit, object, rule, before, after }: PlannedChange) => ({
      action: ACTIONS[action],
      table,
      key,
      unit,
      object,
      rule,
      before,
      after,
    }),
  ),
  problems,
  heldBack,
});
