import { describe, expect, test } from 'vitest';
import {
  addRouterPeer,
  sharedSwitchConfig,
  subnetConfig,
} from '../../../../src/topology/rows/switch-rows.ts';
import { builtTexts } from '../part-texts.ts';

describe('a switch says', () => {
  test('where all zones have a copy of it: its name between them, its tunnel key, and that multicast floods', () => {
    expect(sharedSwitchConfig('s', 16711684)).toEqual({
      'interconn-ts': 's',
      'requested-tnl-key': '16711684',
      mcast_snoop: 'true',
      mcast_querier: 'false',
      mcast_flood_unregistered: 'true',
    });
  });

  test('of the subnets of its pods: IPv4 with, IPv6 without length', () => {
    expect(subnetConfig(['10.0.0.0/24', 'fd00::/64'])).toEqual({
      subnet: '10.0.0.0/24',
      ipv6_prefix: 'fd00::',
    });
    expect(subnetConfig([])).toEqual({});
  });
});

describe('a port that leads to a router', () => {
  test('has the addresses of the router’s port, unless it is to have others', () => {
    expect(
      builtTexts((rows) => {
        addRouterPeer(rows, 'p', 'rp', 's', {});
        addRouterPeer(rows, 'q', 'rq', 's', {
          addresses: '0a:58:00:00:00:01',
          options: { more: 'x' },
          groups: ['g'],
        });
      }),
    ).toEqual([
      'Logical_Switch_Port p addresses=[router] options={router-port=rp} type=router up=true < Logical_Switch/s.ports',
      'Logical_Switch_Port q addresses=[0a:58:00:00:00:01] options={more=x router-port=rq} type=router up=true < Logical_Switch/s.ports < Port_Group/g.ports',
    ]);
  });
});
