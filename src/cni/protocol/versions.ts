/** Which versions of the CNI specification are spoken, and from which one on there is a command. Pure. */
import { CNI_CODE, CniError } from './cni-error.ts';

export const CNI_VERSIONS = ['0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;
export type CniVersion = (typeof CNI_VERSIONS)[number];

export const NEWEST_VERSION: CniVersion = '1.1.0';

/** A configuration without version is one of 0.1.0, as in the reference library. */
const UNNAMED_VERSION = '0.1.0';

export const COMMANDS = ['ADD', 'DEL', 'CHECK', 'STATUS', 'GC', 'VERSION'] as const;
export type Command = (typeof COMMANDS)[number];

const SINCE: Readonly<Record<Command, CniVersion>> = {
  ADD: '0.3.1',
  DEL: '0.3.1',
  VERSION: '0.3.1',
  CHECK: '0.4.0',
  STATUS: '1.1.0',
  GC: '1.1.0',
};

export const isCniVersion = (text: unknown): text is CniVersion =>
  CNI_VERSIONS.some((version) => version === text);

/** True when configurations of `version` know what came with `other`. */
export const isAtLeast = (version: CniVersion, other: CniVersion): boolean =>
  CNI_VERSIONS.indexOf(version) >= CNI_VERSIONS.indexOf(other);

/** The version of a configuration. Throws CniError when we don't speak it, or it has no such command. */
export function versionFor(command: Command, cniVersion: unknown): CniVersion {
  const wanted = cniVersion ?? UNNAMED_VERSION;
  if (!isCniVersion(wanted))
    throw new CniError(
      'incompatible CNI versions',
      CNI_CODE.incompatibleVersion,
      `the configuration has cniVersion ${JSON.stringify(wanted).slice(0, 40)}, the plugin supports ${CNI_VERSIONS.join(', ')}`,
    );
  if (!isAtLeast(wanted, SINCE[command]))
    throw new CniError(
      `cniVersion ${wanted} does not have ${command}`,
      CNI_CODE.incompatibleVersion,
      `${command} came with ${SINCE[command]}: raise cniVersion of the configuration`,
    );
  return wanted;
}
