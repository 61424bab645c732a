/** `heddle cluster`: the cluster manager as a process of its own; several may run, one leads. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { ClusterManager } from '../cluster/manager.ts';
import { registerDroppedEvents } from '../cluster/metrics.ts';
import { DEFAULT_LEASE_NAME } from '../cluster/settings.ts';
import type { Configuration } from '../settings/configuration.ts';
import { systemClock } from '../store/clock.ts';
import type { ConversionWebhook } from './conversion-webhook.ts';
import { parseBindAddress } from '../process/bind-address.ts';
import { egressProbing } from '../process/egress-probing.ts';
import { setHeapGrowth } from '../process/heap.ts';
import { serveHealth } from '../process/health.ts';
import type { Logger } from '../process/logger.ts';
import { registerBuild } from '../process/build-metrics.ts';
import { registerUnhandled } from '../process/unhandled-metrics.ts';
import { MetricsAccess } from '../process/metrics-access.ts';
import { objectSource, openStore, type OpenObjects } from '../settings/object-store.ts';
import { openTraces } from '../traces/open-traces.ts';

/** Who a process is among several managers. */
export const managerIdentity = (): string =>
  `${process.env['POD_NAME'] ?? hostname()}_${process.pid}`;

const RUN = randomUUID().slice(0, 8);

/** Who a process is among all that are, or were, daemons of its node: in a container they have the same number. */
export const daemonIdentity = (): string => `${managerIdentity()}_${RUN}`;

/** The conversion webhook, if the settings want one; only a Kubernetes API server has a use for it. */
async function conversions(
  { conversionBindAddress: address }: Configuration,
  { objects, isEmbedded }: OpenObjects,
  log: Logger,
  signal: AbortSignal,
): Promise<ConversionWebhook | undefined> {
  if (address === '' || isEmbedded) return undefined;
  // It brings the rules of our CRDs, which nothing else needs beside an API server.
  const { conversionService, serveConversions } = await import('./conversion-webhook.ts');
  const { host, port } = parseBindAddress(address, '--conversion-bind-address');
  const { name, namespace } = conversionService();
  const options = {
    host,
    port,
    namespace,
    name: `${name}.${namespace}.svc`,
    store: objects,
    clock: systemClock,
    random: Math.random,
    onFailure: (error: unknown) => {
      log.warn({ component: 'conversion', error }, 'will be tried again');
    },
  };
  return serveConversions(options, signal);
}

/**
 * Runs until `signal` aborts; rejects when the object source is lost for good. When leadership is lost, what its manager knows may be old:
 * a new one, which has read nothing yet, competes in its place.
 */
export async function runCluster(
  configuration: Configuration,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  setHeapGrowth();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerBuild(registry);
  const { leaseTiming } = configuration;
  await using store = await openStore(objectSource(configuration, process.env), {
    dryRun: false,
    leaseTiming,
  });
  await using traces =
    configuration.traces &&
    (await openTraces({
      settings: configuration.traces,
      service: 'heddle-cluster',
      instance: managerIdentity(),
      registry,
      log,
    }));
  /** Metrics of the manager, which end with it. */
  const ofManager = new Registry();
  const onEventDropped = registerDroppedEvents(registry);
  const makeManager = (): ClusterManager => {
    ofManager.clear();
    return new ClusterManager({
      store: store.objects,
      settings: {
        cluster: configuration.settings,
        ...configuration.manager,
        leaseName: DEFAULT_LEASE_NAME,
        identity: managerIdentity(),
      },
      log,
      metrics: ofManager,
      onEventDropped,
      egressProbing: egressProbing(configuration.settings.egressHealth),
      ...(traces === undefined ? {} : { traces: traces.pods }),
      signal,
    });
  };
  let manager = makeManager();
  const registers = [registry];
  registerUnhandled(registry, () => manager.unhandled());
  const leading = new Gauge({
    name: 'heddle_cluster_leading',
    help: '1 while this process makes the allocations.',
    registers,
    collect() {
      this.set(manager.isLeading ? 1 : 0);
    },
  });
  const losses = new Counter({
    name: 'heddle_cluster_leadership_lost_total',
    help: 'Times that this process led and lost its lease.',
    registers,
  });
  const problems = new Gauge({
    name: 'heddle_cluster_problems',
    help: 'Objects that could not be brought about.',
    registers,
    collect() {
      this.set(manager.problems().length);
    },
  });
  leading.set(0);
  problems.set(0);
  const access = store.isEmbedded ? undefined : new MetricsAccess(store.objects, log);
  await using health = await serveHealth({
    serving: configuration.metrics,
    registry: {
      contentType: registry.contentType,
      metrics: () => Registry.merge([registry, ofManager]).metrics(),
    },
    log,
    // A manager that waits for leadership is ready to take over; one that leads and can't read is not.
    notReady: () => (manager.waitsFor === undefined ? undefined : 'objects'),
    judge: access === undefined ? undefined : (header) => access.judge(header),
  });
  log.info({ component: 'daemon', health: health.url, identity: managerIdentity() }, 'started');
  store.onComplaints((complaints) => {
    for (const { text } of complaints) log.warn({ component: 'manifests' }, text);
  });
  // Managing must not wait for it, nor end with it: it may lack permissions that an administrator adds later.
  const stopping = new AbortController();
  const until = AbortSignal.any([signal, stopping.signal]);
  const webhook = conversions(configuration, store, log, until).catch((error: unknown) => {
    if (!until.aborted) log.error({ component: 'conversion', error }, 'versions are not converted');
    return undefined;
  });
  try {
    for (;;) {
      const reason = await manager.run();
      if (reason === undefined) break;
      losses.inc();
      log.error({ component: 'daemon', reason }, 'leadership was lost; competes for it anew');
      manager = makeManager();
    }
  } finally {
    stopping.abort();
    await (await webhook)?.[Symbol.asyncDispose]();
  }
  log.info({ component: 'daemon' }, 'stopped');
}
