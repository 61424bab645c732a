/**
 * What a tenant makes at the limits, all of it at once, at a real zone: API server, cluster manager, a node's daemon, Northbound, Southbound, northd
 * and ovn-controller. The zone lives, another tenant's pods get their ports, and what is one too many is told at its object.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { events, resourceKindOf } from '../../../src/api/kinds.ts';
import { objectKey, type KubeObject } from '../../../src/api/objects.ts';
import { DEFAULT_LIMITS } from '../../../src/cluster/settings.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { inParallel } from '../../../src/store/in-parallel.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import {
  conditions,
  layer2,
  layer3,
  namespace,
  node,
  pod,
  PRIMARY,
  rawNad,
} from '../../support/cluster/cluster.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { servedDefinitions } from '../../support/cluster/served-definitions.ts';
import { command, type RunningCommand } from '../../support/run/heddle.ts';
import { until } from '../../support/run/until.ts';
import { OvnController } from '../../support/zone/ovn-controller.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { networkPolicy } from '../../support/zone/policed-zone.ts';
import { CHASSIS_1 } from '../../support/zone/zones.ts';

const started = await startKubeApi();
if (typeof started === 'string') console.warn(`limits are not tested at a zone: ${started}`);

const WAIT = { limit: 60_000, pause: 100 };
const { serviceLimits, policies } = DEFAULT_SETTINGS;
const WRITER = { fieldManager: 'test' };

const ADDRESS = '172.18.0.3/16';
const FACTS = {
  'k8s.ovn.org/node-chassis-id': CHASSIS_1,
  'k8s.ovn.org/node-encap-ips': '["172.18.0.3"]',
  'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: ADDRESS }),
  'k8s.ovn.org/host-cidrs': JSON.stringify([ADDRESS]),
  'k8s.ovn.org/l3-gateway-config': JSON.stringify({
    default: {
      mode: 'shared',
      'bridge-id': 'breth0',
      'interface-id': 'breth0_n1',
      'mac-address': '0a:58:ac:12:00:03',
      'ip-addresses': [ADDRESS],
      'next-hops': ['172.18.0.1'],
      'node-port-enable': 'true',
      'vlan-id': '0',
    },
  }),
};

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);
const own = (name: string): { readonly namespace: string; readonly name: string } => ({
  namespace: 'mallory',
  name,
});

const PORTS = 32;
/** A service with so many addresses, its cluster IP among them, each with `PORTS` ports. */
const service = (name: string, prefix: string, addresses: number, ports = PORTS): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: own(name),
  spec: {
    externalIPs: numbers(addresses - 1).map((n) => `${prefix}.${n + 1}`),
    ports: numbers(ports).map((n) => ({ name: `p${n}`, port: 1000 + n, protocol: 'TCP' })),
  },
});
const slice = (of: string, number: number, ports: readonly object[]): KubeObject =>
  ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...own(`${of}-${number}`),
      labels: { 'kubernetes.io/service-name': of },
    },
    addressType: 'IPv4',
    endpoints: [
      {
        addresses: [`10.200.${(number + 1) >> 8}.${(number + 1) & 255}`],
        conditions: { ready: true },
      },
    ],
    ports,
  }) as KubeObject;

const PER_SLICE = 100;
/** With so many endpoints as a slice of an API server has at most by default. */
const wideSlice = (of: string, number: number, ports: readonly object[]): KubeObject => {
  const endpoints = numbers(PER_SLICE).map((n) => ({
    addresses: [`10.201.${number}.${n + 1}`],
    conditions: { ready: true },
  }));
  return Object.assign(slice(of, number, ports), { endpoints });
};

/** A policy that costs a node two flows for each block and port. */
const policy = (name: string, flows: number): KubeObject => ({
  ...networkPolicy(`mallory/${name}`, {
    podSelector: {},
    policyTypes: ['Egress'],
    egress: [
      {
        // Of addresses far apart nothing can be put together.
        to: numbers(flows / 2 - 1).map((n) => ({
          ipBlock: { cidr: `11.${n >> 8}.${n & 255}.7/32` },
        })),
        ports: [{ port: 80 }],
      },
    ],
  }),
});

const NAD = {
  cniVersion: '1.0.0',
  type: 'ovn-k8s-cni-overlay',
  topology: 'layer2',
};
const nad = (number: number): KubeObject =>
  rawNad(`mallory/nad-${number}`, {
    ...NAD,
    name: `of-nad-${number}`,
    netAttachDefName: `mallory/nad-${number}`,
    subnets: `10.61.${number}.0/24`,
  });
