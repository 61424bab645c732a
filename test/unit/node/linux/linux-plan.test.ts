import { unknownOf } from '../../../../src/model/zone/unknown.ts';
import { withoutHeld, type MayBeWanted } from '../../../../src/node/reconcile/host-plan.ts';
import { hostOfUnknown } from '../../../../src/node/unknown-host.ts';
import { array, assert, boolean, constantFrom, nat, option, property, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aliasOf } from '../../../../src/node/linux/linux-plan-links.ts';
import type { Found } from '../../../../src/node/linux/linux-found.ts';
import { linuxClaims, LinuxPlanner } from '../../../../src/node/linux/linux-plan.ts';
import type { LinuxChange } from '../../../../src/node/linux/linux-change.ts';
import type { LinuxRow } from '../../../../src/node/linux/linux-rows.ts';
import type { Difference } from '../../../../src/node/reconcile/host-plan.ts';
import type { Claims, Wanted } from '../../../../src/node/reconcile/claims.ts';
import type { RouteColumns, RuleColumns } from '../../../../src/node/linux/linux-rows.ts';
import type { RowOwner } from '../../../../src/desired/engine.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import { hostFeatures } from '../../../../src/node/features.ts';
import { HOST_SETTINGS, hostUnits } from '../../../support/host/host-units.ts';
import { MemoryKernel } from '../../../support/host/memory-kernel.ts';
import { engineOver } from '../../../support/zone/zone-engine.ts';
import {
  blue,
  dualZone,
  exampleZone,
  factsOf,
  yellow,
  type Zone,
} from '../../../support/zone/zones.ts';

const BLUE = aliasOf('UserDefinedNetwork blue/blue');

test('an alias is one that ip takes and the kernel keeps, whatever the object is called', () => {
  expect(aliasOf('UserDefinedNetwork blue/net')).toBe('heddle UserDefinedNetwork blue/net');
  expect(aliasOf('a"b\nc#$')).toBe('heddle a_b_c__');
  expect(aliasOf('x'.repeat(400))).toHaveLength(255);
});

const wantedBy = (zone: Zone): Wanted[] =>
  hostUnits(zone).flatMap(({ unit, rows }) =>
    rows
      .filter(({ database }) => database === 'Linux')
      .map((row) => ({ row, owner: { id: unit, order: 0 } })),
  );

/** A host on which Open vSwitch has made the ports. */
function host(): MemoryKernel {
  const kernel = new MemoryKernel();
  kernel.addDevice('breth0', '0a:58:ac:12:00:03', { isUp: true });
  kernel.addDevice('ovn-k8s-mp0', '0a:58:0a:f4:00:02');
  kernel.addDevice('ovn-k8s-mp1', '0a:58:67:67:00:02');
  return kernel;
}

const wanted = wantedBy(dualZone);

const claimsOf = (what: readonly Wanted[]): Claims<LinuxRow> => {
  const claims = linuxClaims();
  for (const [unit, all] of Map.groupBy(what, ({ owner }) => owner.id))
    claims.set(
      { id: unit, rank: 0, order: 0, rowsIn: () => [] },
      all.map(({ row }) => row),
    );
  return claims;
};

const plan = (kernel: MemoryKernel, what: readonly Wanted[] = wanted): Difference<LinuxChange> =>
  new LinuxPlanner().plan(kernel, claimsOf(what));

/** Everything in a canonical order, for comparing. */
const picture = ({
  links,
  routes,
  ruleList,
  neighbourList,
  values,
}: MemoryKernel): readonly (readonly unknown[])[] => [
  [...links.values()]
    .map((link) => ({ ...link, index: 0 }))
    .sort((a, b) => (a.name < b.name ? -1 : 1)),
  ...[[...routes.values()].flat(), ruleList, neighbourList].map((all) =>
    all.map((one) => JSON.stringify(one)).sort(),
  ),
  [...values].map(([path, value]) => `${path} ${value}`).sort(),
];

