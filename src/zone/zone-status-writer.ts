/** Tells the object store what became of the zone, once per change. */
import { isDeepStrictEqual } from 'node:util';
import { zoneStatuses } from '../api/kinds.ts';
import { clipped, visibleText } from '../api/visible-text.ts';
import type {
  ZoneAppliedObject,
  ZoneNetworkStatus,
  ZoneProblem,
  ZoneStatus,
  ZoneStatusContent,
} from '../api/zone-status.ts';
import { connectObject } from '../topology/connect/connect-rows.ts';
import { StoreError, type Store } from '../store/store.ts';
import type { ChassisReach } from '../node/chassis/chassis-watch.ts';
import { objectStates } from './object-states.ts';
import type { ZoneController } from './zone-controller.ts';
import type { ZoneProgress } from './zone-progress.ts';
import { VERSION } from '../process/version.ts';
import { errorText } from '../api/error-text.ts';

/** All but the time of writing. What is absent is not known yet: what was reported before stands. */
export type ZoneReport = Pick<
  ZoneStatusContent,
  | 'message'
  | 'problems'
  | 'problemCount'
  | 'objects'
  | 'notes'
  | 'unreached'
  | 'version'
  | 'ovnVersion'
> &
  Partial<
    Pick<
      ZoneStatusContent,
      'networks' | 'used' | 'programmed' | 'ready' | 'connects' | 'applied' | 'appliedCount'
    >
  >;

/** What the parts of a zone say of it. */
export interface ZoneSources {
  readonly controller: Pick<ZoneController, 'hasWritten' | 'objectOf'> & {
    readonly progress: Pick<ZoneProgress, 'reported' | 'connects'>;
  };
  readonly problems: readonly ZoneProblem[];
  /** Those of the problems that are over as soon as something is allocated. */
  readonly waiting?: readonly ZoneProblem[];
  /** Those of these that have not waited for long: they count as no problem yet. */
  readonly justWaiting?: readonly ZoneProblem[];
  readonly notes?: readonly ZoneProblem[];
  /** Why nothing works, if so. */
  readonly message?: string | undefined;
  /** Release of ovn-northd, once it is known. */
  readonly ovnVersion?: string | undefined;
  /** Objects that are in force in the zone, sorted; undefined while that is not known. */
  readonly applied?: readonly ZoneAppliedObject[] | undefined;
  /** Whether packets can leave for other nodes, where that can be seen. */
  readonly reach?: ChassisReach | undefined;
  /** How many ways or numbers that no object wants a proof found, by network. */
  readonly violations?: ReadonlyMap<string, number> | undefined;
}

/** How many of the problems are none of `others`. */
export function countOf(
  problems: readonly ZoneProblem[],
  others: readonly ZoneProblem[] = [],
): number {
  const known = new Set(others.map(({ object, message }) => `${object} ${message}`));
  return problems.filter(({ object, message }) => !known.has(`${object} ${message}`)).length;
}

/** What is known of the zone, for the cluster manager and for people. */
export function zoneReport({
  controller,
  reach,
  ovnVersion,
  violations,
  ...sources
}: ZoneSources): ZoneReport {
  const message = sources.message === undefined ? undefined : visibleText(sources.message);
  const visible = (problem: ZoneProblem): ZoneProblem => ({
    ...problem,
    object: visibleText(problem.object),
    message: visibleText(problem.message),
  });
  const problems = sources.problems.map(visible);
  const notes = (sources.notes ?? []).map(visible);
  const waiting = (sources.waiting ?? []).map(visible);
  const networks = controller.progress.reported().map((network) => {
    const found = violations?.get(network.name);
    return {
      ...withVisibleMessage(network),
      ...(found === undefined ? {} : { violations: found }),
    };
  });
  const connects = controller.progress.connects().map(withVisibleMessage);
  const used = networks.filter(({ state }) => state !== 'Unused');
  const programmed = used.filter(({ state }) => state === 'Programmed');
  const ready =
    message === undefined &&
    reach?.message === undefined &&
    // What is waited for others hand out: a pod without its network says nothing of the node.
    countOf(problems, waiting) === 0 &&
    programmed.length === used.length;
  return {
    ...(message === undefined ? {} : { message, ready }),
    ...(controller.hasWritten
      ? {
          networks,
          used: used.map(({ name }) => name),
          programmed: `${programmed.length}/${used.length}`,
          ready,
          connects,
        }
      : {}),
    ...(sources.applied === undefined
      ? {}
      : { applied: sources.applied, appliedCount: sources.applied.length }),
    problems,
    problemCount: countOf(sources.problems, sources.justWaiting),
    version: VERSION,
    ...(ovnVersion === undefined ? {} : { ovnVersion }),
    objects: objectStates({
      problems,
      waiting,
      progress: [
        ...networks.map((network) => ({ ...network, object: controller.objectOf(network.name) })),
        ...connects.map((connect) => ({ ...connect, object: connectObject(connect.name) })),
      ],
    }),
    notes,
    unreached: reach?.unreached ?? [],
  };
}

