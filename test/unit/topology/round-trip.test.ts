import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Plan } from '../../../src/desired/ovsdb/changes.ts';
import { MARK } from '../../../src/desired/rows.ts';
import { commitPlan } from '../../../src/desired/ovsdb/commit.ts';
import { parseSchema, type JsonValue } from 'ovsdb-client-ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import {
  bluePod,
  colored,
  connectedZone,
  bluePodDefault,
  CHASSIS_1,
  CHASSIS_2,
  defaultNetwork,
  dualZone,
  exampleZone,
  farYellowPod,
  inLocalMode,
  layer2Secondary,
  localnet,
  worker,
  yellow,
  yellowPod,
  type Zone,
} from '../../support/zone/zones.ts';
import { servicesOfAllKinds, service, slice, withServices } from '../../support/zone/services.ts';
import { overlappingZone } from '../../support/zone/overlapping.ts';
import { ZoneEngine } from '../../support/zone/zone-engine.ts';

const schemaOf = (name: string) =>
  parseSchema(JSON.parse(readFileSync(`schemas/ovn-${name}.ovsschema`, 'utf8')) as JsonValue);

const busyZone: Zone = {
  ...withServices(exampleZone, ...servicesOfAllKinds),
  attachments: [bluePod, { ...bluePodDefault, openDefaultPorts: [{ protocol: 'tcp', port: 80 }] }],
};

/** Networks of all topologies beside the example's. */
const mixedZone: Zone = {
  ...busyZone,
  networks: [...busyZone.networks, yellow, layer2Secondary, localnet],
  attachments: [...busyZone.attachments, yellowPod],
  namespaces: [...busyZone.namespaces, 'yellow'],
  remoteAttachments: [farYellowPod],
};

/** Everything that a database holds, as text. */
const contents = (database: MemoryDatabase): string =>
  [...database.schema.tables.values()]
    .flatMap(({ name, columns }) =>
      database
        .rows(name)
        .map((row) => [...columns.keys()].map((column) => show(row.column(column))).join(' ')),
    )
    .join('\n');

const show = (value: unknown): string =>
  JSON.stringify(value instanceof Map ? [...value] : (value ?? null));

let northbound: MemoryDatabase;
let southbound: MemoryDatabase;
let daemon: ZoneEngine | undefined;

beforeEach(() => {
  northbound = new MemoryDatabase(schemaOf('nb'));
  southbound = new MemoryDatabase(schemaOf('sb'));
  // The row that ovn-nbctl or ovn-northd makes.
  northbound.write({ op: 'insert', table: 'NB_Global', row: {} });
  daemon = undefined;
});

/** What the daemon would change; it is started with the first zone. */
function planOf(zone: Zone, database: MemoryDatabase = northbound): Plan {
  daemon ??= new ZoneEngine(zone, [northbound, southbound]);
  return daemon.plan(zone, database);
}

/** The daemon ends; the next one knows nothing but what the databases hold. */
const restart = (): void => {
  daemon = undefined;
};

/** Commits what a zone wants and returns what was done, as `insert Table key`. */
async function apply(zone: Zone): Promise<string[]> {
  const changes = planOf(zone);
  expect(changes.problems).toEqual([]);
  const { refused, kind } = await commitPlan(northbound, changes);
  expect([kind, refused]).toEqual([changes.isEmpty ? 'unchanged' : 'success', []]);
  return changes.changes.map(({ action, table, key }) => `${action} ${table} ${key}`).sort();
}

