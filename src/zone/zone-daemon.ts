/** `heddle node`: stays, and keeps its zone true whatever changes on either side. */
import { nodes } from '../api/kinds.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { daemonIdentity } from '../cluster-daemon/cluster-daemon.ts';
import { setHeapGrowth } from '../process/heap.ts';
import { serveHealth, type ReadinessCheck } from '../process/health.ts';
import { CLUSTER_HEARTBEAT, LOCAL_HEARTBEAT, startHeartbeat } from '../process/heartbeat.ts';
import type { Logger } from '../process/logger.ts';
import { runLoops } from '../process/loop.ts';
import { registerLoops } from '../process/loop-metrics.ts';
import { registerBuild } from '../process/build-metrics.ts';
import { registerUnhandled, registerUnreadable } from '../process/unhandled-metrics.ts';
import { MetricsAccess } from '../process/metrics-access.ts';
import { objectSource } from '../settings/object-store.ts';
import { openTraces } from '../traces/open-traces.ts';
import { registerBfdSessions } from './bfd-metrics.ts';
import { registerConnections } from './connection-metrics.ts';
import { dnsMetrics } from './dns-metrics.ts';
import { proofByProcess } from './proof-process.ts';
import { serveZone } from './daemon-view.ts';
import { serveZoneCni } from './zone-cni.ts';
import { ZoneLoops } from './zone-loops.ts';
import { ZoneMetrics } from './zone-metrics.ts';
import { ZoneRuntime, type ZoneConfiguration } from './zone-runtime.ts';

/** Runs until `signal` aborts. Rejects for a configuration that can't be used, and when a part of it ended. */
export async function runZone(
  configuration: ZoneConfiguration,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  setHeapGrowth();
  const metrics = new ZoneMetrics();
  let access: MetricsAccess | undefined;
  let loops: ZoneLoops | undefined;
  const hasApiServer = objectSource(configuration, process.env).kind === 'kubernetes';
  await using health = await serveHealth({
    serving: configuration.metrics,
    registry: metrics.registry,
    log,
    notReady: (): ReadinessCheck | undefined => (loops === undefined ? 'start' : loops.failedCheck),
    hung: () => loops?.hung,
    // The API server is not connected before the runtime is there.
    judge: hasApiServer ? async (header) => access?.judge(header) ?? 'unavailable' : undefined,
  });
  await using traces =
    configuration.traces &&
    (await openTraces({
      settings: configuration.traces,
      service: 'heddle-node',
      instance: daemonIdentity(),
      node: configuration.node,
      registry: metrics.registry,
      log,
    }));
  const traced = traces === undefined ? {} : { traces: traces.pods };
  await using runtime = await ZoneRuntime.open({
    ...traced,
    configuration,
    log,
    mode: 'write',
    onCommit: (commit) => {
      metrics.commit(commit);
      log.info({ component: 'zone', ...commit }, 'committed');
    },
    onNetworkWritten: (written) => metrics.networkWritten(written),
    dnsEvents: dnsMetrics(metrics.registry),
    onEventDropped: (limit) => metrics.eventDropped(limit),
    onDriftRepaired: (database, table, rows) => metrics.driftRepaired(database, table, rows),
    onHostChange: (change) => metrics.hostChange(change),
    onWork: () => loops?.databases.notify(),
    onHostWork: () => loops?.host?.notify(),
    furtherProblems: (): readonly ZoneProblem[] => loops?.problems() ?? [],
  });
  if (hasApiServer) access = new MetricsAccess(runtime.store.objects, log);
  log.info({ component: 'daemon', node: configuration.node, health: health.url }, 'started');
  registerBuild(metrics.registry);
  registerUnhandled(
    metrics.registry,
    () => runtime.informers.unhandled(),
    () => runtime.controller.unread(),
  );
  registerUnreadable(metrics.registry, () => runtime.informers.unreadable()?.milliseconds ?? 0);
  registerBfdSessions(metrics.registry, () => runtime.bfdSessions.all);
  registerConnections(metrics.registry, () => runtime.connectionTables?.usages ?? []);
  await using cni = await serveZoneCni(runtime, log, traces?.pods);
  const zone = new ZoneLoops({
    runtime,
    metrics,
    log,
    conflist: cni.conflist,
    prove: (passSignal) => proofByProcess(configuration.given, passSignal),
  });
  loops = zone;
  registerLoops(metrics.registry, zone.all);
  await using _control = await serveZone(runtime, zone, log);
  const { store, informers, northbound } = runtime;
  await using _heartbeat = startHeartbeat({
    store: store.objects,
    node: configuration.node,
    // A process that waits for another one to end keeps nothing.
    nodeUid: () =>
      northbound.isHeldByOther()
        ? undefined
        : informers.of(nodes).get(configuration.node)?.metadata.uid,
    identity: daemonIdentity(),
    timing: store.isEmbedded ? LOCAL_HEARTBEAT : CLUSTER_HEARTBEAT,
    log,
  });
  const reported = new Set<string>();
  runtime.store.onComplaints((complaints) => {
    for (const { text } of complaints)
      if (!reported.has(text)) log.warn({ component: 'manifests' }, text);
    reported.clear();
    for (const { text } of complaints) reported.add(text);
  });
  await runLoops(zone.all, signal);
  log.info({ component: 'daemon' }, 'stopping; the networks stay as they are');
}
