/**
 * Chooses the node that each EgressService leaves by (reference/egress.md §4.1). What is chosen stands in the object, by which nodes go, and in a label of
 * the node, by which others announce the load balancer's address from there: of two nodes the one loses the label before the other gets it.
 */
import { chooseHosts, type HostRequest } from '../../allocators/egress-hosts.ts';
import { egressServices, nodes as nodeKind } from '../../api/kinds.ts';
import { serviceOfSlice } from '../../api/annotations/endpoint-slice-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import { oldestFirst } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { EgressService, Node } from '../../api/types.ts';
import { EVERY_HOST } from '../../model/read/egress-services.ts';
import type { Clock } from '../../store/clock.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { CONFLICT_DELAY, WorkQueue, type Again, type Failure } from '../../store/work-queue.ts';
import type { EndpointSlice } from '../endpoints/endpoint-mirror.ts';
import type { ClusterInformers } from '../informers.ts';
import type { AbsentDaemon } from '../nodes/node-heartbeats.ts';
import { WRITERS, type ClusterManagerSettings } from '../settings.ts';
import { gatewayDown } from './egress-nodes.ts';
import { isLost, type Reachability } from './egress-reachability.ts';
import type { EgressProblem } from './egress-ip-outcome.ts';
import {
  EGRESS_SERVICES_OFF,
  HOST_LABEL_PREFIX,
  hostDown,
  hostLabel,
  isByNetwork,
  nodeSelectorOf,
  noSuitableNode,
  whyNoHost,
} from './egress-service-outcome.ts';

export interface EgressServiceOptions {
  readonly store: Pick<Store, 'patchStatus' | 'event'>;
  readonly informers: Pick<ClusterInformers, 'egressServices' | 'services' | 'slices' | 'nodes'>;
  readonly settings: Pick<ClusterManagerSettings, 'cluster'>;
  /** Whether nobody does what the manager asks of a node. */
  readonly absentDaemon: (node: string) => AbsentDaemon | undefined;
  /** Which daemon is that of a node, or was last. */
  readonly daemonOf: (node: string) => string | undefined;
  /** Whether a node answers, where nodes are asked. */
  readonly reach: (node: string) => Reachability;
  readonly clock: Clock;
  readonly onFailure: (failure: Failure) => void;
}

const FIELD_MANAGER = 'cluster-manager';

/** A node as a place to leave by. */
interface HostNode {
  readonly labels: Readonly<Record<string, string>>;
  readonly isReady: boolean;
  /** Labels of EgressServices that it has. */
  readonly hosted: readonly string[];
  /** That nothing leaves it, why, and which daemon says so. */
  readonly down: ReturnType<typeof gatewayDown>;
}

/** What is decided for one object. */
interface Decision {
  readonly uid: string | undefined;
  /** Empty for none. */
  readonly host: string;
  readonly problems: readonly EgressProblem[];
}

function hostNode(node: Node): HostNode {
  const { labels = {} } = node.metadata;
  const all = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const isHosted = ([label]: readonly [string, string]): boolean =>
    label.startsWith(HOST_LABEL_PREFIX);
  return {
    labels: Object.fromEntries(all.filter((label) => !isHosted(label))),
    // A node that says nothing of being ready, as one of manifests, is.
    isReady: (node.status?.conditions ?? []).every(
      ({ type, status: is }) => type !== 'Ready' || is === 'True',
    ),
    hosted: all.filter(isHosted).map(([label]) => label),
    down: gatewayDown(node),
  };
}

/** The service of a slice of the default network, whose endpoints say on which nodes there are any. */
function sourceOf(slice: EndpointSlice | undefined): string | undefined {
  return slice && serviceOfSlice(slice)?.service;
}

/** Of which nodes there are endpoints, and of which ready ones. */
interface EndpointNodes {
  readonly all: readonly string[];
  readonly ready: readonly string[];
}

function nodesOf({ endpoints }: EndpointSlice): EndpointNodes {
  const on = (endpoints ?? []).flatMap(({ nodeName, conditions }) =>
    typeof nodeName === 'string' ? [{ nodeName, isReady: conditions?.ready !== false }] : [],
  );
  return {
    all: on.map(({ nodeName }) => nodeName),
    ready: on.filter(({ isReady }) => isReady).map(({ nodeName }) => nodeName),
  };
}

