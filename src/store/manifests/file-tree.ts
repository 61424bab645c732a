import { watch, type BigIntStats, type FSWatcher } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';

export interface FileTreeOptions {
  /** Which file names (without folder) count. Names that begin with `.` never do: editors and ConfigMap mounts use them. */
  readonly wants: (name: string) => boolean;
  /** Something may have changed: scan soon. Called often; never before the first scan. */
  readonly onHint: () => void;
  /**
   * Files are only ever replaced by renaming another over them, so an unchanged inode, size and time means unchanged
   * content. Otherwise a file that the system says was written is read again whatever they say.
   */
  readonly replacedOnly: boolean;
  readonly clock: Clock;
}

export interface TreeChanges {
  /** Text of new and changed files by path below the root, with `/`. */
  readonly changed: ReadonlyMap<string, string>;
  readonly removed: ReadonlySet<string>;
  /** Files and folders that are there but can't be read now, and why; `''` is the root. What was in them is not `removed`. */
  readonly unreadable: ReadonlyMap<string, Error>;
}

/** Files larger than this are not manifests or records of anybody: 64 MiB. */
const LARGEST = 64 * 1024 * 1024;

interface Known {
  readonly signature: string;
  /** Read so soon after it was written that another write could have left the same time stamp. */
  readonly unsure: boolean;
}

/** What was in a folder whose time stamp says whether anything was put into it or taken out since. */
interface KnownFolder extends Known {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

/** Time stamps of file systems move in steps of up to this many milliseconds. */
const STEP = 50;

const signatureOf = ({ ino, mtimeNs, size }: BigIntStats): string => `${ino} ${mtimeNs} ${size}`;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';
const isGone = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));

/**
 * A folder's files, however deep, and what changed in them since the last scan. File system notifications only say that a scan
 * is due and where; the scan itself is the truth. A full scan finds what a notification missed.
 */
