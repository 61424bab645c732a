/** Answers container runtimes: gives pods their interfaces and takes them away again (reference/node.md §6). */
import { withoutPrefix } from '../../allocators/addresses.ts';
import { DEFAULT_NAD_KEY, nadOfKey } from '../../api/nad/nad-key.ts';
import { NETWORK_STATUS } from '../../api/annotations/network-status.ts';
import { objectKey } from '../../api/objects.ts';
import type { NetworkAttachmentDefinition, Pod } from '../../api/types.ts';
import { CNI_CODE, CniError } from '../protocol/cni-error.ts';
import { hostMac } from '../links/link-requests.ts';
import { networkNamesOf, requestedInterfaces, type LinkFactsOf } from '../links/pod-interfaces.ts';
import { networkStatus } from '../protocol/network-status.ts';
import {
  readRequest,
  splitRequest,
  versionOf,
  type AddRequest,
  type CheckRequest,
  type CniRequest,
  type DelRequest,
  type GcRequest,
} from '../protocol/request.ts';
import { addResult, errorResult, versionResult, type CniInterface } from '../protocol/result.ts';
import type { PodLinks } from '../links/pod-links.ts';
import type { ObjectView } from '../../store/informer.ts';
import { awaited, isTemporary, OVERTAKEN, reasonOf } from './cni-waits.ts';
import type { ContainerTurns } from './container-turns.ts';
import type { NetworkStatusWriter } from './network-status-writer.ts';
import type { Logger } from '../../process/logger.ts';
import { orGiveUp } from '../../process/waiting.ts';
import type { PodConnections } from './pod-connections.ts';
import type { PodPort, PodPorts } from './pod-ports.ts';
import type { PodTraces } from '../../traces/pod-traces.ts';
import { stageError, Stages } from '../../traces/stages.ts';

export interface CniPluginOptions {
  readonly node: string;
  readonly pods: ObjectView<Pod>;
  readonly nads: ObjectView<NetworkAttachmentDefinition>;
  readonly statuses: Pick<NetworkStatusWriter, 'write'>;
  readonly ports: PodPorts;
  readonly links: PodLinks;
  readonly connections: Pick<PodConnections, 'forget' | 'forgotten'>;
  readonly linkFactsOf: LinkFactsOf;
  /** What is known to be wrong with an object, `Pod <namespace>/<name>`. */
  readonly problemsOf: (object: string) => readonly string[];
  /** That Open vSwitch of the node does not run, with what to do; undefined while it may be well. */
  readonly switchDown?: () => string | undefined;
  /** Which programs of the data plane have not answered for long, with what to look at. */
  readonly silent?: () => readonly string[];
  readonly turns: ContainerTurns;
  /** Where spans of ADDs go, if anywhere. */
  readonly traces?: PodTraces;
  /** When a pod was first seen, in milliseconds of the monotonic clock. */
  readonly seen?: (pod: Pod) => number | undefined;
  readonly log: Logger;
  /** Milliseconds for one request. */
  readonly limit?: number;
}

export interface CniAnswer {
  readonly isError: boolean;
  /** JSON, or nothing. */
  readonly body: string;
}

/** Less than the two minutes after which kubelet gives up (reference/node.md §6.1). */
const REQUEST_LIMIT = 110_000;

export class CniPlugin {
  readonly #options: CniPluginOptions;
  readonly #limit: number;
  readonly #turns: ContainerTurns;

  constructor(options: CniPluginOptions) {
    this.#options = options;
    this.#turns = options.turns;
    this.#limit = options.limit ?? REQUEST_LIMIT;
  }

  /** `text` as the shim sends it. `signal` aborts when nobody waits for the answer any more. */
  async answer(text: string, signal: AbortSignal): Promise<CniAnswer> {
    const began = performance.now();
    let request: CniRequest | undefined;
    try {
      request = readRequest(text);
      const result = await this.#do(request, signal);
      this.#log(request, began);
      return { isError: false, body: result === undefined ? '' : JSON.stringify(result) };
    } catch (error) {
      this.#log(request, began, error);
      return { isError: true, body: JSON.stringify(errorResult(versionIn(text), error)) };
    }
  }