export class EgressServiceController {
  /** Objects. */
  readonly queue: WorkQueue;
  /** Nodes with their labels. */
  readonly labels: WorkQueue;
  readonly #options: EgressServiceOptions;
  readonly #nodes = new Map<string, HostNode>();
  /** By service. */
  readonly #slices;
  /** By key. What was decided last is what objects have, also while its write is under way. */
  #decisions = new Map<string, Decision>();
  #isStale = true;
  /** What each object was told last. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(options: EgressServiceOptions) {
    this.#options = options;
    this.#slices = options.informers.slices.index((slice) =>
      [sourceOf(slice)].filter((key) => key !== undefined),
    );
    const { onFailure, clock } = options;
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure,
      parallelism: WRITERS,
      clock,
    });
    this.labels = new WorkQueue({
      reconcile: (node, signal) => this.#label(node, signal),
      onFailure,
      parallelism: WRITERS,
      clock,
    });
  }

  follow(): void {
    const { informers } = this.#options;
    // Nothing is decided before all nodes are known.
    for (const node of informers.nodes.list()) this.#nodes.set(node.metadata.name, hostNode(node));
    informers.nodes.onChange(({ key, after }) => {
      const [before, is] = [this.#nodes.get(key), after && hostNode(after)];
      if (JSON.stringify(before) === JSON.stringify(is)) return;
      if (is === undefined) this.#nodes.delete(key);
      else this.#nodes.set(key, is);
      this.#decideAnew();
    });
    informers.egressServices.onChange(({ key, before, after }) => {
      if (after === undefined) this.#told.delete(key);
      const isSame =
        before?.metadata.uid === after?.metadata.uid &&
        JSON.stringify(before?.spec) === JSON.stringify(after?.spec);
      if (isSame) this.queue.add(key);
      else this.#decideAnew();
    });
    informers.services.onChange(({ key }) => {
      if (informers.egressServices.get(key) !== undefined) this.#decideAnew();
    });
    informers.slices.onChange(({ before, after }) => {
      const services = [sourceOf(before), sourceOf(after)];
      const isSame =
        JSON.stringify(before && nodesOf(before)) === JSON.stringify(after && nodesOf(after));
      if (isSame && services[0] === services[1]) return;
      if (services.some((key) => key !== undefined && this.#isLocal(key))) this.#decideAnew();
    });
    this.#decideAnew();
  }

  /** A node, or its daemon, is gone, or there again. */
  nodesChanged(): void {
    this.#decideAnew();
  }

