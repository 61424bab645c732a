/** What a running daemon answers about its zone, and the methods of its control socket. */
import { isPlainObject } from '../api/plain-object.ts';
import type { GivenOptions } from '../settings/configuration.ts';
import { invalidParams, type ControlMethod } from '../control/control-socket.ts';
import type { HostReport } from '../node/report.ts';
import type { UnderlayReport } from '../node/chassis/underlay-report.ts';
import type { PacketQuestion } from '../packets/asked-packet.ts';
import type { PacketReport } from '../packets/packet-report.ts';
import type { DropsReport } from '../views/drops.ts';
import type { NodeChanges } from '../views/node-changes.ts';
import type { ExplainReport } from '../views/origin.ts';
import type { PlanFormat, PlanReport, StatusReport } from '../views/zone-reports.ts';

/** Which daemon answers, and the options that it was given. */
interface ZoneAbout {
  readonly node: string;
  readonly pid: number;
  readonly options: GivenOptions;
  readonly versions: DaemonVersions;
}

/** Releases of the daemon and of what it works with, as far as they are known. */
export interface DaemonVersions {
  readonly heddle: string;
  readonly node: string;
  readonly northd?: string | undefined;
  readonly openVswitch?: string | undefined;
}

/** Everything is plain data: it goes through JSON. */
export interface ZoneView {
  about(): ZoneAbout;
  status(): Promise<StatusReport>;
  /** What the daemon is about to change. */
  plan(format: PlanFormat): Promise<PlanReport>;
  /** Where the databases differ from what the daemon wrote. */
  diff(format: PlanFormat): Promise<PlanReport>;
  /** What the host of the node holds. Throws when the daemon leaves the host alone. */
  host(): Promise<HostReport>;
  /** How clean the network below the node is. Throws when the daemon leaves the host alone. */
  underlay(): Promise<UnderlayReport>;
  /** Where a row, a flow or a rule comes from. */
  explain(asked: string, signal: AbortSignal): Promise<ExplainReport>;
  /** What becomes of a packet from a pod to somebody, and why. */
  packet(asked: PacketQuestion, signal: AbortSignal): Promise<PacketReport>;
  /** What the node drops within so many seconds, or since flows were made: 0. Throws when the daemon leaves the host alone. */
  drops(seconds: number, signal: AbortSignal): Promise<DropsReport>;
  /** What the daemon wrote and put right lately. */
  changes(): NodeChanges;
}

/** The view as methods of a control socket. */
export const controlMethods = (view: ZoneView): Readonly<Record<string, ControlMethod>> => ({
  about: async () => Promise.resolve(view.about()),
  status: async () => view.status(),
  plan: async (params) => view.plan(planFormat(params)),
  diff: async (params) => view.diff(planFormat(params)),
  host: async () => view.host(),
  underlay: async () => view.underlay(),
  explain: async (params, signal) => view.explain(askedIn(params), signal),
  packet: async (params, signal) => view.packet(questionIn(params), signal),
  drops: async (params, signal) => view.drops(secondsIn(params), signal),
  changes: async () => Promise.resolve(view.changes()),
});

/** Longer no answer is waited for. */
const LONGEST_READING = 3600;

function secondsIn(params: unknown): number {
  const seconds = isPlainObject(params) ? params['seconds'] : undefined;
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= LONGEST_READING))
    throw invalidParams(`params.seconds must be a number from 0 to ${LONGEST_READING}`);
  return seconds;
}

function askedIn(params: unknown): string {
  const asked = isPlainObject(params) ? params['asked'] : undefined;
  if (typeof asked !== 'string')
    throw invalidParams('params.asked must be a text: {"asked": "ACL/…"}');
  return asked;
}

function questionIn(params: unknown): PacketQuestion {
  const given = isPlainObject(params) ? params : {};
  const text = (name: string): string | undefined => {
    const value = given[name];
    if (value !== undefined && typeof value !== 'string')
      throw invalidParams(`params.${name} must be a text`);
    return value;
  };
  const [pod, destination] = [text('pod'), text('destination')];
  if (pod === undefined || destination === undefined)
    throw invalidParams(
      'params must name two: {"pod": "blue/web", "destination": "svc/blue/db:5432"}',
    );
  return { pod, destination, namespace: text('namespace'), network: text('network') };
}

function planFormat(params: unknown): PlanFormat {
  const given = params ?? {};
  if (!isPlainObject(given)) throw invalidParams('params must be an object: {"details": true}');
  const { details = true } = given;
  if (typeof details !== 'boolean')
    throw invalidParams(
      'params.details must be true or false: whether columns of new rows are shown',
    );
  return { details };
}
