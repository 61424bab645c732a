import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { NetworkMonitor } from '../../../src/node/linux/network-monitor.ts';
import { resourceKindOf } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { Pod } from '../../../src/api/types.ts';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { tenantConnectName } from '../../../src/cluster/connect/tenant-connect-objects.ts';
import { runCluster } from '../../../src/cluster-daemon/cluster-daemon.ts';
import { HOST_PORTS_FIELD } from '../../../src/model/rules/host-ports.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { MetricsAccess } from '../../../src/process/metrics-access.ts';
import { openStore } from '../../../src/settings/object-store.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { NodeAnnouncer } from '../../../src/node/announcer/node-announcer.ts';
import { Informers } from '../../../src/store/informers.ts';
import { collectionPath } from '../../../src/store/kubernetes/kubernetes-paths.ts';
import {
  clusterLayer3,
  connect,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  networkConnect,
  node,
  pod,
  rawNad,
} from '../../support/cluster/cluster.ts';
import { startApiProxy, type ApiProxy } from '../../support/cluster/api-proxy.ts';
import { command, heddle } from '../../support/run/heddle.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { installRules, unusedPermissions } from '../../support/cluster/permissions.ts';
import { MANAGER_ACCOUNT, NODE_ACCOUNT } from '../../../src/lab/kubernetes/deployment.ts';

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`the permissions of deploy/ are not tested: ${started}`);

