/** Has the kernel do what a plan says, by rtnetlink; settings are files. */
import { changeAll, getLink, NetlinkSocket, type NetlinkError, type Request } from 'rtnetlink-ts';
import { errorText } from '../../api/error-text.ts';
import type { Sysctls } from './kernel-sysctls.ts';
import type { LinuxChange, LinuxCommand } from './linux-change.ts';
import { linuxRequest } from './linux-requests.ts';
import { withNamespace } from './network-socket.ts';

export interface LinuxWriterOptions {
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace?: string | undefined;
  readonly sysctls: Sysctls;
}

/**
 * Makes changes of one stage in their order; what one is refused harms no other. Returns why each was refused, or undefined. Throws NetlinkError,
 * MalformedMessage when it is not known what became of them.
 */
export async function makeChanges(
  changes: readonly LinuxChange[],
  { namespace: path, sysctls }: LinuxWriterOptions,
): Promise<readonly (string | undefined)[]> {
  const refusals = changes.map(({ write }) =>
    write === undefined ? undefined : sysctls.write(write.path, write.value),
  );
  if (changes.every(({ commands }) => commands.length === 0)) return refusals;
  const asked: { readonly index: number; readonly command: LinuxCommand }[] = [];
  const answers = await withNamespace(path, async (namespace) => {
    using names = new NetlinkSocket('route', namespace);
    const indexOf = deviceIndexes(names);
    /** A piece at a time is asked for: what is done before it is there. */
    function* requests(): Iterable<Request> {
      for (const [index, { commands }] of changes.entries())
        for (const command of commands)
          try {
            const request = linuxRequest(command, indexOf);
            asked.push({ index, command });
            yield request;
          } catch (error) {
            refusals[index] ??= errorText(error);
          }
    }
    return await changeAll('route', requests(), namespace);
  });
  for (const [place, { index, command }] of asked.entries()) {
    const error = answers[place];
    if (error !== undefined) refusals[index] ??= refusalText(command, error);
  }
  return refusals;
}

/** Numbers of devices by name, each asked once. */
function deviceIndexes(socket: NetlinkSocket): (dev: string) => number {
  const known = new Map<string, number>();
  return (dev) => {
    const index = known.get(dev) ?? socket.get(getLink(dev)).index;
    known.set(dev, index);
    return index;
  };
}

/** Why the kernel refused a command, for people; undefined where what is wanted is there. */
function refusalText({ kind }: LinuxCommand, { code, why }: NetlinkError): string | undefined {
  // The kernel made the rule meanwhile, as it does with the first VRF.
  if (kind === 'add-rule' && code === 'EEXIST') return undefined;
  const isKindUnknown = kind === 'add-vrf' && code === 'ENOTSUP';
  return isKindUnknown ? `${why}; load the kernel module vrf (modprobe vrf)` : why;
}
