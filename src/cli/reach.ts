/** What a change of manifests opens and closes, for `heddle plan --reach` and `heddle validate --reach`. Nothing is asked of databases, and nothing is changed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  events,
  isOptionalKind,
  leases,
  pods,
  resourceKinds,
  services,
  zoneStatuses,
} from '../api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../api/objects.ts';
import { isPlainObject } from '../api/plain-object.ts';
import { formatManifestError, type ManifestError } from '../api/validation/manifest.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { within } from '../process/waiting.ts';
import { reachChange, type Reach, type ReachChange } from '../reach/reach-change.ts';
import type { ReachLine } from '../reach/reach-lines.ts';
import { whoReaches, type Reached } from '../reach/who-reaches.ts';
import { ReachWorld } from '../reach/reach-world.ts';
import { joinsOf, waysOf } from '../reach/ways.ts';
import type { Join, Way } from '../reach/way.ts';
import type { Configuration } from '../settings/configuration.ts';
import { objectSource, openStore } from '../settings/object-store.ts';
import { StoreError } from '../store/store.ts';
import { listed } from '../views/overview-objects.ts';
import { knownZone } from '../zone/rendered-zone.ts';
import { emptiness, filesAt, misspelt, readManifest } from './manifest-files.ts';
import { print, tone } from './output.ts';
import { podsApplied, podsOf, readWorkload, type Workload } from './workloads.ts';

/** Objects by kind and name. */
export type Objects = ReadonlyMap<string, KubeObject>;

export interface ReachReport extends ReachChange {
  /** Why something is not in the answer. */
  readonly notes: readonly string[];
}

/** Kinds that say nothing of who reaches whom. */
const SILENT: readonly ResourceKind[] = [events, leases, zoneStatuses];

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${objectKey(metadata)}`;

export const byName = (objects: readonly KubeObject[]): Objects =>
  new Map(objects.map((one) => [nameOf(one), one]));

/** Everything that the source of a configuration has, which it allocated included. */
export async function objectsNow(configuration: Configuration): Promise<Objects> {
  const temporary =
    configuration.manifests !== undefined && configuration.state === undefined
      ? await mkdtemp(join(tmpdir(), 'heddle-reach-'))
      : undefined;
  try {
    const source = objectSource(
      { ...configuration, ...(temporary === undefined ? {} : { state: temporary }) },
      process.env,
    );
    await using opened = await openStore(source, { dryRun: true });
    const kinds = resourceKinds.filter((kind) => !SILENT.includes(kind));
    const found = await within(configuration.timeout, async () =>
      Promise.all(
        kinds.map(async (kind) =>
          isOptionalKind(kind) ? listed(opened.objects, kind) : opened.objects.list(kind),
        ),
      ),
    );
    return byName(found.flat());
  } finally {
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
  }
}

export interface FileObjects {
  readonly objects: readonly KubeObject[];
  readonly workloads: readonly Workload[];
  /** Objects that Heddle does not use, `Deployment`, each once. */
  readonly passedOver: readonly string[];
}

/** Objects of files. Throws UnreadableFile, and StoreError for manifests with errors, misspelt kinds or nothing in them. */
export function objectsOf(paths: readonly string[]): FileObjects {
  const names = paths.flatMap(filesAt);
  const manifests = names.map((path) => readManifest(path));
  const workloads: Workload[] = [];
  const passedOver = new Set<string>();
  const ofWorkloads: ManifestError[] = [];
  for (const { kind, object, written, file, line, column } of manifests.flatMap(
    ({ unknownKinds }) => unknownKinds,
  )) {
    const found = readWorkload(written);
    if (found === undefined) passedOver.add(kind);
    else if ('message' in found) ofWorkloads.push({ file, line, column, object, ...found });
    else workloads.push(found);
  }
  const errors = [
    ...manifests.flatMap((manifest, index) => [
      ...manifest.errors,
      ...misspelt(manifest),
      ...emptiness(manifest, names[index] ?? ''),
    ]),
    ...ofWorkloads,
  ];
  if (errors.length > 0)
    throw new StoreError(
      'invalid',
      `what would be in force can't be told of manifests with errors: ${errors.map(formatManifestError).join('; ')}`,
    );
  return {
    objects: manifests.flatMap(({ documents }) => documents.map(({ object }) => object)),
    workloads,
    passedOver: [...passedOver],
  };
}