describe('a masquerade subnet that has no room for one of the networks any more', () => {
  const both: Zone = {
    ...exampleZone,
    namespaces: [...exampleZone.namespaces, 'yellow'],
    networks: [...exampleZone.networks, yellow],
  };
  const settings = { ...both.settings, masqueradeSubnets: { v4: '169.254.0.0/28' } };
  /** What a daemon that begins with these settings wants of the host, and what else it may want. */
  const begun = (
    zone: Zone,
  ): { readonly what: readonly Wanted[]; readonly mayBeWanted: MayBeWanted | undefined } => {
    const rows = new Map<RowOwner, readonly DesiredRow[]>();
    const facts = factsOf(zone);
    const features = hostFeatures(HOST_SETTINGS);
    const engine = engineOver(facts, () => 0, features);
    engine.connect([
      { database: 'Linux', has: () => false, set: (owner, wanted) => rows.set(owner, wanted) },
    ]);
    engine.build();
    const what = [...rows].flatMap(([owner, wanted]) => wanted.map((row) => ({ row, owner })));
    const mayBeWanted = hostOfUnknown(facts, unknownOf(facts, []), engine.unbuiltOf(features));
    return { what, mayBeWanted };
  };

  test('leaves its VRF, addresses, routes, rules and neighbours as they are', () => {
    const kernel = host();
    kernel.addDevice('ovn-k8s-mp3', '0a:58:69:69:00:02');
    const whole = begun(both);
    expect(whole.mayBeWanted).toBeUndefined();
    kernel.apply(plan(kernel, whole.what).changes);
    expect(kernel.links.get('yellow-net')).toMatchObject({ table: 10_003 });
    const ofYellow = (): readonly string[] =>
      picture(kernel)
        .flat()
        .map((one) => JSON.stringify(one))
        .filter((text) => /mp3|yellow|10003|169\.254\.0\.1[56]/.test(text));
    const before = ofYellow();
    expect(before.length).toBeGreaterThan(10);

    const small = begun({ ...both, settings });
    const { changes } = plan(kernel, small.what);
    kernel.apply(withoutHeld(changes, small.mayBeWanted ?? (() => false)));
    expect(ofYellow()).toEqual(before);
    // That of the network that has room goes on, too.
    expect(kernel.links.get('mp1-udn-vrf')).toMatchObject({ table: 10_001, isUp: true });
  });
});

