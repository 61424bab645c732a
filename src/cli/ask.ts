/** Asks the running daemon, if one answers for what the command was asked about. */
import { resolve } from 'node:path';
import { isPlainObject } from '../api/plain-object.ts';
import type { Configuration, GivenOptions } from '../settings/configuration.ts';
import {
  connectControl,
  ControlError,
  type ControlClient,
  type NobodyThere,
} from '../control/control-client.ts';
import { OPTIONS, type OptionName, type OptionSpec } from '../settings/options.ts';
import { createLogger } from '../process/logger.ts';
import { telling, within } from '../process/waiting.ts';
import { ZoneRuntime } from '../zone/zone-runtime.ts';
import { controlByKubectl } from './daemon-by-kubectl.ts';
import { needed } from './options.ts';
import { report, tone } from './output.ts';
import { isPlugin } from './plugin.ts';

/** Who answered: the daemon, or this command by itself from objects and databases. */
export type AnswerSource = 'daemon' | 'direct';

interface LookOptions {
  /** Of the method. */
  readonly params?: object;
  /** Whether it is about the host, whose database it needs then. */
  readonly hasHost?: boolean;
}

/** The daemon's answer; where none answers, what the zone's objects, databases and host themselves say. */
export async function askOrLook<T extends object>(
  configuration: Configuration,
  method: string,
  fields: readonly (keyof T & string)[],
  look: (runtime: ZoneRuntime) => Promise<T>,
  { params = {}, hasHost = true }: LookOptions = {},
): Promise<T & { readonly source: AnswerSource }> {
  const answered = await askDaemon<T>(configuration, method, params, fields);
  if (answered !== undefined) return { source: 'daemon', ...answered };
  const zone = needed(configuration, 'node', 'nb', ...(hasHost ? (['ovs'] as const) : []));
  const log = createLogger(zone.logLevel === 'info' ? 'error' : zone.logLevel);
  await using runtime = await ZoneRuntime.open({ configuration: zone, log, mode: 'as-is' });
  await within(zone.timeout, (signal) => known(runtime, signal));
  runtime.update();
  return { source: 'direct', ...(await look(runtime)) };
}

/** Waits until objects, allocations and databases are known; says on standard error what takes long. */
export async function known(runtime: ZoneRuntime, signal: AbortSignal): Promise<void> {
  const how = { isImpatient: true };
  const database = (): string =>
    [runtime.northbound, runtime.southbound, runtime.host?.openVswitch]
      .map((one) => one?.unavailable())
      .find((text) => text !== undefined) ?? 'the databases';
  const allocated = runtime.allocated(signal, how);
  await telling('objects, and ids and addresses that are allocated', report, allocated);
  await telling(database, report, runtime.connected(signal, how));
}

/** Options that decide what rows there should be, besides those of the groups below. */
const DECISIVE: readonly OptionName[] = ['render', 'take-over', 'take-zone'];
/** Options that must be the same in daemon and command: otherwise its answer is about something else. */
const COMPARED: readonly (OptionSpec & { readonly name: OptionName })[] = OPTIONS.filter(
  ({ name, group }) => group === 'where' || group === 'cluster' || DECISIVE.includes(name),
);
const PATHS: readonly OptionName[] = ['manifests', 'state'];

/** An option that the command was given and that the daemon has otherwise, in words. Pure. */
export function optionDifference(mine: GivenOptions, theirs: GivenOptions): string | undefined {
  for (const spec of COMPARED) {
    const { name } = spec;
    const text = mine[name];
    if (text === undefined) continue;
    const other = theirs[name] ?? spec.default ?? '';
    // A node is in one cluster, and everybody has a way of his own to its API server.
    const isSame =
      name === 'kubeconfig'
        ? other !== ''
        : PATHS.includes(name)
          ? other !== '' && resolve(text) === resolve(other)
          : text === other;
    if (!isSame)
      return `--${name} is ${JSON.stringify(text)} here and ${JSON.stringify(other)} there`;
  }
  return undefined;
}

/** On the socket of the node; from a machine of kubectl where the node is. Undefined where nobody is to be asked. */
async function connectedDaemon({
  socket,
  node,
  given,
  kubeconfig,
  context,
}: Configuration): Promise<ControlClient | NobodyThere | undefined> {
  if (isPlugin() && node !== undefined && given.socket === undefined)
    return controlByKubectl(
      {
        ...(kubeconfig === undefined ? {} : { kubeconfig }),
        ...(context === undefined ? {} : { context }),
      },
      node,
    );
  return socket === undefined ? undefined : connectControl(socket);
}

interface AskOptions {
  /** Called where a daemon has left its socket behind. */
  readonly onEnded?: () => void;
  /** Whether who answered is reported. */
  readonly tells?: boolean;
  /** Called in place of reporting that nobody did, with the reason. */
  readonly onNobody?: (why: string | undefined) => void;
}

/**
 * The daemon's answer, with the fields named in `fields`; undefined when no daemon answers for these settings. Says on standard
 * error which one it was.
 */
export async function askDaemon<T>(
  configuration: Configuration,
  method: string,
  params: object,
  fields: readonly (keyof T & string)[],
  { onEnded = () => undefined, tells = true, onNobody }: AskOptions = {},
): Promise<T | undefined> {
  const { timeout, given } = configuration;
  const direct = (why?: string): undefined => {
    if (onNobody !== undefined) onNobody(why);
    else if (tells)
      report(
        tone(
          `read from objects and databases, not from a daemon${why === undefined ? '' : `: ${why}`}`,
          'quiet',
          process.stderr,
        ),
      );
    return undefined;
  };
  const connected = await connectedDaemon(configuration);
  if (connected === undefined) return direct();
  if (!('call' in connected)) {
    if (connected.hasEnded) onEnded();
    return direct(connected.reason);
  }
  using client = connected;
  return await within(timeout, async (signal) => {
    const about = await client.call('about', {}, signal);
    if (!isPlainObject(about) || !isPlainObject(about['options']))
      return direct('what answers there is not a daemon of this release');
    const theirs: GivenOptions = Object.fromEntries(
      Object.entries(about['options']).map(([name, text]) => [name, String(text)] as const),
    );
    const other = optionDifference(given, theirs);
    const daemon = `the daemon of node ${String(about['node'])} (process ${String(about['pid'])})`;
    if (other !== undefined) return direct(`${daemon} works with other settings: ${other}`);
    const answer = await client.call(method, params, signal);
    if (!isPlainObject(answer) || fields.some((field) => answer[field] === undefined))
      throw new ControlError(
        `${daemon} gave no answer to "${method}" that this release understands`,
      );
    if (tells) report(tone(`answered by ${daemon}`, 'quiet', process.stderr));
    return answer as T;
  });
}
