/** What is written down of a running lab, so that a later command finds it. */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Families } from './node-facts.ts';
import { isAlive, type ProcessIdentity } from './processes.ts';
import { LABS_FOLDER, stateFolder, type Datapath, type LabKind } from './paths.ts';

export interface LabRecord {
  readonly name: string;
  readonly kind: LabKind;
  readonly nodes: number;
  /** Of Open vSwitch: the kernel's module, or userspace. */
  readonly datapath: Datapath;
  /** Of the networks; absent: IPv4. */
  readonly families?: Families;
  /** Checkout whose scripts it runs. */
  readonly checkout: string;
  /** Process that holds the lab together (unshare, or who holds the virtual machine): when it ends, all ends. */
  readonly holder: ProcessIdentity;
  /** First process of its PID namespace: whose namespaces commands enter, or the virtual machine's kernel. */
  readonly init?: ProcessIdentity;
}

export type LabState =
  | { readonly state: 'absent' }
  /** Left by a lab that was killed, or by a boot of the machine before this one. */
  | { readonly state: 'stale' }
  | { readonly state: 'running'; readonly record: LabRecord };

const recordFile = (folder: string): string => join(folder, 'lab.json');

export function writeRecord(folder: string, record: LabRecord): void {
  writeFileSync(`${recordFile(folder)}.new`, `${JSON.stringify(record, undefined, 2)}\n`);
  renameSync(`${recordFile(folder)}.new`, recordFile(folder));
}

/** The record as written, whether or not its processes still run. */
export function readRecord(folder: string): LabRecord | undefined {
  try {
    return JSON.parse(readFileSync(recordFile(folder), 'utf8')) as LabRecord;
  } catch {
    return undefined; // never finished writing it: as good as none
  }
}

export function labState(name: string): LabState {
  const folder = stateFolder(name);
  if (!existsSync(folder)) return { state: 'absent' };
  const record = readRecord(folder);
  const running =
    record !== undefined &&
    isAlive(record.holder) &&
    // Without its first process inside, `up` was killed before it had written all down.
    record.init !== undefined &&
    isAlive(record.init) &&
    existsSync(join(folder, 'ready'));
  return running ? { state: 'running', record } : { state: 'stale' };
}

/** Names of all labs that have a state folder, running or stale. */
export const labNames = (): string[] =>
  existsSync(LABS_FOLDER) ? readdirSync(LABS_FOLDER).sort() : [];