export class FileTree {
  readonly #root: string;
  readonly #options: FileTreeOptions;
  readonly #known = new Map<string, Known>();
  /** Only of trees whose files are replaced, never written to: there an unchanged folder has unchanged files. */
  readonly #folders = new Map<string, KnownFolder>();
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly inode: string }>();
  /** Folders and files (below the root) that notifications named since the last scan. */
  #dirty = new Set<string>();
  #closed = false;

  constructor(root: string, options: FileTreeOptions) {
    this.#root = root;
    this.#options = options;
  }

  /** Why notifications don't arrive, if so (the machine's limit of watches): then only full scans find changes. */
  unwatched: Error | undefined;

  /** What changed since the last scan: anywhere, or (`'dirty'`) where notifications point. */
  async scan(where: 'everywhere' | 'dirty'): Promise<TreeChanges> {
    const scan = new Scan();
    const dirty = this.#dirty;
    this.#dirty = new Set();
    if (where === 'everywhere') {
      await this.#folder('', scan, new Set(), dirty);
      await this.#forget([...this.#known.keys()], scan);
    } else
      for (const path of dirty) {
        if (path === '') await this.#folder('', scan, new Set(), dirty);
        else await this.#path(path, scan, new Set(), dirty);
        // Only a folder has others below it.
        const below = this.#known.has(path)
          ? [path]
          : [...this.#known.keys()].filter((known) => isAtOrBelow(known, path));
        await this.#forget(below, scan);
      }
    return scan;
  }

  /** Rereads these files alone, each once: many objects may be in one. */
  async reread(paths: Iterable<string>): Promise<TreeChanges> {
    const scan = new Scan();
    for (const path of new Set(paths)) {
      await this.#file(path, scan, true);
      await this.#forget([path], scan);
    }
    return scan;
  }

  /** The caller wrote this file itself: its content is no change. */
  async wrote(path: string): Promise<void> {
    const stats = await stat(join(this.#root, path), { bigint: true });
    this.#known.set(path, { signature: signatureOf(stats), unsure: false });
  }

  /** The caller removed this file itself. */
  removed(path: string): void {
    this.#known.delete(path);
  }

  close(): void {
    this.#closed = true;
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Nobody has removed a file where all of the tree is gone: a file system that is not mounted says nothing of what is on it. */
  async #forget(candidates: readonly string[], scan: Scan): Promise<void> {
    const missing = candidates.filter((path) => !scan.seen.has(path) && this.#known.has(path));
    if (missing.length === 0) return;
    await stat(this.#root).catch((error: unknown) => scan.unreadable.set('', asError(error)));
    const isUnreadable = (path: string): boolean =>
      [...scan.unreadable.keys()].some((bad) => isAtOrBelow(path, bad));
    for (const path of missing)
      if (!isUnreadable(path)) {
        this.#known.delete(path);
        scan.removed.add(path);
      }
  }

  async #path(
    path: string,
    scan: Scan,
    above: ReadonlySet<string>,
    dirty: ReadonlySet<string>,
  ): Promise<'file' | 'folder' | 'nothing'> {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (name.startsWith('.')) return 'nothing';
    let stats: BigIntStats;
    try {
      stats = await stat(join(this.#root, path), { bigint: true });
    } catch (error) {
      // A dangling link or a file that was removed meanwhile is simply not there.
      if (!isGone(error)) scan.unreadable.set(path, asError(error));
      return 'nothing';
    }
    if (stats.isDirectory()) {
      const identity = `${stats.dev} ${stats.ino}`;
      if (above.has(identity)) return 'nothing'; // a link to a folder above
      await this.#folder(path, scan, new Set([...above, identity]), dirty);
      return 'folder';
    }
    if (!this.#options.wants(name)) return 'nothing';
    await this.#file(path, scan, dirty.has(path));
    return 'file';
  }

  async #folder(
    path: string,
    scan: Scan,
    above: ReadonlySet<string>,
    dirty: ReadonlySet<string>,
  ): Promise<void> {
    let names: string[];
    let state: Known;
    try {
      const { dev, ino, mtimeNs } = await stat(join(this.#root, path), { bigint: true });
      this.#watch(path, `${dev} ${ino}`); // before reading, so that nothing happens in between unseen
      state = { signature: `${dev} ${ino} ${mtimeNs}`, unsure: this.#isRecent(mtimeNs) };
      if (await this.#isUnchanged(path, state, scan, above, dirty)) return;
      names = await readdir(join(this.#root, path));
    } catch (error) {
      this.#folders.delete(path);
      this.#unwatch(path);
      if (path === '' || !isGone(error)) scan.unreadable.set(path, asError(error));
      return;
    }
    const found: Record<'file' | 'folder' | 'nothing', string[]> = {
      file: [],
      folder: [],
      nothing: [],
    };
    const failures = scan.unreadable.size;
    for (const name of names.sort()) {
      const below = path === '' ? name : `${path}/${name}`;
      found[await this.#path(below, scan, above, dirty)].push(below);
    }
    if (!this.#options.replacedOnly) return;
    const unsure = state.unsure || scan.unreadable.size > failures;
    this.#folders.set(path, { ...state, unsure, files: found.file, folders: found.folder });
  }

  /** Skips the files of a folder that nothing was put into or taken out of. */
  async #isUnchanged(
    path: string,
    { signature }: Known,
    scan: Scan,
    above: ReadonlySet<string>,
    dirty: ReadonlySet<string>,
  ): Promise<boolean> {
    const known = this.#folders.get(path);
    if (known === undefined || known.unsure || known.signature !== signature) return false;
    if (!known.files.every((file) => this.#known.has(file))) return false;
    for (const file of known.files)
      if (dirty.has(file)) await this.#file(file, scan, true);
      else scan.seen.add(file);
    for (const folder of known.folders) await this.#path(folder, scan, above, dirty);
    return true;
  }

  /** So recent that another change could leave the same time stamp. */
  #isRecent(mtimeNs: bigint): boolean {
    return this.#options.clock.now() - Number(mtimeNs / 1_000_000n) < STEP;
  }

  async #file(path: string, scan: Scan, isDirty: boolean): Promise<void> {
    const full = join(this.#root, path);
    try {
      const stats = await stat(full, { bigint: true });
      if (!stats.isFile()) return;
      scan.seen.add(path);
      const known = this.#known.get(path);
      const signature = signatureOf(stats);
      const mayDiffer = known?.unsure === true || (isDirty && !this.#options.replacedOnly);
      if (known?.signature === signature && !mayDiffer) return;
      if (stats.size > LARGEST)
        throw new Error(`has ${stats.size} bytes; more than ${LARGEST} are not read`);
      const text = await readFile(full, 'utf8');
      const unsure = !this.#options.replacedOnly && this.#isRecent(stats.mtimeNs);
      this.#known.set(path, { signature, unsure });
      scan.changed.set(path, text);
    } catch (error) {
      if (isGone(error)) scan.seen.delete(path);
      else scan.unreadable.set(path, asError(error));
    }
  }

  #watch(path: string, inode: string): void {
    const existing = this.#watchers.get(path);
    if (this.#closed || existing?.inode === inode) return;
    existing?.watcher.close(); // of a folder that is no longer the one at this path
    try {
      const watcher = watch(join(this.#root, path), { persistent: false }, (_event, name) => {
        const below = path === '' ? '' : `${path}/`;
        // Hidden names are how mounted ConfigMaps switch to a new version: scan the whole folder.
        this.#dirty.add(name === null || name.startsWith('.') ? path : `${below}${name}`);
        this.#options.onHint();
      });
      watcher.on('error', () => {
        this.#unwatch(path);
        this.#dirty.add(path);
        this.#options.onHint();
      });
      this.#watchers.set(path, { watcher, inode });
      this.unwatched = undefined;
    } catch (error) {
      if (!isGone(error)) this.unwatched = asError(error);
    }
  }

  #unwatch(path: string): void {
    for (const [folder, { watcher }] of this.#watchers)
      if (isAtOrBelow(folder, path)) {
        watcher.close();
        this.#watchers.delete(folder);
      }
  }
}

class Scan implements TreeChanges {
  readonly changed = new Map<string, string>();
  readonly removed = new Set<string>();
  readonly unreadable = new Map<string, Error>();
  readonly seen = new Set<string>();
}

const isAtOrBelow = (path: string, folder: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`);