/** The objects as they are once `applied` are, as `kubectl apply` does it, and `gone` are not any more. */
export function changed(now: Objects, applied: FileObjects, gone?: FileObjects): Objects {
  const objects = new Map(now);
  for (const one of applied.objects) {
    const name = nameOf(one);
    objects.set(name, appliedTo(now.get(name), one));
  }
  const before = [...now.values()];
  for (const workload of applied.workloads) {
    for (const pod of podsOf(workload, before)) objects.delete(nameOf(pod));
    for (const pod of podsApplied(workload, before)) objects.set(nameOf(pod), pod);
  }
  for (const one of gone?.objects ?? []) objects.delete(nameOf(one));
  for (const workload of gone?.workloads ?? [])
    for (const pod of podsOf(workload, before)) objects.delete(nameOf(pod));
  return objects;
}

/** What others wrote stays: status, annotations, and labels that the manifest before did not have. */
function appliedTo(before: KubeObject | undefined, object: KubeObject): KubeObject {
  if (before === undefined) return object;
  const { annotations = {}, labels = {} } = before.metadata;
  const last = lastApplied(annotations[LAST_APPLIED]);
  const kept = last === undefined ? {} : without(labels, last);
  return {
    ...before,
    ...object,
    ...(before.status === undefined ? {} : { status: before.status }),
    metadata: {
      ...before.metadata,
      ...object.metadata,
      labels: { ...kept, ...object.metadata.labels },
      annotations: { ...annotations, ...object.metadata.annotations },
    },
  };
}

/** Labels that a manifest had when it was applied; undefined for an object that was not made by one. */
function lastApplied(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const metadata = isPlainObject(value) ? value['metadata'] : undefined;
    const labels = isPlainObject(metadata) ? metadata['labels'] : undefined;
    return isPlainObject(labels) ? Object.keys(labels) : [];
  } catch {
    return undefined;
  }
}

const without = (
  labels: Readonly<Record<string, string>>,
  names: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => !names.includes(name)));

/** Works out both, one after the other, and what is different. */
export async function reachReport(
  configuration: Configuration,
  now: Objects,
  then: Objects,
  passedOver: readonly string[],
): Promise<ReachReport> {
  const before = await reachOf(configuration, now);
  const after = await reachOf(configuration, then);
  return { ...reachChange(before, after), notes: notesOf(before.world, after.world, passedOver) };
}

