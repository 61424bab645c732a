/**
 * Policies that are gone while pods that they select are not: who deletes a namespace, or all that is in it, does not mean to open its last pods
 * (CVE-2024-7598). A policy that is deleted in a namespace that stays, with pods that stay, is gone at once.
 */
import { matchesSelector } from '../../api/selectors.ts';
import { keyText, written } from '../../facts/keys.ts';
import type { Policy } from '../read/policies.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { PodTables } from './pods.ts';
import type { PolicyKey, PolicyTables } from './policies.ts';

/** The watch of namespaces may be so much later than that of policies; milliseconds. */
const REMEMBERED = 60_000;

interface Gone {
  readonly key: PolicyKey;
  readonly policy: Policy;
  /** Its namespace, or all pods that it selects here, were being deleted. */
  isOutliving: boolean;
  /** The first refresh after it went, on its clock. */
  since?: number;
}

export function outlivingPolicies({
  namespaces,
  pods,
  endingPods,
  interfaces,
  policies,
}: NamespaceTables & PodTables & Pick<PolicyTables, 'policies'>) {
  const gone = new Map<string, Gone>();

  /** Pods on this node that it selects. */
  const selectedBy = ({ namespace, podSelector }: Policy): readonly string[] =>
    [...interfaces.entries()]
      .filter(
        ([, one]) =>
          one.namespace === namespace &&
          matchesSelector(podSelector, pods.peek(namespace, one.pod)?.labels),
      )
      .map(([, { pod }]) => pod);

  /** True while there are some, and all of them are being deleted. */
  function isLastOfItsPods(policy: Policy): boolean {
    const selected = selectedBy(policy);
    return (
      selected.length > 0 &&
      selected.every((pod) => endingPods.peek(policy.namespace, pod) !== undefined)
    );
  }

  function isNeeded(one: Gone): boolean {
    const namespace = namespaces.peek(one.policy.namespace);
    // Whatever is on this node: a pod of it may come up late.
    if (namespace?.ending !== undefined) return (one.isOutliving = true);
    if (!one.isOutliving) return false;
    return namespace === undefined
      ? selectedBy(one.policy).length > 0
      : isLastOfItsPods(one.policy);
  }

  function settle(one: Gone): boolean {
    const isKept = isNeeded(one);
    policies.put(written(one.key), isKept ? one.policy : undefined);
    return isKept;
  }

  return {
    /** Takes what became of a policy; undefined if it is gone. */
    putPolicy(key: PolicyKey, policy: Policy | undefined, isGone: boolean): void {
      const before = policies.peek(...key);
      if (!isGone || before === undefined) {
        gone.delete(keyText(key));
        policies.put(written(key), policy);
        return;
      }
      const one = { key, policy: before, isOutliving: isLastOfItsPods(before) };
      gone.set(keyText(key), one);
      settle(one);
    },

    /** To be called before anything is worked out anew. */
    settlePolicies(now: number): void {
      for (const [text, one] of gone) {
        one.since ??= now;
        if (!settle(one) && (one.isOutliving || now - one.since >= REMEMBERED)) gone.delete(text);
      }
    },
  };
}
