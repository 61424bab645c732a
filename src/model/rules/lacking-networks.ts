/** Networks of which a pod has no addresses yet. Who writes them differs by network, so that they come one after the other. Pure. */
import { networkSelections } from '../../api/annotations/network-selection.ts';
import { DEFAULT_NAD_KEY, nadOfKey } from '../../api/nad/nad-key.ts';
import type { Pod } from '../../api/types.ts';
import { annotatedNetworks } from './pod-plan.ts';

/**
 * What a pod lacks, for its user: `any network`, `a primary network`, or keys of NADs that it names. NADs other than `ours` are the business of other
 * plugins.
 */
export function lackingNetworks(pod: Pod, ours: ReadonlySet<string>): readonly string[] {
  const carried = annotatedNetworks(pod);
  const standard = carried.get(DEFAULT_NAD_KEY);
  const roles = new Set([...carried.values()].map(({ role }) => role));
  const hasPrimary = standard?.role !== 'infrastructure-locked' || roles.has('primary');
  const named = (networkSelections(pod).value ?? []).map(({ nadKey }) => nadKey);
  return [
    ...(standard === undefined ? ['any network'] : hasPrimary ? [] : ['a primary network']),
    ...named.filter((key) => ours.has(nadOfKey(key)) && !carried.has(key)),
  ];
}