const withVisibleMessage = <T extends { readonly message?: string }>(part: T): T =>
  part.message === undefined ? part : { ...part, message: visibleText(part.message) };

/** Milliseconds after which the written status is checked, and what was refused is sent again. */
const RECHECK = 30_000;

/** Milliseconds after which a status is written anew although nothing changed, as a kubelet does: its age says when the daemon was seen. */
const RENEWAL = 300_000;

/** What a status may grow to: an API server refuses objects of more than 1.5 MiB. */
const LIMITS = { problems: 500, objects: 200, applied: 500, message: 1024, objectMessage: 256 };

/** Parts of a status that are lists: an entry that is refused takes no other with it. */
const LISTS = ['networks', 'connects', 'problems', 'objects', 'applied'] as const;
type List = (typeof LISTS)[number];
const isList = (part: string): part is List => (LISTS as readonly string[]).includes(part);

/** As a merge patch: null takes a field away. */
type Status = { readonly [K in keyof ZoneStatusContent]?: ZoneStatusContent[K] | null };

/** What a status holds at least. */
const NOTHING: Status = { networks: [], connects: [], problems: [] };

/** What was not taken over, of one part of the status or, where nothing could be written, of all of it. */
export interface Refusal {
  readonly part: string;
  readonly message: string;
}

const isRefused = (error: unknown): error is StoreError =>
  error instanceof StoreError && error.code === 'invalid';

/** The same with no more and no longer texts than an object can hold. */
function bounded(report: ZoneReport): ZoneReport {
  const shortTo =
    (limit: number) =>
    <T extends { readonly message?: string }>(entry: T): T =>
      (entry.message?.length ?? 0) > limit
        ? { ...entry, message: `${clipped(entry.message ?? '', limit - 1)}…` }
        : entry;
  const short = shortTo(LIMITS.message);
  const problems = report.problems.slice(0, LIMITS.problems).map(short);
  const more = report.problems.length - problems.length;
  const { objects, applied } = report;
  return {
    ...short(report),
    ...(report.networks === undefined ? {} : { networks: report.networks.map(short) }),
    ...(report.connects === undefined ? {} : { connects: report.connects.map(short) }),
    ...(objects === undefined
      ? {}
      : { objects: objects.slice(0, LIMITS.objects).map(shortTo(LIMITS.objectMessage)) }),
    ...(applied === undefined ? {} : { applied: applied.slice(0, LIMITS.applied) }),
    problems:
      more === 0
        ? problems
        : [
            ...problems,
            {
              object: 'more',
              message: `${more} further problems: run "heddle status" on the node`,
            },
          ],
  };
}

export interface ZoneStatusWriterOptions {
  readonly now?: () => Date;
  /** Called for each part that a store refused, at each attempt. */
  readonly onRefused?: (refusal: Refusal) => void;
}

