/**
 * Gives Services of the class for it addresses of the pool of their network (decisions/service-pools.md). Who has which stands in the statuses of the
 * Services: a manager that takes over reads it there.
 */
import { parseAddress } from '../../allocators/addresses.ts';
import { assignAddresses, type ServiceRequest } from '../../allocators/service-addresses.ts';
import {
  isOfNetworkPool,
  POOL_ADDRESS_CONDITION,
  requestedPoolAddresses,
} from '../../api/annotations/service-annotations.ts';
import { PRIMARY_NETWORK_LABEL } from '../../api/annotations/network-annotations.ts';
import { askedServiceNetwork } from '../../api/annotations/service-network.ts';
import { conditionOf } from '../../api/conditions.ts';
import { services } from '../../api/kinds.ts';
import { objectKey } from '../../api/objects.ts';
import { oldestFirst } from '../../api/order.ts';
import type { Service } from '../../api/types.ts';
import { isInPool, poolSpace, sharedPool } from '../../model/rules/service-pools.ts';
import type { Clock } from '../../store/clock.ts';
import { StatusWriter } from '../../store/status-writer.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { CONFLICT_DELAY, WorkQueue, type Again, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import { nadsOfService } from '../networks/service-networks.ts';
import { WRITERS, type ClusterManagerSettings } from '../settings.ts';
import {
  familiesOfService,
  poolAddressCondition,
  refusedText,
  unreadableNetwork,
  wantedOf,
  WITHOUT_CLUSTER_IP,
  withoutPool,
  type AddressProblem,
  type ServiceOutcome,
} from './service-address-outcome.ts';

export interface ServiceAddressOptions {
  readonly store: Pick<Store, 'patchStatus' | 'event'>;
  readonly informers: Pick<ClusterInformers, 'services' | 'namespaces'>;
  readonly registry: NetworkRegistry;
  readonly settings: Pick<ClusterManagerSettings, 'cluster'>;
  readonly clock: Clock;
  readonly onFailure: (failure: Failure) => void;
}

const FIELD_MANAGER = 'cluster-manager';

/** What is decided for one Service. */
interface Decision extends ServiceOutcome {
  readonly uid: string | undefined;
}

/** A network with the ranges that its services may have. */
interface Pool {
  readonly network: string;
  readonly cidrs: readonly string[];
}

/** One of ours, or one that still says that it was. */
const isConcerned = (service: Service | undefined): boolean =>
  service !== undefined &&
  (isOfNetworkPool(service) ||
    conditionOf(service.status?.conditions, POOL_ADDRESS_CONDITION) !== undefined);

const ingressOf = ({ status }: Service): readonly string[] =>
  (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);

/** What a decision depends on of the Service, besides what it has. */
const requestOf = (service: Service | undefined): string =>
  JSON.stringify(
    service && [
      service.metadata.uid,
      isOfNetworkPool(service),
      service.spec.clusterIPs,
      requestedPoolAddresses(service),
      askedServiceNetwork(service),
    ],
  );

export class ServiceAddressController {
  readonly queue: WorkQueue;
  readonly #options: ServiceAddressOptions;
  readonly #writer: StatusWriter;
  readonly #concerned = new Set<string>();
  /** By key. What was decided last is what Services have, also while its write is under way. */
  #decisions = new Map<string, Decision>();
  #isStale = true;
  /** What each Service was told last. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(options: ServiceAddressOptions) {
    this.#options = options;
    const { store, clock, onFailure } = options;
    this.#writer = new StatusWriter({ store, clock, fieldManager: FIELD_MANAGER });
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure,
      parallelism: WRITERS,
      clock,
    });
  }

  follow(): void {
    const { informers, registry } = this.#options;
    // Nothing is decided before all Services are known: each keeps what it has.
    for (const service of informers.services.list())
      if (isConcerned(service)) this.#concerned.add(objectKey(service.metadata));
    informers.services.onChange(({ key, before, after }) => {
      if (!isConcerned(before) && !isConcerned(after)) return;
      if (isConcerned(after)) this.#concerned.add(key);
      else this.#concerned.delete(key);
      if (after === undefined) this.#told.delete(key);
      if (requestOf(before) === requestOf(after)) this.queue.add(key);
      else this.#decideAnew();
    });
    informers.namespaces.onChange(({ before, after }) => {
      const isLabelled = (one: typeof after): boolean =>
        Object.hasOwn(one?.metadata.labels ?? {}, PRIMARY_NETWORK_LABEL);
      if (isLabelled(before) !== isLabelled(after)) this.#decideAnew();
    });
    registry.onChange(() => this.#decideAnew());
    this.#decideAnew();
  }

  /** A network has its identity, or is gone. */
  networksChanged(): void {
    this.#decideAnew();
  }