  /** What is wrong with objects, by key. */
  *problems(): Iterable<readonly [egressService: string, message: string]> {
    for (const key of this.#options.informers.egressServices.keys())
      for (const { message } of this.#decisions.get(key)?.problems ?? []) yield [key, message];
  }

  #decideAnew(): void {
    this.#isStale = true;
    for (const key of this.#options.informers.egressServices.keys()) this.queue.add(key);
    // Those that get a label are looked at once that is decided.
    for (const [node, { hosted }] of this.#nodes) if (hosted.length > 0) this.labels.add(node);
  }

  /** Traffic from outside goes to endpoints of the node that it comes to: pods leave where there are any. */
  #isLocal(key: string): boolean {
    const { egressServices: objects, services } = this.#options.informers;
    return (
      objects.get(key) !== undefined && services.get(key)?.spec.externalTrafficPolicy === 'Local'
    );
  }

  #decide(): void {
    this.#isStale = false;
    const { informers, settings } = this.#options;
    const objects = oldestFirst(informers.egressServices.list());
    const decisions = new Map<string, Decision>();
    const requests: HostRequest[] = [];
    const labelled = new Map<string, string>();
    for (const egressService of objects) {
      const { uid } = egressService.metadata;
      const key = objectKey(egressService.metadata);
      const decide = (host: string, ...problems: readonly EgressProblem[]): void => {
        decisions.set(key, { uid, host, problems });
      };
      if (!settings.cluster.features.egressService) {
        decide('', EGRESS_SERVICES_OFF);
        continue;
      }
      const label = hostLabel(key);
      const why = whyNoHost(egressService, informers.services.get(key), labelled.get(label));
      if (why !== undefined) decide('', why);
      else if (isByNetwork(egressService)) decide(EVERY_HOST);
      else {
        labelled.set(label, key);
        requests.push(this.#requestOf(egressService));
      }
    }
    const hosts = chooseHosts(requests, [...this.#nodes.keys()]);
    for (const { key } of requests) {
      const egressService = informers.egressServices.get(key);
      if (egressService === undefined) continue;
      const host = hosts.get(key);
      decisions.set(key, {
        uid: egressService.metadata.uid,
        host: host ?? '',
        problems: this.#problemsOf(egressService, host),
      });
    }
    this.#decisions = decisions;
    for (const { host } of decisions.values()) if (this.#nodes.has(host)) this.labels.add(host);
  }

  #problemsOf(egressService: EgressService, host: string | undefined): readonly EgressProblem[] {
    if (host === undefined)
      return [noSuitableNode(egressService, this.#isLocal(objectKey(egressService.metadata)))];
    const why = this.#whyDown(host);
    return why === undefined ? [] : [hostDown(egressService, host, why)];
  }

  #requestOf(egressService: EgressService): HostRequest {
    const key = objectKey(egressService.metadata);
    const before = this.#decisions.get(key);
    const isKnown = before !== undefined && before.uid === egressService.metadata.uid;
    const selector = nodeSelectorOf(egressService);
    const withEndpoints = this.#isLocal(key) ? this.#nodesWithEndpoints(key) : undefined;
    const mayStay = (name: string): boolean => {
      const node = this.#nodes.get(name);
      const reach = this.#options.reach(name);
      return (
        node?.isReady === true &&
        // Its data plane lets go of EgressIPs alone: of services it goes on with what it has.
        (!isLost(reach) || reach === 'fenced') &&
        matchesSelector(selector, node.labels) &&
        (withEndpoints?.has(name) ?? true)
      );
    };
    return {
      key,
      held: isKnown ? before.host : (egressService.status?.host ?? ''),
      mayStay,
      // Who does nothing of what is asked is not chosen; packets may still pass where somebody did.
      mayCome: (name) => mayStay(name) && this.#options.absentDaemon(name) === undefined,
      isDown: (name) => this.#whyDown(name) !== undefined,
    };
  }

  /** Why nothing leaves a node, by the word of the daemon that is there, or was last. */
  #whyDown(name: string): string | undefined {
    const down = this.#nodes.get(name)?.down;
    return down?.daemon === this.#options.daemonOf(name) ? down?.why : undefined;
  }

  /** Those with ready ones; while there is none anywhere, with any: pods may have to send before they are ready. */
  #nodesWithEndpoints(key: string): ReadonlySet<string> {
    const found = this.#slices.get(key).map(nodesOf);
    const ready = new Set(found.flatMap((one) => one.ready));
    return ready.size > 0 ? ready : new Set(found.flatMap((one) => one.all));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Again | void> {
    if (this.#isStale) this.#decide();
    const egressService = this.#options.informers.egressServices.get(key);
    const decision = this.#decisions.get(key);
    if (egressService === undefined || decision === undefined) return undefined;
    const { host } = decision;
    const again =
      egressService.status?.host === host
        ? undefined
        : await this.#written(
            this.#options.store.patchStatus(
              egressServices,
              key,
              { status: { host } },
              { fieldManager: FIELD_MANAGER, signal, ...versionOf(egressService) },
            ),
          );
    if (again === undefined) await this.#tell(egressService, decision.problems);
    return again;
  }

  /** Puts the labels of a node right, whoever changed them. */
  async #label(name: string, signal: AbortSignal): Promise<Again | void> {
    if (this.#isStale) this.#decide();
    const node = this.#nodes.get(name);
    if (node === undefined) return undefined;
    const wanted = [...this.#decisions]
      .filter(([, { host }]) => host === name)
      .map(([key]) => hostLabel(key));
    const gone = node.hosted.filter((label) => !wanted.includes(label));
    // As soon as nobody else has it: then nodes are looked at anew.
    const come = wanted.filter(
      (label) => !node.hosted.includes(label) && !this.#isElsewhere(label, name),
    );
    if (gone.length + come.length === 0) return undefined;
    const labels = Object.fromEntries<string | null>([
      ...gone.map((label) => [label, null] as const),
      ...come.map((label) => [label, ''] as const),
    ]);
    return await this.#written(
      this.#options.store.patchStatus(
        nodeKind,
        name,
        { metadata: { labels } },
        { fieldManager: FIELD_MANAGER, signal },
      ),
    );
  }

  /** True for a label that another node has. */
  #isElsewhere(label: string, name: string): boolean {
    for (const [other, { hosted }] of this.#nodes)
      if (other !== name && hosted.includes(label)) return true;
    return false;
  }

  async #written(write: Promise<unknown>): Promise<Again | undefined> {
    try {
      await write;
    } catch (error) {
      // Somebody wrote meanwhile, or the object went.
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') return { after: CONFLICT_DELAY };
    }
    return undefined;
  }

  /** What it was not told yet. */
  async #tell(egressService: EgressService, problems: readonly EgressProblem[]): Promise<void> {
    const { uid = '' } = egressService.metadata;
    const key = objectKey(egressService.metadata);
    const told = this.#told.get(key) ?? new Set();
    const textOf = ({ reason, message }: EgressProblem): string => `${uid} ${reason} ${message}`;
    for (const problem of problems)
      if (!told.has(textOf(problem)))
        await this.#options.store.event({ regarding: egressService, type: 'Warning', ...problem });
    this.#told.set(key, new Set(problems.map(textOf)));
  }
}

const versionOf = ({
  metadata: { resourceVersion },
}: EgressService): { readonly resourceVersion?: string } =>
  resourceVersion === undefined ? {} : { resourceVersion };
