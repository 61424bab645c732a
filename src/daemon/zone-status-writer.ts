/** Tells the object store what became of the zone, once per change. */
import { isDeepStrictEqual } from 'node:util';
import { zoneStatuses } from '../api/kinds.ts';
import type {
  ZoneNetworkStatus,
  ZoneProblem,
  ZoneStatus,
  ZoneStatusContent,
} from '../api/zone-status.ts';
import { connectObject } from '../topology/connect/connect-rows.ts';
import { StoreError, type Store } from '../store/store.ts';
import type { ZoneController } from './zone-controller.ts';
import type { ZoneProgress } from './zone-progress.ts';

/** All but the time of writing. What is absent is not known yet: what was reported before stands. */
export type ZoneReport = Pick<ZoneStatusContent, 'message' | 'problems'> &
  Partial<Pick<ZoneStatusContent, 'networks' | 'used' | 'ready' | 'connects'>>;

/** What the parts of a zone say of it. */
export interface ZoneSources {
  readonly controller: ZoneController;
  readonly problems: readonly ZoneProblem[];
  /** Why nothing works, if so. */
  readonly message?: string | undefined;
}

/** What is known of the zone, for the cluster manager and for people. */
export function zoneReport({ controller, problems, message }: ZoneSources): ZoneReport {
  const networks = controller.progress.networks();
  const used = networks.filter(({ state }) => state !== 'Unused');
  const ready = message === undefined && used.every(({ state }) => state === 'Programmed');
  return {
    ...(message === undefined ? {} : { message, ready }),
    ...(controller.hasWritten
      ? {
          networks,
          used: used.map(({ name }) => name),
          ready,
          connects: controller.progress.connects(),
        }
      : {}),
    problems,
  };
}

/** Milliseconds after which the written status is checked: somebody may have removed or changed it. */
const RECHECK = 30_000;

export class ZoneStatusWriter {
  readonly #store: Store;
  readonly #node: string;
  readonly #now: () => Date;
  /** What was written last, and the version that the store gave it. */
  #written: { readonly report: ZoneReport; readonly version: string | undefined } | undefined;
  #seenAt = 0;

  constructor(store: Store, node: string, now: () => Date = () => new Date()) {
    this.#store = store;
    this.#node = node;
    this.#now = now;
  }

  /** Goes on from what the process before us reported: it stands until `progress` knows better. */
  async resume(
    progress: Pick<ZoneProgress, 'rememberProgrammed'>,
    signal: AbortSignal,
  ): Promise<void> {
    const found = await this.#store.get(zoneStatuses, this.#node, signal);
    if (found?.status === undefined) return;
    const { observedAt: _observedAt, ...report } = found.status;
    this.#written = { report, version: found.metadata.resourceVersion };
    this.#seenAt = this.#now().getTime();
    const programmed = (entries: readonly ZoneNetworkStatus[] = []): readonly string[] =>
      entries.filter(({ state }) => state === 'Programmed').map(({ name }) => name);
    progress.rememberProgrammed([
      ...programmed(report.networks),
      ...programmed(report.connects).map(connectObject),
    ]);
  }

  /** Writes `report` unless it is what was written last and nobody touched that. */
  async write(report: ZoneReport, signal: AbortSignal): Promise<void> {
    if (isDeepStrictEqual(this.#written?.report, report) && (await this.#isUntouched(signal)))
      return;
    const options = { fieldManager: `heddle-node-${this.#node}`, signal };
    // A merge patch keeps what it doesn't name: a message that is over is taken away by null, networks that are not known yet stay.
    const status = { message: null, observedAt: this.#now().toISOString(), ...report };
    const patchStatus = (unknown: Partial<ZoneStatusContent> = {}): Promise<ZoneStatus> =>
      this.#store.patchStatus(
        zoneStatuses,
        this.#node,
        { status: { ...unknown, ...status } },
        options,
      );
    const written = await patchStatus().catch(async (error: unknown) => {
      if (!(error instanceof StoreError && error.code === 'not-found')) throw error;
      const { apiVersion, kind } = zoneStatuses;
      const metadata = { name: this.#node };
      await this.#store.create(
        zoneStatuses,
        { apiVersion: apiVersion as 'k8s.ovn.org/v1alpha1', kind: kind as 'ZoneStatus', metadata },
        options,
      );
      return await patchStatus({ networks: [], connects: [] });
    });
    this.#written = { report, version: written.metadata.resourceVersion };
    this.#seenAt = this.#now().getTime();
  }

  async #isUntouched(signal: AbortSignal): Promise<boolean> {
    const now = this.#now().getTime();
    if (now - this.#seenAt < RECHECK) return true;
    const found = await this.#store.get(zoneStatuses, this.#node, signal);
    this.#seenAt = now;
    return found?.metadata.resourceVersion === this.#written?.version;
  }
}
