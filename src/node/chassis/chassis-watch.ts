/** Whether packets can leave for other nodes: the chassis that ovn-controller registered, and its tunnels. */
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { SOUTHBOUND_REMOTE } from './settings.ts';
import { unreachedNodes, type Unreached } from './tunnels.ts';
import type { ReplicaView } from 'ovsdb-client-ts';
import { idOf } from '../openflow/bridge-ports.ts';
import { tunnelsIn } from './chassis-database.ts';

export interface ChassisWatchOptions {
  readonly facts: ZoneFacts;
  readonly openVswitch: () => ReplicaView;
  readonly southbound: () => ReplicaView;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
}

/** What has been missing for a while. */
export interface ChassisReach {
  /** Other nodes without a tunnel. */
  readonly unreached: readonly string[];
  readonly problems: readonly ZoneProblem[];
  /** All of it in words; undefined when nothing is missing. */
  readonly message: string | undefined;
  /** Milliseconds until something else may have been missing for a while. */
  readonly nextLook: number | undefined;
}

/** A node that has just come has its tunnels, and Open vSwitch has told how they leave (every 5 s), within this time. */
const PATIENCE = 15_000;

export class ChassisWatch {
  readonly #options: ChassisWatchOptions;
  readonly #now: () => number;
  /** By node: since when it is not as it should be. */
  #since: ReadonlyMap<string, number> = new Map();

  constructor(options: ChassisWatchOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
  }

  look(): ChassisReach {
    const now = this.#now();
    const missing = this.#missing();
    const since = new Map(missing.map(({ node }) => [node, this.#since.get(node) ?? now]));
    this.#since = since;
    const ageOf = ({ node }: Unreached): number => now - (since.get(node) ?? now);
    const late = missing.filter((one) => ageOf(one) >= PATIENCE);
    const early = missing.filter((one) => ageOf(one) < PATIENCE).map(ageOf);
    const { nodeName } = this.#options.facts;
    return {
      unreached: late.flatMap(({ node }) => (node === nodeName ? [] : [node])),
      problems: late.map(({ node, message }) => ({
        object: `Node ${node}`,
        message: node === nodeName ? message : `${message} (seen from ${nodeName})`,
      })),
      message:
        late.length === 0
          ? undefined
          : late.map(({ node, message }) => `Node ${node}: ${message}`).join('; '),
      nextLook: early.length === 0 ? undefined : PATIENCE - Math.max(...early),
    };
  }

  /** Of this node itself: that it has no chassis, and so nothing else. */
  #missing(): readonly Unreached[] {
    const { facts, openVswitch, southbound } = this.#options;
    const self = facts.self.peek(facts.nodeName);
    if (self === undefined) return [];
    const [local] = openVswitch().rows('Open_vSwitch');
    if (southbound().find('Chassis', ['name'], [self.chassisId]).length === 0) {
      const remote = local === undefined ? undefined : idOf(local, SOUTHBOUND_REMOTE);
      return [
        {
          node: facts.nodeName,
          message: `ovn-controller has not registered chassis ${self.chassisId} in the Southbound database: see whether it runs, and whether external_ids:${SOUTHBOUND_REMOTE} (${remote ?? 'not set'}) leads there`,
        },
      ];
    }
    return unreachedNodes(
      [...facts.remoteNodes.entries()].map(([node, { encapIps }]) => ({ node, encapIps })),
      tunnelsIn(openVswitch()),
    );
  }
}
