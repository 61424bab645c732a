import { open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import { FileLock } from './file-lock.ts';
import { FileTree, type TreeChanges } from './file-tree.ts';
import { isJsonObject } from '../json.ts';
import { makeFolder } from '../make-folder.ts';
import type { ObjectRecord } from './object-record.ts';
import { fileNameOf } from './record-path.ts';
import { StoreError, type Leadership } from '../store.ts';
import { errorText } from '../../api/error-text.ts';
import { reasonOfPath, withoutErrno } from '../../api/without-errno.ts';

/** Records by path; undefined = the record is gone. */
export type RecordChanges = ReadonlyMap<string, ObjectRecord | undefined>;

export interface RecordWrite {
  readonly path: string;
  /** Undefined removes it. */
  readonly record: ObjectRecord | undefined;
  /** Must survive a power failure (an allocation), not only the end of the process (a status). */
  readonly durable: boolean;
}

/** Where a manifests store keeps what controllers write. */
export interface RecordStorage {
  /** Called when another process may have changed something. */
  onHint: () => void;
  /** What changed since the last scan. */
  scan(where: 'everywhere' | 'dirty'): Promise<RecordChanges>;
  /** What changed in these since they were last read. */
  reread(paths: Iterable<string>): Promise<RecordChanges>;
  /** Runs `work` while no other process does. */
  locked<T>(work: () => Promise<T>): Promise<T>;
  /** All or, when it rejects, an unknown part of the writes happened; each single one whole or not at all. */
  write(writes: readonly RecordWrite[]): Promise<void>;
  lead(
    name: string,
    identity: string,
    signal: AbortSignal,
    onWaiting?: () => void,
  ): Promise<Leadership>;
  readonly problems: ReadonlyMap<string, string>;
  close(): void;
}

/** A file that has been unfinished for this long, in milliseconds, has lost its writer. */
const ABANDONED = 3_600_000;
const LOCK_LIMIT = 30; // seconds; writers hold it for milliseconds
/** Milliseconds that the lock is kept for a next write, and that it is kept at most before others have a turn. */
const LINGER = 5;
const LONGEST_HOLD = 50;
const LEAD_POLL = 5; // seconds that one attempt waits; an orphaned attempt ends by itself

/** The state directory on disk: `objects/…` (record-path.ts), `leases/…`, `lock`; `unfinished/` holds files being written. */
export class StateDirectory implements RecordStorage {
  readonly #root: string;
  readonly #tree: FileTree;
  readonly #lock: FileLock;
  readonly #clock: Clock;
  #heldSince: number | undefined;
  #cancelRelease: (() => void) | undefined;
  readonly #corrupt = new Map<string, string>();
  readonly #unreadable = new Map<string, string>();
  onHint: () => void = () => undefined;

  private constructor(root: string, clock: Clock) {
    this.#root = root;
    this.#clock = clock;
    this.#lock = new FileLock(join(root, 'lock'));
    this.#tree = new FileTree(join(root, 'objects'), {
      wants: isRecord,
      onHint: () => this.onHint(),
      replacedOnly: true,
      clock,
    });
  }

  static async open(root: string, clock: Clock): Promise<StateDirectory> {
    try {
      makeFolder(join(root, 'objects'));
      makeFolder(join(root, 'leases'));
      makeFolder(join(root, 'unfinished'));
      await removeOld(join(root, 'unfinished'), clock.now() - ABANDONED);
    } catch (error) {
      throw new StoreError(
        'unavailable',
        `state directory ${root} can't be created: ${reasonOfPath(error)}`,
        { cause: error },
      );
    }
    return new StateDirectory(root, clock);
  }

  get problems(): ReadonlyMap<string, string> {
    return new Map([...this.#corrupt, ...this.#unreadable]);
  }

  async scan(where: 'everywhere' | 'dirty'): Promise<RecordChanges> {
    return this.#read(await this.#tree.scan(where));
  }

  async reread(paths: Iterable<string>): Promise<RecordChanges> {
    return this.#read(await this.#tree.reread(paths));
  }

  async #read({ changed, removed, unreadable }: TreeChanges): Promise<RecordChanges> {
    const records = new Map<string, ObjectRecord | undefined>();
    for (const [path, text] of changed) {
      this.#unreadable.delete(path);
      const record = parseRecord(text);
      if (typeof record === 'string') await this.#setAside(path, record);
      records.set(path, typeof record === 'string' ? undefined : record);
    }
    for (const path of removed) {
      this.#unreadable.delete(path);
      records.set(path, undefined);
    }
    for (const [path, error] of unreadable)
      // The whole folder is made again with the next write.
      if (path !== '' || !isMissing(error))
        this.#unreadable.set(path, `${join(this.#root, 'objects', path)}: ${error.message}`);
    return records;
  }

  async #setAside(path: string, why: string): Promise<void> {
    const file = join(this.#root, 'objects', path);
    const aside = `${file}.corrupt`;
    try {
      await rename(file, aside);
      this.#corrupt.set(
        path,
        `${file}: ${why}; set aside as ${aside}: what controllers wrote to this object is written again or lost`,
      );
    } catch (error) {
      this.#corrupt.set(path, `${file}: ${why}; it can't be set aside: ${String(error)}`);
    }
    this.#tree.removed(path);
  }

  async locked<T>(work: () => Promise<T>): Promise<T> {
    this.#cancelRelease?.();
    this.#cancelRelease = undefined;
    const isHeld = this.#heldSince !== undefined && this.#lock.isAlive;
    // Others wait while we write one thing after the other: give them their turn.
    if (isHeld && this.#clock.monotonic() - (this.#heldSince ?? 0) > LONGEST_HOLD)
      await this.#release();
    if (this.#heldSince === undefined || !isHeld) await this.#acquire();
    try {
      return await work();
    } finally {
      // The next write is often there at once, and a turn of the lock costs more than a write.
      this.#cancelRelease = this.#clock.after(LINGER, () => {
        this.#release().catch(() => undefined); // the holder has ended, and the lock with it
      });
    }
  }

  async #acquire(): Promise<void> {
    this.#heldSince = undefined;
    if (!(await this.#lock.acquire(LOCK_LIMIT)))
      throw new StoreError(
        'unavailable',
        `state directory ${this.#root}: another process has held its lock for ${LOCK_LIMIT} s; see \`fuser ${join(this.#root, 'lock')}\``,
      );
    this.#heldSince = this.#clock.monotonic();
  }

  async #release(): Promise<void> {
    this.#heldSince = undefined;
    if (this.#lock.isAlive) await this.#lock.release();
  }

  async write(writes: readonly RecordWrite[]): Promise<void> {
    try {
      const files = await Promise.all(writes.map((write) => this.#prepare(write)));
      if (!this.#lock.isAlive) throw new Error('the lock was lost');
      const folders = new Set<string>();
      for (const [index, { path, durable }] of writes.entries()) {
        const file = join(this.#root, 'objects', path);
        const temporary = files[index];
        if (temporary === undefined) {
          await rm(file, { force: true });
          this.#tree.removed(path);
          await rmdir(dirname(file)).catch(() => undefined); // only if that was its last object
        } else {
          await renameInto(temporary, file);
          await this.#tree.wrote(path);
          if (durable) folders.add(dirname(file));
        }
      }
      await Promise.all([...folders].map(syncFolder));
    } catch (error) {
      for (const { path } of writes) this.#tree.removed(path); // read again whatever is there now
      throw new StoreError('unavailable', `state directory ${this.#root}: ${writeFailure(error)}`, {
        cause: error,
      });
    }
  }

  /** Writes the temporary file that becomes the record; undefined for a removal. */
  async #prepare({ record, durable }: RecordWrite): Promise<string | undefined> {
    if (record === undefined) return undefined;
    const temporary = join(this.#root, 'unfinished', randomUUID());
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(record, null, 1)}\n`);
      if (durable) await handle.datasync();
    } finally {
      await handle.close();
    }
    return temporary;
  }

  async lead(
    name: string,
    identity: string,
    signal: AbortSignal,
    onWaiting: () => void = () => undefined,
  ): Promise<Leadership> {
    const lock = new FileLock(join(this.#root, 'leases', fileNameOf(name, '.lock')));
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    try {
      signal.throwIfAborted();
      // At once first: then it is known whether another one has it.
      for (
        let seconds = 0;
        !(await Promise.race([lock.acquire(seconds), aborted.promise]));
        seconds = LEAD_POLL
      )
        if (seconds === 0) onWaiting();
      const file = join(this.#root, 'leases', fileNameOf(name, '.holder'));
      const temporary = join(this.#root, 'unfinished', randomUUID());
      await writeFile(temporary, `${identity}\n`);
      await rename(temporary, file);
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
    const lost = new AbortController();
    lock.onLost((error) => lost.abort(error));
    return {
      signal: lost.signal,
      assert: () => lost.signal.throwIfAborted(),
      [Symbol.asyncDispose]: async () => {
        lock[Symbol.dispose]();
        lost.abort(new StoreError('unavailable', `${name}: leadership was given up`));
      },
    };
  }

  close(): void {
    this.#cancelRelease?.();
    this.#tree.close();
    this.#lock[Symbol.dispose]();
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Moves a file to where it belongs, and makes the folder for it. */
async function renameInto(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      await rename(from, to);
      return;
    } catch (error) {
      if (attempt > 3 || !isMissing(error)) throw error;
      makeFolder(dirname(to));
    }
}

/** Removes files that were last written before `time` (milliseconds since the epoch). */
async function removeOld(folder: string, time: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    // Another process may be tidying up, too.
    const age = await stat(file).catch(() => undefined);
    if (age !== undefined && age.mtimeMs < time) await rm(file, { force: true });
  }
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const NO_WRITE: Readonly<Record<string, string>> = {
  // Not made anew: below a file system that is mounted again it would be hidden, and what was allocated is in the old one.
  ENOENT: 'it is not there, or its file system is not mounted',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its file system is full',
  EDQUOT: 'the quota of its file system is used up',
  EACCES: 'permission denied',
  EIO: 'its disk has an error',
};

/** Why nothing can be written; the same for every object, where it is the file system's fault. */
export function writeFailure(error: unknown): string {
  const why = error instanceof Error && 'code' in error ? NO_WRITE[String(error.code)] : undefined;
  return why === undefined
    ? withoutErrno(errorText(error))
    : `can't be written: ${why}; what is programmed goes on, and ids, addresses, statuses and heartbeats are written as soon as it can be`;
}

/** The records below a state directory that may not be there, and those that can't be read. Writes nothing. */
export async function readRecords(
  root: string,
  clock: Clock,
): Promise<{ records: ReadonlyMap<string, ObjectRecord>; problems: ReadonlyMap<string, string> }> {
  const tree = new FileTree(join(root, 'objects'), {
    wants: isRecord,
    onHint: () => undefined,
    replacedOnly: true,
    clock,
  });
  const records = new Map<string, ObjectRecord>();
  const problems = new Map<string, string>();
  try {
    for (const [path, text] of (await tree.scan('everywhere')).changed) {
      const record = parseRecord(text);
      if (typeof record === 'string')
        problems.set(path, `${join(root, 'objects', path)}: ${record}`);
      else records.set(path, record);
    }
  } finally {
    tree.close();
  }
  return { records, problems };
}

const isRecord = (name: string): boolean => name.endsWith('.json');

/** The record, or what is wrong with the text. */
function parseRecord(text: string): ObjectRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return errorText(error);
  }
  if (!isJsonObject(value)) return 'is not a JSON object';
  for (const field of ['apiVersion', 'kind', 'namespace', 'name', 'uid', 'created'])
    if (typeof value[field] !== 'string') return `${field} is not a string`;
  if (!Number.isSafeInteger(value['generation'])) return 'generation is not a whole number';
  for (const field of ['deleted', 'file'])
    if (!['string', 'undefined'].includes(typeof value[field])) return `${field} is not a string`;
  for (const field of ['manifest', 'written'])
    if (value[field] !== undefined && !isJsonObject(value[field]))
      return `${field} is not a JSON object`;
  return value as unknown as ObjectRecord;
}
