import type { PlannedChange, PlannedColumn, PlannedMembership } from './plan-change.ts';
import type { Entry } from './plan-entry.ts';

/** A change while it is being put together. */
export class ChangeDraft implements PlannedChange {
  readonly entry: Entry;
  readonly action: PlannedChange['action'];
  readonly table: string;
  readonly key: string;
  readonly uuid: string;
  readonly isRoot: boolean;
  readonly isolates: boolean;
  readonly unit: string | undefined;
  readonly reason: PlannedChange['reason'];
  readonly columns: PlannedColumn[] = [];
  readonly memberships: PlannedMembership[] = [];
  readonly needs: PlannedChange[] = [];
  /** Rows that this one refers to or that hold it. */
  readonly leansOn: Entry[] = [];

  constructor(
    action: PlannedChange['action'],
    entry: Entry,
    uuid: string,
    reason?: PlannedChange['reason'],
  ) {
    this.entry = entry;
    this.action = action;
    this.table = entry.table.name;
    this.key = entry.key;
    this.uuid = uuid;
    this.isRoot = entry.table.isRoot;
    this.isolates = entry.table.rules.isolates === true;
    this.unit = entry.unit;
    this.reason = reason;
  }

  /** Named once per place: rows that lean on the same one twice in a row say so once. */
  leanOn(entry: Entry): void {
    if (this.leansOn.at(-1) !== entry) this.leansOn.push(entry);
  }

  get isEmpty(): boolean {
    return this.action === 'update' && this.columns.length === 0 && this.memberships.length === 0;
  }
}
