/** What policies and firewalls say, by the namespace that they are of: those that can't be read are named with why. */
import { objectKey, type KubeObject } from '../../api/objects.ts';
import type { EgressFirewall } from '../../api/types.ts';
import type { EitherAdminPolicy, NamespacedPolicy, Policies } from '../snapshot.ts';
import { readFirewall, type Firewall } from './firewalls.ts';
import {
  readAdmin,
  readNamespaced,
  UnreadableError,
  type AdminPolicy,
  type NamespacePolicy,
} from './read.ts';

/** An object that can't be read, and why. */
export interface Unread {
  readonly object: string;
  readonly why: string;
}

/** What one object or several say. */
export interface Read<T> {
  readonly rules: readonly T[];
  readonly unread: readonly Unread[];
}

/** Policies and firewalls as checks ask for them. */
export interface Rules {
  policiesOf(namespace: string): Read<NamespacePolicy>;
  firewallsOf(namespace: string): Read<Firewall>;
  /** Of administrators. */
  admins(): Read<AdminPolicy>;
}

const NOTHING: Read<never> = { rules: [], unread: [] };

/** What each object says does not change while it is the same one. */
const readings = new WeakMap<KubeObject, Read<unknown>>();

function reading<O extends KubeObject, T>(object: O, read: (object: O) => T | undefined): Read<T> {
  const known = readings.get(object);
  if (known !== undefined) return known as Read<T>;
  const found = readingOf(object, read);
  readings.set(object, found);
  return found;
}

function readingOf<O extends KubeObject, T>(
  object: O,
  read: (object: O) => T | undefined,
): Read<T> {
  try {
    const value = read(object);
    return value === undefined ? NOTHING : { rules: [value], unread: [] };
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    const name = `${object.kind} ${objectKey(object.metadata)}`;
    return { rules: [], unread: [{ object: name, why: error.message }] };
  }
}

const together = <T>(all: readonly Read<T>[]): Read<T> => ({
  rules: all.flatMap(({ rules }) => rules),
  unread: all.flatMap(({ unread }) => unread),
});

export const readPolicies = (policies: readonly NamespacedPolicy[]): Read<NamespacePolicy> =>
  together(policies.map((one) => reading(one, readNamespaced)));

export const readAdmins = (policies: readonly EitherAdminPolicy[]): Read<AdminPolicy> =>
  together(policies.map((one) => reading(one, readAdmin)));

export const readFirewalls = (firewalls: readonly EgressFirewall[]): Read<Firewall> =>
  together(firewalls.map((one) => reading(one, readFirewall)));

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? '';

/** Of all objects. */
export function rulesOf({ namespaced, admins, firewalls }: Policies): Rules {
  const policies = Map.groupBy(namespaced, namespaceOf);
  const byNamespace = Map.groupBy(firewalls, namespaceOf);
  return {
    policiesOf: (namespace) => readPolicies(policies.get(namespace) ?? []),
    firewallsOf: (namespace) => readFirewalls(byNamespace.get(namespace) ?? []),
    admins: () => readAdmins(admins),
  };
}
