/** A request of a container runtime: the variables of a plugin's environment and its standard input, checked. Pure. */
import { isOldForm } from '../../api/nad/nad-config.ts';
import { own, isPlainObject, type PlainObject } from '../../api/plain-object.ts';
import { isDnsLabel, isDnsSubdomain } from '../../api/validation/metadata.ts';
import { formatValue } from '../../api/validation/field-errors.ts';
import { CNI_CODE, CniError } from './cni-error.ts';
import {
  COMMANDS,
  isCniVersion,
  NEWEST_VERSION,
  versionFor,
  type CniVersion,
  type Command,
} from './versions.ts';

/** In the order in which a request has them, each ended by a NUL; standard input follows. */
export const VARIABLES = [
  'CNI_COMMAND',
  'CNI_CONTAINERID',
  'CNI_NETNS',
  'CNI_IFNAME',
  'CNI_ARGS',
  'CNI_PATH',
] as const;
export type Variable = (typeof VARIABLES)[number];

/** Bytes of a request; runtimes send some thousand. */
export const LONGEST_CNI_REQUEST = 4 * 1024 * 1024;

/** As the kernel and OVS take them. */
const LONGEST_CONTAINER_ID = 128;
const CONTAINER_ID = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
/** A word of an `ip` command, of fewer characters than ip(8) has for them. */
const DEVICE = /^[a-zA-Z0-9_][\w.-]{0,14}$/;
const NETWORK_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,252}$/;
const NETNS = /^\/[\w./:-]{1,255}$/;
const NAD = /^[^/]+\/[^/]+$/;

/** The pod whose sandbox it is, as kubelet's runtimes say. */
interface RequestedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
}

/** What all commands but VERSION have. */
interface Configured {
  readonly version: CniVersion;
  /** `name` of the configuration. */
  readonly network: string;
  /** Whether a meta-plugin calls for the network of a NAD; otherwise it is about the pod's own networks. */
  readonly isSecondary: boolean;
  /** `<namespace>/<name>` of that NAD; undefined where its configuration, in the older form, does not say. */
  readonly nad: string | undefined;
}

interface OfContainer extends Configured {
  readonly container: string;
  readonly device: string;
}

export interface AddRequest extends OfContainer {
  readonly command: 'ADD';
  readonly netns: string;
  readonly pod: RequestedPod;
}

export interface CheckRequest extends OfContainer {
  readonly command: 'CHECK';
  readonly netns: string;
  /** Addresses that the container had from us, with prefix length. */
  readonly addresses: readonly string[];
}

export interface DelRequest extends OfContainer {
  readonly command: 'DEL';
}

export interface GcRequest extends Configured {
  readonly command: 'GC';
  /** Containers that the runtime knows. */
  readonly containers: ReadonlySet<string>;
}

interface StatusRequest extends Configured {
  readonly command: 'STATUS';
}

interface VersionRequest {
  readonly command: 'VERSION';
  readonly version: string;
}

export type CniRequest =
  | AddRequest
  | CheckRequest
  | DelRequest
  | GcRequest
  | StatusRequest
  | VersionRequest;

type Environment = Readonly<Record<Variable, string>>;

/** A request as one text, from variables that came apart from standard input. */
export const joinRequest = (value: (name: Variable) => string, input: string): string =>
  [...VARIABLES.map(value), input].join('\0');

/** Splits it. Throws CniError. */
export function splitRequest(text: string): { environment: Environment; input: string } {
  const values: string[] = [];
  let from = 0;
  for (let count = 0; count < VARIABLES.length; count += 1) {
    const end = text.indexOf('\0', from);
    if (end === -1)
      throw new CniError(
        `the request has ${count} variables, not ${VARIABLES.length}: install the plugin again`,
        CNI_CODE.undecodable,
      );
    values.push(text.slice(from, end));
    from = end + 1;
  }
  const environment = Object.fromEntries(
    VARIABLES.map((name, index) => [name, values[index] ?? '']),
  ) as Environment;
  return { environment, input: text.slice(from) };
}

/** The version in which to answer, as far as it can be known: errors have one, too. */
export function versionOf(input: string): string {
  try {
    const config: unknown = JSON.parse(input);
    const version = isPlainObject(config) ? own(config, 'cniVersion') : undefined;
    return isCniVersion(version) ? version : NEWEST_VERSION;
  } catch {
    return NEWEST_VERSION;
  }
}

/** Reads a request. Throws CniError that names the variable or field. */
export function readRequest(text: string): CniRequest {
  const { environment, input } = splitRequest(text);
  const command = COMMANDS.find((name) => name === environment.CNI_COMMAND);
  if (command === undefined)
    throw invalid('CNI_COMMAND', environment.CNI_COMMAND, `must be one of ${COMMANDS.join(', ')}`);
  const config = configuration(input);
  if (command === 'VERSION') {
    const version = own(config, 'cniVersion');
    return { command, version: typeof version === 'string' ? version : NEWEST_VERSION };
  }
  const configured = networkOf(command, config);
  if (command === 'STATUS') return { command, ...configured };
  if (command === 'GC') return { command, ...configured, containers: validContainers(config) };
  const common = {
    ...configured,
    container: containerId(environment),
    device: matching(environment, 'CNI_IFNAME', DEVICE, 'must be a name of at most 15 characters'),
  };
  if (command === 'DEL') return { command, ...common };
  const netns = networkNamespace(environment);
  if (command === 'CHECK')
    return { command, ...common, netns, addresses: previousAddresses(config) };
  if (own(config, 'prevResult') !== undefined)
    throw field('prevResult', 'is set: this plugin must be the first of its list');
  return { command, ...common, netns, pod: podOf(environment) };
}

