/** States of objects that the watches have to show yet: what we wrote ourselves, or what a list has found. */
import type { KubeObject, ObjectKey, ObjectMeta, ResourceKind } from '../api/objects.ts';
import { orAborted } from './abort.ts';

/** What a watch has shown of an object: a version of it, or the end of it. */
interface Shown {
  readonly uid: string | undefined;
  /** Undefined = gone. */
  readonly version: string | undefined;
}

interface Awaited {
  readonly kind: ResourceKind;
  readonly key: ObjectKey;
  readonly wanted: Shown;
  readonly met: PromiseWithResolvers<void>;
}

const placeOf = ({ apiVersion, kind }: ResourceKind, key: ObjectKey): string =>
  `${apiVersion} ${kind} ${key}`;

const DECIMAL = /^[1-9][0-9]{0,19}$/;

/**
 * Watches may leave out versions that others have followed at once. Versions of an API server grow; those of manifests are digests,
 * but there every version that this process writes is shown.
 */
const isAtLeast = (shown: string, wanted: string): boolean =>
  shown === wanted ||
  (DECIMAL.test(shown) && DECIMAL.test(wanted) && BigInt(shown) >= BigInt(wanted));

function meets(shown: Shown, wanted: Shown): boolean {
  // Of an object that is gone nothing more comes; another one of its name comes after that.
  if (shown.version === undefined) return shown.uid === wanted.uid;
  return wanted.version === undefined
    ? shown.uid !== wanted.uid
    : isAtLeast(shown.version, wanted.version);
}

/** What was shown while a request was under way: it may be shown before it is answered. */
export interface Recording extends Disposable {
  of(kind: ResourceKind, key: ObjectKey): readonly Shown[];
}

export class ReadBack {
  readonly #awaited = new Map<string, Set<Awaited>>();
  readonly #recordings = new Set<Map<string, Shown[]>>();

  /** True when everything that was awaited has been shown. */
  get isComplete(): boolean {
    return this.#awaited.size === 0;
  }

  /** Takes note of what is shown from now on, until it is disposed. */
  record(): Recording {
    const shown = new Map<string, Shown[]>();
    this.#recordings.add(shown);
    return {
      of: (kind, key) => shown.get(placeOf(kind, key)) ?? [],
      [Symbol.dispose]: () => this.#recordings.delete(shown),
    };
  }

  /** To be called for everything that a watch shows; `metadata` undefined for an object that is gone. */
  shown(kind: ResourceKind, key: ObjectKey, uid: string | undefined, metadata?: ObjectMeta): void {
    const shown = { uid, version: metadata === undefined ? undefined : versionOf(metadata) };
    const place = placeOf(kind, key);
    for (const recording of this.#recordings) {
      const before = recording.get(place);
      if (before === undefined) recording.set(place, [shown]);
      else before.push(shown);
    }
    const awaited = this.#awaited.get(place);
    if (awaited === undefined) return;
    for (const one of awaited)
      if (meets(shown, one.wanted)) {
        awaited.delete(one);
        one.met.resolve();
      }
    if (awaited.size === 0) this.#awaited.delete(place);
  }

  /** The object of `key` is to be shown in the state that `metadata` has, or as gone. `current` is what is shown now. */
  expect(
    kind: ResourceKind,
    key: ObjectKey,
    uid: string | undefined,
    metadata: ObjectMeta | undefined,
    current: KubeObject | undefined,
    recording: Recording,
  ): void {
    const wanted = { uid, version: metadata === undefined ? undefined : versionOf(metadata) };
    const isCurrent =
      current === undefined
        ? wanted.version === undefined
        : meets({ uid: current.metadata.uid, version: versionOf(current.metadata) }, wanted);
    if (isCurrent || recording.of(kind, key).some((one) => meets(one, wanted))) return;
    const place = placeOf(kind, key);
    const awaited = this.#awaited.get(place) ?? new Set();
    this.#awaited.set(place, awaited.add({ kind, key, wanted, met: Promise.withResolvers() }));
  }

  /** Objects of which a state is awaited. */
  awaiting(): readonly { readonly kind: ResourceKind; readonly key: ObjectKey }[] {
    return [...this.#awaited.values()].flatMap((awaited) => [...awaited].slice(0, 1));
  }

  /** What was awaited of the object has been overtaken: the watch shows it as the store has it. */
  overtaken(kind: ResourceKind, key: ObjectKey): void {
    const place = placeOf(kind, key);
    for (const { met } of this.#awaited.get(place) ?? []) met.resolve();
    this.#awaited.delete(place);
  }

  /** Resolves when everything that is awaited now has been shown; rejects when `signal` aborts first. */
  async complete(signal: AbortSignal): Promise<void> {
    const all = [...this.#awaited.values()].flatMap((awaited) => [...awaited]);
    await orAborted(Promise.all(all.map(({ met }) => met.promise)), signal);
  }
}

const versionOf = ({ resourceVersion = '' }: ObjectMeta): string => resourceVersion;