describe('what the zone wants, in a Northbound database', () => {
  test.each([
    ['IPv4', busyZone],
    ['both families', dualZone],
    ['networks of all topologies', mixedZone],
    ['connected networks', connectedZone],
    [
      'networks whose services alone are connected',
      { ...connectedZone, connects: [{ ...colored, hasPods: false, hasServices: true }] },
    ],
  ])('%s: fits the schema, and a second look finds nothing to do', async (_name, zone) => {
    expect((await apply(zone)).length).toBeGreaterThan(120);
    expect(await apply(zone)).toEqual([]);
  });

  test('nothing of a network remains when it is gone, and nothing else is touched', async () => {
    await apply({ ...busyZone, networks: [defaultNetwork] });
    const before = northbound.rows('Logical_Switch').length;
    const made = await apply(busyZone);
    expect(made.length).toBeGreaterThan(50);
    const removed = await apply({ ...busyZone, networks: [defaultNetwork] });
    // Services of a namespace without primary network are on the default one.
    const opposite = (text: string): string =>
      text.startsWith('insert')
        ? text.replace('insert', 'delete')
        : text.replace('delete', 'insert');
    expect(removed).toEqual(made.map(opposite).sort());
    expect(northbound.rows('Logical_Switch').length).toBe(before);
    expect(contents(northbound)).not.toContain('blue_blue');
  });

  test('rows of answers to egress follow a connection by the external bridge', async () => {
    const ofAnswers = (done: readonly string[]): readonly string[] =>
      done
        .filter((text) => /Mark-Reply-Traffic|Own-Join/.test(text))
        .map((text) => text.split(' ').slice(0, 3).join(' '));
    const apart = { ...overlappingZone, connects: [] };
    await apply(apart);
    const before = contents(northbound);
    const changed = ['blue_blue', 'cluster_udn_yellow-net', 'twin_net'];
    const rows = (action: string): readonly string[] =>
      [
        ...changed.map(
          (name) =>
            `${action} Logical_Router_Policy default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Own-Join:ip4:${name}`,
        ),
        ...changed.map(
          (name) =>
            `update QoS default-network-controller:EgressIP:103:EgressIP-Mark-Reply-Traffic:ip4:${name}`,
        ),
      ].sort();
    expect(ofAnswers(await apply(overlappingZone))).toEqual(rows('insert'));
    expect(ofAnswers(await apply(apart))).toEqual(rows('delete'));
    expect(contents(northbound)).toBe(before);
  });

  test('nothing of a Layer2 or localnet network remains when it is gone', async () => {
    const without = { ...mixedZone, networks: busyZone.networks };
    await apply(without);
    const before = contents(northbound);
    const made = await apply(mixedZone);
    expect(made.length).toBeGreaterThan(50);
    const removed = await apply(without);
    const opposite = (text: string): string => text.replace('insert', 'delete');
    expect(removed).toEqual(made.map(opposite).sort());
    expect(contents(northbound)).toBe(before);
  });

  test('a former life left Layer2 networks: all of their rows go, also those that carry no ids', async () => {
    await apply(mixedZone);
    restart();
    const removed = await apply(busyZone);
    expect(removed).toContain('delete Load_Balancer_Group blue_l2_clusterRouterLBGroup');
    expect(contents(northbound)).not.toMatch(/yellow|blue_l2|blue_ln/);
  });

  test('router ports that ovn-kubernetes or an earlier release bound to the chassis by rows of their own, are bound by the group of all; other such rows stay', async () => {
    await apply(mixedZone);
    restart();
    const chassis = 'c1111111-1111-4111-8111-111111111111';
    let bound = 0;
    const bind = (port: string, name: string, more: Readonly<Record<string, JsonValue>> = {}) => {
      const uuid = `00000000-0000-4000-8000-${String(bound++).padStart(12, '0')}`;
      const row = { name, chassis_name: chassis, priority: 1, ...more };
      northbound.write(
        { op: 'insert', table: 'Gateway_Chassis', row, uuid },
        {
          op: 'update',
          table: 'Logical_Router_Port',
          where: [['name', '==', port]],
          row: { gateway_chassis: ['uuid', uuid], ha_chassis_group: ['set', []] },
        },
      );
    };
    const [byOlder, byReference] = [
      'trtos-cluster_udn_yellow.net_ovn_layer2_switch',
      'rtos-blue_blue_ovn-worker',
    ];
    bind(byOlder, `${byOlder}-${chassis}`, {
      external_ids: ['map', [[MARK, 'ClusterUserDefinedNetwork yellow']]],
    });
    bind(byReference, `${byReference}-${chassis}`);
    northbound.write({
      op: 'update',
      table: 'Logical_Router_Port',
      where: [['name', '==', byReference]],
      row: { external_ids: ['map', []] },
    });
    bind('rtoj-GR_blue_blue_ovn-worker', 'by-hand');
    expect(await apply(mixedZone)).toEqual([
      `delete Gateway_Chassis ${byOlder}-${chassis}`,
      `update Logical_Router_Port ${byReference}`,
      `update Logical_Router_Port ${byOlder}`,
    ]);
    // The port is ours by now. Of both OVN takes the group, whose chassis is the same.
    expect(await apply(mixedZone)).toEqual([`delete Gateway_Chassis ${byReference}-${chassis}`]);
    expect(await apply(mixedZone)).toEqual([]);
    expect(northbound.rows('Gateway_Chassis').map((row) => row.column('name'))).toEqual([
      'by-hand',
    ]);
  });

  test('rows of a whole network that a former life left are removed at the first look', async () => {
    await apply(busyZone);
    // A daemon that never knew network blue_blue.
    restart();
    const removed = await apply({ ...exampleZone, networks: [defaultNetwork] });
    expect(removed).toContain('delete Logical_Router GR_blue_blue_ovn-worker');
    expect(removed).toContain('delete Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.4');
    expect(removed).toContain('delete Port_Group a9b3a8be230d6c957406156cd5423f24e');
    expect(removed).toContain('delete Load_Balancer_Group blue_blue_clusterSwitchLBGroup');
  });

  test('an endpoint more is one row, and a service that goes leaves nothing', async () => {
    const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
    const endpoints = (...addresses: string[]) =>
      slice('blue/web', addresses, { network: 'blue_blue' });
    await apply(withServices(exampleZone, web, endpoints('103.103.0.3')));
    expect(
      await apply(withServices(exampleZone, web, endpoints('103.103.0.3', '103.103.1.5'))),
    ).toEqual(['update Load_Balancer blue_blue_Service_blue/web_TCP_cluster']);
    expect(await apply(exampleZone)).toEqual([
      'delete Load_Balancer blue_blue_Service_blue/web_TCP_cluster',
    ]);
    expect(contents(northbound)).not.toContain('Service_blue');
  });

  test("others' load balancers stay, and so do those that an ovn-kubernetes wrote under another name", async () => {
    northbound.write(
      { op: 'insert', table: 'Load_Balancer', row: { name: 'lab', protocol: 'tcp' } },
      {
        op: 'insert',
        table: 'Load_Balancer',
        row: {
          name: 'Service_gone/web_TCP_cluster',
          external_ids: [
            'map',
            [
              ['k8s.ovn.org/kind', 'Service'],
              ['k8s.ovn.org/owner', 'gone/web'],
            ],
          ],
        },
      },
      // What ovn-kubernetes wrote is taken over under its name.
      {
        op: 'insert',
        table: 'Load_Balancer',
        row: {
          name: 'Service_default/kubernetes_TCP_node_switch_ovn-worker',
          protocol: 'tcp',
          vips: ['map', [['10.96.0.1:443', '172.18.0.4:6443']]],
          external_ids: [
            'map',
            [
              ['k8s.ovn.org/kind', 'Service'],
              ['k8s.ovn.org/owner', 'default/kubernetes'],
            ],
          ],
        },
      },
    );
    const changes = await apply(busyZone);
    expect(changes).toContain(
      'update Load_Balancer Service_default/kubernetes_TCP_node_switch_ovn-worker',
    );
    const names = northbound.rows('Load_Balancer').map((row) => row.column('name'));
    expect(names).toEqual(expect.arrayContaining(['lab', 'Service_gone/web_TCP_cluster']));
  });

  test('what an ovn-kubernetes had in force of EgressIPs is taken over row by row: none of it is away for a moment', async () => {
    const plainPod = {
      ...bluePodDefault,
      namespace: 'default',
      pod: 'web',
      role: 'primary',
    } as const;
    const own = [plainPod, bluePod, yellowPod];
    const far = own.map((pod) => ({
      ...pod,
      pod: `far-${pod.pod}`,
      node: 'ovn-worker2',
      macAddress: pod.macAddress.replace(/..$/, '77'),
      ...('tunnelId' in pod ? { tunnelId: 77 } : {}),
      // In the subnet of its node, where there is one.
      addresses: pod.addresses.map((address) =>
        address.replace(/0\.3\/24$/, '1.77/24').replace(/0\.3\/16$/, '0.77/16'),
      ),
    }));
    const zone: Zone = {
      ...exampleZone,
      networks: [...exampleZone.networks, yellow],
      namespaces: [...exampleZone.namespaces, 'yellow'],
      attachments: own,
      remoteAttachments: far,
      pods: [...own, ...far].map(({ namespace, pod: name, node }) => ({
        namespace,
        name,
        node,
        labels: {},
        namedPorts: [],
      })),
      egressIps: [
        {
          name: 'out',
          created: '2026-01-01T00:00:00Z',
          namespaceSelector: {},
          podSelector: {},
          mark: 50_000,
          families: ['v4'],
          items: [
            { node: 'ovn-worker', address: '172.18.0.200' },
            { node: 'ovn-worker2', address: '172.18.0.201' },
          ],
          isHere: true,
        },
      ],
    };
    await apply(zone);
    const ofEgress = () =>
      (['Logical_Router_Policy', 'NAT'] as const).flatMap((table) =>
        northbound.rows(table).flatMap((row) => {
          const ids = row.column('external_ids') as ReadonlyMap<string, string>;
          const id = ids.get('k8s.ovn.org/id') ?? '';
          return id.includes(':EgressIP:') ? [{ table, row, ids, id }] : [];
        }),
      );
    const contentsOf = (): readonly string[] =>
      ofEgress()
        .map(({ table, row, id }) => {
          const columns = table === 'NAT' ? ['logical_ip', 'external_ip'] : ['match', 'nexthops'];
          return [row.uuid, id, ...columns.map((column) => show(row.column(column)))].join(' ');
        })
        .toSorted();
    const isOurs = ({ id }: { readonly id: string }): boolean =>
      /:(97|98|94|3|4):EIP-|:98:out_|:95:out_[^:]+:ip4:default\b/.test(id);
    const all = ofEgress();
    expect(all.filter(({ id }) => id.includes(':out_'))).toHaveLength(13);
    const where = ({ row }: (typeof all)[number]) => [['_uuid', '==', ['uuid', row.uuid]]] as const;
    for (const one of all) {
      const { table, row, ids, id } = one;
      if (isOurs(one)) {
        for (const router of northbound.rows('Logical_Router'))
          northbound.write({
            op: 'mutate',
            table: 'Logical_Router',
            where: [['_uuid', '==', ['uuid', router.uuid]]],
            mutations: [['policies', 'delete', ['uuid', row.uuid]]],
          });
        continue;
      }
      const isMarked = id.includes(':EgressIP:100:') && !id.endsWith(':default');
      northbound.write({
        op: 'update',
        table,
        where: [...where(one)],
        row: {
          external_ids: ['map', [...ids].filter(([key]) => key !== MARK)],
          ...(isMarked ? { options: ['map', [['pkt_mark', '50000']]] } : {}),
        },
      });
    }
    const had = contentsOf();
    restart();
    const changes = (await apply(zone)).filter((change) => change.includes(':EgressIP:'));
    expect(contentsOf()).toEqual(expect.arrayContaining([...had]));
    expect(changes.filter((change) => change.startsWith('delete'))).toEqual([]);
    expect(
      changes.filter((change) => change.startsWith('insert')).every((id) => isOurs({ id })),
    ).toBe(true);
    expect(ofEgress().every(({ ids }) => ids.has(MARK))).toBe(true);
    expect(await apply(zone)).toEqual([]);
  });

  test('a change of gateway mode changes a router option, next hops, and routes to services', async () => {
    await apply(exampleZone);
    expect(await apply(inLocalMode(exampleZone))).toEqual([
      'delete Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.1 dst-ip -',
      'delete Logical_Router_Static_Route blue_blue_ovn_cluster_router 10.96.0.10 dst-ip -',
      'update Logical_Router blue_blue_ovn_cluster_router',
      'update Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.0.0/24 src-ip -',
      'update Logical_Router_Static_Route ovn_cluster_router 10.244.0.0/24 src-ip -',
    ]);
  });

  test('a node that loses its gateway and gets it back', async () => {
    await apply(exampleZone);
    const { gateway: _gateway, ...node } = worker;
    const removed = await apply({ ...exampleZone, node });
    expect(removed).toContain('delete Logical_Router GR_ovn-worker');
    expect(removed).toContain('delete Logical_Switch ext_ovn-worker');
    expect(removed).toContain('delete Logical_Switch_Port jtor-GR_ovn-worker');
    expect(removed.filter((text) => text.startsWith('insert'))).toEqual([]);
    expect((await apply(exampleZone)).filter((text) => text.startsWith('delete'))).toEqual([]);
  });

  test("others' rows on switches and routers of ours stay", async () => {
    await apply(busyZone);
    const [nodeSwitch] = northbound
      .rows('Logical_Switch')
      .filter((row) => row.column('name') === 'blue_blue_ovn-worker');
    const [router] = northbound
      .rows('Logical_Router')
      .filter((row) => row.column('name') === 'GR_ovn-worker');
    const port = '11111111-1111-4111-8111-111111111111';
    const route = '22222222-2222-4222-8222-222222222222';
    northbound.write(
      { op: 'insert', table: 'Logical_Switch_Port', uuid: port, row: { name: 'probe' } },
      {
        op: 'mutate',
        table: 'Logical_Switch',
        where: [['_uuid', '==', ['uuid', nodeSwitch!.uuid]]],
        mutations: [['ports', 'insert', ['uuid', port]]],
      },
      {
        op: 'insert',
        table: 'Logical_Router_Static_Route',
        uuid: route,
        row: { ip_prefix: '192.0.2.0/24', nexthop: '172.18.0.7' },
      },
      {
        op: 'mutate',
        table: 'Logical_Router',
        where: [['_uuid', '==', ['uuid', router!.uuid]]],
        mutations: [['static_routes', 'insert', ['uuid', route]]],
      },
      { op: 'insert', table: 'Logical_Switch', row: { name: 'lab' } },
      {
        op: 'insert',
        table: 'ACL',
        row: { priority: 1, direction: 'to-lport', match: '1', action: 'drop' },
      },
    );
    expect(await apply(busyZone)).toEqual([]);
    expect(northbound.row('Logical_Switch_Port', port)?.column('name')).toBe('probe');
    expect(northbound.row('Logical_Router_Static_Route', route)).toBeDefined();
  });

  test('what was edited by hand comes back', async () => {
    await apply(busyZone);
    northbound.write(
      {
        op: 'update',
        table: 'Logical_Router_Port',
        where: [['name', '==', 'rtos-blue_blue_ovn-worker']],
        row: { mac: '00:00:00:00:00:01' },
      },
      {
        op: 'update',
        table: 'Logical_Switch',
        where: [['name', '==', 'blue_blue_join']],
        row: { external_ids: ['map', []] },
      },
      {
        op: 'update',
        table: 'Logical_Switch_Port',
        where: [['name', '==', 'blue_pod1']],
        row: { enabled: false, up: true },
      },
      {
        op: 'update',
        table: 'Static_MAC_Binding',
        where: [['ip', '==', '169.254.0.2']],
        row: { mac: '00:00:00:00:00:02' },
      },
      { op: 'update', table: 'NB_Global', where: [], row: { name: 'x', nb_cfg: 7 } },
    );
    expect(await apply(busyZone)).toEqual([
      'update Logical_Router_Port rtos-blue_blue_ovn-worker',
      'update Logical_Switch blue_blue_join',
      'update Logical_Switch_Port blue_pod1',
      'update NB_Global NB_Global',
      'update Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.2',
    ]);
    const [port] = northbound
      .rows('Logical_Switch_Port')
      .filter((row) => row.column('name') === 'blue_pod1');
    expect(port?.column('up')).toBe(true);
    expect(northbound.rows('NB_Global')[0]?.column('nb_cfg')).toBe(7);
  });
});