export class ZoneStatusWriter {
  readonly #store: Store;
  readonly #node: string;
  readonly #now: () => Date;
  readonly #onRefused: (refusal: Refusal) => void;
  /** What was written last, and the version that the store gave it. */
  #written: { readonly report: ZoneReport; readonly version: string | undefined } | undefined;
  /** What the process before us reported of proofs, by network. */
  violationsBefore: ReadonlyMap<string, number> = new Map();
  #seenAt = 0;
  #writtenAt = 0;
  /** Values that were refused, by part, since the last attempt with all. */
  #refused = new Map<string, { readonly value: unknown; readonly message: string }>();
  /** Why the last attempt failed as a whole, if it did; `isOutage`: nobody looked at what was sent. */
  #failure: { readonly message: string; readonly isOutage: boolean } | undefined;

  constructor(store: Store, node: string, options: ZoneStatusWriterOptions = {}) {
    this.#store = store;
    this.#node = node;
    this.#now = options.now ?? (() => new Date());
    this.#onRefused = options.onRefused ?? (() => undefined);
  }

  /** What could not be written of the status, and what to do; `isOutageTold`: that the source is away, or does not know us, is told already. */
  problems(isOutageTold = false): readonly ZoneProblem[] {
    const object = `ZoneStatus ${this.#node}`;
    const refused = [...this.#refused].map(([part, { message }]) => ({
      object,
      message: `status.${part} was not taken, all else of the status was; install the definitions of this release (deploy/): ${message}`,
    }));
    return this.#failure === undefined || (isOutageTold && this.#failure.isOutage)
      ? refused
      : [
          { object, message: `not written, what stands there is old: ${this.#failure.message}` },
          ...refused,
        ];
  }

  /** Goes on from what the process before us reported: it stands until `progress` knows better. */
  async resume(
    progress: Pick<ZoneProgress, 'rememberProgrammed'>,
    signal: AbortSignal,
  ): Promise<void> {
    const found = await this.#store.get(zoneStatuses, this.#node, signal);
    if (found?.status === undefined) return;
    const { observedAt, ...report } = found.status;
    this.#writtenAt = Date.parse(observedAt);
    this.#written = { report, version: found.metadata.resourceVersion };
    this.#seenAt = this.#now().getTime();
    this.violationsBefore = new Map(
      (report.networks ?? []).flatMap(({ name, violations }) =>
        violations === undefined ? [] : [[name, violations] as const],
      ),
    );
    const programmed = (entries: readonly ZoneNetworkStatus[] = []): readonly string[] =>
      entries.filter(({ state }) => state === 'Programmed').map(({ name }) => name);
    progress.rememberProgrammed([
      ...programmed(report.networks),
      ...programmed(report.connects).map(connectObject),
    ]);
  }

  /**
   * Writes `report` unless it is what was written last and nobody touched that. What a store refuses of it is left as it was, with all
   * else written, and is a problem (`problems`). Throws what failed otherwise.
   */
  async write(report: ZoneReport, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(bounded(report), signal);
      this.#failure = undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      const message = errorText(error);
      const isOutage =
        error instanceof StoreError && ['unavailable', 'unauthenticated'].includes(error.code);
      this.#failure = { message, isOutage };
      if (!isOutage) this.#onRefused({ part: 'all', message });
      throw error;
    }
  }

  async #write(report: ZoneReport, signal: AbortSignal): Promise<void> {
    const now = this.#now().getTime();
    const isDue = now - this.#seenAt >= RECHECK;
    const isOld = !(now - this.#writtenAt < RENEWAL);
    const isWritten = !isOld && isDeepStrictEqual(this.#written?.report, report);
    if (isWritten && (!isDue || (this.#refused.size === 0 && (await this.#isUntouched(signal)))))
      return;
    // A merge patch keeps what it doesn't name: a message that is over is taken away by null, networks that are not known yet stay.
    const status: Status = { message: null, observedAt: this.#now().toISOString(), ...report };
    // What was refused a moment ago is not sent with every change of something else.
    const held = isDue
      ? []
      : [...this.#refused].filter(([part, { value }]) =>
          isDeepStrictEqual(value, status[part as keyof Status]),
        );
    this.#refused = new Map(held);
    const sent = Object.entries(status).filter(([part]) => !this.#refused.has(part));
    const written = await this.#patch(Object.fromEntries(sent), signal).catch((error: unknown) => {
      if (!isRefused(error)) throw error;
      return this.#writeParts(status, error, signal);
    });
    this.#written = { report, version: written.metadata.resourceVersion };
    this.#seenAt = this.#now().getTime();
    this.#writtenAt = this.#seenAt;
  }

  /** Each part for itself. Throws `refusal` when none is taken. */
  async #writeParts(
    { observedAt = null, ...parts }: Status,
    refusal: StoreError,
    signal: AbortSignal,
  ): Promise<ZoneStatus> {
    const found = await this.#store.get(zoneStatuses, this.#node, signal);
    const lacking = found?.status === undefined ? NOTHING : {};
    let written: ZoneStatus | undefined;
    for (const [part, value] of Object.entries(parts)) {
      if (this.#refused.has(part)) continue;
      const patch = (taken: unknown): Promise<ZoneStatus> =>
        this.#patch(
          { ...(written === undefined ? lacking : {}), observedAt, [part]: taken },
          signal,
        );
      try {
        written = await patch(value);
      } catch (error) {
        if (!isRefused(error)) throw error;
        this.#refused.set(part, { value, message: error.message });
        this.#onRefused({ part, message: error.message });
        const rest = isList(part)
          ? withoutNamed(part, value as readonly unknown[], error)
          : undefined;
        if (rest === undefined) continue;
        written = await patch(rest).catch((again: unknown) => {
          if (!isRefused(again)) throw again;
          return written;
        });
      }
    }
    if (written === undefined) throw refusal;
    return written;
  }

  /** Changes the status in a store, of an object that is made where there is none. */
  async #patch(status: Status, signal: AbortSignal): Promise<ZoneStatus> {
    const options = { fieldManager: `heddle-node-${this.#node}`, signal };
    const patch = (lacking: Status = {}): Promise<ZoneStatus> =>
      this.#store.patchStatus(
        zoneStatuses,
        this.#node,
        { status: { ...lacking, ...status } },
        options,
      );
    try {
      return await patch(this.#written === undefined ? await this.#lacking(signal) : {});
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'not-found')) throw error;
    }
    const { apiVersion, kind } = zoneStatuses;
    await this.#store.create(
      zoneStatuses,
      {
        apiVersion: apiVersion as 'k8s.ovn.org/v1alpha1',
        kind: kind as 'ZoneStatus',
        metadata: { name: this.#node },
      },
      options,
    );
    // The first status has all that the definition requires, also when parts of it are refused.
    return await patch({ observedAt: this.#now().toISOString(), ...NOTHING });
  }

  /** What the definition requires and the status has not, of an object that somebody made or that we did not come to fill. */
  async #lacking(signal: AbortSignal): Promise<Status> {
    const found = await this.#store.get(zoneStatuses, this.#node, signal);
    const has: Status = found?.status ?? {};
    return Object.fromEntries(
      Object.entries(NOTHING).filter(([part]) => has[part as keyof Status] === undefined),
    );
  }

  async #isUntouched(signal: AbortSignal): Promise<boolean> {
    const found = await this.#store.get(zoneStatuses, this.#node, signal);
    this.#seenAt = this.#now().getTime();
    return found?.metadata.resourceVersion === this.#written?.version;
  }
}

/** The entries of a list that a refusal does not name (`status.connects[3].state: …`); undefined when it names none. */
function withoutNamed(
  part: List,
  entries: readonly unknown[],
  { message }: StoreError,
): readonly unknown[] | undefined {
  const named = new Set(
    [...message.matchAll(new RegExp(String.raw`\bstatus\.${part}\[(\d+)\]`, 'g'))].map(
      ([, index]) => Number(index),
    ),
  );
  return named.size === 0 ? undefined : entries.filter((_, index) => !named.has(index));
}
