/** What is to be changed of the network stack, and what can't be; made by a plan, applied by the driver. */
import type { LinuxTable } from './linux-rows.ts';
import type { IpFamily } from '../programs/ip-program.ts';
import type { Words } from '../programs/program.ts';

export interface LinuxCommand {
  readonly family: IpFamily;
  readonly words: Words;
}

export interface LinuxChange {
  readonly action: 'add' | 'change' | 'remove';
  readonly table: LinuxTable;
  readonly key: string;
  /** The object as it was found, and as it will be, in the words of ip(8). */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** As in plans of databases: of what no unit knows, `["unwanted",<mark>]`. */
  readonly unit: string;
  readonly rule: string | undefined;
  readonly object: string | undefined;
  /** Changes of a lower stage come first; what fails in one ends the later ones of its unit. */
  readonly stage: number;
  readonly commands: readonly LinuxCommand[];
  /** An object that is as it should be, and is made anew for what the kernel made with it and has no more: not at once again. */
  readonly isRenewal?: true;
  /** Path and value to write, of a sysctl. */
  readonly write?: { readonly path: string; readonly value: string };
}

export type LinuxProblemKind = 'held-by-other' | 'name-taken' | 'awaited' | 'refused';

export interface LinuxProblem {
  readonly kind: LinuxProblemKind;
  readonly table: LinuxTable;
  readonly key: string;
  readonly unit: string;
  readonly object: string | undefined;
  readonly message: string;
}

export interface LinuxPlan {
  readonly isEmpty: boolean;
  /** In the order in which they are made. */
  readonly changes: readonly LinuxChange[];
  readonly problems: readonly LinuxProblem[];
  /** Objects of ours that nobody wants and that stay, because not every unit has been built yet. */
  readonly heldBack: number;
}
