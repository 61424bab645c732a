/** A plan of the network stack, or of nftables, for people and for programs, as those of databases are. */
import type { LinuxPlan } from './linux-plan.ts';
import type { NftPlan } from './nft-plan.ts';

type HostPlan = LinuxPlan | NftPlan;
type HostChange = HostPlan['changes'][number];

const ACTIONS = { add: 'insert', change: 'update', remove: 'delete' } as const;
const SIGNS = { add: '+', change: '~', remove: '-' } as const;
const WORDS = { add: 'to add', change: 'to change', remove: 'to remove' } as const;

/**
 * ```
 * rule: 1 to add
 *   + priority 2000 fwmark 0x1001 lookup 10001
 * ```
 */
export function renderHostPlan({ changes, problems, isEmpty }: HostPlan): string {
  const lines: string[] = [];
  for (const [table, all] of [
    ...Map.groupBy<string, HostChange>(changes, (change) => change.table),
  ].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const counts = (Object.keys(WORDS) as (keyof typeof WORDS)[]).flatMap((action) => {
      const count = all.filter((change) => change.action === action).length;
      return count === 0 ? [] : [`${count} ${WORDS[action]}`];
    });
    lines.push(`${table}: ${counts.join(', ')}`, ...all.map(changeText));
  }
  if (isEmpty) lines.push('Nothing to do.');
  for (const { message } of problems) lines.push(`! ${message}`);
  return `${lines.join('\n')}\n`;
}

/** The text of an object names it, but for devices and settings. */
function changeText({ action, table, key, before, after }: HostChange): string {
  const name = table === 'link' || table === 'sysctl' ? `${key}: ` : '';
  const text = action === 'change' ? `${before ?? ''} → ${after}` : (after ?? before);
  return `  ${SIGNS[action]} ${name}${text}`;
}

export function hostPlanToJson(
  database: string,
  { changes, problems, isEmpty, heldBack }: HostPlan,
): unknown {
  return {
    database,
    empty: isEmpty,
    changes: [...changes].map(({ action, table, key, unit, object, rule, before, after }) => ({
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
  };
}
