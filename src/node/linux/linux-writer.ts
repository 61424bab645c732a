/** Has the kernel do what a plan says, by rtnetlink; settings are files. */
import { NetlinkError, type Request } from 'rtnetlink-ts';
import { errorText } from '../../api/error-text.ts';
import type { Sysctls } from './kernel-sysctls.ts';
import type { LinuxChange, LinuxCommand } from './linux-change.ts';
import { linuxRequest, type IndexOf } from './linux-requests.ts';
import { carryOut } from './network-socket.ts';

export interface LinuxWriterOptions {
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace?: string | undefined;
  readonly sysctls: Sysctls;
  /** True while nobody else can have what is leased, at this moment. */
  readonly mayLease?: () => boolean;
}

/**
 * Makes changes of one stage in their order; what one is refused harms no other. `devices` has the numbers of those that are known, by name. Returns why each was refused, or undefined. Throws NetlinkError,
 * MalformedMessage when it is not known what became of them.
 */
export async function makeChanges(
  changes: readonly LinuxChange[],
  { namespace, sysctls, mayLease = () => true }: LinuxWriterOptions,
  devices: Map<string, number>,
): Promise<readonly (string | undefined)[]> {
  const refusals = changes.map(({ write }) =>
    write === undefined ? undefined : sysctls.write(write.path, write.value),
  );
  const commands = changes.flatMap((change, index) =>
    change.commands.map((command) => ({ index, command })),
  );
  const requestOf = ({ command }: (typeof commands)[number], indexOf: IndexOf): Request => {
    const isLeased = command.kind === 'add-address' && command.address.isLeased === true;
    if (isLeased && !mayLease())
      throw new Error('another node may have the address by now: no cluster manager was heard');
    return linuxRequest(command, indexOf);
  };
  const answers = await carryOut(namespace, commands, requestOf, devices);
  for (const [place, { index, command }] of commands.entries()) {
    const error = answers[place];
    if (error !== undefined) refusals[index] ??= refusalText(command, error);
  }
  return refusals;
}

/** Why a command was refused, for people; undefined where what is wanted is there. */
function refusalText({ kind }: LinuxCommand, error: Error): string | undefined {
  if (!(error instanceof NetlinkError)) return errorText(error);
  const { code, why } = error;
  // The kernel made the rule meanwhile, as it does with the first VRF.
  if (kind === 'add-rule' && code === 'EEXIST') return undefined;
  const isKindUnknown = kind === 'add-vrf' && code === 'ENOTSUP';
  return isKindUnknown ? `${why}; load the kernel module vrf (modprobe vrf)` : why;
}
