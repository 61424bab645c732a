/** What does not fit into tunnels is told of the node, or of the network whose owner chose it. */
import { expect, test } from 'vitest';
import { TunnelMtuWatch } from '../../../../src/node/chassis/tunnel-mtu.ts';
import { exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

const OWN = exampleZone.node.encapIps[0] ?? '';
const device = { name: 'br-ex', mtu: 1500, vlan: undefined, addresses: [OWN] };

function watched(zone: Zone = exampleZone) {
  const state = { mtu: 1500, looks: 0, now: 0, isBroken: false };
  const watch = new TunnelMtuWatch({
    facts: factsOf(zone),
    devices: () => {
      state.looks += 1;
      if (state.isBroken) throw new Error('netlink');
      return [{ ...device, mtu: state.mtu }];
    },
    now: () => state.now,
  });
  return { state, watch };
}

test('a device with too small an MTU is a problem of the node until it is raised, and is not read each time', () => {
  const { state, watch } = watched();
  for (let asked = 0; asked < 10; asked += 1) expect(watch.problems()).toEqual([]);
  expect(state.looks).toBe(1);
  state.mtu = 1450;
  state.now += 60_000;
  const small = [
    {
      object: `Node ${exampleZone.node.name}`,
      message: `br-ex, where tunnels to ${OWN} end, has an MTU of 1450; packets of pods need 1458 there: raise it, or set --mtu and the networks' mtu to at most 1392`,
    },
  ];
  expect(watch.problems()).toEqual(small);
  state.isBroken = true;
  state.now += 60_000;
  expect(watch.problems()).toEqual([
    ...small,
    {
      object: `Node ${exampleZone.node.name}`,
      message: "the MTU of devices where tunnels end can't be read: netlink",
    },
  ]);
  state.isBroken = false;
  state.mtu = 1458;
  state.now += 60_000;
  expect(watch.problems()).toEqual([]);
});

test('a network with too large an mtu of its own makes no node unready: it is a note of that network', () => {
  const [pods, first, ...others] = exampleZone.networks;
  if (pods === undefined || first === undefined) throw new Error('the zone has no network');
  const { watch } = watched({
    ...exampleZone,
    networks: [pods, { ...first, mtu: 9000 }, ...others],
  });
  expect(watch.problems()).toEqual([]);
  expect(watch.notes()).toEqual([
    {
      object: first.object,
      message: expect.stringMatching(
        /^mtu 9000: its largest packets need 9058 at br-ex of node .*, which has an MTU of 1500, .* at most 1442$/,
      ) as string,
    },
  ]);
});

test('a node that is alone has no tunnels', () => {
  const { state, watch } = watched({ ...exampleZone, remoteNodes: [] });
  state.mtu = 1000;
  expect([...watch.problems(), ...watch.notes()]).toEqual([]);
});
