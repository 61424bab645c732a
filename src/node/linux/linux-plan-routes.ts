/** Routes, and the rules that choose a table of them. */
import {
  remembered,
  routeKey,
  routeArguments,
  ruleKey,
  ruleArguments,
  type LinuxRow,
  type RouteColumns,
  type RuleColumns,
} from './linux-rows.ts';
import { PROTOCOL } from '../numbers.ts';
import type { Wanted } from '../reconcile/claims.ts';
import type { LinuxCommand } from './linux-change.ts';
import { ADD, type LinuxDraft } from './linux-draft.ts';

const routeText = remembered(
  (route: RouteColumns) => `${routeArguments(route).join(' ')} table ${route.table}`,
);

const routeCommand = (what: 'add' | 'delete', route: RouteColumns): LinuxCommand => ({
  kind: `${what}-route`,
  route,
});

const ruleText = (rule: RuleColumns): string => ruleArguments(rule).join(' ');

const ruleCommand = (what: 'add' | 'delete', rule: RuleColumns): LinuxCommand => ({
  kind: `${what}-rule`,
  rule,
});

/** Routes of a table. */
export function planRoutes(
  draft: LinuxDraft,
  table: number,
  wanted: readonly Wanted<LinuxRow & { readonly table: 'route' }>[],
): void {
  const found = new Map<string, RouteColumns>();
  for (const { columns } of draft.state.routes.get(table) ?? [])
    found.set(routeKey(columns), columns);
  // What goes nowhere first: until the others are there nothing may leave by another table.
  const rank = ({ row: { columns } }: (typeof wanted)[number]): number =>
    columns.type === undefined ? (columns.via === undefined ? 1 : 2) : 0;
  const stale = { kind: 'routes', table } as const;
  const mark = draft.markOfTable(table);
  for (const one of wanted.toSorted((a, b) => rank(a) - rank(b))) {
    const columns = one.row.columns;
    const before = found.get(one.row.key);
    found.delete(one.row.key);
    if (!draft.isUsable(columns.dev)) continue;
    const text = routeText(columns);
    if (before !== undefined && routeText(before) === text) continue;
    const add = routeCommand('add', columns);
    draft.change(one, {
      action: before === undefined ? 'add' : 'change',
      before: before && routeText(before),
      after: text,
      stage: ADD.route,
      commands: before === undefined ? [add] : [routeCommand('delete', before), add],
      stale,
    });
  }
  for (const [key, columns] of found)
    draft.remove('route', key, routeText(columns), [routeCommand('delete', columns)], stale, mark);
}

/** Rules that choose a table. */
export function planRules(
  draft: LinuxDraft,
  table: number,
  wanted: readonly Wanted<LinuxRow & { readonly table: 'rule' }>[],
): void {
  const found = new Map<string, RuleColumns>();
  const all = new Set<string>();
  const stale = { kind: 'rules', table } as const;
  const mark = draft.markOfTable(table);
  for (const { columns, protocol } of draft.state.rules.get(table) ?? []) {
    const key = ruleKey(columns);
    all.add(key);
    if (protocol === PROTOCOL) found.set(key, columns);
  }
  for (const one of wanted) {
    found.delete(one.row.key);
    if (all.has(one.row.key)) continue;
    const columns = one.row.columns;
    draft.change(one, {
      action: 'add',
      before: undefined,
      after: ruleText(columns),
      stage: ADD.rule,
      commands: [ruleCommand('add', columns)],
      stale,
    });
  }
  for (const [key, columns] of found)
    draft.remove('rule', key, ruleText(columns), [ruleCommand('delete', columns)], stale, mark);
}
