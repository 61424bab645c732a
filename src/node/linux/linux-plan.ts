/**
 * What differs between the wanted and the found state of the network stack, and the smallest change that ends it. Pure. What is marked and
 * nobody wants goes; what is not marked is never changed: an equal object of somebody else will do, another one in the way is a problem.
 */
import type { LinuxRow, LinuxTable, RouteColumns, RuleColumns } from './linux-rows.ts';
import { Claims, inTable, type Wanted } from '../reconcile/claims.ts';
import type { Difference } from '../reconcile/host-plan.ts';
import type { LinuxChange } from './linux-change.ts';
import { ADD, LinuxDraft, type FoundState } from './linux-draft.ts';
import type { Found } from './linux-found.ts';
import { planAddresses } from './linux-plan-addresses.ts';
import { planLinks } from './linux-plan-links.ts';
import { planNeighbours } from './linux-plan-neighbours.ts';
import { planRoutes, planRules } from './linux-plan-routes.ts';

/** What is wanted of the network stack: in groups by routing table, where there are most, and by kind. */
export const linuxClaims = (): Claims<LinuxRow> =>
  new Claims(({ table, columns }) =>
    table === 'route' || table === 'rule' ? `${table} ${columns.table ?? 0}` : table,
  );

/** What a table's plan was made from. */
interface TablePlan {
  readonly routes: readonly Found<RouteColumns>[] | undefined;
  readonly rules: readonly Found<RuleColumns>[] | undefined;
  readonly versions: string;
  readonly draft: LinuxDraft;
}

/** Makes plans one after another; of a routing table that is as it was for the last one nothing is compared again. */
export class LinuxPlanner {
  readonly #tables = new Map<number, TablePlan>();

  /** `state`: lists of what was found are the same as long as nothing in them differs. */
  plan(state: FoundState, claims: Claims<LinuxRow>): Difference<LinuxChange> {
    const of = <T extends LinuxTable>(table: T) => inTable(claims.winnersOf(table), table);
    const draft = new LinuxDraft(state);
    // Which devices are waited for is found with the links.
    planLinks(draft, of('link'));
    planSysctls(draft, of('sysctl'));
    planAddresses(draft, of('address'));
    planNeighbours(draft, of('neighbour'));
    const tables = new Set([...state.routes.keys(), ...state.rules.keys()]);
    for (const group of claims.groups()) {
      const [, table] = group.split(' ');
      if (table !== undefined) tables.add(Number(table));
    }
    const parts: LinuxDraft[] = [];
    for (const table of tables) {
      const known = this.#tables.get(table);
      const routes = state.routes.get(table);
      const rules = state.rules.get(table);
      const groups = [`route ${table}`, `rule ${table}`] as const;
      const versions = [
        ...groups.map((group) => claims.versionOf(group)),
        draft.markOfTable(table),
      ].join(' ');
      if (
        known?.routes === routes &&
        known?.rules === rules &&
        known?.versions === versions &&
        isStillSo(known.draft.asked, draft)
      ) {
        parts.push(known.draft);
        continue;
      }
      const part = new LinuxDraft(state, draft.awaited);
      planRoutes(part, table, inTable(claims.winnersOf(groups[0]), 'route'));
      planRules(part, table, inTable(claims.winnersOf(groups[1]), 'rule'));
      this.#tables.set(table, { routes, rules, versions, draft: part });
      parts.push(part);
    }
    for (const table of this.#tables.keys()) if (!tables.has(table)) this.#tables.delete(table);
    return draft.planWith(parts);
  }
}

const isStillSo = (asked: ReadonlyMap<string, boolean>, draft: LinuxDraft): boolean => {
  for (const [dev, was] of asked) if (draft.isUsable(dev) !== was) return false;
  return true;
};

function planSysctls(
  draft: LinuxDraft,
  wanted: readonly Wanted<LinuxRow & { readonly table: 'sysctl' }>[],
): void {
  for (const one of wanted) {
    const { dev, value, otherwise } = one.row.columns;
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
      stale: { kind: 'sysctl', path },
      write: { path, value },
    });
  }
}