describe.skipIf(typeof started === 'string')('permissions that deploy/ grants', () => {
  const api = started as KubeApi;
  let proxy: ApiProxy;
  let folder: string;
  let stopping: AbortController;
  let running: Promise<void>;

  /** A kubeconfig of `account`, who lives in our namespace and reaches the API server through `through`. */
  const kubeconfigFor = async (
    name: string,
    account: string,
    through: ApiProxy,
  ): Promise<string> => {
    const file = join(folder, name);
    await writeFile(
      file,
      stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', namespace: 'heddle', user: 'u' } }],
        users: [{ name: 'u', user: { token: account } }],
        clusters: [{ name: 'c', cluster: { server: through.url } }],
      }),
    );
    return file;
  };

  const startManager = async (): Promise<void> => {
    const configuration = resolveConfiguration({
      flags: {
        kubeconfig: await kubeconfigFor('cluster', `${MANAGER_ACCOUNT}@n1`, proxy),
        'metrics-bind-address': '127.0.0.1:0',
        'conversion-bind-address': '127.0.0.1:0',
        'tenant-connect-subnets': '172.30.0.0/16/24',
      },
      environment: {},
    });
    stopping = new AbortController();
    running = runCluster(configuration, createLogger('silent'), stopping.signal);
  };
  const stopManager = async (): Promise<void> => {
    stopping.abort();
    await running;
  };

  beforeAll(async () => {
    await api.install(definitions);
    await installRules(api);
    proxy = await startApiProxy(api);
    folder = ownFolder('heddle-cluster');
    await startManager();
  });
  afterAll(async () => {
    await stopManager();
    await proxy[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const pathOf = ({ apiVersion, kind, metadata }: KubeObject): string => {
    const resource = resourceKindOf(apiVersion, kind);
    if (resource === undefined) throw new Error(`unknown kind ${kind}`);
    return collectionPath(resource, metadata.namespace);
  };
  const create = async (...objects: readonly KubeObject[]): Promise<void> => {
    for (const object of objects) {
      // While a definition changes (it learns our certificate), its kind is not served for a moment.
      const attempt = (): Promise<number> =>
        api.call('POST', pathOf(object), object).then(({ status }) => status);
      await expect.poll(attempt, { timeout: 10_000 }).toBe(201);
    }
  };
  const get = async (object: KubeObject): Promise<{ status: number; body: unknown }> =>
    api.call('GET', `${pathOf(object)}/${object.metadata.name}`);
  const remove = async (...objects: readonly KubeObject[]): Promise<void> => {
    for (const object of objects)
      await api.call('DELETE', `${pathOf(object)}/${object.metadata.name}?gracePeriodSeconds=0`);
  };
  const waitFor = async (object: KubeObject, content: RegExp): Promise<void> =>
    expect
      .poll(async () => JSON.stringify((await get(object)).body), WAIT)
      .toMatch(content)
      .then(() => undefined);
  const waitForNone = async (...objects: readonly KubeObject[]): Promise<void> => {
    for (const object of objects)
      await expect.poll(async () => (await get(object)).status, WAIT).toBe(404);
  };

  /** Makes the two reviews of a reader of metrics. This server has none, so the first is answered here; roles judge the second. */
  const askWhoReadsMetrics = async (kubeconfig: string, through: ApiProxy): Promise<void> => {
    through.intercept = (target, response) => {
      if (!target.includes('/tokenreviews')) return false;
      const status = { authenticated: true, user: { username: 'reader' } };
      response.writeHead(201).end(JSON.stringify({ status }));
      return true;
    };
    await using store = await openStore(
      { kind: 'kubernetes', files: [kubeconfig] },
      { dryRun: false },
    );
    const access = new MetricsAccess(store.objects, createLogger('silent'));
    expect(await access.judge('Bearer token')).toBe('unavailable');
    through.intercept = () => false;
  };

  test('are what the cluster manager needs, and no more', async () => {
    const declared = layer3('blue/net', '10.20.0.0/16/24');
    const blue = {
      ...declared,
      metadata: {
        ...declared.metadata,
        annotations: { 'k8s.ovn.org/service-pool': '198.18.5.0/28' },
      },
    };
    const green = clusterLayer3('shared', inNamespaces('red'), '10.30.0.0/16');
    const flat = persistent('plain/flat', '10.40.0.0/24');
    const overlay: KubeObject & { spec: object } = {
      apiVersion: 'k8s.ovn.org/v1alpha1',
      kind: 'OVNSecondaryNetwork',
      metadata: { namespace: 'plain', name: 'overlay' },
      spec: { subnet: '10.50.0.0/24' },
    };
    const teal = layer3('teal/net', '10.60.0.0/16/24');
    const agreed = [
      networkConnect('blue/to-teal', 'net', 'teal/net'),
      networkConnect('teal/to-blue', 'net', 'blue/net'),
    ] as const;
    const connection = connect('both', ['blue', 'red'], '192.168.0.0/16/24');
    const broken = rawNad('plain/broken', '{ "type": "ovn-k8s-cni-overlay", "topology": "ring" }');
    const claim: KubeObject & { spec: object } = {
      apiVersion: 'k8s.cni.cncf.io/v1alpha1',
      kind: 'IPAMClaim',
      metadata: { namespace: 'plain', name: 'vm' },
      spec: { network: 'plain_flat', interface: 'net1' },
    };
    const selection = { name: 'flat', namespace: 'plain', 'ipam-claim-reference': 'vm' };
    const vm = runnable(
      pod('plain/vm', 'n1', { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([selection]) }),
    );
    const server = runnable(pod('blue/web', 'n1'));
    const hosted = { ...server, spec: { ...server.spec, hostNetwork: true } };
    await create(namespace('blue'), namespace('red'), namespace('plain', {}), node('n1'));
    await create(blue, green, flat, overlay, connection, broken, claim);
    for (const network of [blue, green, flat, overlay]) await waitFor(network, /NetworkCreated/);
    await waitFor(connection, /connect-router-tunnel-key.*ValidationSucceeded/);
    const ofTenants = {
      ...connection,
      metadata: { name: tenantConnectName(['blue/net', 'teal/net']) },
    };
    await create(namespace('teal'), teal, ...agreed);
    await waitFor(ofTenants, /ValidationSucceeded/);
    for (const request of agreed) await waitFor(request, /"reason":"(Connected|NotProgrammed)"/);
    await remove(agreed[0]);
    await waitForNone(ofTenants);
    await remove(agreed[1], teal);
    await waitForNone(teal);
    const orphans = ['UserDefinedNetwork', 'ClusterUserDefinedNetwork', 'OVNSecondaryNetwork'].map(
      (kind) => orphan(`plain/former-${kind.toLowerCase()}`, kind),
    );
    await create(...orphans);
    await waitForNone(...orphans);
    await create(vm, hosted);
    await waitFor(claim, /SuccessfulAllocation/);
    await create(egressFirewall, egressQoS, networkQoS, externalRoute, egressIP);
    await waitFor(egressIP, /egressip-mark/);
    await create(egressService);
    await waitFor(egressService, /"host":""/);
    await create(pooledService);
    await waitFor(pooledService, /"ingress":\[\{"ip":"198\.18\.5\.0","ipMode":"VIP"/);
    await waitFor(pooledService, /AddressAllocated/);

    const status = `${pathOf(hosted)}/web/status`;
    const { body } = await api.call('GET', status);
    await api.call('PUT', status, {
      ...(body as object),
      status: { phase: 'Running', podIPs: [{ ip: '172.18.0.2' }], podIP: '172.18.0.2' },
    });
    const source = slice('web-x', 80);
    await create(source);
    const mirrors = async (): Promise<string> =>
      JSON.stringify((await api.call('GET', pathOf(source))).body);
    await expect.poll(mirrors, WAIT).toMatch(/172\.18\.0\.2/);
    const { metadata } = (await get(source)).body as KubeObject;
    await api.call('PUT', `${pathOf(source)}/web-x`, { ...slice('web-x', 81), metadata });
    await expect.poll(mirrors, WAIT).toMatch(/endpointslice-mirror-controller.*81|81.*mirror/);
    await remove(source);
    await expect.poll(mirrors, WAIT).not.toMatch(/endpointslice-mirror-controller/);

    // A daemon that refused something of a service and of policies, and died.
    const zone: KubeObject = {
      apiVersion: 'k8s.ovn.org/v1alpha1',
      kind: 'ZoneStatus',
      metadata: { name: 'n1' },
    };
    const problems = [
      'Service plain/none',
      'NetworkPolicy plain/none',
      'MultiNetworkPolicy plain/none',
      'AdminNetworkPolicy none',
      'BaselineAdminNetworkPolicy none',
      'ClusterNetworkPolicy none',
      'EgressFirewall plain/default',
      'EgressQoS plain/default',
      'NetworkQoS plain/default',
      'AdminPolicyBasedExternalRoute by-hops',
      // The last ones are gone.
      'Namespace plain',
      'Namespace gone',
      'Pod plain/gone',
      'EgressIP gone',
      'EgressService plain/gone',
      'EgressFirewall plain/gone',
      'EgressQoS plain/gone',
      'NetworkQoS plain/gone',
      'AdminPolicyBasedExternalRoute gone',
    ].map((object) => ({
      object,
      message: `${object.startsWith('Pod') ? HOST_PORTS_FIELD : 'it'} is too much`,
    }));
    const reported = { observedAt: '2026-01-01T00:00:00Z', networks: [], problems };
    const heartbeat: KubeObject = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'heddle', name: 'heddle-node-n1' },
      spec: {
        holderIdentity: 'former',
        leaseDurationSeconds: 2,
        renewTime: '2026-01-01T00:00:00.000000Z',
      },
    };
    await create(zone);
    const zoneNow = (await get(zone)).body as KubeObject;
    await api.call('PUT', `${pathOf(zone)}/n1/status`, { ...zoneNow, status: reported });
    await create(heartbeat);
    await waitFor(
      egressFirewall,
      /not correctly applied.*it is too much|it is too much.*not correctly applied/,
    );
    await waitFor(egressQoS, /EgressQoS Rules not correctly applied/);
    await waitFor(networkQoS, /NetworkQoS Destinations not correctly applied/);
    await waitFor(externalRoute, /it is too much.*Fail|Fail.*it is too much/);
    await waitFor(zone, /Stale: no heartbeat/);

    // Another one leads, and says again what is wrong.
    await stopManager();
    await startManager();
    const events = async (): Promise<string> =>
      JSON.stringify((await api.call('GET', '/api/v1/namespaces/plain/events')).body);
    await expect.poll(events, WAIT).toMatch(/"count":2/);

    await remove(vm, hosted, connection, claim);
    await waitForNone(vm, hosted);
    await remove(blue, green, flat, overlay);
    await waitForNone(blue, green, flat, overlay);

    await askWhoReadsMetrics(join(folder, 'cluster'), proxy);
    expect(proxy.forbidden).toEqual([]);
    expect(unusedPermissions(proxy.requests, 'cluster-rbac.yaml')).toEqual([
      // A certificate that expires, or that nobody can read.
      'patch /secrets',
      // This server has no definition of them: they are asked for, and there is nothing to follow.
      'patch policy.networking.k8s.io/clusternetworkpolicies/status',
      // Asked for by clusters that check who may block an owner's deletion.
      'update k8s.ovn.org/clusteruserdefinednetworks/finalizers',
      'update k8s.ovn.org/ovnsecondarynetworks/finalizers',
      'update k8s.ovn.org/userdefinednetworks/finalizers',
      'watch policy.networking.k8s.io/clusternetworkpolicies',
    ]);
  }, 120_000);

  test.skipIf(whyNoNamespace !== undefined)(
    'are what the node daemon needs, and no more',
    async () => {
      await using server = await OvsdbServer.start();
      await using nodeProxy = await startApiProxy(api);
      const kubeconfig = await kubeconfigFor('node', `${NODE_ACCOUNT}@n2`, nodeProxy);
      await create(node('n2'));
      await using _daemon = command(
        'node',
        `--kubeconfig=${kubeconfig}`,
        '--node=n2',
        '--socket=none',
        `--nb=${server.remote}`,
        '--metrics-bind-address=127.0.0.1:0',
      );
      const zone = {
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'ZoneStatus',
        metadata: { name: 'n2' },
      };
      await waitFor(zone, /observedAt/);
      // What is torn is told at once, what may be on its way later.
      const annotations = { 'k8s.v1.cni.cncf.io/networks': '[{' };
      const lost = runnable(pod('plain/lost', 'n2', annotations));
      const fine = runnable(pod('plain/fine', 'n2'));
      await create(lost, fine);
      await waitFor(fine, /pod-networks/);
      const side = layer3('plain/side', '10.77.0.0/16', 'Secondary');
      const beside = runnable(pod('plain/beside', 'n2', { 'k8s.v1.cni.cncf.io/networks': 'side' }));
      await create(side, beside);
      await waitFor(beside, /plain\/side/);
      expect((await heddle('status', `--kubeconfig=${kubeconfig}`)).stdout).toMatch(/n2/);
      await announce('n2', kubeconfig, () => waitFor(node('n2'), /node-chassis-id/));
      await askWhoReadsMetrics(kubeconfig, nodeProxy);
      expect(nodeProxy.forbidden).toEqual([]);
      expect(unusedPermissions(nodeProxy.requests, 'node-rbac.yaml')).toEqual([
        // An event that is said again.
        'get /events',
        'patch /events',
        // Kinds that others define, and that this server does not have: they are asked for, and there is nothing to follow.
        'watch k8s.cni.cncf.io/multi-networkpolicies',
        'watch policy.networking.k8s.io/adminnetworkpolicies',
        'watch policy.networking.k8s.io/baselineadminnetworkpolicies',
        'watch policy.networking.k8s.io/clusternetworkpolicies',
      ]);
    },
    60_000,
  );
});

/** What the daemon with --ovs says of its node, from a host that is not this machine. */
async function announce(
  name: string,
  kubeconfig: string,
  said: () => Promise<void>,
): Promise<void> {
  using host = await NetworkNamespace.create();
  for (const line of ['link add name eth0 type bridge', 'address add 172.18.0.3/16 dev eth0'])
    host.ip(line);
  const externalIds = new Map([
    ['system-id', 'chassis-of-n2'],
    ['ovn-encap-type', 'geneve'],
    ['ovn-encap-ip', '172.18.0.3'],
  ]);
  await using store = await openStore(
    { kind: 'kubernetes', files: [kubeconfig] },
    { dryRun: false },
  );
  const log = createLogger('silent');
  const stop = new AbortController();
  const informers = new Informers({ store: store.objects, log });
  using monitor = new NetworkMonitor({ namespace: host.path });
  const announcer = new NodeAnnouncer({
    informers,
    node: name,
    settings: DEFAULT_SETTINGS,
    gateway: { mode: 'disabled', nextHops: [], vlan: 0 },
    openVswitch: () => ({ externalIds }),
    namespace: host.path,
    monitor,
    log,
    signal: stop.signal,
  });
  const ended = Promise.all([informers.run(stop.signal), announcer.run()]);
  try {
    await said();
  } finally {
    stop.abort();
    await ended;
  }
}

const WAIT = { timeout: 30_000, interval: 100 };

/** A Layer2 network whose addresses outlive pods. */
const persistent = (key: string, subnet: string): KubeObject => {
  const network = layer2(key, subnet, 'Secondary');
  const { layer2: config } = network.spec;
  const spec = { ...network.spec, layer2: { ...config, ipam: { lifecycle: 'Persistent' } } };
  return { ...network, spec };
};

const egressFirewall: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace: 'plain', name: 'default' },
  spec: { egress: [{ type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } }] },
};
const networkQoS: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'NetworkQoS',
  metadata: { namespace: 'plain', name: 'default' },
  spec: { priority: 1, egress: [{ dscp: 10 }] },
};
const externalRoute: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'AdminPolicyBasedExternalRoute',
  metadata: { name: 'by-hops' },
  spec: { from: { namespaceSelector: {} }, nextHops: { static: [{ ip: '172.18.0.51' }] } },
};
const egressQoS: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressQoS',
  metadata: { namespace: 'plain', name: 'default' },
  spec: { egress: [{ dscp: 10 }] },
};

