/** What a proof says of ways out of secondary networks. */
import { expect, test } from 'vitest';
import type { NetworkAttachmentDefinition } from '../../../src/api/types.ts';
import type { Row } from '../../../src/verify/rows.ts';
import { prove } from '../../../src/verify/verify.ts';
import { nad, NORTHBOUND, OBJECTS, snapshot } from '../../support/verify/small-zone.ts';

/** Network blue as a secondary one; `gateway`: its annotation. */
function secondary(gateway?: string): NetworkAttachmentDefinition {
  const { metadata, spec, ...rest } = nad('blue', 1);
  return {
    ...rest,
    metadata: {
      ...metadata,
      annotations: {
        ...metadata.annotations,
        ...(gateway === undefined ? {} : { 'k8s.ovn.org/secondary-gateway': gateway }),
      },
    },
    spec: { config: (spec?.config ?? '').replace('"primary"', '"secondary"') },
  };
}

/** An external switch of network blue, and the host's port on the switch of its pods. */
const LEAVES: Readonly<Record<string, readonly Row[]>> = {
  Logical_Switch: [
    {
      _uuid: ['uuid', 'external'],
      name: 'ext_blue_net_n1',
      ports: ['set', [['uuid', 'localnet']]],
      acls: ['set', []],
      other_config: ['map', []],
      external_ids: ['map', [['k8s.ovn.org/network', 'blue_net']]],
    },
  ],
  Logical_Switch_Port: [
    {
      _uuid: ['uuid', 'localnet'],
      name: 'br-ex_blue_net_n1',
      type: 'localnet',
      options: ['map', [['network_name', 'physnet']]],
    },
    { _uuid: ['uuid', 'host'], name: 'k8s-blue_net_n1', type: '', options: ['map', []] },
  ],
};

/** Of the rows of network blue its switch, with the port. */
const withHostPort = (row: Row): Row =>
  row['name'] === 'blue_net_n1'
    ? {
        ...row,
        ports: [
          'set',
          [
            ['uuid', 'blue_net stor'],
            ['uuid', 'blue_net pod'],
            ['uuid', 'host'],
          ],
        ],
      }
    : row;

function leaks(gateway: string | undefined): readonly string[] {
  const northbound = new Map(Object.entries(NORTHBOUND));
  for (const [table, rows] of Object.entries(LEAVES))
    northbound.set(table, [...(northbound.get(table) ?? []).map(withHostPort), ...rows]);
  const objects = { ...OBJECTS, attachmentDefinitions: [secondary(gateway), nad('green', 2)] };
  return prove({ ...snapshot({ objects }), northbound })
    .verdict.violations.filter(({ what }) => what.includes('no object wants that'))
    .map(({ where, what }) => `${where} ${what}`);
}

test('are leaks of one that is to have none', () => {
  expect(leaks(undefined).toSorted()).toEqual([
    expect.stringMatching(
      /br-ex_blue_net_n1.*leads from switch ext_blue_net_n1 to physical network physnet/,
    ),
    expect.stringMatching(/k8s-blue_net_n1.*which is to have no gateway.*to the host/),
  ]);
  expect(leaks('unreadable')).toHaveLength(2);
});

test('are its own where its annotation asks for a gateway', () => {
  expect(leaks('{}')).toEqual([]);
});
