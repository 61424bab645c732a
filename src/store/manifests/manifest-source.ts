import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { FileTree, type TreeChanges } from './file-tree.ts';
import type { ManifestObject, ObjectRules, Problem, ReadManifest } from './manifest-rules.ts';
import { describeRecord, idOfObject, type ObjectId, type ObjectRecord } from './object-record.ts';

export interface SourcedObject extends ManifestObject {
  /** Below the manifests directory. */
  readonly file: string;
}

/** What the manifests directory says at the moment. */
export interface Wanted {
  readonly objects: ReadonlyMap<ObjectId, SourcedObject>;
  readonly problems: readonly Problem[];
  /** True when the manifest of this object may still be there, unreadable or not acceptable at the moment. */
  readonly holds: (record: ObjectRecord) => boolean;
}

const isManifest = (name: string): boolean => /\.(ya?ml|json)$/i.test(name);

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64');

/** The objects in a directory of manifests, file by file. Never writes there. */
export class ManifestSource {
  readonly #root: string;
  readonly #rules: ObjectRules;
  readonly #tree: FileTree;
  readonly #files = new Map<
    string,
    ReadManifest & { readonly digest: string; readonly sourced: readonly SourcedObject[] }
  >();
  #unreadable: ReadonlyMap<string, Error> = new Map();
  #wanted: Wanted | undefined;

  constructor(root: string, rules: ObjectRules, clock: Clock, onHint: () => void) {
    this.#root = root;
    this.#rules = rules;
    this.#tree = new FileTree(root, { wants: isManifest, replacedOnly: false, onHint, clock });
  }

  async scan(where: 'everywhere' | 'dirty'): Promise<void> {
    const changes = await this.#tree.scan(where);
    // A partial scan says nothing about what it didn't visit.
    this.#update(changes, where === 'everywhere' ? new Map() : this.#unreadable);
  }

  /** Reads these files again if they changed. */
  async reread(files: Iterable<string>): Promise<void> {
    this.#update(await this.#tree.reread(files), this.#unreadable);
  }

  #update(
    { changed, removed, unreadable }: TreeChanges,
    otherUnreadable: ReadonlyMap<string, Error>,
  ): void {
    const stillUnreadable = new Map(
      [...otherUnreadable].filter(([path]) => !changed.has(path) && !removed.has(path)),
    );
    const before = JSON.stringify([...this.#unreadable.keys()]);
    this.#unreadable = new Map([...stillUnreadable, ...unreadable]);
    let isChanged = removed.size > 0 || before !== JSON.stringify([...this.#unreadable.keys()]);
    for (const file of removed) this.#files.delete(file);
    for (const [file, text] of changed) {
      const digest = digestOf(text);
      // It was read again to be sure: the objects are the same ones.
      if (this.#files.get(file)?.digest === digest) continue;
      isChanged = true;
      const content = this.#rules.read(text, join(this.#root, file));
      const sourced = content.objects.map((object) => ({ ...object, file }));
      this.#files.set(file, { ...content, digest, sourced });
    }
    if (isChanged) this.#wanted = undefined;
  }

  /** @param fileOf Where the object was defined so far: on a duplicate that definition goes on to count. */
  wanted(fileOf: (id: ObjectId) => string | undefined): Wanted {
    this.#wanted ??= this.#collect(fileOf);
    return this.#wanted;
  }

  /** Where an object (`Kind namespace/name`) is written; undefined for one that no manifest declares. */
  placeOf(object: string): { readonly file: string; readonly line: number } | undefined {
    for (const [file, { sourced }] of this.#files) {
      const found = sourced.find(
        ({ object: { kind, metadata } }) =>
          describeRecord({ kind, name: metadata.name, namespace: metadata.namespace }) === object,
      );
      if (found !== undefined) return { file: join(this.#root, file), line: found.line };
    }
    return undefined;
  }

  #collect(fileOf: (id: ObjectId) => string | undefined): Wanted {
    const objects = new Map<ObjectId, SourcedObject>();
    const problems: Problem[] = [];
    const rejected = new Set<string>();
    const incomplete = new Set<string>();
    const unknown = new Map<string, Problem>();
    const files = [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [file, content] of files) {
      const shown = join(this.#root, file);
      problems.push(...content.problems.map((problem) => ({ ...problem, file: shown })));
      for (const object of content.rejected) rejected.add(object);
      if (content.incomplete) incomplete.add(file);
      for (const { apiVersion, kind, line } of content.unknownKinds)
        if (!unknown.has(`${apiVersion} ${kind}`))
          unknown.set(`${apiVersion} ${kind}`, {
            severity: 'warning',
            file: shown,
            line,
            object: `${kind} (${apiVersion})`,
            message: 'this release does not know this kind; objects of it are skipped',
          });
      for (const candidate of content.sourced) {
        const id = idOfObject(candidate.object);
        const other = objects.get(id);
        const wins =
          other === undefined || (other.file !== candidate.file && fileOf(id) === candidate.file);
        if (wins) objects.set(id, candidate);
        if (other !== undefined)
          problems.push(this.#duplicate(wins ? [candidate, other] : [other, candidate]));
      }
    }
    for (const [path, error] of this.#unreadable)
      problems.push({
        severity: 'error',
        file: join(this.#root, path),
        message:
          path === '' && 'code' in error && error.code === 'ENOENT'
            ? 'there is no such directory (yet): create it, or name another one with --manifests'
            : `can't be read: ${error.message}; objects known from it stay as they are`,
      });
    const unreadable = [...this.#unreadable.keys()];
    const holds = (record: ObjectRecord): boolean => {
      const { file = '' } = record;
      return (
        rejected.has(describeRecord(record)) ||
        // A manifest need not name the default namespace.
        (record.namespace === 'default' && rejected.has(`${record.kind} ${record.name}`)) ||
        incomplete.has(file) ||
        unreadable.some((path) => path === '' || file === path || file.startsWith(`${path}/`))
      );
    };
    return { objects, problems: [...problems, ...unknown.values()], holds };
  }

  #duplicate([used, ignored]: readonly [SourcedObject, SourcedObject]): Problem {
    const { kind, metadata } = ignored.object;
    return {
      severity: 'error',
      file: join(this.#root, ignored.file),
      line: ignored.line,
      object: describeRecord({ ...metadata, kind }),
      message: `is also defined at ${join(this.#root, used.file)}:${used.line}, which counts; remove one of the two`,
    };
  }

  /** Why changes are only found by looking from time to time, if so. */
  get unwatched(): Error | undefined {
    return this.#tree.unwatched;
  }

  close(): void {
    this.#tree.close();
  }
}