const udn = (number: number): KubeObject =>
  layer2(`mallory/udn-${number}`, `10.60.${number}.0/24`, 'Secondary');
/** Networks that an administrator gives the namespace do not count. */
const cudn = (number: number): KubeObject => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name: `cudn-${number}` },
  spec: {
    namespaceSelector: { matchLabels: { tenant: 'mallory' } },
    network: {
      topology: 'Layer2',
      layer2: { role: 'Secondary', subnets: [`10.62.${number}.0/24`] },
    },
  },
});

describe.skipIf(typeof started === 'string')(
  'objects of a tenant at their limits',
  { retry: 0 },
  () => {
    const api = started as KubeApi;
    const daemons: RunningCommand[] = [];
    const stack = new AsyncDisposableStack();
    let store: KubernetesStore;
    let ovn: OvnZone;

    const create = async (...objects: readonly KubeObject[]): Promise<void> => {
      const failures = await inParallel(8, objects, async (object) => {
        const kind = resourceKindOf(object.apiVersion, object.kind);
        if (kind === undefined) throw new Error(object.kind);
        await store.create(kind, object, WRITER);
      });
      expect(failures).toEqual([]);
    };
    const log = (): string =>
      daemons.map((daemon) => daemon.log.split('\n').slice(-15).join('\n')).join('\n');
    const waitFor = (what: string, isTrue: () => Promise<boolean>): Promise<void> =>
      until(what, isTrue, { ...WAIT, output: log });
    const portsOf = async (key: string): Promise<number> =>
      (await ovn.sbctl('--bare', '--columns=logical_port', 'list', 'Port_Binding'))
        .split('\n')
        .filter((port) => port.endsWith(key.replace('/', '_'))).length;

    let canaries = 0;
    /** Another tenant's next pod is on both of its networks, and the chassis has made flows of it. */
    const servesOthers = async (): Promise<void> => {
      const name = `canary${(canaries += 1)}`;
      await create(pod(`blue/${name}`, 'n1'));
      await waitFor(`ports of ${name}`, async () => (await portsOf(`blue/${name}`)) === 2);
      await ovn.nbctl('--wait=hv', 'sync');
    };
    /** What events, and the zone, say of an object of the tenant. */
    const told = async (kind: string, name: string): Promise<readonly string[]> => {
      const ofObject = (await store.list(events, undefined, { namespace: 'mallory' })).filter(
        (event) =>
          'involvedObject' in event &&
          (event.involvedObject as { kind?: string; name?: string }).kind === kind &&
          (event.involvedObject as { name?: string }).name === name,
      );
      const { body } = await api.call('GET', '/apis/k8s.ovn.org/v1alpha1/zonestatuses/n1');
      const { status } = body as {
        status?: { problems?: readonly { object: string; message: string }[] };
      };
      const problems = (status?.problems ?? []).filter(
        ({ object }) => object === `${kind} mallory/${name}`,
      );
      return [
        ...ofObject.map((event) => `event: ${(event as { message?: string }).message ?? ''}`),
        ...problems.map(({ message }) => `problem: ${message}`),
      ];
    };
    const isTold = (kind: string, name: string, setting: string): Promise<void> =>
      waitFor(`${kind} ${name} to be told of ${setting}`, async () => {
        const list = (await told(kind, name)).filter((text) => text.includes(setting));
        return ['event: ', 'problem: '].every((from) => list.some((text) => text.startsWith(from)));
      });
    const vips = async (prefix: string): Promise<number> =>
      (await ovn.nbctl('--bare', '--columns=vips', 'list', 'Load_Balancer')).split(`${prefix}.`)
        .length - 1;

    beforeAll(async () => {
      stack.use(api);
      store = stack.adopt(new KubernetesStore({ connection: api.connection }), (one) =>
        one.close(),
      );
      ovn = stack.use(await OvnZone.start(CHASSIS_1, '172.18.0.3'));
      stack.use(
        await OvnController.start(ovn, {
          chassis: CHASSIS_1,
          address: '172.18.0.3',
          mappings: { physnet: 'breth0' },
          ports: {},
        }),
      );
      await api.install(servedDefinitions);
      await create(
        namespace('default', {}),
        namespace('blue', PRIMARY),
        namespace('mallory', { tenant: 'mallory' }),
        node('n1', FACTS),
        layer3('blue/net', '10.20.0.0/16/24'),
      );
      const remotes = [`--nb=${ovn.northbound.remote}`, `--sb=${ovn.southbound.remote}`];
      for (const args of [['cluster'], ['node', '--node=n1', '--socket=none', ...remotes]])
        daemons.push(
          stack.use(
            command(
              ...args,
              `--kubeconfig=${api.kubeconfig}`,
              '--metrics-bind-address=127.0.0.1:0',
              '--cluster-subnets=10.244.0.0/16/24',
              '--k8s-service-cidrs=10.96.0.0/16',
            ),
          ),
        );
      await servesOthers();
    }, 180_000);
    afterAll(() => stack.disposeAsync());

    test('networks: 50 of the namespace itself, and those that an administrator adds', async () => {
      const most = DEFAULT_LIMITS.networksPerNamespace;
      const [udns, nads, cudns] = [
        numbers(most / 2).map(udn),
        numbers(most / 2).map(nad),
        [0, 1].map(cudn),
      ];
      await create(...cudns, ...udns, ...nads);
      const names = [...udns, ...nads, ...cudns].map(({ metadata }) => metadata.name);
      const selection = JSON.stringify(names.map(own));
      await create(pod('mallory/all', 'n1', { 'k8s.v1.cni.cncf.io/networks': selection }));
      await waitFor(
        'ports on all networks',
        async () => (await portsOf('mallory/all')) === most + 3,
      );
      await create(udn(most), nad(most));
      await waitFor('a network too many to be told', async () =>
        (await conditions(store, objectKey(udn(most).metadata))).some((text) =>
          text.includes('--max-networks-per-namespace'),
        ),
      );
      await waitFor('a NAD too many to be told', async () =>
        (await told('NetworkAttachmentDefinition', `nad-${most}`)).some((text) =>
          text.includes('--max-networks-per-namespace'),
        ),
      );
      await servesOthers();
    }, 180_000);

    test('a policy of as many flows as one may cost, and one of more', async () => {
      await create(policy('dear', policies.mostFlows), policy('too-dear', policies.mostFlows + 2));
      await isTold('NetworkPolicy', 'too-dear', 'max-flows-per-policy');
      await servesOthers();
      expect(await told('NetworkPolicy', 'dear')).toEqual([]);
      const written = await Promise.all([
        ovn.nbctl('--bare', '--columns=match', 'list', 'ACL'),
        ovn.nbctl('--bare', '--columns=addresses', 'list', 'Address_Set'),
      ]);
      const blocks = new Set(written.join(' ').match(/\b11\.\d+\.\d+\.7\b/g));
      expect(blocks.size).toBe(policies.mostFlows / 2 - 1);
    }, 180_000);

    test('services of as many addresses, ports and EndpointSlices as one may have, and of more', async () => {
      const addresses = serviceLimits.entries / PORTS;
      const named = numbers(PORTS).map((n) => ({ name: `p${n}`, port: 8080, protocol: 'TCP' }));
      const http = [{ name: 'p0', port: 8080, protocol: 'TCP' }];
      await create(
        service('full', '198.51.100', addresses),
        service('beyond', '203.0.113', addresses + 1),
        slice('full', 0, named),
        slice('beyond', 0, named),
        service('many', '', 1, 1),
        ...numbers(serviceLimits.slices + 1).map((n) => slice('many', n, http)),
      );
      await isTold('Service', 'beyond', 'max-service-entries');
      await isTold('Service', 'many', 'max-service-slices');
      await servesOthers();
      expect(await vips('198.51.100')).toBeGreaterThanOrEqual((addresses - 1) * PORTS);
      expect(await vips('203.0.113')).toBe(0);
      expect(await told('Service', 'full')).toEqual([]);
    }, 180_000);

    test('a service of as many endpoints as one may have, one that changes, and one of more', async () => {
      const http = [{ name: 'p0', port: 8080, protocol: 'TCP' }];
      // A quarter of them is for one address and port.
      const most = serviceLimits.targets / 4;
      const slices = Math.ceil(most / PER_SLICE);
      await create(
        service('wide', '', 1, 1),
        ...numbers(slices).map((n) => wideSlice('wide', n, http)),
      );
      const backends = async (): Promise<number> =>
        (await ovn.nbctl('--bare', '--columns=vips', 'list', 'Load_Balancer')).split('10.201.')
          .length - 1;
      await waitFor('all endpoints', async () => (await backends()) >= most);
      await servesOthers();
      await create(wideSlice('wide', slices, http));
      await isTold('Service', 'wide', 'max-service-targets');
      await servesOthers();
    }, 180_000);

    test('the daemons live, and are ready', async () => {
      for (const daemon of daemons) {
        const url = /"health":"([^"]+)"/.exec(daemon.log)?.[1] ?? '';
        for (const path of ['/healthz', '/readyz'])
          expect((await fetch(`${url}${path}`)).status, path).toBe(200);
      }
    });
  },
);
