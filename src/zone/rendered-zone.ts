/** What a node's databases should hold, by objects alone: no database is asked. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodes, pods } from '../api/kinds.ts';
import { objectKey } from '../api/objects.ts';
import type { Node } from '../api/types.ts';
import type { Network } from '../model/model.ts';
import { EVERY_HOST } from '../model/read/egress-services.ts';
import { egressServiceObject } from '../model/zone/egress-services.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { objectSource, openStore, type OpenObjects } from '../settings/object-store.ts';
import type { Store } from '../store/store.ts';
import { inventedNodes } from './invented-nodes.ts';
import type { Configuration } from '../settings/configuration.ts';
import { freshDatabase, scriptOf } from '../databases/fresh-database.ts';
import { createLogger } from '../process/logger.ts';
import { within } from '../process/waiting.ts';
import { Resources } from '../process/resources.ts';
import { planReport, type PlanReport } from '../views/zone-reports.ts';
import { ZoneRuntime } from './zone-runtime.ts';

/** A row that is wanted. */
interface RenderedRow {
  readonly table: string;
  readonly key: string;
  readonly object: string;
  readonly columns: Readonly<Record<string, unknown>>;
  /** Rows whose set columns hold it. */
  readonly holders: readonly { readonly table: string; readonly key: string }[];
}

export interface RenderedZone extends AsyncDisposable {
  readonly node: string;
  readonly networks: readonly Network[];
  /** What follows from the objects. */
  readonly facts: ZoneFacts;
  /** The objects, with what was made up or allocated. */
  readonly store: OpenObjects;
  /** Rows of Northbound. */
  rows(): readonly RenderedRow[];
  /** Of objects that give pods an address outside, `EgressIP shop`: which addresses, and at which nodes. */
  egressExits(): ReadonlyMap<string, readonly string[]>;
  /** Everything as a shell script. */
  script(): string;
  report(): Promise<PlanReport>;
}

/** The host is not what is asked about. */
const withoutHost = <C extends Configuration>({
  ovs: _host,
  ...configuration
}: C): Omit<C, 'ovs'> => configuration;

/** What follows from objects, without a row. */
export interface KnownZone extends AsyncDisposable {
  readonly facts: ZoneFacts;
  readonly store: OpenObjects;
}

/** As `renderedZone`, for who asks objects alone. */
export async function knownZone(
  configuration: Configuration,
  invented: number,
): Promise<KnownZone> {
  const { runtime, resources: stack } = await opened(configuration, invented);
  runtime.facts.refresh(performance.now());
  return {
    facts: runtime.facts,
    store: runtime.store,
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

/** What a node's databases should hold. `invented`: so many nodes there are at least, with all that nodes say of themselves. */
export async function renderedZone(
  configuration: Configuration,
  invented?: number,
): Promise<RenderedZone> {
  const zone = await opened(configuration, invented);
  await using resources = zone.resources;
  const { node, runtime } = zone;
  runtime.update();
  const plans = runtime.controller.plans();
  const stack = resources.move();
  return {
    node,
    facts: runtime.facts,
    store: runtime.store,
    networks: [...runtime.facts.networks.entries()].map(([, network]) => network),
    rows: () =>
      (plans[0]?.changes ?? []).map(({ table, key, object = '', columns, memberships }) => ({
        table,
        key,
        object,
        columns: Object.fromEntries(columns.map(({ name, after }) => [name, after])),
        holders: memberships,
      })),
    egressExits: () => egressExits(runtime.facts),
    script: () => scriptOf(plans),
    report: () => planReport(runtime, { details: true }),
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

interface OpenedZone {
  readonly node: string;
  readonly runtime: ZoneRuntime;
  readonly resources: Resources;
}

/**
 * Opens it. What is still to be allocated is allocated in memory; the state directory, where there is one, says what was before. `invented`: so many nodes there are at
 * least, with all that nodes say of themselves; the first one is meant where none is named.
 */
async function opened(
  configuration: Configuration,
  invented: number | undefined,
): Promise<OpenedZone> {
  await using resources = new Resources();
  const { manifests, state } = configuration;
  const temporary =
    manifests === undefined || state !== undefined
      ? undefined
      : await mkdtemp(join(tmpdir(), 'heddle-render-'));
  if (temporary !== undefined)
    resources.defer(() => rm(temporary, { recursive: true, force: true }));
  const log = createLogger(configuration.logLevel === 'info' ? 'error' : configuration.logLevel);
  const complete = {
    ...withoutHost(configuration),
    ...(temporary === undefined ? {} : { state: temporary }),
    nb: 'a fresh database',
    sb: 'a fresh database',
  };
  const changes = invented === undefined ? [] : await inventions(complete, invented);
  const node = configuration.node ?? changes[0]?.metadata.name ?? '';
  const runtime = resources.use(
    await ZoneRuntime.open({
      configuration: { ...complete, node },
      log,
      mode: 'dry-run',
      openDatabase: freshDatabase,
      prepare: (store) => invent(store, changes),
    }),
  );
  await within(configuration.timeout, (signal) => runtime.allocated(signal));
  return { node, runtime, resources: resources.move() };
}

function egressExits(facts: ZoneFacts): ReadonlyMap<string, readonly string[]> {
  const ofIps = [...facts.egressPlaces.entries()].map(
    ([name, { addresses }]) =>
      [
        `EgressIP ${name}`,
        addresses.length === 0
          ? ['no node has an address of it']
          : addresses.map(({ address, node }) => `${address} at ${node}`),
      ] as const,
  );
  const ofServices = [...facts.egressServicePlaces.entries()].map(([, place]) => {
    const { service, host, sources } = place;
    const from = sources.join(' ');
    const where = host === EVERY_HOST ? 'by the node of each pod' : `${from} at ${host}`;
    return [egressServiceObject(service), [host === '' ? 'no node' : where]] as const;
  });
  return new Map<string, readonly string[]>([...ofIps, ...ofServices]);
}

/** Nodes as they would be with what is made up. */
async function inventions(configuration: Configuration, count: number): Promise<readonly Node[]> {
  await using store = await openStore(objectSource(configuration, process.env), { dryRun: true });
  return inventedNodes({
    nodes: await store.objects.list(nodes),
    pods: await store.objects.list(pods),
    named: configuration.node,
    count,
    subnets: configuration.settings.clusterSubnets.map(({ cidr }) => cidr),
    mode: configuration.gateway.mode,
  });
}

async function invent(store: Store, invented: readonly Node[]): Promise<void> {
  const options = { fieldManager: 'heddle-invented-nodes' };
  for (const node of invented) {
    const { name, annotations } = node.metadata;
    if ((await store.get(nodes, objectKey({ name }))) === undefined)
      await store.create(nodes, node, options);
    else await store.patch(nodes, objectKey({ name }), { metadata: { annotations } }, options);
  }
}
