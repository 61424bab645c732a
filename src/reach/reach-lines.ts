/** Who may send what to whom, told by the names of workloads. Pure. */
import type { Member } from './members.ts';
import type { Passage } from './reach-world.ts';

/** What one may send to the other. */
export interface ReachLine {
  /** `namespace/workload`; `namespace/*` or a number of pods where there are many. */
  readonly from: string;
  /** The same, or `outside` with ranges. */
  readonly to: string;
  /** `tcp 80, 443`, for each protocol; `everything`. */
  readonly ports: readonly string[];
  /** `Service namespace/name`, where it is reached by that alone. */
  readonly by?: string;
  /** Of pods; of pods and the outside, one for each pod. */
  readonly pairs: number;
}

/** Of more than so many workloads or namespaces names say less than their number. */
const MOST_NAMES = 20;

const NATURAL = new Intl.Collator('en', { numeric: true });

/** Lines, of which those that say the same of one pair of names are one. */
export class ReachLines {
  readonly #lines = new Map<string, { line: Omit<ReachLine, 'pairs'>; pairs: number }>();

  /** All of `from` may send this to all of `to`. */
  add(from: readonly Member[], to: readonly Member[], found: readonly Passage[]): void {
    if (found.length === 0) return;
    for (const [a, clients] of named(from))
      for (const [b, servers] of named(to)) {
        const pairs = pairsOf(clients, servers);
        for (const { by, ports } of pairs === 0 ? [] : found)
          this.#add(
            { from: a, to: b, ports: ports.texts(), ...(by === undefined ? {} : { by }) },
            pairs,
          );
      }
  }

  addOutside(from: readonly Member[], found: ReadonlyMap<string, readonly string[]>): void {
    for (const [to, ports] of found)
      for (const [name, members] of named(from))
        this.#add({ from: name, to, ports }, members.length);
  }

  #add(line: Omit<ReachLine, 'pairs'>, pairs: number): void {
    const key = JSON.stringify(line);
    const known = this.#lines.get(key);
    if (known === undefined) this.#lines.set(key, { line, pairs });
    else known.pairs += pairs;
  }

  lines(): readonly ReachLine[] {
    return [...this.#lines.values()]
      .map(({ line, pairs }) => ({ ...line, pairs }))
      .toSorted((a, b) => NATURAL.compare(a.from, b.from) || NATURAL.compare(a.to, b.to));
  }
}

/** Nobody asks whether a pod reaches itself. */
function pairsOf(clients: readonly Member[], servers: readonly Member[]): number {
  const pods = new Set(clients.map(({ pod }) => pod));
  return clients.length * servers.length - servers.filter(({ pod }) => pods.has(pod)).length;
}

function named(members: readonly Member[]): ReadonlyMap<string, readonly Member[]> {
  const workloads = Map.groupBy(members, ({ workload }) => workload);
  if (workloads.size <= MOST_NAMES) return workloads;
  const namespaces = Map.groupBy(members, ({ namespace }) => `${namespace}/*`);
  if (namespaces.size <= MOST_NAMES) return namespaces;
  return new Map([[`${members.length} pods of ${namespaces.size} namespaces`, members]]);
}
