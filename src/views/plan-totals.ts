/** How much a plan would change, in one line. Pure. */
import { isPlainObject } from '../api/plain-object.ts';

/** The text of a part of a plan in which nothing changes. */
export const NOTHING_TO_DO = 'Nothing to do.\n';

const ACTIONS = { insert: 'to add', update: 'to change', delete: 'to remove' } as const;

const listIn = (part: unknown, name: string): readonly unknown[] => {
  const list = isPlainObject(part) ? part[name] : undefined;
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
};

/** `Node n1: 12 to add, 3 to change, 1 to remove (OVN_Northbound 10, Linux 6)`, from the parts of a plan as JSON. */
export function planTotals(node: string, parts: readonly unknown[]): string {
  const changes = parts.flatMap((part) => listIn(part, 'changes'));
  const actions = Object.entries(ACTIONS).flatMap(([action, text]) => {
    const { length } = changes.filter(
      (change) => isPlainObject(change) && change['action'] === action,
    );
    return length === 0 ? [] : [`${length} ${text}`];
  });
  const steps = parts.flatMap((part) => listIn(part, 'steps')).length;
  const all = [
    ...actions,
    ...(steps === 0 ? [] : [`${steps} setting${steps === 1 ? '' : 's'} to make`]),
  ];
  if (all.length === 0) return `Node ${node}: Nothing to do.`;
  const places = parts.flatMap((part) => {
    const length = listIn(part, 'changes').length + listIn(part, 'steps').length;
    return isPlainObject(part) && length > 0 ? [`${String(part['database'])} ${length}`] : [];
  });
  return `Node ${node}: ${all.join(', ')} (${places.join(', ')})`;
}
