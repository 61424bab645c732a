/** Links of pods: veth pairs between the host and the pods' network namespaces, by `ip` as everything of the kernel. */
import { statSync } from 'node:fs';
import { CNI_CODE, CniError } from '../protocol/cni-error.ts';
import {
  hostCommands,
  isHostDeviceOf,
  ownerOf,
  podCommands,
  podSysctls,
  LINK_GROUP,
} from './link-commands.ts';
import type { CniInterface } from '../protocol/result.ts';
import { isPlainObject } from '../../api/plain-object.ts';
import { IpProgram } from '../../node/programs/ip-program.ts';
import type { Argv } from '../../node/programs/program.ts';
import { errorText } from '../../api/error-text.ts';

/** A link of ours on the host. */
export interface PodLink {
  readonly name: string;
  readonly container: string;
  /** Name in the pod; empty when that is not known. */
  readonly device: string;
  /** Of the pod, where the link tells. */
  readonly uid?: string;
}

export interface PodLinksOptions {
  /** On the host; default `ip` of the PATH. */
  readonly ip?: IpProgram;
  /** What `ip` is inside a pod, after nsenter. */
  readonly program?: Argv;
  /** Where settings of the kernel are; default /proc/sys. */
  readonly sysctlFolder?: string;
}

/**
 * What a process inside has to do before addresses come, in the process that becomes `ip`: pairs of a path below the folder of settings and a value are
 * written, where there is such a path (a kernel without IPv6 has none of its settings), and the kernel is told to fill in the checksums of what devices send.
 */
const PREPARE = [
  'in=$1; shift; while [ "$1" != -- ]; do [ ! -e "$in/$1" ] || echo "$2" > "$in/$1" || exit 1; shift 2; done; shift',
  'while [ "$1" != -- ]; do ethtool -K "$1" tx off > /dev/null || exit 1; shift; done; shift',
  'exec "$@"',
].join('; ');

/** The beginning of a program that does this first; nothing where there is nothing to do. */
const prepared = (folder: string, settings: Argv, devices: Argv): Argv =>
  settings.length + devices.length === 0
    ? []
    : ['sh', '-c', PREPARE, 'sh', folder, ...settings, '--', ...devices, '--'];

/** EEXIST, as ip(8) says it. */
const FILE_EXISTS = 'File exists';

const enter = (netns: string): Argv => ['nsenter', `--net=${netns}`];

export class PodLinks {
  readonly #ip: IpProgram;
  readonly #program: Argv;
  readonly #sysctlFolder: string;

  constructor({
    ip = new IpProgram(),
    program = ['ip'],
    sysctlFolder = '/proc/sys',
  }: PodLinksOptions = {}) {
    this.#sysctlFolder = sysctlFolder;
    this.#ip = ip;
    this.#program = program;
  }

  /** Throws CniError for a path that is no network namespace, or that of the host. */
  checkNamespace(netns: string): void {
    let inode: number;
    try {
      inode = statSync(netns).ino;
    } catch (error) {
      throw new CniError(
        `CNI_NETNS ${netns} can't be opened: ${errorText(error)}`,
        CNI_CODE.invalidEnvironment,
      );
    }
    if (inode === statSync('/proc/self/ns/net').ino)
      throw new CniError(
        `CNI_NETNS ${netns} is the network namespace of the host`,
        CNI_CODE.invalidEnvironment,
      );
  }

  /** Makes the links, in one process: each costs a pod some milliseconds. Throws CniError; nothing was made then, and what was there stays. */
  async create(
    interfaces: readonly CniInterface[],
    container: string,
    netns: string,
  ): Promise<void> {
    const all = interfaces.map((one) => hostCommands(one, container, netns));
    const failed = await this.#ip.changeUntilFailure(all.flat());
    if (failed === undefined) return;
    const { command, why } = failed;
    const last = all.findIndex((commands) => commands.includes(command));
    const isMade = all[last]?.[0] !== command;
    await this.remove(
      interfaces.slice(0, isMade ? last + 1 : last).map(({ hostDevice }) => hostDevice),
    );
    throw new CniError(
      isMade || why !== FILE_EXISTS
        ? `on the host: ${why} (ip ${command.join(' ')})`
        : `container ${container} has an interface ${interfaces[last]?.device} already, or the host a link ${interfaces[last]?.hostDevice}: DEL comes before another ADD`,
    );
  }

