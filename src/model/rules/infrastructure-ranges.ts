/** Ranges that the cluster has for itself. */
import type { ClusterSettings } from '../model.ts';

/** Of its pods, services, routers and masqueraded hosts, but for what single networks set; each as CIDR. */
export const infrastructureRanges = (settings: ClusterSettings): readonly string[] => [
  ...settings.clusterSubnets.map(({ cidr }) => cidr),
  ...settings.serviceSubnets,
  ...[
    settings.joinSubnets,
    settings.udnJoinSubnets,
    settings.transitSubnets,
    settings.masqueradeSubnets,
  ].flatMap(({ v4, v6 }) => [v4 ?? [], v6 ?? []].flat()),
];