const invalid = (name: Variable, value: string, why: string): CniError =>
  new CniError(`${name} ${formatValue(value)}: ${why}`, CNI_CODE.invalidEnvironment);

const field = (name: string, why: string): CniError =>
  new CniError(`network configuration: ${name} ${why}`, CNI_CODE.invalidConfig);

function matching(environment: Environment, name: Variable, form: RegExp, why: string): string {
  const value = environment[name];
  if (value === '') throw new CniError(`${name} is not set`, CNI_CODE.invalidEnvironment);
  if (!form.test(value) || value === '.' || value === '..') throw invalid(name, value, why);
  return value;
}

function containerId(environment: Environment): string {
  const name = 'CNI_CONTAINERID';
  const id = matching(environment, name, CONTAINER_ID, 'has characters that are not allowed');
  if (id.length > LONGEST_CONTAINER_ID)
    throw invalid(name, id, `has more than ${LONGEST_CONTAINER_ID} characters`);
  return id;
}

const networkNamespace = (environment: Environment): string =>
  matching(environment, 'CNI_NETNS', NETNS, 'must be the path of a network namespace');

function configuration(input: string): PlainObject {
  let config: unknown;
  try {
    config = JSON.parse(input);
  } catch (error) {
    throw new CniError(
      'network configuration (standard input) is not JSON',
      CNI_CODE.undecodable,
      error instanceof Error ? error.message.slice(0, 200) : undefined,
    );
  }
  if (!isPlainObject(config))
    throw new CniError(
      'network configuration (standard input) is not an object',
      CNI_CODE.undecodable,
    );
  return config;
}

function networkOf(command: Command, config: PlainObject): Configured {
  const version = versionFor(command, own(config, 'cniVersion'));
  const network = own(config, 'name');
  if (typeof network !== 'string' || !NETWORK_NAME.test(network))
    throw field('name', `must be letters, digits, "_", "." or "-", is ${formatValue(network)}`);
  if (own(config, 'plugins') !== undefined)
    throw field('plugins', 'is for runtimes: a plugin gets one configuration');
  const ipam = own(config, 'ipam');
  const isEmpty = ipam === undefined || (isPlainObject(ipam) && Object.keys(ipam).length === 0);
  // The older form asks with it for addresses that the pod's annotation names (reference/api.md §2).
  const isStatic = isOldForm(config) && isPlainObject(ipam) && own(ipam, 'type') === 'static';
  if (!isEmpty && !isStatic)
    throw new CniError(
      `network configuration: ipam ${formatValue(ipam)} is not supported: addresses come from the network`,
      CNI_CODE.unsupportedField,
    );
  return { version, network, ...attachmentOf(command, config) };
}

/** A configuration with `topology` is that of a NAD (reference/node.md §6.1), and so is one in the older form (reference/api.md §2). */
function attachmentOf(
  command: Command,
  config: PlainObject,
): Pick<Configured, 'isSecondary' | 'nad'> {
  const nad = own(config, 'netAttachDefName');
  const hasTopology = own(config, 'topology') !== undefined;
  const isOld = isOldForm(config);
  const isNeeded = hasTopology || (isOld && command === 'GC');
  if (nad === undefined && !isNeeded) return { isSecondary: isOld, nad: undefined };
  if (typeof nad !== 'string' || !NAD.test(nad))
    throw field('netAttachDefName', `must be <namespace>/<name>, is ${formatValue(nad)}`);
  const isSecondary = hasTopology || isOld;
  return { isSecondary, nad: isSecondary ? nad : undefined };
}

/** What the runtime knows. Without it nothing may be taken for unknown. */
function validContainers(config: PlainObject): ReadonlySet<string> {
  const name = 'cni.dev/valid-attachments';
  const list = own(config, name);
  if (!Array.isArray(list)) throw field(`"${name}"`, 'must be a list');
  return new Set(
    list.map((entry: unknown, index) => {
      const id = isPlainObject(entry) ? own(entry, 'containerID') : undefined;
      if (typeof id !== 'string') throw field(`"${name}"[${index}].containerID`, 'must be a text');
      return id;
    }),
  );
}

function previousAddresses(config: PlainObject): readonly string[] {
  const previous = own(config, 'prevResult');
  if (!isPlainObject(previous)) throw field('prevResult', 'must be the result of ADD');
  const ips = own(previous, 'ips') ?? [];
  if (!Array.isArray(ips)) throw field('prevResult.ips', 'must be a list');
  return ips.map((ip: unknown, index) => {
    const address = isPlainObject(ip) ? own(ip, 'address') : undefined;
    if (typeof address !== 'string') throw field(`prevResult.ips[${index}].address`, 'is no text');
    return address;
  });
}

function podOf(environment: Environment): RequestedPod {
  const text = environment.CNI_ARGS;
  const values = new Map<string, string>();
  for (const entry of text.split(';').filter((part) => part !== '')) {
    const [key = '', value = '', ...more] = entry.split('=');
    if (key === '' || more.length > 0 || !entry.includes('='))
      throw invalid('CNI_ARGS', entry, 'must be KEY=VALUE, with ";" between them');
    values.set(key, value);
  }
  const needed = (key: string, isName: (value: string) => boolean): string => {
    const value = values.get(key);
    if (value === undefined)
      throw new CniError(`CNI_ARGS has no ${key}`, CNI_CODE.invalidEnvironment);
    if (!isName(value)) throw invalid('CNI_ARGS', `${key}=${value}`, 'is no name of Kubernetes');
    return value;
  };
  const uid = values.get('K8S_POD_UID');
  return {
    namespace: needed('K8S_POD_NAMESPACE', isDnsLabel),
    name: needed('K8S_POD_NAME', isDnsSubdomain),
    uid: uid === '' ? undefined : uid,
  };
}
