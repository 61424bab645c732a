/**
 * Links of pods: veth pairs between the host and the pods' network namespaces. The kernel does what is asked before a call returns, within a millisecond; work
 * inside a pod is one synchronous block, which no other code of the process ever sees. Only for links that go it takes its time, which is spent elsewhere.
 */
import { closeSync, existsSync, openSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  addresses,
  changeInBackground,
  deleteLink,
  genericFamily,
  getLink,
  inNetworkNamespace,
  links,
  NetlinkError,
  NetlinkSocket,
  setFeatures,
  setLink,
} from 'rtnetlink-ts';
import { errorText } from '../../api/error-text.ts';
import { POD_LINK_GROUP } from '../../node/numbers.ts';
import { CNI_CODE, CniError } from '../protocol/cni-error.ts';
import type { CniInterface } from '../protocol/result.ts';
import {
  hostLink,
  hostLinkReady,
  isHostDeviceOf,
  ownerOf,
  podRequests,
  podSysctls,
} from './link-requests.ts';

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
  /** Network namespace of the host, as a path; that of the process, if none is named. */
  readonly host?: string;
  /** Where settings of the kernel are; default /proc/sys. */
  readonly sysctlFolder?: string;
}

/** Of the process, which is the host's: the daemon is on its network. */
const OWN_NAMESPACE = '/proc/self/ns/net';

const codeOf = (error: unknown): string | undefined =>
  error instanceof NetlinkError ? error.code : undefined;

function withNamespace<T>(path: string, work: (descriptor: number) => T): T {
  const descriptor = openSync(path, 'r');
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export class PodLinks {
  readonly #host: string;
  readonly #sysctlFolder: string;

  constructor({ host = OWN_NAMESPACE, sysctlFolder = '/proc/sys' }: PodLinksOptions = {}) {
    this.#host = host;
    this.#sysctlFolder = sysctlFolder;
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
    if (inode === statSync(OWN_NAMESPACE).ino)
      throw new CniError(
        `CNI_NETNS ${netns} is the network namespace of the host`,
        CNI_CODE.invalidEnvironment,
      );
  }

  /** Makes the links. Throws CniError; nothing was made then, and what was there stays. */
  async create(
    interfaces: readonly CniInterface[],
    container: string,
    netns: string,
  ): Promise<void> {
    const made: string[] = [];
    try {
      using socket = this.#open();
      withNamespace(netns, (pod) => {
        for (const one of interfaces) {
          socket.change(hostLink(one, container, pod));
          made.push(one.hostDevice);
          socket.change(hostLinkReady(one, container));
        }
      });
    } catch (error) {
      const failed = interfaces[made.length];
      await this.remove(made);
      throw new CniError(
        failed !== undefined && codeOf(error) === 'EEXIST'
          ? `container ${container} has an interface ${failed.device} already, or the host a link ${failed.hostDevice}: DEL comes before another ADD`
          : `on the host: ${errorText(error)}`,
        CNI_CODE.failed,
        undefined,
        { cause: error },
      );
    }
  }

  /**
   * Gives the pod's ends of links their addresses and routes. `isUserspace`: packets are forwarded by ovs-vswitchd, which takes them as they are,
   * where a kernel's switch would have the checksums filled in that a veth leaves out. Throws CniError.
   */
  configure(interfaces: readonly CniInterface[], netns: string, isUserspace = false): void {
    try {
      inside(netns, (socket) => {
        for (const [path, value] of interfaces.flatMap(podSysctls)) {
          const file = join(this.#sysctlFolder, path);
          // A kernel without IPv6 has none of its settings.
          if (existsSync(file)) writeFileSync(file, value);
        }
        socket.change(setLink('lo', { isUp: true }));
        for (const one of interfaces) {
          const { index } = socket.get(getLink(one.device));
          if (isUserspace) fillInChecksums(index);
          for (const request of podRequests(one, index)) socket.change(request);
        }
      });
    } catch (error) {
      throw new CniError(`inside the pod: ${errorText(error)}`, CNI_CODE.failed, undefined, {
        cause: error,
      });
    }
  }

  /** Links of ours, of this container or of all, in the order in which they were made. */
  list(container?: string): readonly PodLink[] {
    using socket = this.#open();
    return socket.dump(links({ kind: 'veth' })).flatMap(({ name, alias }): PodLink[] => {
      const owner = alias === undefined ? undefined : ownerOf(alias);
      if (owner === undefined) {
        // Made by an ADD that was killed before it wrote its owner into the alias.
        const isOurs =
          alias === undefined && container !== undefined && isHostDeviceOf(container, name);
        return isOurs ? [{ name, container, device: '' }] : [];
      }
      return container === undefined || owner.container === container ? [{ name, ...owner }] : [];
    });
  }

  /** Puts links of ours into their group that an older release made without it. Throws NetlinkError. */
  group(): void {
    using socket = this.#open();
    for (const { index, alias, group } of socket.dump(links({ kind: 'veth' }))) {
      if (alias === undefined || ownerOf(alias) === undefined || group === POD_LINK_GROUP) continue;
      try {
        socket.change(setLink(index, { group: POD_LINK_GROUP }));
      } catch (error) {
        if (codeOf(error) !== 'ENODEV') throw error;
      }
    }
  }

  /** Removes links, and their ends in pods with them; those that are gone already are no error. Throws CniError. */
  async remove(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const host = openSync(this.#host, 'r');
    try {
      const done = await Promise.allSettled(
        names.map((name) => changeInBackground('route', deleteLink(name), { namespace: host })),
      );
      for (const one of done)
        if (one.status === 'rejected' && codeOf(one.reason) !== 'ENODEV') throw one.reason;
    } catch (error) {
      throw new CniError(
        `links of the pod can't be removed: ${errorText(error)}`,
        CNI_CODE.failed,
        undefined,
        { cause: error },
      );
    } finally {
      closeSync(host);
    }
  }

  /** Addresses of a device of the pod, with prefix length; undefined when it is not there, or not up. */
  addresses(netns: string, device: string): readonly string[] | undefined {
    try {
      return inside(netns, (socket) => {
        const { index, isUp } = socket.get(getLink(device));
        if (!isUp) return undefined;
        return socket.dump(addresses({ device: index })).map(({ address }) => address);
      });
    } catch (error) {
      if (codeOf(error) === 'ENODEV') return undefined;
      throw error;
    }
  }

  #open(): NetlinkSocket {
    return withNamespace(this.#host, (namespace) => new NetlinkSocket('route', { namespace }));
  }
}

/** Checksums that a veth leaves out, for the other end is in the same machine's memory. */
const LEFT_OUT = { 'tx-checksum-ip-generic': false, 'tx-checksum-sctp': false } as const;

/** Of the calling thread's network namespace. */
function fillInChecksums(device: number): void {
  using socket = new NetlinkSocket('generic');
  socket.change(setFeatures(socket.get(genericFamily('ethtool')), device, LEFT_OUT));
}

/** Calls `work` in the network namespace `netns`, with a socket there. */
const inside = <T>(netns: string, work: (socket: NetlinkSocket) => T): T =>
  withNamespace(netns, (pod) =>
    inNetworkNamespace(pod, () => {
      using socket = new NetlinkSocket('route');
      return work(socket);
    }),
  );
