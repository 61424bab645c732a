/** Pods that some policy of their namespace selects get and send nothing but what policies let through (reference/topology.md §16.1). */

import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl, DIRECTIONS, ofGroup } from '../rows/acls.ts';
import { networkOf, networkRank } from '../networks/network-feature.ts';
import { ACL_DEFAULT_ALLOW, ACL_DEFAULT_DENY, TIER_POLICY } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { addPortGroup, closedPortGroup, PORT_GROUP_CLAIM } from '../rows/port-groups.ts';
import { addTierPasses } from '../rows/tier-passes.ts';
import { holds, Rows } from '../rows/unit-rows.ts';

/** One unit per namespace and network: a port that joins a group finds it closed. */
export const defaultDeny = feature({
  name: 'policy/default-deny',
  over: (facts: ZoneFacts) => facts.placements.distinct('namespace'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, namespace]) => [`Namespace ${namespace}`],
  rules: {
    group: {
      text: 'A namespace with policies has a group per direction of the pods that these close.',
      source: 'reference/topology.md §16.1',
    },
    deny: {
      text: 'Nothing gets to pods that policies close, or from them, but what policies let through.',
      source: 'reference/topology.md §16.1',
    },
    icmp: {
      text: 'ICMP gets through all the same, where the cluster is set so.',
      source: 'reference/topology.md §16.1',
    },
    passes: {
      text: 'Policies end connections of closed pods that were there before them, whatever earlier tiers have no row for.',
      source: 'reference/topology.md §16.1',
    },
    neighbours: {
      text: 'Closed pods find their neighbours all the same.',
      source: 'reference/topology.md §16.1',
    },
  },
  claims: [PORT_GROUP_CLAIM, ACL_CLAIM],
  build(facts, [network, namespace], out) {
    const object = facts.rendered.part(network, 'object');
    if (object === undefined) return;
    const rows = Rows.northbound(out, `Namespace ${namespace}`);
    const controller = controllerOf(network);
    const severity = facts.namespaces.part(namespace, 'logging')?.deny;
    for (const direction of DIRECTIONS) {
      const group = closedPortGroup(controller, namespace, direction);
      addPortGroup(rows.by('group'), group);
      const acl = (type: string) => ({
        ids: objectIds(controller, 'NetpolNamespace', { name: namespace, direction, type }),
        name: `NP:${namespace}:${direction}`,
        direction,
        tier: TIER_POLICY,
        afterLoadBalancing: true,
      });
      const container = holds('Port_Group', group.name, 'acls');
      const port = ofGroup(direction, group.name);
      addAcl(
        rows.by('deny'),
        {
          ...acl('defaultDeny'),
          priority: ACL_DEFAULT_DENY,
          action: 'drop',
          match: port,
          severity,
        },
        container,
      );
      addAcl(
        rows.by('neighbours'),
        {
          ...acl('arpAllow'),
          priority: ACL_DEFAULT_ALLOW,
          action: 'allow',
          match: `${port} && (arp || nd)`,
        },
        container,
      );
      if (direction === 'Ingress')
        addTierPasses(rows.by('passes'), TIER_POLICY, port, (type) => acl(type).ids, container);
      if (facts.settings.policies.passesIcmp)
        addAcl(
          rows.by('icmp'),
          {
            ...acl('icmpAllow'),
            priority: ACL_DEFAULT_ALLOW,
            action: 'allow',
            match: `${port} && (icmp || icmp6)`,
          },
          container,
        );
    }
  },
});
