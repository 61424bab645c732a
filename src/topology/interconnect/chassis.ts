/** Southbound: the chassis of other nodes, which no ovn-controller of this zone writes (reference/topology.md §13.2). */

import { ONE } from '../../facts/keys.ts';
import { feature, type Feature } from '../../desired/features.ts';
import { SETTINGS, type TableClaim } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { claimByName, textOf } from '../rows/found.ts';
import { encapKey } from '../rows/row-keys.ts';
import { holds, Rows, SOUTHBOUND } from '../rows/unit-rows.ts';

const CHASSIS_CLAIM = claimByName(SOUTHBOUND, 'Chassis', {
  foreignColumns: ['nb_cfg', 'transport_zones', 'vtep_logical_switches'],
  sharedColumns: ['other_config', 'external_ids'],
});

/** The table has no `external_ids`: a tunnel endpoint belongs to its chassis. */
const ENCAP_CLAIM: TableClaim = {
  database: SOUTHBOUND,
  table: 'Encap',
  container: { table: 'Chassis', column: 'encaps' },
  keyOf: (row) => encapKey(textOf(row, 'type') ?? '', textOf(row, 'ip') ?? ''),
  markedBy: (_row, chassis) => (chassis === undefined ? [] : [chassis]),
};

export const remoteChassis = feature({
  name: 'interconnect/chassis',
  over: (facts: ZoneFacts) => facts.remoteNodes,
  objects: (_facts, [name]) => [`Node ${name}`],
  rules: {
    chassis: {
      text: 'Every other node is a remote chassis with its tunnel endpoints, so that ports of the transit switches can be bound to it.',
      source: 'reference/topology.md §13.2',
    },
  },
  claims: [CHASSIS_CLAIM, ENCAP_CLAIM],
  build({ remoteNodes }, [name], out) {
    const chassis = remoteNodes.part(name, 'chassisId');
    const ips = remoteNodes.part(name, 'encapIps') ?? [];
    if (chassis === undefined) return;
    // A chassis needs at least one.
    if (ips.length === 0) return out.waitFor(`a tunnel address of node ${name}`);
    const rows = Rows.southbound(out, `Node ${name}`).by('chassis');
    rows.named('Chassis', chassis, { hostname: name, other_config: { 'is-remote': 'true' } });
    for (const ip of ips) {
      rows.keyed(
        'Encap',
        encapKey('geneve', ip),
        { type: 'geneve', ip, chassis_name: chassis, options: { csum: 'true' } },
        holds('Chassis', chassis, 'encaps'),
      );
    }
  },
});

export const ownChassis: Feature<ZoneFacts> = {
  name: 'interconnect/own-chassis',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'own-chassis': {
      text: "This node's chassis belongs to ovn-controller; it is only told apart from remote ones.",
      source: 'reference/topology.md §13.2',
    },
  },
  claims: [CHASSIS_CLAIM],
  build(facts, _args, out) {
    Rows.southbound(out, SETTINGS)
      .by('own-chassis')
      .partial('Chassis', facts.own('chassisId'), { other_config: { 'is-remote': 'false' } });
  },
};
