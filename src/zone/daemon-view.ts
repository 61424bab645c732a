/** A running daemon's view of its zone, served on its control socket. */
import { zoneStatuses } from '../api/kinds.ts';
import type { ZoneStatus } from '../api/zone-status.ts';
import { serveControl } from '../control/control-socket.ts';
import type { Loop } from '../process/loop.ts';
import type { Logger } from '../process/logger.ts';
import { VERSION } from '../process/version.ts';
import { Resources } from '../process/resources.ts';
import { knownObjects } from '../store/known-objects.ts';
import type { OverviewObjects } from '../views/overview.ts';
import { planReport, statusReport } from '../views/zone-reports.ts';
import type { ZoneRuntime } from './zone-runtime.ts';
import { zoneReport, type ZoneReport } from './zone-status-writer.ts';
import { controlMethods, type ZoneView } from './zone-view.ts';
import { dropsOf, hostOf, originsOf, packetOf, underlayOf } from './zone-questions.ts';

export interface DaemonState {
  /** Why the zone is not written at the moment, if so. */
  readonly notReady: () => string | undefined;
  /** A plan is made between two passes over what it is about. */
  readonly databases: Pick<Loop, 'between'>;
  readonly host: Pick<Loop, 'between'> | undefined;
}

function daemonView(runtime: ZoneRuntime, { notReady, ...loops }: DaemonState): ZoneView {
  const { configuration, controller, store } = runtime;
  const started = async <T>(report: () => Promise<T>): Promise<T> => {
    if (!controller.isStarted)
      throw new Error(
        `the daemon of node ${configuration.node} has made no plan yet: ${notReady() ?? 'starting'}`,
      );
    return report();
  };
  const inTurn =
    (loop: Pick<Loop, 'between'> | undefined) =>
    async <T>(report: () => Promise<T>): Promise<T> =>
      loop === undefined ? started(report) : loop.between(() => started(report));
  const ofHost = inTurn(loops.host);
  const ofDatabases = inTurn(loops.databases);
  const plan: ZoneView['plan'] = (format) =>
    planReport(runtime, format, {
      host: ofHost,
      databases: (report) => {
        // What a database was when it was seen last says nothing of what would change.
        const unavailable = runtime.unavailable();
        if (unavailable !== undefined)
          throw new Error(`nobody knows what would change: ${unavailable}`);
        return ofDatabases(report);
      },
    });
  return {
    about: () => ({
      node: configuration.node,
      pid: process.pid,
      options: configuration.given,
      versions: {
        heddle: VERSION,
        node: process.version,
        northd: runtime.ovnVersion,
        openVswitch: runtime.openVswitchVersion,
      },
    }),
    async status() {
      const { settings, node } = configuration;
      const live = (objects: OverviewObjects): OverviewObjects =>
        withStatus(
          objects,
          node,
          zoneReport({
            controller,
            problems: runtime.problems(),
            waiting: runtime.waiting(),
            justWaiting: runtime.justWaiting(),
            notes: runtime.notes(),
            applied: runtime.applied(runtime.problems()),
            ovnVersion: runtime.ovnVersion,
            message: notReady(),
            reach: runtime.chassisReach(),
          }),
        );
      const { lists, whyUnread } = knownObjects(store.objects, runtime.informers);
      const report = await statusReport(store, settings, { running: node }, live, lists);
      const why = whyUnread();
      if (why === undefined) return report;
      const message = `only what this node follows is shown, nothing of other nodes: objects can't be read: ${why}`;
      return { ...report, notes: [...report.notes, { object: `Node ${node}`, message }] };
    },
    plan,
    // A daemon allocates as it goes: what it is about to change is what drifted.
    diff: plan,
    host: () => ofHost(() => hostOf(runtime)),
    underlay: () => ofHost(() => underlayOf(runtime)),
    // It changes nothing and plans nothing: no pass has to wait for it.
    explain: (asked, signal) => started(() => originsOf(runtime, asked, signal)),
    packet: (asked, signal) => started(() => packetOf(runtime, asked, signal)),
    drops: (seconds, signal) => started(() => dropsOf(runtime, seconds, signal)),
    changes: () => runtime.changes.report(configuration.node),
  };
}

/** The objects, with the stored status of a node replaced by its live one, as far as that is known yet. */
function withStatus(objects: OverviewObjects, node: string, live: ZoneReport): OverviewObjects {
  const isOfNode = ({ metadata }: ZoneStatus): boolean => metadata.name === node;
  const {
    networks = [],
    connects = [],
    applied,
    appliedCount,
  } = objects.zoneStatuses.find(isOfNode)?.status ?? {};
  const inForce = applied && appliedCount !== undefined && { applied, appliedCount };
  const status: ZoneStatus = {
    apiVersion: zoneStatuses.apiVersion as ZoneStatus['apiVersion'],
    kind: 'ZoneStatus',
    metadata: { name: node },
    status: { observedAt: new Date().toISOString(), networks, connects, ...inForce, ...live },
  };
  return {
    ...objects,
    zoneStatuses: [...objects.zoneStatuses.filter((one) => !isOfNode(one)), status],
  };
}

/** Serves the view on the daemon's control socket, if it is to have one. */
export async function serveZone(
  runtime: ZoneRuntime,
  state: DaemonState,
  log: Logger,
): Promise<AsyncDisposable> {
  const { socket } = runtime.configuration;
  if (socket === undefined) return new Resources();
  const methods = controlMethods(daemonView(runtime, state));
  return serveControl({ path: socket, methods, log });
}