  /** What Services lack, by key. */
  *problems(): Iterable<readonly [service: string, message: string]> {
    for (const [key, { problems }] of this.#decisions)
      for (const { message } of problems) yield [key, message];
  }

  #decideAnew(): void {
    this.#isStale = true;
    for (const key of this.#concerned) this.queue.add(key);
  }

  #decide(): void {
    this.#isStale = false;
    const { informers } = this.#options;
    const found = [...this.#concerned].flatMap((key) => informers.services.get(key) ?? []);
    const decisions = new Map<string, Decision>();
    const requests = new Map<string, { readonly pool: Pool; readonly all: Service[] }>();
    const pools = new Map<string, Pool>();
    const kept: string[] = [];
    for (const service of oldestFirst(found)) {
      if (!isOfNetworkPool(service)) continue;
      const { uid, namespace = '' } = service.metadata;
      const refuse = (problem: AddressProblem, addresses: readonly string[] = []): unknown =>
        decisions.set(objectKey(service.metadata), {
          uid,
          network: undefined,
          addresses,
          problems: [problem],
        });
      const networks = this.#networksOf(service);
      const pool = this.#poolFor(service, networks, pools);
      if (service.spec.clusterIPs.length === 0) refuse(WITHOUT_CLUSTER_IP);
      else if (pool === undefined && this.#options.registry.isUnreadableIn(namespace)) {
        const held = this.#heldBy(service);
        kept.push(...held);
        refuse(unreadableNetwork(namespace), held);
      } else if (pool === undefined) refuse(withoutPool(service, networks));
      else {
        const known = requests.get(pool.network);
        if (known === undefined) requests.set(pool.network, { pool, all: [service] });
        else known.all.push(service);
      }
    }
    for (const { pool, all } of requests.values())
      for (const [key, decision] of this.#assign(pool, all, kept)) decisions.set(key, decision);
    this.#decisions = decisions;
  }

  /** `kept`: addresses of Services of which it is not known which network they are on. */
  #assign(
    pool: Pool,
    all: readonly Service[],
    kept: readonly string[],
  ): ReadonlyMap<string, Decision> {
    const config = this.#options.registry.network(pool.network)?.config;
    if (config === undefined) return new Map();
    const { ranges, excluded } = poolSpace(pool.cidrs, config);
    const closed = kept.flatMap((text) => parseAddress(text) ?? []);
    const assigned = assignAddresses(
      { ranges, excluded: [...excluded, ...closed] },
      all.map((service): ServiceRequest => {
        const { wanted } = wantedOf(service);
        return {
          key: objectKey(service.metadata),
          families: familiesOfService(service),
          held: this.#heldBy(service).flatMap((text) => parseAddress(text) ?? []),
          wanted,
        };
      }),
    );
    return new Map(
      all.map((service) => {
        const key = objectKey(service.metadata);
        const { addresses = [], refusals = [] } = assigned.get(key) ?? {};
        const problems = [
          ...wantedOf(service).problems,
          ...refusals
            // Of a pool of one family a service has addresses of that one.
            .filter(({ code }) => code !== 'no-range' || addresses.length === 0)
            .map((refusal) => refusedText(refusal, service, pool.network, pool.cidrs)),
        ];
        return [key, { uid: service.metadata.uid, network: pool.network, addresses, problems }];
      }),
    );
  }

  /** What it was given, also while its status does not show it yet. */
  #heldBy(service: Service): readonly string[] {
    const before = this.#decisions.get(objectKey(service.metadata));
    return before !== undefined && before.uid === service.metadata.uid
      ? before.addresses
      : ingressOf(service);
  }