  /**
   * Gives the pod's ends of links their addresses and routes. `isUserspace`: packets are forwarded by ovs-vswitchd, which takes them as they are,
   * where a kernel's switch would have the checksums filled in that a veth leaves out. Throws CniError.
   */
  async configure(
    interfaces: readonly CniInterface[],
    netns: string,
    isUserspace = false,
  ): Promise<void> {
    const settings = interfaces.flatMap(podSysctls).flat();
    const devices = isUserspace ? interfaces.map(({ device }) => device) : [];
    const commands = [['link', 'set', 'dev', 'lo', 'up'], ...interfaces.flatMap(podCommands)];
    const inside = new IpProgram({
      program: [
        ...enter(netns),
        ...prepared(this.#sysctlFolder, settings, devices),
        ...this.#program,
      ],
    });
    try {
      const failed = await inside.changeUntilFailure(commands);
      if (failed !== undefined) throw new Error(`${failed.why} (ip ${failed.command.join(' ')})`);
    } catch (error) {
      throw new CniError(`inside the pod: ${errorText(error)}`);
    }
  }

  /** Links of ours, of this container or of all. */
  async list(container?: string): Promise<readonly PodLink[]> {
    const [links = []] = await this.#ip.read('any', [['link', 'show', 'type', 'veth']]);
    return links.flatMap((link): PodLink[] => {
      if (!isPlainObject(link)) return [];
      const { ifname, ifalias } = link;
      if (typeof ifname !== 'string') return [];
      const owner = typeof ifalias === 'string' ? ownerOf(ifalias) : undefined;
      if (owner === undefined) {
        // Made by an ADD that was killed before it wrote its owner into the alias.
        const isOurs =
          ifalias === undefined && container !== undefined && isHostDeviceOf(container, ifname);
        return isOurs ? [{ name: ifname, container, device: '' }] : [];
      }
      return container === undefined || owner.container === container
        ? [{ name: ifname, ...owner }]
        : [];
    });
  }

  /** Puts links of ours into their group that an older release made without it. Throws CniError. */
  async group(): Promise<void> {
    const [links = []] = await this.#ip.read('any', [['link', 'show', 'type', 'veth']]);
    const without = links.flatMap((link): string[] => {
      if (!isPlainObject(link)) return [];
      const { ifname, ifalias, group } = link;
      const isOurs = typeof ifalias === 'string' && ownerOf(ifalias) !== undefined;
      return isOurs && typeof ifname === 'string' && String(group) !== LINK_GROUP ? [ifname] : [];
    });
    await this.#changeExisting(
      without.map((name) => ['link', 'set', 'dev', name, 'group', LINK_GROUP]),
      "links of pods can't be put into their group",
    );
  }

  /** Removes links, and their ends in pods with them; those that are gone already are no error. */
  async remove(names: readonly string[]): Promise<void> {
    await this.#changeExisting(
      names.map((name) => ['link', 'delete', 'dev', name]),
      "links of the pod can't be removed",
    );
  }

  /** That a link is gone is no error. */
  async #changeExisting(commands: readonly Argv[], what: string): Promise<void> {
    const answers = await this.#ip.change('any', commands);
    const failed = answers.find(
      (answer) => answer !== undefined && !/Cannot find device|No such device/.test(answer),
    );
    if (failed !== undefined) throw new CniError(`${what}: ${failed}`);
  }

  /** Addresses of a device of the pod, with prefix length; undefined when it is not there, or not up. */
  async addresses(netns: string, device: string): Promise<readonly string[] | undefined> {
    const [found] = await new IpProgram({ program: [...enter(netns), ...this.#program] }).read(
      'any',
      [['address', 'show', 'dev', device]],
    );
    const [link] = found ?? [];
    if (!isPlainObject(link) || !Array.isArray(link['flags']) || !link['flags'].includes('UP'))
      return undefined;
    const list: readonly unknown[] = Array.isArray(link['addr_info']) ? link['addr_info'] : [];
    return list.flatMap((one) =>
      isPlainObject(one) ? [`${String(one['local'])}/${String(one['prefixlen'])}`] : [],
    );
  }
}
