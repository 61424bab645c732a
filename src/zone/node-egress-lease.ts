/** Whether this node may have egress addresses, and what ends them where its daemon does not (docs/decisions/egress-health.md). */
import { randomUUID } from 'node:crypto';
import { annotationOf } from '../api/annotations/annotations.ts';
import { NODE_EGRESS_FENCE } from '../api/annotations/node-annotations.ts';
import { egressIPs, nodes } from '../api/kinds.ts';
import { daemonIdentity } from '../cluster-daemon/cluster-daemon.ts';
import type { ClusterSettings } from '../model/model.ts';
import { hasEgressFence } from '../model/rules/egress-health.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { AnnouncedFence } from '../node/announcer/node-announcer.ts';
import { EgressFenceSource, fencedPlaces } from '../node/egress-lease/egress-fence-source.ts';
import { EgressLeaseSource } from '../node/egress-lease/egress-lease-source.ts';
import type { FactSource } from '../node/fact-source.ts';
import { GrpcHealthClient, serveGrpcHealth } from '../process/grpc-health.ts';
import type { Logger } from '../process/logger.ts';
import { systemClock } from '../store/clock.ts';
import type { Informers } from '../store/informers.ts';
import type { OpenHost } from './host.ts';

/** True where nodes have egress addresses, or those of services, for so long as they are heard. */
export const areNodesAsked = ({
  features: { egressIp, egressService },
  egressHealth: { timeout, port },
}: Pick<ClusterSettings, 'features' | 'egressHealth'>): boolean =>
  timeout > 0 && port > 0 && (egressIp || egressService);

export interface NodeEgressLeaseOptions {
  readonly node: string;
  /** Of a cluster whose nodes are asked. */
  readonly settings: ClusterSettings;
  readonly informers: Informers;
  readonly facts: ZoneFacts;
  readonly host: Pick<OpenHost, 'fence' | 'cardLeases' | 'controller'>;
  readonly log: Logger;
  /** Called when the node fences its addresses otherwise than before. */
  readonly onFence: () => void;
  /** Called when facts or problems are others. */
  readonly onChange: () => void;
}

export class NodeEgressLease {
  readonly sources: readonly FactSource[];
  readonly #facts: ZoneFacts;
  readonly #lease: EgressLeaseSource;
  readonly #fence: EgressFenceSource | undefined;

  constructor(options: NodeEgressLeaseOptions) {
    const { node, settings, informers, facts, host, log, onFence, onChange } = options;
    const { timeout, port } = settings.egressHealth;
    const objects = informers.of(nodes);
    this.#facts = facts;
    const fence = hasEgressFence(settings)
      ? new EgressFenceSource({
          node,
          fence: host.fence,
          cards: host.cardLeases,
          places: () => fencedPlaces(facts),
          right: () => this.#right,
          mayMove: () => lease.mayMove,
          isHeardSince: (at) => lease.isHeardSince(at, systemClock.monotonic()),
          isWritten: () => {
            const object = objects.get(node);
            return object !== undefined && annotationOf(object, NODE_EGRESS_FENCE) !== undefined;
          },
          isHostSet: () => !host.controller.isBehind,
          log,
          onChange: () => {
            onFence();
            onChange();
          },
        })
      : undefined;
    const lease = new EgressLeaseSource({
      node,
      nodes: objects,
      egressIps: informers.of(egressIPs),
      timeout,
      serve: (address, answer) => serveGrpcHealth({ host: address, port, answer }),
      connect: (addresses) => new GrpcHealthClient(addresses, port),
      run: randomUUID(),
      log,
      ...(fence === undefined ? {} : { fence }),
      onChange,
    });
    this.#lease = lease;
    this.#fence = fence;
    this.sources = fence === undefined ? [lease] : [lease, fence];
  }

  /** True while nobody else can have this node's egress addresses. */
  get mayAnnounce(): boolean {
    const now = systemClock.monotonic();
    return this.#fence === undefined
      ? this.#lease.isHeld(this.#facts, now)
      : this.#right === 'open';
  }

  /** A daemon that begins leaves what the one before it wrote. */
  get announcedFence(): AnnouncedFence {
    if (this.#fence === undefined) return undefined;
    const { seconds } = this.#fence;
    if (seconds === undefined) return 'as before';
    return seconds === 0 ? undefined : { seconds, daemon: daemonIdentity() };
  }

  /** What is about to be fenced needs the fence open; who opens it from then on is told. `isNew`: there was none so far. */
  mayOpenFence(isNew: boolean): boolean {
    const right = this.#right;
    if (right === 'open') this.#fence?.wake();
    // What a release before, or an ovn-kubernetes, has in force goes on until this one is heard, also where there is no manager yet.
    return right === 'open' || (isNew && right !== 'closed');
  }

  get #right() {
    return this.#lease.fenceRight(this.#facts, systemClock.monotonic());
  }
}