describe('the Southbound database', () => {
  test('gets the chassis of other nodes, and a word on the own one once ovn-controller has made it', async () => {
    const first = planOf(exampleZone, southbound);
    expect(first.problems.map(({ kind, key }) => [kind, key])).toEqual([['awaited', CHASSIS_1]]);
    await commitPlan(southbound, first);
    expect(
      southbound.rows('Chassis').map((row) => [row.column('name'), row.column('hostname')]),
    ).toEqual([[CHASSIS_2, 'ovn-worker2']]);
    const encap = '33333333-3333-4333-8333-333333333333';
    southbound.write(
      {
        op: 'insert',
        table: 'Encap',
        uuid: encap,
        row: {
          type: 'geneve',
          ip: '172.18.0.3',
          chassis_name: CHASSIS_1,
          options: ['map', [['csum', 'true']]],
        },
      },
      {
        op: 'insert',
        table: 'Chassis',
        row: {
          name: CHASSIS_1,
          hostname: 'ovn-worker',
          encaps: ['uuid', encap],
          other_config: ['map', [['is-interconn', 'true']]],
          nb_cfg: 3,
        },
      },
    );
    const second = planOf(exampleZone, southbound);
    expect(second.problems).toEqual([]);
    await commitPlan(southbound, second);
    const own = southbound.rows('Chassis').find((row) => row.column('name') === CHASSIS_1);
    expect(own?.column('other_config')).toEqual(
      new Map([
        ['is-interconn', 'true'],
        ['is-remote', 'false'],
      ]),
    );
    expect([own?.column('hostname'), own?.column('nb_cfg')]).toEqual(['ovn-worker', 3]);
    expect(planOf(exampleZone, southbound).isEmpty).toBe(true);
  });

  test('loses the chassis of a node that is gone, with its tunnel endpoints', async () => {
    await commitPlan(southbound, planOf(exampleZone, southbound));
    await commitPlan(southbound, planOf({ ...exampleZone, remoteNodes: [] }, southbound));
    expect([southbound.size('Chassis'), southbound.size('Encap')]).toEqual([0, 0]);
  });
});
