/** When pods that start on this node came how far on their way through the daemon: addresses, logical ports, Northbound database, ovn-northd, ovn-controller. */
import { NETWORK_STATUS } from '../api/annotations/network-status.ts';
import { isWithoutNetworks, podNetworks } from '../api/annotations/pod-annotations.ts';
import type { Pod } from '../api/types.ts';
import type { PlannedChange } from '../desired/ovsdb/changes.ts';
import { podPort } from '../model/rules/names.ts';
import type { Change, ObjectView } from '../store/informer.ts';
import type { PodTraces } from '../traces/pod-traces.ts';
import type { Answers } from './confirmation.ts';

export interface PodStagesOptions {
  readonly node: string;
  readonly pods: Pick<ObjectView<Pod>, 'onChange'>;
  readonly traces: PodTraces;
  /** Milliseconds of the monotonic clock that the other parts of a trace have, too. */
  readonly now?: () => number;
}

interface StartingPod {
  pod: Pod;
  readonly seen: number;
  /** By NAD: since when its addresses are here. */
  readonly addressed: Map<string, number>;
  /** Names of logical ports that were written. */
  readonly ports: Set<string>;
}

interface SentPod {
  readonly pod: Pod;
  /** When its ports were in the Northbound database. */
  readonly written: number;
  /** `nb_cfg` that these went out with. */
  readonly sequence: number;
  /** When ovn-northd had taken that in. */
  taken?: number;
}

/** What OVN has not confirmed: of more the oldest are forgotten. */
const MOST_SENT = 1000;
const OBJECT = 'Pod ';

export class PodStages {
  readonly #options: PodStagesOptions;
  readonly #now: () => number;
  readonly #starting = new Map<string, StartingPod>();
  /** Pods with ports in the Northbound database that no `nb_cfg` stands for yet, by when they were there. */
  readonly #written = new Map<string, { readonly pod: Pod; readonly at: number }>();
  #sent: SentPod[] = [];

  constructor(options: PodStagesOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
    options.pods.onChange((change) => this.#changed(change));
  }

  /** When the pod was first seen on this node; undefined for one that had been served before. */
  seen({ metadata: { namespace = '', name, uid } }: Pod): number | undefined {
    const known = this.#starting.get(`${namespace}/${name}`);
    return known?.pod.metadata.uid === uid ? known?.seen : undefined;
  }

  /** To be called with changes that are in the Northbound database, which took so many milliseconds. */
  written(changes: readonly PlannedChange[], duration: number): void {
    const end = this.#now();
    const start = end - duration;
    for (const { action, table, key: port, object } of changes) {
      if (table !== 'Logical_Switch_Port' || action === 'delete') continue;
      if (object?.startsWith(OBJECT) !== true) continue;
      const key = object.slice(OBJECT.length);
      const known = this.#starting.get(key);
      if (known === undefined || known.ports.has(port)) continue;
      const since = addressedFor(port, known);
      if (since === undefined) continue;
      known.ports.add(port);
      const attributes = { 'ovn.logical_port': port };
      const { traces } = this.#options;
      traces.record(known.pod, {
        name: 'build logical port',
        start: since,
        end: start,
        attributes,
      });
      traces.record(known.pod, { name: 'commit logical port', start, end, attributes });
      this.#written.set(key, { pod: known.pod, at: end });
    }
  }

  /** To be called when all that was written went out with this `nb_cfg`. */
  announced(sequence: number): void {
    if (this.#written.size === 0) return;
    for (const { pod, at } of this.#written.values())
      this.#sent.push({ pod, written: at, sequence });
    this.#written.clear();
    this.#sent = this.#sent.slice(-MOST_SENT);
  }

  /** To be called when ovn-northd or ovn-controller may have answered. */
  reached({ northd, chassis }: Pick<Answers, 'northd' | 'chassis'>): void {
    if (this.#sent.length === 0) return;
    const { traces } = this.#options;
    const now = this.#now();
    this.#sent = this.#sent.filter((sent) => {
      if (sent.taken === undefined && northd >= sent.sequence) {
        sent.taken = now;
        traces.record(sent.pod, { name: 'ovn-northd', start: sent.written, end: now });
      }
      if (sent.taken === undefined || chassis < sent.sequence) return true;
      traces.record(sent.pod, { name: 'ovn-controller', start: sent.taken, end: now });
      return false;
    });
  }

  #changed({ key, after }: Change<Pod>): void {
    const { node, traces } = this.#options;
    if (after === undefined || after.spec.nodeName !== node || isWithoutNetworks(after)) {
      this.#starting.delete(key);
      return;
    }
    const now = this.#now();
    let known = this.#starting.get(key);
    if (known?.pod.metadata.uid !== after.metadata.uid) {
      this.#starting.delete(key);
      const isServed = after.metadata.annotations?.[NETWORK_STATUS] !== undefined;
      if (isServed || !traces.isRecorded(after)) return;
      known = { pod: after, seen: now, addressed: new Map(), ports: new Set() };
      this.#starting.set(key, known);
    }
    if (known === undefined) return;
    known.pod = after;
    for (const nadKey of podNetworks(after).value?.keys() ?? []) {
      if (known.addressed.has(nadKey)) continue;
      known.addressed.set(nadKey, now);
      // One that came with its addresses waited for none.
      if (now > known.seen)
        traces.record(after, {
          name: 'receive addresses',
          start: known.seen,
          end: now,
          attributes: { 'heddle.nad': nadKey },
        });
    }
  }
}

/** Since when the addresses of a logical port are here; undefined for a port that is none of the pod's interfaces. */
function addressedFor(
  port: string,
  { pod: { metadata }, addressed }: StartingPod,
): number | undefined {
  const { namespace = '', name } = metadata;
  for (const [nadKey, since] of addressed)
    if (podPort(nadKey, namespace, name) === port) return since;
  return undefined;
}
