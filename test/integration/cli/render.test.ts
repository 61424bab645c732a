import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Installation } from '../../support/run/heddle.ts';
import { OvsdbServer, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { shellFunction } from '../../support/host/ovs-programs.ts';

const WORKED_EXAMPLE = join(import.meta.dirname, 'fixtures/worked-example');
const SETTINGS = [
  '--node=ovn-worker',
  '--cluster-subnets=10.244.0.0/16/24',
  '--k8s-service-cidrs=10.96.0.0/16',
];

const FLAT = `
apiVersion: v1
kind: Namespace
metadata: {name: plain}
---
apiVersion: k8s.ovn.org/v1alpha1
kind: OVNSecondaryNetwork
metadata: {name: overlay, namespace: plain}
spec: {subnet: "fd20:60::/64", mtu: 1300}
---
apiVersion: k8s.ovn.org/v1alpha1
kind: OVNSecondaryNetwork
metadata: {name: underlay, namespace: plain}
spec: {subnet: 10.71.0.0/24, hasExternalConnectivity: true}
---
apiVersion: k8s.ovn.org/v1alpha1
kind: OVNSecondaryNetwork
metadata: {name: unused, namespace: plain}
spec: {subnet: 10.72.0.0/24}
---
apiVersion: v1
kind: Pod
metadata: {name: c, namespace: plain, annotations: {k8s.v1.cni.cncf.io/networks: "overlay, overlay, underlay, underlay"}}
spec: {nodeName: ovn-worker}
`;

test('the rendered commands make in fresh databases what apply makes', async () => {
  await using northbound = await OvsdbServer.start();
  await using southbound = await OvsdbServer.start({ schema: join(SCHEMAS, 'ovn-sb.ovsschema') });
  using heddle = new Installation(SETTINGS);
  heddle.copy(WORKED_EXAMPLE);
  heddle.write('flat.yaml', FLAT);
  const rendered = await heddle.run('render');
  expect(rendered).toMatchObject({ code: 0, stderr: '' });
  expect(rendered.stdout).toMatch(/^#!\/bin\/sh\nset -e\n/);
  expect(readdirSync(heddle.state)).toEqual([]);
  const script = [
    shellFunction('ovn-nbctl', northbound.remote),
    shellFunction('ovn-sbctl', southbound.remote),
    rendered.stdout,
  ].join('\n');
  // Not every sh lets a function have such a name.
  execFileSync('bash', ['-s'], { input: script });

  const remotes = [`--nb=${northbound.remote}`, `--sb=${southbound.remote}`];
  const planned = await heddle.run('plan', '--json', ...remotes);
  expect(planned.code, planned.stdout).toBe(0);
  const { databases } = JSON.parse(planned.stdout) as {
    databases: { database: string; empty: boolean }[];
  };
  expect(databases).toMatchObject([
    { database: 'OVN_Northbound', empty: true },
    { database: 'OVN_Southbound', empty: true },
  ]);
});

test('rendered rows say by which rule and for which object they are there', async () => {
  using heddle = new Installation(SETTINGS);
  heddle.copy(WORKED_EXAMPLE);
  const { code, stdout } = await heddle.run('render', '--json');
  expect(code).toBe(0);
  const { databases, rules } = JSON.parse(stdout) as {
    databases: { changes: { action: string; key: string }[] }[];
    rules: Record<string, Record<string, { text: string }>>;
  };
  const changes = databases.flatMap((database) => database.changes);
  expect(changes.filter(({ action }) => action !== 'insert')).toMatchObject([
    { table: 'NB_Global' },
  ]);
  expect(changes.find(({ key }) => key === 'blue_blue_ovn-worker')).toMatchObject({
    action: 'insert',
    table: 'Logical_Switch',
    object: 'UserDefinedNetwork blue/blue',
    rule: 'node-switch',
  });
  expect(rules['layer3/network']?.['node-switch']?.text).toContain('one switch');
});

const LAYER2_AND_LOCALNET = `
apiVersion: v1
kind: Namespace
metadata: {name: flat, labels: {k8s.ovn.org/primary-user-defined-network: ""}}
---
apiVersion: v1
kind: Namespace
metadata: {name: plain, labels: {kubernetes.io/metadata.name: plain}}
---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: net, namespace: flat}
spec: {topology: Layer2, layer2: {role: Primary, subnets: [10.70.0.0/16], infrastructureSubnets: [10.70.1.0/29], reservedSubnets: [10.70.2.0/24]}}
---
apiVersion: k8s.ovn.org/v1
kind: ClusterUserDefinedNetwork
metadata: {name: vlan}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: plain}}
  network: {topology: Localnet, localnet: {role: Secondary, physicalNetworkName: tenants, vlan: {mode: Access, access: {id: 20}}, subnets: [10.80.0.0/24], excludeSubnets: [10.80.0.0/28]}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: flat}
spec: {nodeName: ovn-worker}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: flat}
spec: {nodeName: ovn-worker2}
---
apiVersion: v1
kind: Pod
metadata: {name: c, namespace: plain, annotations: {k8s.v1.cni.cncf.io/networks: vlan}}
spec: {nodeName: ovn-worker}
`;

test('Layer2 and localnet networks are rendered from manifests alone, with the pods of other nodes', async () => {
  using heddle = new Installation(SETTINGS);
  heddle.copy(WORKED_EXAMPLE);
  heddle.write('layer2.yaml', LAYER2_AND_LOCALNET);
  const { code, stdout, stderr } = await heddle.run('render', '--json');
  expect([code, stderr]).toEqual([0, '']);
  const { databases } = JSON.parse(stdout) as {
    databases: { changes: { table: string; key: string; columns: object }[] }[];
  };
  const rows = databases.flatMap(({ changes }) => changes);
  const row = (key: string): unknown => rows.find((change) => change.key === key)?.columns;
  expect(row('flat_net_transit_router')).toMatchObject({
    options: { after: { 'requested-tnl-key': expect.stringMatching(/^167157[79]\d$/) as string } },
  });
  expect(row('trtos-flat_net_ovn_layer2_switch')).toMatchObject({
    networks: { after: ['10.70.1.0/16'] },
  });
  expect(row('flat.net_flat_a')).toMatchObject({
    addresses: { after: ['0a:58:0a:46:00:01 10.70.0.1'] },
    options: { after: { 'requested-tnl-key': '10' } },
  });
  expect(row('flat.net_flat_b')).toMatchObject({
    type: { after: 'remote' },
    options: { after: { 'requested-tnl-key': '11' } },
  });
  expect(row('cluster_udn_vlan_ovn_localnet_port')).toMatchObject({
    options: { after: { network_name: 'tenants' } },
    tag_request: { after: 20 },
  });
  // The first address that is not excluded.
  expect(row('plain.vlan_plain_c')).toMatchObject({
    addresses: { after: ['0a:58:0a:50:00:10 10.80.0.16'] },
  });
});

test('OVNSecondaryNetworks are rendered where pods are on them, a port for each attachment of a pod', async () => {
  using heddle = new Installation(SETTINGS);
  heddle.copy(WORKED_EXAMPLE);
  heddle.write('flat.yaml', FLAT);
  const { code, stdout, stderr } = await heddle.run('render', '--json');
  expect([code, stderr]).toEqual([0, '']);
  const { databases } = JSON.parse(stdout) as {
    databases: { changes: { table: string; key: string }[] }[];
  };
  const rows = databases
    .flatMap(({ changes }) => changes)
    .filter(({ key }) => /plain|secondary_/.test(key))
    .map(({ table, key }) => `${table} ${key}`);
  expect(rows.toSorted()).toEqual([
    'ACL secondary_plain_overlay-network-controller:DhcpClients:secondary_plain_overlay_ovn_layer2_switch',
    'ACL secondary_plain_overlay-network-controller:PodServers:secondary_plain_overlay_ovn_layer2_switch:drop',
    'ACL secondary_plain_underlay-network-controller:DhcpClients:secondary_plain_underlay_ovn_localnet_switch',
    'ACL secondary_plain_underlay-network-controller:PodServers:secondary_plain_underlay_ovn_localnet_switch:drop',
    'ACL secondary_plain_underlay-network-controller:PodServers:secondary_plain_underlay_ovn_localnet_switch:pass',
    'DHCP_Options secondary_plain_overlay-network-controller:OVNSecondaryNetwork:secondary_plain_overlay:fd20.60../64',
    'DHCP_Options secondary_plain_underlay-network-controller:OVNSecondaryNetwork:secondary_plain_underlay:10.71.0.0/24',
    'Load_Balancer_Group secondary_plain_overlay_clusterLBGroup',
    'Load_Balancer_Group secondary_plain_overlay_clusterRouterLBGroup',
    'Load_Balancer_Group secondary_plain_overlay_clusterSwitchLBGroup',
    'Logical_Router secondary_plain_overlay_transit_router',
    'Logical_Router_Port trtos-secondary_plain_overlay_ovn_layer2_switch',
    'Logical_Switch secondary_plain_overlay_ovn_layer2_switch',
    'Logical_Switch secondary_plain_underlay_ovn_localnet_switch',
    'Logical_Switch_Port plain.overlay.1_plain_c',
    'Logical_Switch_Port plain.overlay_plain_c',
    'Logical_Switch_Port plain.underlay.1_plain_c',
    'Logical_Switch_Port plain.underlay_plain_c',
    'Logical_Switch_Port plain_c',
    'Logical_Switch_Port secondary_plain_underlay_ovn_localnet_port',
    'Logical_Switch_Port stotr-secondary_plain_overlay_ovn_layer2_switch',
  ]);
});

test('what cannot be rendered is said, the rest is rendered', async () => {
  using heddle = new Installation(SETTINGS);
  heddle.copy(WORKED_EXAMPLE);
  heddle.write(
    'bad.yaml',
    'apiVersion: k8s.ovn.org/v1alpha1\nkind: UserDefinedNetwork\nmetadata: {name: x, namespace: blue}\nspec: {topology: Ring}\n',
  );
  const { code, stdout, stderr } = await heddle.run('render');
  expect(code).toBe(1);
  expect(stderr).toContain('bad.yaml');
  expect(stdout).toContain('blue_blue_ovn-worker');
});

test('a graph shows the networks that were asked for', async () => {
  using heddle = new Installation(SETTINGS);
  heddle.copy(WORKED_EXAMPLE);
  const all = await heddle.run('graph', '--json');
  const networksOf = (text: string): string[] =>
    (JSON.parse(text) as { networks: { network: string }[] }).networks.map(
      ({ network }) => network,
    );
  expect(networksOf(all.stdout)).toEqual(['default', 'blue_blue']);
  const one = await heddle.run('graph', 'blue/blue', '--json');
  expect(networksOf(one.stdout)).toEqual(['blue_blue']);
  const ofNamespace = await heddle.run('graph', '--namespace', 'blue', '--json');
  expect(networksOf(ofNamespace.stdout)).toEqual(['blue_blue']);
  const file = join(heddle.folder, 'out.svg');
  expect(await heddle.run('graph', 'blue/blue', '--output', file)).toMatchObject({
    code: 0,
    stderr: `1 network: ${file}\n`,
  });
  expect(readFileSync(file, 'utf8')).toContain('>GR_blue_blue_ovn&#45;worker<');
  const none = await heddle.run('graph', 'red/red');
  expect(none).toMatchObject({
    code: 64,
    stderr:
      'heddle: network: no network, and no connection in use on this node, is called "red/red"; `heddle status` lists them\n',
  });
});

test('from manifests of networks alone nodes are made up on request, and many networks are an overview', async () => {
  using heddle = new Installation([]);
  const networks = Array.from(
    { length: 8 },
    (_, at) => `
apiVersion: v1
kind: Namespace
metadata: {name: ns${at}, labels: {k8s.ovn.org/primary-user-defined-network: ""}}
---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: net, namespace: ns${at}}
spec: {topology: Layer2, layer2: {role: Primary, subnets: [10.${at}.0.0/16]}}
`,
  );
  heddle.write('networks.yaml', networks.join('---'));
  expect(await heddle.run('graph')).toMatchObject({ code: 64 });
  const shown = await heddle.run('graph', '--invent-nodes', '2', '--format', 'mermaid');
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.stdout).toContain('9 networks on node1');
  expect(shown.stdout).toContain('8 networks alike');
  const folder = join(heddle.state, 'pictures');
  expect(await heddle.run('graph', '--invent-nodes', '--output', `${folder}/`)).toMatchObject({
    code: 0,
  });
  expect(readdirSync(folder)).toHaveLength(10);
  expect(readFileSync(join(folder, 'ns7_net.svg'), 'utf8')).toContain('ns7_net');
  const rendered = await heddle.run('render', '--invent-nodes');
  expect(rendered).toMatchObject({ code: 0, stderr: '' });
  expect(rendered.stdout).toContain('ns7_net');
  const wrong = await heddle.run('render', '--invent-nodes', 'x');
  expect([wrong.code, wrong.stderr]).toEqual([
    64,
    expect.stringContaining('--invent-nodes: must be a number of nodes from 1 to 200, is "x"'),
  ]);
});