  /** The pool that it has an address of, else the first one. */
  #poolFor(
    service: Service,
    networks: readonly string[],
    pools: Map<string, Pool>,
  ): Pool | undefined {
    const found = networks.map((network) => this.#poolOf(network, pools));
    const { registry } = this.#options;
    const held = this.#heldBy(service);
    return (
      found.find(({ network, cidrs }) => {
        const config = registry.network(network)?.config;
        return config !== undefined && held.some((text) => isInPool(text, cidrs, config));
      }) ?? found.find(({ cidrs }) => cidrs.length > 0)
    );
  }

  #poolOf(network: string, pools: Map<string, Pool>): Pool {
    const known = pools.get(network);
    if (known !== undefined) return known;
    const { registry, settings } = this.#options;
    const found = registry.network(network);
    const texts = found?.nads.map(({ servicePool }) => servicePool) ?? [];
    const cidrs = found === undefined ? [] : sharedPool(texts, found.config, settings.cluster);
    const pool = { network, cidrs };
    pools.set(network, pool);
    return pool;
  }

  /** Networks that a service is on, in the order of their names. */
  #networksOf(service: Service): readonly string[] {
    const nads = nadsOfService(service, service.metadata.namespace ?? '', this.#options);
    return [...new Set(nads.map(({ config }) => config.name))].sort();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Again | void> {
    const before = this.#decisions;
    if (this.#isStale) this.#decide();
    const service = this.#options.informers.services.get(key);
    if (service === undefined) return undefined;
    const decision = this.#decisions.get(key);
    const again = await this.#write(
      service,
      decision,
      decision === undefined ? this.#leftIngress(service, before.get(key)) : decision.addresses,
      signal,
    );
    if (again === undefined) await this.#tell(service, decision?.problems ?? []);
    return again;
  }

  /** Addresses of a Service that is of the class no more, without those that it had of us. */
  #leftIngress(service: Service, before: Decision | undefined): readonly string[] {
    if (service.spec.type !== 'LoadBalancer') return [];
    const pools = new Map<string, Pool>();
    const networks = this.#networksOf(service);
    const isOurs = (text: string): boolean =>
      before?.addresses.includes(text) === true ||
      networks.some((network) => {
        const config = this.#options.registry.network(network)?.config;
        const { cidrs } = this.#poolOf(network, pools);
        return config !== undefined && isInPool(text, cidrs, config);
      });
    return ingressOf(service).filter((text) => !isOurs(text));
  }

  async #write(
    service: Service,
    decision: Decision | undefined,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<Again | undefined> {
    const { ingress = [] } = service.status?.loadBalancer ?? {};
    // An API server that knows no modes leaves them out.
    const has = ingress.map(({ ip = '', ipMode = 'VIP' }) => `${ip} ${ipMode}`);
    const isSame = has.join() === addresses.map((ip) => `${ip} VIP`).join();
    const loadBalancer =
      addresses.length === 0 ? null : { ingress: addresses.map((ip) => ({ ip, ipMode: 'VIP' })) };
    try {
      await this.#writer.write(
        services,
        service,
        {
          conditions: decision === undefined ? [] : [poolAddressCondition(decision)],
          removed: [POOL_ADDRESS_CONDITION],
          fields: { loadBalancer: isSame ? undefined : loadBalancer },
        },
        signal,
      );
    } catch (error) {
      // Somebody wrote meanwhile, or the object went.
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') return { after: CONFLICT_DELAY };
    }
    return undefined;
  }

  /** What it was not told yet. */
  async #tell(service: Service, problems: readonly AddressProblem[]): Promise<void> {
    const { uid = '' } = service.metadata;
    const key = objectKey(service.metadata);
    const told = this.#told.get(key) ?? new Set();
    const textOf = ({ reason, message }: AddressProblem): string => `${uid} ${reason} ${message}`;
    for (const problem of problems)
      if (!told.has(textOf(problem)))
        await this.#options.store.event({ regarding: service, type: 'Warning', ...problem });
    this.#told.set(key, new Set(problems.map(textOf)));
  }
}
