/** What is to be changed of one kind of the host's state, and what can't be; made by a plan, applied by a driver. */
import { idOf, type Wanted } from './claims.ts';

export interface PlannedChange {
  readonly action: 'add' | 'change' | 'remove';
  readonly table: string;
  readonly key: string;
  /** The object as it was found, and as it will be, in the words of the program that changes it. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** As in plans of databases: of what no unit knows, `["unwanted",<mark>]`. */
  readonly unit: string;
  readonly rule: string | undefined;
  readonly object: string | undefined;
  /** Of a flow. */
  readonly bridge?: string;
  /** Of what nobody wants: the marks that say for which objects it was there; none where it does not say. */
  readonly marks?: readonly string[];
  /** Of what nobody wants: what can't go before it, as `idOf` names it. */
  readonly within?: readonly string[];
}

/** Whether what has one of these marks may be there for something that is not known; what has none may. */
export type MayBeWanted = (marks: readonly string[]) => boolean;

/** Without removals of what may be wanted, and of what that is in. */
export function withoutHeld<C extends PlannedChange>(
  changes: readonly C[],
  mayBeWanted: MayBeWanted,
): readonly C[] {
  const removals = changes.filter(({ action }) => action === 'remove');
  const held = new Set(removals.filter(({ marks = [] }) => mayBeWanted(marks)));
  if (held.size === 0) return changes;
  const byId = new Map(removals.map((change) => [idOf(change), change]));
  // What is added here is looked at, too.
  for (const { within = [] } of held)
    for (const change of within.map((id) => byId.get(id)))
      if (change !== undefined) held.add(change);
  return changes.filter((change) => !held.has(change));
}

export interface HostProblem {
  readonly kind: 'held-by-other' | 'name-taken' | 'awaited' | 'refused';
  readonly table: string;
  readonly key: string;
  readonly unit: string;
  readonly object: string | undefined;
  readonly message: string;
}

/** `of`: a change, or what else says what is wrong, and whose it is. */
export const problemOf = (
  kind: HostProblem['kind'],
  { table, key, unit, object }: Omit<HostProblem, 'kind' | 'message'>,
  message: string,
): HostProblem => ({ kind, table, key, unit, object, message });

/** What a change or a problem says of a row, and of who wants it. */
export const wantedBy = ({ row: { table, key, rule, object }, owner }: Wanted) => ({
  table,
  key,
  unit: owner.id,
  rule,
  object,
});

/** What a change says of the removal of what nobody wants; `mark`: for whom it was there, where it says so. */
export const wantedByNobody = (mark = '') =>
  ({
    action: 'remove',
    after: undefined,
    unit: JSON.stringify(['unwanted', mark]),
    rule: undefined,
    object: mark === '' ? undefined : mark,
    ...(mark === '' ? {} : { marks: [mark] }),
  }) as const;

/** What is found when wanted and found are compared. */
export type Difference<C extends PlannedChange> = Pick<HostPlan<C>, 'changes' | 'problems'>;

export interface HostPlan<C extends PlannedChange = PlannedChange> {
  readonly isEmpty: boolean;
  readonly changes: readonly C[];
  readonly problems: readonly HostProblem[];
  /** Objects of ours that nobody wants and that stay, as they may be there for something that is not known. */
  readonly heldBack: number;
}

/** What a comment or an alias says of an object; no other character can stand there. */
export const markOf = (object: string): string => object.replaceAll(/[^\w .:/-]/g, '_');