describe('a plan', () => {
  test('makes what is missing, and nothing once it is made', () => {
    const kernel = host();
    kernel.apply(plan(kernel).changes);
    expect(plan(kernel)).toMatchObject({ changes: [], problems: [] });
    expect(kernel.links.get('ovn-k8s-mp1')).toMatchObject({ master: 'mp1-udn-vrf', isUp: true });
    expect(kernel.links.get('mp1-udn-vrf')).toMatchObject({
      table: 10_001,
      alias: BLUE,
      isUp: true,
    });
  });

  test('gives a device its VRF before addresses, ends a table before it has routes, and leads into it last', () => {
    const ofBlue = plan(host()).changes.filter(({ unit }) => unit === 'host/network blue_blue');
    const place = (table: string, text: string): number =>
      ofBlue.findIndex((change) => change.table === table && change.after?.includes(text) === true);
    const order = [
      place('link', 'type vrf'),
      place('link', 'master'),
      place('address', '103.103.0.2/24'),
      place('route', 'unreachable'),
      place('route', 'default via'),
      place('rule', 'fwmark'),
    ];
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('takes away in the opposite order, and leaves nothing of its own', () => {
    const before = picture(host());
    const kernel = host();
    kernel.apply(plan(kernel).changes);
    const { changes } = plan(kernel, []);
    expect([...new Set(changes.map(({ table }) => table))]).toEqual([
      'rule',
      'neighbour',
      'route',
      'address',
      'link',
    ]);
    kernel.apply(changes);
    // Settings go with their devices; devices of others stay up, and the kernel's own rules are not ours to remove.
    kernel.values.clear();
    kernel.ruleList = [];
    for (const name of ['ovn-k8s-mp0', 'ovn-k8s-mp1'])
      kernel.links.set(name, {
        ...(kernel.links.get(name) as NonNullable<ReturnType<typeof kernel.links.get>>),
        isUp: false,
      });
    expect(picture(kernel)).toEqual(before);
  });

  test('says of what goes for which network it was there, as far as the kernel tells', () => {
    const kernel = host();
    kernel.apply(plan(kernel).changes);
    const marks = Map.groupBy(plan(kernel, []).changes, (change) => change.marks?.[0]);
    const tables = (mark?: string): readonly string[] => [
      ...new Set(marks.get(mark)?.map(({ table }) => table)),
    ];
    expect(new Set(marks.keys())).toEqual(
      new Set(['UserDefinedNetwork blue/blue', 'cluster', undefined]),
    );
    expect(tables('UserDefinedNetwork blue/blue').toSorted()).toEqual([
      'address',
      'link',
      'route',
      'rule',
    ]);
    expect(tables().toSorted()).toEqual(['address', 'neighbour']);
  });

  test('waits for a device that is not there, or is another one', () => {
    const kernel = host();
    kernel.links.delete('ovn-k8s-mp0');
    kernel.addDevice('ovn-k8s-mp1', '02:00:00:00:00:99');
    const found = plan(kernel);
    expect(found.problems.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
      "awaited: device ovn-k8s-mp0 is not there yet: Open vSwitch makes it; where somebody deleted it (ovs-vsctl list Interface ovn-k8s-mp0 has it, and ip link not) 'ovs-vsctl del-port ovn-k8s-mp0' has it made anew",
      'awaited: device ovn-k8s-mp1 has the MAC address 02:00:00:00:00:99, not 0a:58:67:67:00:02',
    ]);
    expect(found.changes.filter(({ key }) => key.includes('ovn-k8s-mp'))).toEqual([]);
    kernel.apply(found.changes);
  });

  test('touches no device of somebody else, and nothing of a network whose VRF has its name', () => {
    const kernel = host();
    kernel.addDevice('mp1-udn-vrf', '02:00:00:00:00:98', {
      kind: 'vrf',
      table: 77,
      alias: 'of somebody',
    });
    const found = plan(kernel);
    expect(found.problems.map(({ message }) => message)).toEqual([
      'VRF mp1-udn-vrf: a device of this name is there that is not ours (a VRF with table 77); rename or remove it',
    ]);
    expect(found.changes.filter(({ unit }) => unit.includes('blue'))).toEqual([]);
  });

  test('does not share the routing table of a VRF of somebody else', () => {
    const kernel = host();
    kernel.addDevice('other', '02:00:00:00:00:98', { kind: 'vrf', table: 10_001, alias: '' });
    expect(plan(kernel).problems.map(({ kind }) => kind)).toEqual(['held-by-other']);
  });

  test('adopts a VRF that has its name and table and says nothing, as one that was made and not marked yet', () => {
    const kernel = host();
    kernel.addDevice('mp1-udn-vrf', '02:00:00:00:00:98', { kind: 'vrf', table: 10_001 });
    kernel.apply(plan(kernel).changes);
    expect(kernel.links.get('mp1-udn-vrf')?.alias).toBe(BLUE);
  });

  test('moves a VRF to another table with its devices down meanwhile', () => {
    const kernel = host();
    kernel.apply(plan(kernel).changes);
    kernel.links.set('mp1-udn-vrf', {
      ...(kernel.links.get('mp1-udn-vrf') as NonNullable<ReturnType<typeof kernel.links.get>>),
      table: 4000,
    });
    const [change] = plan(kernel).changes;
    expect(change?.commands.slice(0, 2)).toEqual([
      { kind: 'set-link', name: 'ovn-k8s-mp1', isUp: false },
      { kind: 'delete-link', name: 'mp1-udn-vrf' },
    ]);
    for (let round = 0; round < 2; round += 1) kernel.apply(plan(kernel).changes);
    expect(plan(kernel).changes).toEqual([]);
  });

  test('is content with equal objects of somebody else, and does not remove them', () => {
    const kernel = host();
    kernel.apply(plan(kernel).changes);
    kernel.ruleList = kernel.ruleList.map((rule) => ({ ...rule, protocol: 3 }));
    kernel.neighbourList = kernel.neighbourList.map((one) => ({ ...one, protocol: 0 }));
    expect(plan(kernel).changes).toEqual([]);
    expect(
      plan(kernel, []).changes.filter(({ table }) => table === 'rule' || table === 'neighbour'),
    ).toEqual([]);
  });

  test('makes an address anew when the route that the kernel made for it is gone', () => {
    const kernel = host();
    kernel.apply(plan(kernel).changes);
    kernel.disconnected.add('103.103.0.0/24 ovn-k8s-mp1');
    const { changes } = plan(kernel);
    expect(changes).toMatchObject([{ key: 'ovn-k8s-mp1 103.103.0.2/24', isRenewal: true }]);
    kernel.apply(changes);
    expect(plan(kernel).changes).toEqual([]);
    // Without anything behind the device there is no such route.
    kernel.disconnected.add('103.103.0.0/24 ovn-k8s-mp1');
    const device = kernel.links.get('ovn-k8s-mp1') as NonNullable<
      ReturnType<typeof kernel.links.get>
    >;
    kernel.links.set(device.name, { ...device, hasCarrier: false });
    expect(plan(kernel).changes).toEqual([]);
  });

  test('tells people what it is about', () => {
    const change = plan(host()).changes.find(({ table }) => table === 'rule');
    expect(change).toMatchObject({ action: 'add', rule: 'kernel-rules', object: 'cluster' });
    const ofBlue = plan(host()).changes.find(({ rule }) => rule === 'by-mark');
    expect(ofBlue).toMatchObject({
      object: blue.object,
      before: undefined,
      after: 'priority 2000 fwmark 0x1001 lookup 10001',
    });
  });
});

test('whatever somebody does, one plan repairs it and changes nothing else', () => {
  const right = host();
  right.apply(plan(right).changes);
  const lost = record({
    rules: array(nat(30)),
    routes: array(nat(30)),
    neighbours: array(nat(15)),
    addresses: boolean(),
    isDown: boolean(),
    isOutside: boolean(),
    hasVrf: boolean(),
    mtu: option(constantFrom(1200, 9000)),
  });
  assert(
    property(lost, (what) => {
      const kernel = host();
      kernel.apply(plan(kernel).changes);
      const own = { columns: { family: 'v4', priority: 5, table: 9 }, protocol: 3 } as const;
      kernel.ruleList = [own, ...kernel.ruleList.filter((_, index) => !what.rules.includes(index))];
      kernel.neighbourList = kernel.neighbourList.filter(
        (_, index) => !what.neighbours.includes(index),
      );
      for (const [table, routes] of kernel.routes)
        kernel.routes.set(
          table,
          routes
            .filter((_, index) => !what.routes.includes(index))
            .map((route) =>
              what.mtu === null
                ? route
                : { ...route, columns: { ...route.columns, mtu: what.mtu } },
            ),
        );
      const device = kernel.links.get('ovn-k8s-mp1');
      if (device === undefined) throw new Error('no device');
      kernel.links.set(device.name, {
        ...device,
        ...(what.addresses ? { addresses: [] } : {}),
        isUp: !what.isDown,
        master: what.isOutside || !what.hasVrf ? undefined : device.master,
      });
      if (!what.hasVrf) kernel.links.delete('mp1-udn-vrf');
      kernel.apply(plan(kernel).changes);
      expect(plan(kernel).changes).toEqual([]);
      expect(kernel.ruleList).toContain(own);
      kernel.ruleList = kernel.ruleList.filter((rule) => rule !== own);
      // A VRF that was made anew has another MAC address.
      const vrf = kernel.links.get('mp1-udn-vrf');
      if (vrf !== undefined)
        kernel.links.set(vrf.name, { ...vrf, mac: right.links.get(vrf.name)?.mac });
      expect(picture(kernel)).toEqual(picture(right));
    }),
    { numRuns: 200 },
  );
});

/** Lists that are equal are the same, as what was read of a kernel. */
function stable<V>(known: Map<number, V>, now: ReadonlyMap<number, V>): ReadonlyMap<number, V> {
  for (const [table, value] of now)
    if (JSON.stringify(known.get(table)) !== JSON.stringify(value)) known.set(table, value);
  for (const table of known.keys()) if (!now.has(table)) known.delete(table);
  return known;
}

test('a planner that knows earlier plans makes the one that a new planner makes', () => {
  const step = record({
    routes: array(nat(30), { maxLength: 4 }),
    rules: array(nat(30), { maxLength: 4 }),
    rows: array(nat(60), { maxLength: 6 }),
    hasDevice: boolean(),
    isRepaired: boolean(),
  });
  const named = ({ changes, ...rest }: Difference<LinuxChange>): unknown => ({
    ...rest,
    problems: rest.problems.map(({ message }) => message).toSorted(),
    changes: changes.map(({ action, key }) => `${action} ${key}`).toSorted(),
  });
  const byUnit = Map.groupBy(wanted, ({ owner }) => owner.id);
  assert(
    property(array(step, { minLength: 2, maxLength: 6 }), (steps) => {
      const kernel = host();
      const planner = new LinuxPlanner();
      const claims = linuxClaims();
      const owners = new Map(
        [...byUnit.keys()].map((id) => [id, { id, rank: 0, order: 0, rowsIn: () => [] }]),
      );
      const routes = new Map<number, readonly Found<RouteColumns>[]>();
      const rules = new Map<number, readonly Found<RuleColumns>[]>();
      for (const what of steps) {
        // Devices and VRFs stay: what needs them would be refused.
        const ways = wanted.filter(({ row }) => row.table === 'route' || row.table === 'rule');
        const gone = new Set(what.rows.map((index) => ways[index]));
        const kept = wanted.filter((one) => !gone.has(one));
        for (const [id, owner] of owners)
          claims.set(
            owner,
            kept.filter((one) => one.owner.id === id).map(({ row }) => row),
          );
        const device = kernel.links.get('ovn-k8s-mp1');
        if (!what.hasDevice) {
          kernel.links.delete('ovn-k8s-mp1');
          for (const [table, all] of kernel.routes)
            kernel.routes.set(
              table,
              all.filter(({ columns }) => columns.dev !== 'ovn-k8s-mp1'),
            );
        } else if (device === undefined) kernel.addDevice('ovn-k8s-mp1', '0a:58:67:67:00:02');
        for (const [table, all] of kernel.routes)
          kernel.routes.set(
            table,
            all.filter((_, index) => !what.routes.includes(index)),
          );
        kernel.ruleList = kernel.ruleList.filter((_, index) => !what.rules.includes(index));
        const { links, neighbours, connected, sysctl } = kernel;
        const found = {
          links,
          neighbours,
          connected,
          sysctl,
          routes: stable(routes, kernel.routes),
          rules: stable(rules, kernel.rules),
        };
        const next = planner.plan(found, claims);
        expect(named(next)).toEqual(named(plan(kernel, kept)));
        if (what.isRepaired) kernel.apply(next.changes);
      }
    }),
    { numRuns: 100 },
  );
});
