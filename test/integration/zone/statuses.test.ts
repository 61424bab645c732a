/** What Heddle writes into statuses, against a real API server with our definitions. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { customResourceDefinitions } from '../../../src/api/validation/crds.generated.ts';
import { definitions } from '../../../src/api/validation/catalog.ts';
import * as kinds from '../../../src/api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import type {
  ZoneConnectStatus,
  ZoneNetworkStatus,
  ZoneObjectState,
} from '../../../src/api/zone-status.ts';
import { ZoneStatusWriter } from '../../../src/zone/zone-status-writer.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { collectionPath } from '../../../src/store/kubernetes/kubernetes-paths.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import { conditionsOf, StatusWriter } from '../../../src/store/status-writer.ts';
import { command, heddle, type RunningCommand } from '../../support/run/heddle.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { servedDefinitions } from '../../support/cluster/served-definitions.ts';
import { until } from '../../support/run/until.ts';

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`statuses are not tested on a real API server: ${started}`);

const { signal } = new AbortController();

/** Every state, by the enum of the definition that types are made of. */
const STATES: readonly ZoneNetworkStatus['state'][] = [
  'Pending',
  'Committed',
  'Programmed',
  'Failed',
  'Unused',
];

const OBJECT_STATES: readonly ZoneObjectState['state'][] = ['Pending', 'Failed'];

/** Every reason that some part of the cluster manager states a condition with. */
function reasons(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [
      ...readFileSync(join(folder, name), 'utf8').matchAll(
        /\breason: '([^']+)'|REASON = '([^']+)'/g,
      ),
    ])
    .map(([, a, b]) => a ?? b ?? '');
}
const SOURCE = join(import.meta.dirname, '../../../src');
const REASONS = [
  ...new Set(
    ['cluster', 'addresses', 'model', 'api'].flatMap((name) => reasons(join(SOURCE, name))),
  ),
];

const network = {
  topology: 'Layer3',
  layer3: { role: 'Primary', subnets: [{ cidr: '10.1.0.0/16' }] },
};

type Fields = Readonly<Record<string, unknown>>;

/** Objects with conditions, and the further fields that their statuses get. */
const WRITTEN: readonly (readonly [ResourceKind, spec: object, fields: Fields])[] = [
  [kinds.userDefinedNetworks, network, { refusedSubnets: ['10.2.0.0/16'] }],
  [
    kinds.clusterUserDefinedNetworks,
    { namespaceSelector: { matchLabels: { a: 'b' } }, network },
    { activeNamespaces: ['blue'], refusedSubnets: ['10.2.0.0/16'] },
  ],
  [
    kinds.clusterNetworkConnects,
    {
      networkSelectors: [
        {
          networkSelectionType: 'ClusterUserDefinedNetworks',
          clusterUserDefinedNetworkSelector: { networkSelector: { matchLabels: { a: 'b' } } },
        },
      ],
      connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
      connectivity: ['PodNetwork'],
    },
    { status: 'Failure' },
  ],
  [kinds.ovnSecondaryNetworks, { subnet: '10.3.0.0/16' }, {}],
  [
    kinds.ipamClaims,
    { network: 'blue', interface: 'net1' },
    { ips: ['10.1.0.5/16'], ownerPod: { name: 'web' } },
  ],
  [
    kinds.egressQoSes,
    { egress: [{ dscp: 4, dstCIDR: '1.2.3.0/24' }] },
    { status: 'EgressQoS Rules not correctly applied' },
  ],
];

/** The definition of ZoneStatus as it was before connections could be `Unused`. */
const olderZoneStatus = (): object => {
  const found = definitions.find(({ metadata }) => metadata.name.startsWith('zonestatuses.'));
  const text = JSON.stringify(found);
  const at = text.lastIndexOf(',"Unused"]');
  return JSON.parse(text.slice(0, at) + text.slice(at + ',"Unused"'.length)) as object;
};

