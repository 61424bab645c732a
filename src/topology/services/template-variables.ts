/** What this chassis fills in for load balancers that are the same rows on every node (reference/topology.md §5, §15.2). */

import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import { SETTINGS, type TableClaim } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { textOf } from '../rows/found.ts';
import { NORTHBOUND, Rows } from '../rows/unit-rows.ts';
import { serviceNode } from './service-node.ts';
import {
  addressVariables,
  backedPorts,
  hasPlainNodePorts,
  targetVariables,
} from './service-vips.ts';

const TEMPLATE_VARIABLES_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'Chassis_Template_Var',
  keyOf: (row) => textOf(row, 'chassis'),
};

export const templateVariables: Feature<ZoneFacts> = {
  name: 'services/template-variables',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    variables: {
      text: "The chassis knows its host's addresses, and the targets of node ports that are on the host itself.",
      source: 'reference/topology.md §15.2',
    },
  },
  claims: [TEMPLATE_VARIABLES_CLAIM],
  build(facts, _args, out) {
    const node = serviceNode(facts);
    if (!node.hasNodePorts) return;
    const chassis = facts.own('chassisId');
    // Only where an endpoint has the address of a host do targets differ by node.
    const targets = facts.backends.by('hosts', DEFAULT_NETWORK).map((backends) => {
      const service = facts.services.get(backends.service);
      return service === undefined || !hasPlainNodePorts(service)
        ? {}
        : targetVariables(service, backedPorts(service, backends), node);
    });
    Rows.northbound(out, SETTINGS)
      .by('variables')
      .keyed('Chassis_Template_Var', chassis, {
        chassis,
        variables: Object.assign(
          addressVariables(node.hostAddresses, clusterFamilies(facts.settings)),
          ...targets,
        ) as Record<string, string>,
      });
  },
};
