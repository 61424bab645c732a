/** Which NADs a MultiNetworkPolicy is for (reference/topology.md §16.3). */
import { isDnsLabel, isDnsSubdomain } from '../validation/metadata.ts';
import { formatValue } from '../validation/field-errors.ts';
import type { Annotated, Reading } from './annotations.ts';
import { problem, readAnnotation } from './annotations.ts';

export const POLICY_FOR = 'k8s.v1.cni.cncf.io/policy-for';

const REMEDY = 'write "[<namespace>/]<NAD>, …"';

/** Many more than a policy can sensibly name. */
const MOST_NADS = 100;

function nadKey(text: string, namespace: string): string {
  const [first = '', second, ...more] = text.split('/');
  const [space, name] = second === undefined ? [namespace, first] : [first, second];
  return more.length === 0 && isDnsLabel(space) && isDnsSubdomain(name)
    ? `${space}/${name}`
    : problem(`${formatValue(text)} names no NAD`);
}

/** Keys of NADs; undefined where the annotation is missing. */
export const policyFor = (policy: Annotated): Reading<readonly string[]> =>
  readAnnotation(policy, POLICY_FOR, REMEDY, (text) => {
    const names = text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    if (names.length > MOST_NADS) problem(`has more than ${MOST_NADS} entries`);
    return names.map((name) => nadKey(name, policy.metadata.namespace ?? 'default'));
  });
