/** What is to be changed of the network stack; made by a plan, applied by the driver. */
import type { PlannedChange } from '../reconcile/host-plan.ts';
import type { IpFamily } from '../programs/ip-program.ts';
import type { Argv } from '../programs/program.ts';
import type { Stale } from './stale.ts';

export interface LinuxCommand {
  readonly family: IpFamily;
  readonly args: Argv;
}

export interface LinuxChange extends PlannedChange {
  /** Changes of a lower stage come first; what fails in one ends the later ones of its unit. */
  readonly stage: number;
  readonly commands: readonly LinuxCommand[];
  /** What is read again after it: that it is there counts, not that it was asked for. */
  readonly stale: Stale;
  /** An object that is as it should be, and is made anew for what the kernel made with it and has no more: not at once again. */
  readonly isRenewal?: true;
  /** Path and value to write, of a sysctl. */
  readonly write?: { readonly path: string; readonly value: string };
}