describe.skipIf(typeof started === 'string')('statuses on a real API server', () => {
  const api = started as KubeApi;
  const processes: RunningCommand[] = [];
  const stack = new AsyncDisposableStack();
  let store: KubernetesStore;

  const create = async (object: KubeObject): Promise<void> => {
    const kind = kinds.resourceKindOf(object.apiVersion, object.kind);
    if (kind === undefined) throw new Error(object.kind);
    const { status, body } = await api.call(
      'POST',
      collectionPath(kind, object.metadata.namespace),
      object,
    );
    expect([201, 409], JSON.stringify(body)).toContain(status);
  };
  const zone = async (name: string): Promise<{ connects?: ZoneConnectStatus[] } | undefined> =>
    (await store.get(kinds.zoneStatuses, name))?.status as
      | { connects?: ZoneConnectStatus[] }
      | undefined;

  beforeAll(async () => {
    stack.use(api);
    store = new KubernetesStore({ connection: api.connection });
    stack.defer(() => store.close());
    await api.install(servedDefinitions);
    for (const name of ['default', 'kube-system'])
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }, 120_000);
  afterAll(async () => {
    for (const running of processes) await running[Symbol.asyncDispose]();
    await stack.disposeAsync();
  });

  test('a ZoneStatus takes every state of networks and connections, and as many problems as there may be', async () => {
    const entries = STATES.map((state) => ({ name: state.toLowerCase(), state, message: 'm' }));
    const writer = new ZoneStatusWriter(store, 'every-state');
    const refused: unknown[] = writer.problems().slice();
    await writer.write(
      {
        message: 'm'.repeat(5000),
        networks: entries,
        used: ['pending'],
        ready: false,
        connects: entries,
        problems: Array.from({ length: 5000 }, (_, index) => ({
          object: `Pod blue/${index}`,
          message: '\u001b[31m\u0000'.repeat(300),
        })),
        objects: Array.from({ length: 5000 }, (_, index) => ({
          object: `Pod blue/${index}`,
          state: OBJECT_STATES[index % OBJECT_STATES.length] ?? 'Failed',
          message: '\u001b[31m\u0000'.repeat(300),
        })),
      },
      signal,
    );
    refused.push(...writer.problems());
    expect(refused).toEqual([]);
    const status = (await store.get(kinds.zoneStatuses, 'every-state'))?.status;
    expect(status?.networks.map(({ state }) => state)).toEqual(STATES);
    expect(status?.connects?.map(({ state }) => state)).toEqual(STATES);
    expect(new Set(status?.objects?.map(({ state }) => state))).toEqual(new Set(OBJECT_STATES));
  });

  test('the conditions and fields of every kind are taken, with every reason that is stated and the longest message', async () => {
    expect(REASONS.length).toBeGreaterThan(15);
    const writer = new StatusWriter({ store, clock: systemClock, fieldManager: 'test' });
    for (const [kind, spec, fields] of WRITTEN) {
      const metadata = { name: 'default', ...(kind.namespaced ? { namespace: 'default' } : {}) };
      await create({ apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec });
      const key = kind.namespaced ? 'default/default' : 'default';
      const object = await store.get(kind, key);
      if (object === undefined) throw new Error(`no ${kind.kind}`);
      const conditions = REASONS.map((reason) => ({
        type: `Of-${reason}`,
        status: 'False' as const,
        reason,
        message: reason === REASONS[0] ? 'm'.repeat(40_000) : 'm',
      }));
      await writer.write(kind, object, { conditions, fields }, signal);
      const after = await store.get(kind, key);
      expect(after?.status, kind.kind).toMatchObject(fields);
      expect(after === undefined ? [] : conditionsOf(after)).toHaveLength(REASONS.length);
    }
  });

  test('a condition that is refused takes no other and no field with it', async () => {
    const writer = new StatusWriter({ store, clock: systemClock, fieldManager: 'test' });
    const kind = kinds.userDefinedNetworks;
    await create({
      ...kind,
      metadata: { name: 'parts', namespace: 'default' },
      spec: network,
    });
    const object = await store.get(kind, 'default/parts');
    if (object === undefined) throw new Error('no network');
    const condition = (type: string, reason: string) =>
      ({ type, status: 'True', reason, message: 'm' }) as const;
    await expect(
      writer.write(
        kind,
        object,
        {
          conditions: [
            condition('First', 'Good'),
            condition('Second', 'no reason!'),
            condition('Third', 'Good'),
          ],
          fields: { refusedSubnets: ['10.9.0.0/16'] },
        },
        signal,
      ),
    ).rejects.toThrow(/conditions\[1\]\.reason/);
    const status = (await store.get(kind, 'default/parts'))?.status;
    expect(status?.conditions?.map(({ type }) => type)).toEqual(['First', 'Third']);
    expect(status?.refusedSubnets).toEqual(['10.9.0.0/16']);
  });

  test('a connection whose networks a node does not use is Unused there and ready, and the node goes on to report; also beside definitions that do not know that', async () => {
    const server = stack.use(await OvsdbServer.start());
    const facts = {
      'k8s.ovn.org/node-chassis-id': 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece',
      'k8s.ovn.org/node-encap-ips': '["172.18.0.3"]',
      'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.3/16"}',
      'k8s.ovn.org/host-cidrs': '["172.18.0.3/16"]',
      'k8s.ovn.org/l3-gateway-config': '{"default":{"mode":""}}',
    };
    await create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', annotations: facts } });
    for (const name of ['red', 'green']) {
      const labels = { 'k8s.ovn.org/primary-user-defined-network': '', name };
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
      await create({
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'ClusterUserDefinedNetwork',
        metadata: { name, labels: { join: 'yes' } },
        spec: {
          namespaceSelector: { matchLabels: { name } },
          network: {
            topology: 'Layer3',
            layer3: {
              role: 'Primary',
              subnets: [{ cidr: name === 'red' ? '10.40.0.0/16' : '10.50.0.0/16', hostSubnet: 24 }],
            },
          },
        },
      });
    }
    await create({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterNetworkConnect',
      metadata: { name: 'joined' },
      spec: {
        networkSelectors: [
          {
            networkSelectionType: 'ClusterUserDefinedNetworks',
            clusterUserDefinedNetworkSelector: {
              networkSelector: { matchLabels: { join: 'yes' } },
            },
          },
        ],
        connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
        connectivity: ['PodNetwork'],
      },
    });
    const common = [
      `--kubeconfig=${api.kubeconfig}`,
      '--cluster-subnets=10.244.0.0/16/24',
      '--k8s-service-cidrs=10.96.0.0/16',
    ];
    processes.push(command('cluster', ...common, '--metrics-bind-address=127.0.0.1:0'));
    const socket = join(server.folder, 'control.sock');
    const node: RunningCommand = command(
      'node',
      ...common,
      '--metrics-bind-address=127.0.0.1:0',
      '--node=n1',
      `--nb=${server.remote}`,
      `--socket=${socket}`,
    );
    processes.push(node);
    const ready = async (): Promise<unknown> =>
      (await store.get(kinds.clusterNetworkConnects, 'joined'))?.status?.conditions?.find(
        ({ type }) => type === 'Ready-In-Zone-n1',
      )?.status;
    await until(
      'the connection to be Unused on the node',
      async () =>
        (await zone('n1'))?.connects?.some(
          ({ name, state }) => name === 'joined' && state === 'Unused',
        ) === true,
      { limit: 60_000, output: () => processes.map(({ log }) => log).join('\n') },
    );
    await until('the condition of the node', async () => (await ready()) === 'True', 30_000);

    // An API server with the definition of an older release.
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/zonestatuses.k8s.ovn.org';
    const older = await api.call('PATCH', path, olderZoneStatus());
    expect(older.status, JSON.stringify(older.body)).toBe(200);
    await create({
      apiVersion: 'k8s.ovn.org/v1alpha1',
      kind: 'ZoneStatus',
      metadata: { name: 'probe' },
    });
    // It is in force when it refuses what was taken before.
    await until(
      'the older definition to be in force',
      async () => {
        const status = {
          observedAt: '2026-01-01T00:00:00Z',
          networks: [],
          problems: [],
          connects: [{ name: 'x', state: 'Unused' }],
        };
        const { status: code } = await api.call(
          'PATCH',
          '/apis/k8s.ovn.org/v1alpha1/zonestatuses/probe/status',
          { status },
        );
        return code === 422;
      },
      30_000,
    );
    await store.delete(kinds.zoneStatuses, 'n1');
    const health = /"health":"(?<url>[^"]+)"/.exec(node.log)?.groups?.['url'] ?? '';
    const metric = async (): Promise<number> => {
      const text = await (await fetch(`${health}/metrics`)).text();
      return Number(
        /heddle_zone_status_refused_total\{part="connects"\} (\d+)/.exec(text)?.[1] ?? 0,
      );
    };
    await until('the refusal to be counted', async () => (await metric()) > 0, 60_000);
    await until(
      'all else of the status',
      async () => {
        const status = (await store.get(kinds.zoneStatuses, 'n1'))?.status;
        return status?.networks.some(({ name }) => name === 'cluster_udn_red') === true;
      },
      30_000,
    );
    expect((await zone('n1'))?.connects ?? []).toEqual([]);
    const said = await heddle(
      'status',
      ...common,
      '--node=n1',
      `--nb=${server.remote}`,
      `--socket=${socket}`,
    );
    expect(said.stdout).toMatch(/ZoneStatus n1.*status\.connects was not taken/);
    expect(said.code).toBe(1);
    const lines = (): number =>
      node.log.split('\n').filter((line) => line.includes('status.connects was not taken')).length;
    await until('the log line', () => lines() > 0, 10_000);
    expect(lines()).toBe(1);
  }, 180_000);
});

test('the states tried are those of the definition', () => {
  const text = JSON.stringify(
    customResourceDefinitions.find((one) =>
      JSON.stringify(one).includes('zonestatuses.k8s.ovn.org'),
    ),
  );
  const enums = [...text.matchAll(/"enum":(\["Pending"[^\]]*\])/g)].map(
    ([, values]) => JSON.parse(values ?? '[]') as string[],
  );
  expect(enums.map((values) => values.toSorted())).toEqual(
    [STATES, STATES, OBJECT_STATES].map((values) => [...values].sort()),
  );
});
