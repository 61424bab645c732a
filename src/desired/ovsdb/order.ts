/**
 * The order in which units' changes are sent, and where transactions are cut. This is the only place that decides it. What one
 * unit changes is one group and goes in one transaction; groups that need each other in a circle are one group, and so are a row that gets
 * another name and what names it. Among groups that do not need each other:
 *
 * 1. those that only remove connectivity come first;
 * 2. then those that write rows which keep networks apart (ACLs, port groups), before
 * 3. all others: isolation before connectivity;
 * 4. those that only remove such rows go last.
 */
import type { Atom, Datum } from 'ovsdb-client-ts';
import {
  problemOf,
  type BatchLimits,
  type PlannedChange,
  type PlannedGroup,
  type PlanProblem,
} from './changes.ts';
import type { OwnedRows } from './claimed-table.ts';
import type { UnitPlan } from './unit-plan.ts';

type Plans = ReadonlyMap<OwnedRows, UnitPlan>;

const isDelete = (change: PlannedChange): boolean => change.action === 'delete';

/** Place of a group among those that it does not need. */
function stage(changes: readonly PlannedChange[]): number {
  if (changes.every(isDelete)) return changes.some((change) => change.isolates) ? 4 : 1;
  return changes.some((change) => change.isolates && !isDelete(change)) ? 2 : 3;
}

/**
 * Units with changes as groups, each behind what it needs. A unit that needs something of one that is blocked, or of one that this pass
 * leaves alone (`left`), is blocked as well: its changes go, and its problems say why.
 */
export function inOrder(
  plans: Plans,
  left: ReadonlyMap<OwnedRows, PlanProblem>,
): readonly PlannedGroup[] {
  const nodes = new Map<OwnedRows, Node>();
  for (const plan of plans.values())
    if (plan.isBlocked || plan.changes.length > 0) nodes.set(plan.owned, new Node(plan));
  for (const node of nodes.values()) node.link(nodes, left);
  const sorted = [...nodes.values()]
    .map((node) => ({ node, stage: stage(node.plan.changes) }))
    .sort(
      (a, b) =>
        a.stage - b.stage || (a.node.plan.owned.owner.id < b.node.plan.owned.owner.id ? -1 : 1),
    );
  const search = new CircleSearch();
  for (const { node } of sorted) search.visit(node);
  return search.groups.filter(({ changes }) => changes.length > 0);
}

/** A unit in the search for circles. */
class Node {
  readonly plan: UnitPlan;
  /** Units whose changes must be in the database before, or with, those of this one. */
  readonly needs: Node[] = [];
  /** How many needs were looked at. */
  seen = 0;
  number = 0;
  low = 0;
  group: PlannedGroup | undefined;
  /** Why nothing of it is sent. */
  obstacle: string | undefined;

  constructor(plan: UnitPlan) {
    this.plan = plan;
    if (plan.isBlocked) this.obstacle = plan.problems[0]?.message ?? plan.owned.owner.id;
  }

  link(nodes: ReadonlyMap<OwnedRows, Node>, left: ReadonlyMap<OwnedRows, PlanProblem>): void {
    const { owned, after, refersTo } = this.plan;
    const needs = new Set(after);
    for (const entry of refersTo) {
      const { owner, isFound, table } = entry;
      if (owner === undefined) continue;
      const node = nodes.get(owner);
      // Texts that speak of a row by a name that it no longer has mean nobody.
      if (!this.plan.isBlocked && node?.plan.renamed.has(entry) === true) node.needs.push(this);
      // Whether the rows that keep networks apart are right is not known of a unit that is left alone: nothing is built upon them.
      const isOpen = left.has(owner)
        ? table.claim.isolates === true
        : node?.plan.changesIsolation === true;
      if (!isFound || isOpen) needs.add(owner);
    }
    needs.delete(owned);
    for (const need of needs) {
      const needed = nodes.get(need);
      if (needed !== undefined) this.needs.push(needed);
      this.obstacle ??= left.get(need)?.message;
    }
  }

  /** Nothing of it is sent. */
  block(why: string): void {
    this.obstacle = why;
    const { isBlocked, changes, problems, owned } = this.plan;
    const [first] = changes;
    if (isBlocked || first === undefined) return;
    const what = `left as it is, because what it needs can't be written: ${why}`;
    problems.push(problemOf('blocked', first, owned.owner.id, what));
    changes.length = 0;
  }
}

/** Tarjan's search for strongly connected components: it finds each group after all that it needs. */
class CircleSearch {
  readonly groups: PlannedGroup[] = [];
  /** Units that are in no group yet. */
  readonly #open: Node[] = [];
  #count = 0;

  visit(start: Node): void {
    if (start.number > 0) return;
    // A list and no recursion: chains of units may be as long as there are units.
    const path = [this.#enter(start)];
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const need = node.needs[node.seen];
      if (need === undefined) {
        path.pop();
        if (node.low === node.number) this.#close(node);
      } else if (need.number === 0) path.push(this.#enter(need));
      else {
        if (need.group === undefined) node.low = Math.min(node.low, need.low);
        node.seen += 1;
      }
    }
  }

  #enter(node: Node): Node {
    node.number = node.low = this.#count += 1;
    this.#open.push(node);
    return node;
  }

  #close(first: Node): void {
    const members = this.#open.splice(this.#open.lastIndexOf(first));
    const needed = members.length === 1 ? first.needs : members.flatMap((member) => member.needs);
    const blocked = (node: Node): boolean => node.obstacle !== undefined;
    const obstacle = (members.find(blocked) ?? needed.find(blocked))?.obstacle;
    if (obstacle !== undefined) for (const member of members) member.block(obstacle);
    const needs = new Set(needed.map((need) => need.group));
    const group: PlannedGroup = {
      units: members.map(({ plan }) => plan.owned.owner.id),
      changes:
        members.length === 1 ? first.plan.changes : members.flatMap(({ plan }) => plan.changes),
      needs: [...needs].filter((need) => need !== undefined),
    };
    for (const member of members) member.group = group;
    this.groups.push(group);
  }
}

/** Cuts ordered groups into transactions. */
export function inBatches(
  groups: readonly PlannedGroup[],
  limits: BatchLimits,
): readonly (readonly PlannedGroup[])[] {
  const batches: PlannedGroup[][] = [];
  let rows = Infinity;
  let bytes = 0;
  for (const group of groups) {
    const size = sizeOf(group.changes);
    if (rows + group.changes.length > limits.rows || bytes + size > limits.bytes) {
      batches.push([]);
      rows = 0;
      bytes = 0;
    }
    batches.at(-1)?.push(group);
    rows += group.changes.length;
    bytes += size;
  }
  return batches;
}

/** Estimated bytes of JSON of what frames an operation: names, where clause, UUIDs. */
const FRAME = 120;

function sizeOf(changes: readonly PlannedChange[]): number {
  let size = 0;
  for (const change of changes) {
    size += FRAME + FRAME * change.memberships.length;
    for (const column of change.columns) {
      size += 8 + column.name.length;
      if (column.mutations === undefined) size += datumSize(column.after);
      else for (const mutation of column.mutations) size += JSON.stringify(mutation).length;
    }
  }
  return size;
}

function datumSize(datum: Datum): number {
  if (typeof datum === 'string') return datum.length + 3;
  if (typeof datum !== 'object') return 8;
  let sum = 10;
  const atoms = datum instanceof Map ? [...(datum as ReadonlyMap<Atom, Atom>)].flat() : datum;
  for (const atom of atoms as readonly Atom[]) sum += 10 + datumSize(atom);
  return sum;
}
