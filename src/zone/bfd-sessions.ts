/** Next hops that BFD does not reach: ovn-northd notes it in Northbound and takes their routes away (reference/topology.md §18.3); owners of policies are told. */
import { isDeepStrictEqual } from 'node:util';
import type { ReplicaView } from 'ovsdb-client-ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { externalRouteObject } from '../model/zone/external-routes.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { FactSource } from '../node/fact-source.ts';
import { pause, type Clock } from '../store/clock.ts';
import { textOf } from '../topology/rows/found.ts';

/** Milliseconds between two looks. */
const LOOK = 1000;
/** A session counts as what it has been for this long: one that begins is down for a moment, and one that goes up and down changes nothing. */
const SETTLED = 5000;
const UP = 'up';

export interface BfdSession {
  readonly hop: string;
  readonly isUp: boolean;
}

/** A session at a look. */
interface Look {
  readonly isUp: boolean;
  /** Since when it is as it is. */
  readonly since: number;
  readonly isDead: boolean;
}

function look(before: Look | undefined, isUp: boolean, now: number): Look {
  const since = before?.isUp === isUp ? before.since : now;
  const isSettled = now - since >= SETTLED;
  return { isUp, since, isDead: isSettled ? !isUp : before?.isDead === true };
}

export interface BfdSessionsOptions {
  readonly node: string;
  /** Undefined while it is not loaded. */
  readonly northbound: () => Pick<ReplicaView, 'rows' | 'hasColumn'> | undefined;
  /** Called when there are other dead hops, and with them other problems. */
  readonly onChange: () => void;
}

export class BfdSessions implements FactSource {
  readonly #options: BfdSessionsOptions;
  /** By next hop. */
  #looks: ReadonlyMap<string, Look> = new Map();
  #problems: readonly ZoneProblem[] = [];
  #all: readonly BfdSession[] = [];

  constructor(options: BfdSessionsOptions) {
    this.#options = options;
  }

  /** As of the last look: those of next hops by which pods of this node leave. */
  get all(): readonly BfdSession[] {
    return this.#all;
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#look(facts, clock.monotonic());
      await pause(clock, LOOK, signal);
    }
  }

  problems(): readonly ZoneProblem[] {
    return this.#problems;
  }

  #look(facts: ZoneFacts, now: number): void {
    const { node, onChange } = this.#options;
    const northbound = this.#options.northbound();
    if (northbound?.hasColumn('BFD', 'status') !== true) return;
    const found = [...northbound.rows('BFD')].flatMap((row) => {
      const hop = textOf(row, 'dst_ip') ?? '';
      const policies = facts.watchedHops.keysBy('hop', hop);
      return policies.length === 0 ? [] : [{ hop, policies, isUp: textOf(row, 'status') === UP }];
    });
    this.#all = found.map(({ hop, isUp }) => ({ hop, isUp }));
    this.#looks = new Map(
      found.map(({ hop, isUp }) => [hop, look(this.#looks.get(hop), isUp, now)] as const),
    );
    const dead = new Set([...this.#looks].flatMap(([hop, { isDead }]) => (isDead ? [hop] : [])));
    for (const [hop] of facts.deadHops.keys()) if (!dead.has(hop)) facts.deadHops.delete(hop);
    for (const hop of dead) facts.deadHops.put(hop, { hop });
    const problems = found
      .filter(({ hop }) => dead.has(hop))
      .flatMap(({ hop, policies }) =>
        policies.map((policy) => ({
          object: externalRouteObject(policy),
          message: `next hop ${hop} is not reached from node ${node} by BFD: pods there leave by the others, and where there is none as without the policy; have it answer BFD (UDP 3784), or take it, or bfdEnabled, away`,
        })),
      )
      .toSorted((a, b) => (`${a.object} ${a.message}` < `${b.object} ${b.message}` ? -1 : 1));
    if (isDeepStrictEqual(problems, this.#problems)) return;
    this.#problems = problems;
    onChange();
  }
}
