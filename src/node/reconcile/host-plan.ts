/** What is to be changed of one kind of the host's state, and what can't be; made by a plan, applied by a driver. */

export interface PlannedChange {
  readonly action: 'add' | 'change' | 'remove';
  readonly table: string;
  readonly key: string;
  /** The object as it was found, and as it will be, in the words of the program that changes it. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** As in plans of databases: of what no unit knows, `["unwanted",<mark>]`. */
  readonly unit: string;
  readonly rule: string | undefined;
  readonly object: string | undefined;
  /** Of a flow. */
  readonly bridge?: string;
}

export interface HostProblem {
  readonly kind: 'held-by-other' | 'name-taken' | 'awaited' | 'refused';
  readonly table: string;
  readonly key: string;
  readonly unit: string;
  readonly object: string | undefined;
  readonly message: string;
}

export interface HostPlan<C extends PlannedChange = PlannedChange> {
  readonly isEmpty: boolean;
  readonly changes: readonly C[];
  readonly problems: readonly HostProblem[];
  /** Objects of ours that nobody wants and that stay, because not every unit has been built yet. */
  readonly heldBack: number;
}

/** Unit of what no unit knows; `mark`: for whom it was there, where it says so. */
export const unwanted = (mark = ''): string => JSON.stringify(['unwanted', mark]);