  #log(request: CniRequest | undefined, began: number, error?: unknown): void {
    const { log } = this.#options;
    const { command } = request ?? {};
    const fields = {
      component: 'cni',
      command,
      ...(request !== undefined && 'container' in request
        ? { container: request.container, device: request.device }
        : {}),
      ...(request?.command === 'ADD' ? { pod: objectKey(request.pod) } : {}),
      duration: Math.round(performance.now() - began),
    };
    if (error === undefined) log.debug(fields, 'answered');
    else log.warn({ ...fields, error }, 'a request of the container runtime failed');
  }

  async #do(request: CniRequest, signal: AbortSignal): Promise<object | undefined> {
    switch (request.command) {
      case 'VERSION':
        return versionResult(request.version);
      case 'STATUS':
        this.#checkStatus();
        return undefined;
      case 'ADD':
        return this.#add(request, signal);
      case 'DEL':
        await this.#delete(request, signal);
        return undefined;
      case 'CHECK':
        await this.#turns.run(request.container, () => this.#check(request, signal));
        return undefined;
      case 'GC':
        await this.#collect(request, signal);
        return undefined;
    }
  }

  #checkStatus(): void {
    const { ports, switchDown } = this.#options;
    const why = ports.unavailable() ?? switchDown?.();
    if (why !== undefined) throw new CniError(why, CNI_CODE.notAvailable);
  }

  async #add(request: AddRequest, signal: AbortSignal): Promise<object> {
    const overtaken = new AbortController();
    const limit = AbortSignal.any([signal, overtaken.signal, AbortSignal.timeout(this.#limit)]);
    const began = performance.now();
    const stages = new Stages();
    // The annotation that says so is written after the first one.
    const isFirst = this.#isStarting(request);
    try {
      const result = await this.#turns.run(
        request.container,
        async () => {
          const interfaces = await this.#attach(request, limit, stages);
          return addResult(
            request.version,
            interfaces.map((one) => ({ ...one, hostMac: hostMac(request.container, one.device) })),
            request.netns,
          );
        },
        overtaken,
      );
      this.#trace(request, began, stages, isFirst);
      return result;
    } catch (error) {
      this.#trace(request, began, stages, false, error);
      throw error;
    }
  }

  #isStarting(request: AddRequest): boolean {
    const pod = this.#options.pods.get(objectKey(request.pod));
    return !request.isSecondary && pod?.metadata.annotations?.[NETWORK_STATUS] === undefined;
  }

  /** Spans of an ADD, and of the pod's start if that is over. A pod that is not known has no trace. */
  #trace(
    request: AddRequest,
    start: number,
    { done }: Stages,
    isStarted: boolean,
    error?: unknown,
  ): void {
    const { traces, seen, pods } = this.#options;
    const pod = pods.get(objectKey(request.pod));
    if (traces === undefined || pod === undefined) return;
    const end = performance.now();
    traces.record(pod, {
      name: 'CNI ADD',
      kind: 'server',
      start,
      end,
      attributes: {
        'container.id': request.container,
        ...(request.nad === undefined ? {} : { 'heddle.nad': request.nad }),
      },
      ...(error === undefined ? {} : { error: stageError(error) }),
      stages: done,
    });
    // A runtime may know a pod before this process does.
    if (isStarted) traces.recordStart(pod, Math.min(seen?.(pod) ?? start, start), end);
  }

  async #attach(
    request: AddRequest,
    signal: AbortSignal,
    stages: Stages,
  ): Promise<readonly CniInterface[]> {
    const { ports, links } = this.#options;
    const { container, netns } = request;
    links.checkNamespace(netns);
    await stages.run('wait for Open vSwitch', () => ports.available(signal));
    // The runtime tries again by itself: nobody holds a pod's turn for what only its node's administrator can mend.
    const down = this.#options.switchDown?.();
    if (down !== undefined) throw new CniError(down, CNI_CODE.tryAgainLater);
    const interfaces = await stages.run('wait for addresses', () => this.#wanted(request, signal));
    const devices = new Set(interfaces.map(({ device }) => device));
    const present = ports.list(container).find(({ device }) => devices.has(device));
    if (present !== undefined)
      throw new CniError(
        `container ${container} has an interface ${present.device} already: DEL comes before another ADD`,
      );
    await stages.run('wait for old connections', () => this.#forgotten(interfaces, signal));
    await stages.run('create interfaces', () => links.create(interfaces, container, netns));
    try {
      signal.throwIfAborted();
      // ovn-controller works on the ports while the pod's ends get their addresses. What failed waits for the other to end.
      const both = [
        stages.run('add ports', () => ports.add(interfaces)),
        stages.run('configure interfaces', () =>
          links.configure(interfaces, netns, ports.isUserspace),
        ),
      ];
      await Promise.allSettled(both);
      await Promise.all(both);
      await stages.run('wait for ovn-installed', () =>
        this.#installed(request, interfaces, signal),
      );
    } catch (error) {
      await this.#remove(container, new Set([...devices, ''])).catch((failure: unknown) =>
        this.#options.log.error(
          { component: 'cni', container, error: failure },
          'an ADD that failed left something, which DEL or GC removes',
        ),
      );
      throw signal.aborted && !(error instanceof CniError)
        ? new CniError(reasonOf(signal), CNI_CODE.tryAgainLater)
        : error;
    }
    if (!request.isSecondary)
      this.#options.statuses.write(
        objectKey(request.pod),
        interfaces[0]?.externalIds['iface-id-ver'],
        networkStatus(request.network, interfaces),
      );
    return interfaces;
  }

  /** Waits while connections of those are forgotten who had the addresses before: new ones would go with them. */
  async #forgotten(interfaces: readonly CniInterface[], signal: AbortSignal): Promise<void> {
    const addresses = interfaces.flatMap((one) =>
      one.nadKey === DEFAULT_NAD_KEY ? one.addresses.map(withoutPrefix) : [],
    );
    try {
      await orGiveUp(this.#options.connections.forgotten(addresses), signal, 'connections');
    } catch {
      throw new CniError(reasonOf(signal), CNI_CODE.tryAgainLater);
    }
  }

  /** Waits for the pod and its addresses. */
  async #wanted(request: AddRequest, signal: AbortSignal): Promise<readonly CniInterface[]> {
    const { nads, linkFactsOf } = this.#options;
    const key = objectKey(request.pod);
    const names = networkNamesOf(nads);
    const look = (): readonly CniInterface[] =>
      requestedInterfaces(this.#podOf(request), request, names, linkFactsOf);
    return awaited(
      () => this.#unlessDeleted(key, look),
      (listener) => [this.#onPod(key, listener), nads.onChange(listener, 'now')],
      () => this.#options.problemsOf(`Pod ${key}`),
      signal,
    );
  }

  /** Calls the listener when the pod changes. Returns what ends it. */
  #onPod(key: string, listener: () => void): () => void {
    return this.#options.pods.onChange((change) => {
      if (change.key === key) listener();
    }, 'now');
  }

  #podOf(request: AddRequest): Pod {
    const key = objectKey(request.pod);
    const pod = this.#options.pods.get(key);
    const on = pod?.spec.nodeName;
    if (pod !== undefined && on === this.#options.node) return pod;
    if (on !== undefined) throw new CniError(`pod ${key} is on node ${on}`, CNI_CODE.tryAgainLater);
    throw new CniError(`there is no pod ${key} on this node`, CNI_CODE.tryAgainLater);
  }

  /** What a pod that is being deleted lacks is not waited for: it ends when its ADD does. */
  #unlessDeleted<T>(key: string, look: () => T): T {
    try {
      return look();
    } catch (error) {
      const isDeleted = this.#options.pods.get(key)?.metadata.deletionTimestamp !== undefined;
      if (!isDeleted || !isTemporary(error)) throw error;
      throw new CniError(`pod ${key} is being deleted: ${error.message}`);
    }
  }

  /** Waits until ovn-controller has the ports in the data plane; the pod must stay what it is. */
  async #installed(
    request: AddRequest,
    interfaces: readonly CniInterface[],
    signal: AbortSignal,
  ): Promise<void> {
    const { ports, pods } = this.#options;
    const key = objectKey(request.pod);
    const names = interfaces.map(({ hostDevice }) => hostDevice);
    const uid = interfaces[0]?.externalIds['iface-id-ver'];
    const look = (): void => {
      if (pods.get(key)?.metadata.uid !== uid) throw new CniError(`pod ${key} is gone`);
      const found = names.map((name) => ports.get(name));
      const lost = names.find((_, index) => found[index] === undefined);
      if (lost !== undefined) throw new CniError(`port ${lost} of pod ${key} was removed`);
      const missing = found.flatMap((port) =>
        port === undefined || port.isInstalled ? [] : [port.logicalPort],
      );
      if (missing.length > 0)
        throw new CniError(
          `ovn-controller has not installed logical port ${missing.join(' and ')}`,
          CNI_CODE.tryAgainLater,
        );
    };
    try {
      await awaited(
        () => this.#unlessDeleted(key, look),
        (listener) => [ports.onChange(listener), this.#onPod(key, listener)],
        () => [...this.#options.problemsOf(`Pod ${key}`), ...(this.#options.silent?.() ?? [])],
        signal,
      );
    } catch (error) {
      if (!isTemporary(error)) throw error;
      const errors = await ports.errors(names).catch(() => []);
      throw errors.length === 0
        ? error
        : new CniError(error.message, error.code, [error.details, ...errors].join('; '), {
            cause: error,
          });
    }
  }

  /** Of the pod's own networks: everything of the container. Nothing that is gone already is missed. */
  async #delete(
    { container, device, isSecondary }: DelRequest,
    signal: AbortSignal,
  ): Promise<void> {
    this.#turns.endAdds(container, new Error(OVERTAKEN));
    await this.#turns.run(container, async () => {
      await this.#options.ports.available(signal);
      await this.#remove(container, isSecondary ? new Set([device]) : undefined);
    });
  }

  /** Ports first: what has none is out of the network, whatever becomes of its link. Without `devices` everything of the container. */
  async #remove(container: string, devices?: ReadonlySet<string>): Promise<void> {
    const { ports, links, connections } = this.#options;
    const chosen = ({ device }: { readonly device: string }): boolean =>
      devices === undefined || devices.has(device);
    const gone = ports.list(container).filter(chosen);
    const released = this.#released(gone);
    const removed = ports.remove(gone, devices === undefined ? container : undefined);
    // Who gets the address next waits for it, and nobody else.
    void connections.forget(released, removed);
    await removed;
    const names = [...gone, ...links.list(container).filter(chosen)].map(({ name }) => name);
    await links.remove([...new Set(names)]);
  }

  /**
   * Addresses that others may have next, but for those that another pod has already, as that of one that completed. Those of the default network are
   * the pod's alone; an address of another network may be that of a running pod on a third one, and OVN empties the zones of ports when it gives them away.
   */
  #released(gone: readonly PodPort[]): readonly string[] {
    const addresses = addressesOnDefault(gone);
    if (addresses.size === 0) return [];
    const names = new Set(gone.map(({ name }) => name));
    const others = this.#options.ports.list().filter(({ name }) => !names.has(name));
    return [...addresses.difference(addressesOnDefault(others))];
  }

  async #check(
    { container, device, netns, addresses, isSecondary }: CheckRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { ports, links } = this.#options;
    await ports.available(signal);
    links.checkNamespace(netns);
    const own = ports.list(container).filter((port) => !isSecondary || port.device === device);
    if (!own.some((port) => port.device === device))
      throw new CniError(
        `container ${container} has no interface ${device}`,
        CNI_CODE.unknownContainer,
      );
    const there: string[] = [];
    for (const { device: name, logicalPort, isInstalled } of own) {
      const found = links.addresses(netns, name);
      if (found === undefined)
        throw new CniError(`container ${container}: interface ${name} is not there, or not up`);
      if (!isInstalled)
        throw new CniError(
          `container ${container}: logical port ${logicalPort} is not in the data plane`,
        );
      there.push(...found);
    }
    const lost = addresses.find((address) => !there.includes(address));
    if (lost !== undefined)
      throw new CniError(`container ${container}: address ${lost} is not on its interfaces`);
  }

  /** Removes what no container that the runtime knows has. One that is being worked on is known. */
  async #collect({ containers, nad }: GcRequest, signal: AbortSignal): Promise<void> {
    const { ports, links } = this.#options;
    await ports.available(signal);
    const isUnknown = (container: string): boolean =>
      !containers.has(container) && !this.#turns.has(container);
    const ofNad = ports
      .list()
      .filter(({ nadKey }) => nad === undefined || nadOfKey(nadKey ?? '') === nad);
    const lost = new Map<string, Set<string>>();
    // A link without port says nothing of its network: the pod's own networks take it along.
    for (const { container, device } of [...ofNad, ...(nad === undefined ? links.list() : [])])
      if (isUnknown(container)) lost.set(container, (lost.get(container) ?? new Set()).add(device));
    for (const [container, devices] of lost)
      await this.#turns.run(container, () => this.#remove(container, devices));
  }
}

const addressesOnDefault = (ports: readonly PodPort[]): ReadonlySet<string> =>
  new Set(
    ports.flatMap(({ nadKey, addresses }) =>
      nadKey === undefined ? addresses.map(withoutPrefix) : [],
    ),
  );

function versionIn(text: string): string {
  try {
    return versionOf(splitRequest(text).input);
  } catch {
    return versionOf('');
  }
}
