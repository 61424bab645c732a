import { describe, expect, test } from 'vitest';
import { remoteChassis, ownChassis } from '../../../../src/topology/interconnect/chassis.ts';
import { exampleZone, worker2 } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('chassis (reference/topology.md §13.2)', () => {
  test('the own one is told apart, no more; another node is a remote one with its tunnel endpoints', () => {
    expect(featureTexts([remoteChassis, ownChassis], exampleZone)).toEqual([
      'Chassis C1 other_config={is-remote=false} (partial)',
      'Chassis C2 hostname=ovn-worker2 other_config={is-remote=true}',
      'Encap geneve 172.18.0.4 chassis_name=C2 ip=172.18.0.4 options={csum=true} type=geneve < Chassis/C2.encaps',
    ]);
  });
  test('a node without a tunnel address has none yet', () => {
    expect(
      featureTexts([remoteChassis, ownChassis], {
        ...exampleZone,
        remoteNodes: [{ ...worker2, encapIps: [] }],
      }),
    ).toEqual(['Chassis C1 other_config={is-remote=false} (partial)']);
  });
});
