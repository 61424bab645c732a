/** Policies and firewalls while they change: whoever asked for those of a namespace, or of administrators, is judged again when one of these is another one. */
import type { KubeObject } from '../../api/objects.ts';
import { readAdmins, readFirewalls, readPolicies, type Rules } from '../policies/rules.ts';
import type { Policies } from '../snapshot.ts';
import type { Readers } from './readers.ts';

/** By kind and `<namespace>/<name>`; undefined where one is gone. */
export type ChangedPolicies = {
  readonly [K in keyof Policies]?: ReadonlyMap<string, Policies[K][number] | undefined>;
};

/** Objects by their keys, and those of each namespace. */
class Placed<T extends KubeObject> {
  readonly #all = new Map<string, T>();
  readonly #byNamespace = new Map<string, Map<string, T>>();

  of(namespace: string): readonly T[] {
    return [...(this.#byNamespace.get(namespace)?.values() ?? [])];
  }

  get all(): readonly T[] {
    return [...this.#all.values()];
  }

  /** Gives the namespace that it was or is in. */
  set(key: string, object: T | undefined): string {
    const { namespace = '' } = (object ?? this.#all.get(key))?.metadata ?? {};
    const known = this.#byNamespace.get(namespace) ?? new Map<string, T>();
    if (object === undefined) {
      this.#all.delete(key);
      known.delete(key);
    } else {
      this.#all.set(key, object);
      known.set(key, object);
    }
    if (known.size === 0) this.#byNamespace.delete(namespace);
    else this.#byNamespace.set(namespace, known);
    return namespace;
  }
}

export class KeptRules {
  readonly #readers: Readers;
  readonly #placed: { readonly [K in keyof Policies]: Placed<Policies[K][number]> } = {
    namespaced: new Placed(),
    admins: new Placed(),
    firewalls: new Placed(),
  };
  /** As checks read them. */
  readonly rules: Rules;

  constructor(readers: Readers) {
    this.#readers = readers;
    const { namespaced, admins, firewalls } = this.#placed;
    this.rules = {
      policiesOf(namespace) {
        readers.note('namespaced', namespace);
        return readPolicies(namespaced.of(namespace));
      },
      firewallsOf(namespace) {
        readers.note('firewalls', namespace);
        return readFirewalls(firewalls.of(namespace));
      },
      admins() {
        readers.note('admins', '');
        return readAdmins(admins.all);
      },
    };
  }

  apply(changes: ChangedPolicies): void {
    const take = <K extends keyof Policies>(kind: K): void => {
      for (const [key, object] of changes[kind] ?? [])
        this.#readers.changed(kind, this.#placed[kind].set(key, object));
    };
    for (const kind of Object.keys(this.#placed) as (keyof Policies)[]) take(kind);
  }
}
