/** `heddle cluster`: the cluster manager as a process of its own; several may run, one leads. */
import { hostname } from 'node:os';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { ClusterManager } from '../cluster/manager.ts';
import { registerDroppedEvents } from '../cluster/metrics.ts';
import { DEFAULT_LEASE_NAME } from '../cluster/settings.ts';
import type { Configuration } from '../settings/configuration.ts';
import { systemClock } from '../store/clock.ts';
import type { ConversionWebhook } from './conversion-webhook.ts';
import { parseBindAddress } from '../process/bind-address.ts';
import { egressProbing } from '../process/egress-probing.ts';
import { serveHealth } from '../process/health.ts';
import type { Logger } from '../process/logger.ts';
import { registerBuild } from '../process/build-metrics.ts';
import { registerUnhandled } from '../process/unhandled-metrics.ts';
import { MetricsAccess } from '../process/metrics-access.ts';
import { objectSource, openStore, type OpenObjects } from '../settings/object-store.ts';

/** Who a process is among several managers. */
export const managerIdentity = (): string =>
  `${process.env['POD_NAME'] ?? hostname()}_${process.pid}`;

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
      log.warn({ component: 'conversion', error: String(error) }, 'will be tried again');
    },
  };
  return serveConversions(options, signal);
}

/**
 * Runs until `signal` aborts (`stopped`) or leadership is lost (`lost`): what this process knows may be old then, and it is best started anew.
 * Rejects when the object source is lost for good.
 */
export async function runCluster(
  configuration: Configuration,
  log: Logger,
  signal: AbortSignal,
): Promise<'stopped' | 'lost'> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerBuild(registry);
  const { leaseTiming } = configuration;
  await using store = await openStore(objectSource(configuration, process.env), {
    dryRun: false,
    leaseTiming,
  });
  const manager = new ClusterManager({
    store: store.objects,
    settings: {
      cluster: configuration.settings,
      ...configuration.manager,
      leaseName: DEFAULT_LEASE_NAME,
      identity: managerIdentity(),
    },
    log,
    metrics: registry,
    onEventDropped: registerDroppedEvents(registry),
    egressProbing: egressProbing(configuration.settings.egressHealth),
    signal,
  });
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
    registry,
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
    if (!until.aborted)
      log.error({ component: 'conversion', error: String(error) }, 'versions are not converted');
    return undefined;
  });
  let lost: string | undefined;
  try {
    lost = await manager.run();
  } finally {
    stopping.abort();
    await (await webhook)?.[Symbol.asyncDispose]();
  }
  if (lost !== undefined) {
    log.error(
      { component: 'daemon', reason: lost },
      'leadership was lost; start again to compete for it',
    );
    return 'lost';
  }
  log.info({ component: 'daemon' }, 'stopped');
  return 'stopped';
}