const egressService: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressService',
  metadata: { namespace: 'plain', name: 'web' },
  spec: { sourceIPBy: 'LoadBalancerIP' },
};

const pooledService: KubeObject & { readonly spec: object } = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'blue', name: 'pooled' },
  spec: {
    type: 'LoadBalancer',
    loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
    allocateLoadBalancerNodePorts: false,
    ports: [{ port: 80 }],
  },
};

const egressIP: KubeObject = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'out' },
  spec: { egressIPs: ['172.18.0.50'], namespaceSelector: {} },
};

/** The NAD of an object that is gone. */
const orphan = (key: string, kind: string): KubeObject => {
  const nad = rawNad(key, { type: 'ovn-k8s-cni-overlay', topology: 'layer2', name: key });
  const { name } = nad.metadata;
  const owner = { apiVersion: 'k8s.ovn.org/v1', kind, name, uid: 'former', controller: true };
  return { ...nad, metadata: { ...nad.metadata, ownerReferences: [owner] } };
};

/** A pod that an API server takes. */
const runnable = (object: Pod): Pod => {
  const containers = { containers: [{ name: 'main', image: 'none' }] };
  return { ...object, spec: { ...object.spec, ...containers } };
};

/** What the cluster's own controller makes of a service. */
const slice = (name: string, port: number): KubeObject =>
  ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: 'blue',
      name,
      labels: {
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'kubernetes.io/service-name': 'web',
      },
    },
    addressType: 'IPv4',
    endpoints: [
      { addresses: ['172.18.0.2'], targetRef: { kind: 'Pod', namespace: 'blue', name: 'web' } },
    ],
    ports: [{ port, protocol: 'TCP' }],
  }) as KubeObject;
