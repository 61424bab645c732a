/** The switch of a Layer2 network's pods, on whatever node they are (reference/topology.md §9.1, §10). */

import { RowReference } from '../../desired/rows.ts';
import { SWITCH_COPP } from '../database/protection.ts';
import type { NetworkPart } from './part.ts';
import { switchKey } from '../../model/rules/admission.ts';
import { sharedSwitchConfig, subnetConfig, SWITCH_CLAIM } from '../rows/switch-rows.ts';

export const layer2Switch: NetworkPart = {
  rules: {
    'layer2-switch': {
      text: 'All pods of a Layer2 network are on one switch, which has the same tunnel key in every zone.',
      source: 'reference/topology.md §9.1',
    },
  },
  claims: [SWITCH_CLAIM],
  build(rows, { names, network, networkRoleIds }) {
    rows.by('layer2-switch').named('Logical_Switch', names.nodeSwitch, {
      copp: new RowReference('Copp', SWITCH_COPP),
      other_config: {
        ...sharedSwitchConfig(names.nodeSwitch, switchKey(network)),
        ...subnetConfig(network.subnets.map(({ cidr }) => cidr)),
      },
      external_ids: networkRoleIds,
    });
  },
};