/** Objects alone decide: with an empty state, on nodes that are made up as far as there are none. */
async function reachOf(configuration: Configuration, objects: Objects): Promise<Reach> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-reach-'));
  try {
    const text = [...objects.values()].map((one) => stringify(one)).join('---\n');
    await writeFile(join(folder, 'objects.yaml'), text);
    const { kubeconfig: _kubeconfig, state: _state, node: _node, ...others } = configuration;
    await using zone = await knownZone({ ...others, manifests: folder, render: 'everywhere' }, 1);
    const { facts, store } = zone;
    const known = await listed(store.objects, pods);
    return {
      world: new ReachWorld(facts, known, await listed(store.objects, services)),
      ways: [...joinsOf(facts), ...waysOf(facts, known, configuration.settings)],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface WhoReport {
  /** `Pod namespace/name`. */
  readonly object: string;
  readonly networks: readonly Reached[];
  /** Who gets into its networks as a whole. */
  readonly ways: readonly (Way | Join)[];
}

/** Who may send something to a pod, by objects alone. Throws ConfigurationError for a pod that is not there, or on no network of ours. */
export async function whoReport(configuration: Configuration, pod: string): Promise<WhoReport> {
  const now = await objectsNow(configuration);
  const object = `Pod ${pod}`;
  if (!now.has(object)) throw new ConfigurationError('POD', `there is no pod "${pod}"`);
  const { world, ways } = await reachOf(configuration, now);
  const networks = whoReaches(world, pod);
  const why = world.leftOut.find((one) => one.pod === pod)?.why;
  if (networks.length === 0)
    throw new ConfigurationError(
      'POD',
      `${object} is on no network: ${why ?? 'it has that of its node'}`,
    );
  const names = networks
    .filter(({ role }) => role !== 'infrastructure-locked')
    .map(({ network }) => network);
  const isInto = (way: Way | Join): boolean =>
    'networks' in way
      ? way.networks.some((one) => names.includes(one))
      : names.includes(way.to) && way.from !== way.to;
  return { object, networks, ways: ways.filter(isInto) };
}

export function printWho({ object, networks, ways }: WhoReport): void {
  for (const { network, role, by, policies } of networks) {
    const isClosed = role === 'infrastructure-locked';
    if (isClosed && by.length === 0) continue;
    print(
      tone(
        `${object} on network ${network}: ${by.length === 0 ? 'nobody' : 'reached by'}`,
        'strong',
      ),
    );
    for (const { from, ports, by: service, pairs } of by)
      print(
        `  ${from} ${ports.join('; ')}${service === undefined ? '' : ` by ${service}`}${pairs === 1 ? '' : ` (${pairs} pods)`}`,
      );
    if (policies.length > 0) print(`  policies that decide: ${policies.join(', ')}`);
  }
  for (const way of ways) print(`  ${wayText(way)}`);
}

function notesOf(
  before: ReachWorld,
  after: ReachWorld,
  passedOver: readonly string[],
): readonly string[] {
  const known = new Set(before.leftOut.map(({ pod, why }) => `${pod} ${why}`));
  return [
    ...passedOver.map(
      (kind) => `objects of kind ${kind} are passed over: Heddle does not know them`,
    ),
    ...after.leftOut.map(
      ({ pod, why }) =>
        `Pod ${pod} is in none of this${known.has(`${pod} ${why}`) ? ', before and after' : ''}: ${why}`,
    ),
  ];
}

const MOST_LINES = 100;

export function printReach({ opens, closes, opensWays, closesWays, notes }: ReachReport): void {
  print(
    tone(`opens ${counted(opens, opensWays)}, closes ${counted(closes, closesWays)}`, 'strong'),
  );
  const lines = [
    ...opens.map((one) => tone(`  + ${lineText(one)}`, 'bad')),
    ...opensWays.map((one) => tone(`  + ${wayText(one)}`, 'bad')),
    ...closes.map((one) => tone(`  - ${lineText(one)}`, 'good')),
    ...closesWays.map((one) => tone(`  - ${wayText(one)}`, 'good')),
  ];
  for (const line of lines.slice(0, MOST_LINES)) print(line);
  if (lines.length > MOST_LINES)
    print(`  … and ${lines.length - MOST_LINES} more: --json has all of them`);
  for (const note of notes) print(`${tone('note', 'quiet')} ${note}`);
}

export const hasReachChange = ({ opens, closes, opensWays, closesWays }: ReachChange): boolean =>
  [opens, closes, opensWays, closesWays].some((one) => one.length > 0);

function counted(lines: readonly ReachLine[], ways: readonly (Way | Join)[]): string {
  const pairs = lines.reduce((sum, one) => sum + one.pairs, 0);
  const text = pairs === 1 ? '1 pair' : `${pairs} pairs`;
  return ways.length === 0
    ? text
    : `${text} and ${ways.length} ${ways.length === 1 ? 'way' : 'ways'} between networks`;
}

function lineText({ from, to, ports, by, pairs }: ReachLine): string {
  const service = by === undefined ? '' : ` by ${by}`;
  return `${from} → ${to} ${ports.join('; ')}${service}${pairs === 1 ? '' : ` (${pairs} pairs)`}`;
}

const wayText = (way: Way | Join): string =>
  'networks' in way
    ? `networks ${way.networks.join(', ')}: ${way.what} (${way.object})`
    : `${way.from} → ${way.to}: ${way.what} (${way.object})`;
