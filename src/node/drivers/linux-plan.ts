/**
 * What differs between the wanted and the found state of the network stack, and the smallest change that ends it. Pure. What is marked and
 * nobody wants goes; what is not marked is never changed: an equal object of somebody else will do, another one in the way is a problem.
 */
import type { LinuxTable, SysctlColumns } from '../linux-rows.ts';
import type { Wanted } from './claims.ts';
import type { LinuxPlan } from './linux-change.ts';
import { ADD, LinuxDraft, type FoundState } from './linux-draft.ts';
import { planAddresses } from './linux-plan-addresses.ts';
import { planLinks } from './linux-plan-links.ts';
import { planNeighbours } from './linux-plan-neighbours.ts';
import { planRoutes, planRules } from './linux-plan-routes.ts';

export function planLinux(
  state: FoundState,
  wanted: Iterable<Wanted>,
  isComplete: boolean,
): LinuxPlan {
  const tables = Map.groupBy(wanted, ({ row }) => row.table as LinuxTable);
  const of = (table: LinuxTable): readonly Wanted[] => tables.get(table) ?? [];
  const draft = new LinuxDraft(state, isComplete);
  // Which devices are waited for is found with the links.
  planLinks(draft, of('link'));
  planSysctls(draft, of('sysctl'));
  planAddresses(draft, of('address'));
  planRoutes(draft, of('route'));
  planNeighbours(draft, of('neighbour'));
  planRules(draft, of('rule'));
  return draft.plan;
}

function planSysctls(draft: LinuxDraft, wanted: readonly Wanted[]): void {
  for (const one of wanted) {
    const { dev, value, otherwise } = one.row.columns as unknown as SysctlColumns;
    if (!draft.isUsable(dev)) continue;
    const own = draft.state.sysctl(one.row.key);
    const path = own === undefined && otherwise !== undefined ? otherwise : one.row.key;
    const before = own ?? draft.state.sysctl(path);
    if (before === value) continue;
    draft.change(one, {
      action: 'change',
      before,
      after: value,
      stage: ADD.sysctl,
      commands: [],
      write: { path, value },
    });
  }
}
