/** Heddle installed on a real Kubernetes as docs/install.md says, on nodes that have what it asks for and nothing else. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outputInside } from '../../../src/lab/exec.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { checkout, nodeNames } from '../../../src/lab/paths.ts';
import { hasVrfs } from '../../../src/lab/status.ts';
import { STREAM_PORT, whileStreaming, type Stream } from '../../support/host/streams.ts';
import { sayHeld } from '../../support/lab/held-table.ts';
import {
  answering,
  flat,
  HostileTenant,
  IMAGE,
  isOfTenant,
  namespaceOf,
  OWN,
  PRIMARY,
  primaryNetwork,
  udns,
} from '../../support/lab/hostile-tenant.ts';
import { tenantRequests } from '../../support/lab/hostile-tenant-requests.ts';
import { nodePrerequisites } from '../../support/lab/node-prerequisites.ts';
import {
  documentedCommands,
  leftOf,
  type PodOnNode,
  RealKubernetes,
  whyNoRealKubernetes,
} from '../../support/lab/real-kubernetes.ts';
import { triedAsNobody, unanswered, whileFlooding } from '../../support/lab/socket-floods.ts';
import { difference, northboundRows } from '../../support/ovsdb/northbound-rows.ts';
import { RELEASE, releaseCommit, releaseFolder } from '../../support/run/release.ts';
import { until } from '../../support/run/until.ts';
import { outcomes } from '../../upstream/report.ts';

const NAME = 'e2e-kubernetes';
const NODES = 2;
const PORT = 8080;
const NODE_PORT = 30900;
const LIMIT = 480_000;
/** On a machine of half the speed. */
const SPECS_LIMIT = 600_000;
const isRelease = process.env['HEDDLE_TEST_RELEASE'] !== undefined;
/** Before a release, and where the history here has it: test/e2e/upgrade.test.ts goes both ways on each run. Else this version's own daemons are restarted. */
const COMMIT = isRelease ? releaseCommit() : undefined;
/** Of what is sent while daemons are exchanged, the whole minute of it: with two processors for two nodes and Kubernetes up to 7 in 1,000 were, and half that speed is enough. */
const MOST_LOST = 0.02;
/** Times as long as without a flood may three pods take to come up; what they take varies by half on a busy machine. */
const MOST_SLOWER = 4;
/** What removal leaves, as docs/install.md says: a bridge, and its devices in the userspace datapath. */
const LEFT = /^(br-int|ovs-netdev)\b/;

/** Of upstream's, those that found most in the time that they take: some of each kind, none that waits for long. The whole is `npm run conformance`. */
const SPECS = [
  'Services should serve multiport endpoints from pods',
  'Services should be able to create a functioning NodePort service',
  'Services should be possible to connect to a service via ExternalIP when the external IP is not assigned to a node',
  'Conntrack should be able to preserve UDP traffic when server pod cycles for a ClusterIP service with InternalTrafficPolicy set to Local',
  'Services should allow pods to hairpin back to themselves through services',
  'Services should preserve source pod IP for traffic thru service cluster IP',
  'Services should respect internalTrafficPolicy=Local Pod to Pod',
  'Services should support externalTrafficPolicy=Local for type=NodePort',
  'Services should have session affinity work for service with type clusterIP',
  'Services should be rejected when no endpoints exist',
  'Services should be updated after adding or deleting ports',
  'EndpointSlice should support a Service with multiple endpoint IPs specified in multiple EndpointSlices',
  'DNS should provide DNS for services',
  'NetworkPolicy between server and client should enforce except clause while egress access to server in CIDR block',
  'NetworkPolicy between server and client should allow egress access on one named port',
  'NetworkPolicy between server and client using UDP should enforce policy based on Ports',
];
const escaped = (text: string): string => text.replaceAll(/[^\w ]/g, '.');

/** Namespaces, each with its pods on another kind of network. */
const TENANTS: Readonly<Record<string, object | undefined>> = {
  plain: undefined,
  layer3: {
    topology: 'Layer3',
    layer3: {
      role: 'Primary',
      subnets: [
        { cidr: '10.60.0.0/16', hostSubnet: 24 },
        { cidr: 'fd00:10:60::/48', hostSubnet: 64 },
      ],
    },
  },
  layer2: {
    topology: 'Layer2',
    layer2: { role: 'Primary', subnets: ['10.61.0.0/16', 'fd00:10:61::/64'] },
  },
};

/** Networks that one pod is on besides. */
const SECONDARY: Readonly<Record<string, object>> = {
  flat: {
    topology: 'Layer2',
    layer2: { role: 'Secondary', subnets: ['10.62.0.0/16', 'fd00:10:62::/64'] },
  },
  routed: {
    topology: 'Layer3',
    layer3: {
      role: 'Secondary',
      subnets: [
        { cidr: '10.63.0.0/16', hostSubnet: 24 },
        { cidr: 'fd00:10:63::/48', hostSubnet: 64 },
      ],
    },
  },
};

const ANSWERS = {
  exec: { command: ['/agnhost', 'connect', `127.0.0.1:${PORT}`, '--timeout=5s'] },
  timeoutSeconds: 10,
};

/** A pod per node that answers with its name, and a service of them. */
const workload = (
  namespace: string,
  annotations: Readonly<Record<string, string>> = {},
): readonly object[] => [
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { namespace, name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' }, annotations },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: 'web',
              image: IMAGE,
              args: ['netexec', `--http-port=${PORT}`, `--udp-port=${PORT}`],
              // By exec: what kubelet asks over the network depends on more. Often until it answers, as each asking costs the node two processes.
              startupProbe: { ...ANSWERS, periodSeconds: 2, failureThreshold: 60 },
              readinessProbe: { ...ANSWERS, periodSeconds: 60 },
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: 'web' },
    spec: {
      type: 'NodePort',
      ipFamilyPolicy: 'RequireDualStack',
      selector: { app: 'web' },
      ports: [
        { name: 'web', port: 80, targetPort: PORT },
        ...(['TCP', 'UDP'] as const).map((protocol) => ({
          name: protocol.toLowerCase(),
          port: STREAM_PORT,
          protocol,
          ...(namespace === 'plain' ? { nodePort: NODE_PORT } : {}),
        })),
      ],
    },
  },
];

interface Attached {
  readonly role: string;
  readonly ip_addresses: readonly string[];
}

interface FoundPod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly podIP?: string };
}

interface TenantPod extends PodOnNode {
  /** That others know it by: of its primary network. */
  readonly addresses: readonly string[];
  /** By the NAD of each network. */
  readonly networks: ReadonlyMap<string, readonly string[]>;
}

describe.skipIf(whyNoRealKubernetes !== undefined)(
  `Heddle on a real Kubernetes${whyNoRealKubernetes === undefined ? '' : ` (${whyNoRealKubernetes})`}`,
  { timeout: LIMIT, retry: 0 },
  () => {
    let cluster: RealKubernetes;
    let release: string | undefined;
    let isDown = false;
    const before = new Map<string, Readonly<Record<string, readonly string[]>>>();
    const nodes = nodeNames(NODES);

    beforeAll(async () => {
      release = COMMIT === undefined ? undefined : releaseFolder(COMMIT);
      cluster = await RealKubernetes.start(NAME, NODES, release);
    });
    afterAll(async () => {
      if (!isDown) await cluster[Symbol.asyncDispose]();
    });

    /** Pods of a tenant: name, address of the node's network, addresses that others of its network know them by. */
    const podsIn = async (namespace: string): Promise<readonly TenantPod[]> => {
      const list = JSON.parse(
        await cluster.kubectl('-n', namespace, 'get', 'pods', '-o', 'json'),
      ) as { readonly items: readonly FoundPod[] };
      return list.items.map(({ metadata, spec, status }) => {
        const networks = JSON.parse(
          metadata.annotations?.['k8s.ovn.org/pod-networks'] ?? '{}',
        ) as Readonly<Record<string, Attached>>;
        const of = ({ ip_addresses: ips }: Attached): string[] =>
          ips.map((ip) => ip.split('/')[0] ?? '');
        const primary = Object.values(networks).find(({ role }) => role === 'primary');
        return {
          node: spec.nodeName,
          namespace,
          name: metadata.name,
          uid: metadata.uid,
          address: status.podIP ?? '',
          addresses: primary === undefined ? [] : of(primary),
          networks: new Map(Object.entries(networks).map(([nad, one]) => [nad, of(one)])),
        };
      });
    };
    /** The same by node. */
    const podsOf = async (namespace: string): Promise<ReadonlyMap<string, TenantPod>> =>
      new Map((await podsIn(namespace)).map((pod) => [pod.node, pod]));
    const pair = async (namespace: string): Promise<[TenantPod, TenantPod]> => {
      const pods = await podsOf(namespace);
      return nodes.map((node) => pods.get(node) ?? expect.unreachable(`no pod on ${node}`)) as [
        TenantPod,
        TenantPod,
      ];
    };
    const withPort = (address: string, port: number): string =>
      address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
    /** Once, without another try. */
    const connects = async (
      namespace: string,
      { name }: TenantPod,
      to: string,
      seconds = 10,
    ): Promise<string> => {
      const words = ['exec', name, '--', '/agnhost', 'connect', to, `--timeout=${seconds}s`];
      const { code, stdout, stderr } = await cluster.tryKubectl('-n', namespace, ...words);
      return code === 0 ? 'connected' : `${stdout}${stderr}`;
    };

    test('comes up by the documented steps on nodes that hold what is asked for', async () => {
      await cluster.keepSettings(nodePrerequisites);
      for (const node of nodes) {
        expect(nodePrerequisites).toEqual(
          expect.arrayContaining([...(await cluster.settings(node))]),
        );
        before.set(node, await cluster.hostOf(node));
      }
      await cluster.installHeddle(await hasVrfs(cluster.record));
      try {
        for (const what of ['daemonset/heddle-node', 'deployment/heddle-cluster'])
          await cluster.kubectl('-n', 'heddle', 'rollout', 'status', what, '--timeout=240s');
        await cluster.kubectl('wait', '--for=condition=Ready', 'node', '--all', '--timeout=120s');
      } catch (error) {
        throw new Error(await cluster.logs(), { cause: error });
      }
      const restarts = await cluster.kubectl(
        '-n',
        'heddle',
        'get',
        'pods',
        '-o',
        'jsonpath={.items[*].status.containerStatuses[*].restartCount}',
      );
      expect(new Set(restarts.split(' '))).toEqual(new Set(['0']));
    });

    test('every node says that it is ready, that it reaches the others, and that nothing was refused', async () => {
      await cluster.kubectl(
        'wait',
        '--for=jsonpath={.status.ready}=true',
        'zonestatus',
        '--all',
        '--timeout=60s',
      );
      for (const what of ['unreached', 'problems']) {
        const path = `jsonpath={.items[*].status.${what}}`;
        expect(await cluster.kubectl('get', 'zonestatus', '-o', path), what).toBe('[] []');
      }
    });

    test.each(Object.entries(TENANTS))('packets between nodes: %s', async (namespace, network) => {
      const labels =
        network === undefined ? {} : { 'k8s.ovn.org/primary-user-defined-network': '' };
      await cluster.apply(
        namespace,
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
        ...(network === undefined
          ? []
          : [
              {
                apiVersion: 'k8s.ovn.org/v1',
                kind: 'UserDefinedNetwork',
                metadata: { namespace, name: 'net' },
                spec: network,
              },
            ]),
        ...workload(namespace),
      );
      await cluster.kubectl(
        '-n',
        namespace,
        'rollout',
        'status',
        'daemonset/web',
        '--timeout=180s',
      );
      const [first, second] = await pair(namespace);
      const path = 'jsonpath={.spec.clusterIPs[*]}';
      const clusterIps = (
        await cluster.kubectl('-n', namespace, 'get', 'service', 'web', '-o', path)
      ).split(' ');
      const ways: readonly [TenantPod, string, number][] = [
        ...second.addresses.map((address) => [first, address, PORT] as const),
        ...first.addresses.map((address) => [second, address, PORT] as const),
        ...clusterIps.map((address) => [first, address, 80] as const),
      ].map(([from, address, port]) => [from, address, port]);
      expect(ways).toHaveLength(6); // of each family
      for (const [from, address, port] of ways)
        expect(await connects(namespace, from, withPort(address, port)), address).toBe('connected');
    });

    test('tenants do not reach each other', async () => {
      const [[from], to] = [await pair('layer3'), await pair('layer2')];
      const addresses = to.flatMap((pod) => pod.addresses);
      const said = await Promise.all(
        addresses.map((address) => connects('layer3', from, withPort(address, PORT), 3)),
      );
      for (const one of said) expect(one).not.toBe('connected');
    });

    test('kubectl heddle, on another machine, asks the daemons of nodes: of a packet those of both ends', async () => {
      const [[from, near], [other]] = [await pair('layer3'), await pair('layer2')];
      const nameOf = ({ namespace, name }: TenantPod): string => `${namespace}/${name}`;
      const asked = async (...words: readonly string[]): Promise<readonly [number, string]> => {
        const { code, stdout, stderr } = await cluster.plugin(...words);
        return [code, `${stdout}\n${stderr}`];
      };
      const [code, said] = await asked('explain', nameOf(from), `${nameOf(near)}:${PORT}`);
      expect(said).toContain(`${nameOf(near)}:${PORT}: reaches`);
      for (const { node } of [from, near])
        expect(said).toContain(`answered by the daemon of node ${node} `);
      expect(code).toBe(0);
      const apart = await asked('explain', nameOf(from), `${nameOf(other)}:${PORT}`);
      expect(apart[1]).toContain(`${nameOf(other)}:${PORT}: does not reach`);
      expect(apart[0]).toBe(1);
      const [, versions] = await asked('version', '--node', near.node);
      expect(versions).toContain(`answered by the daemon of node ${near.node} `);
      expect(versions).toMatch(/^ovn-northd +\d/m);
      expect((await asked('check', '--node', 'nobody'))[1]).toContain(
        'no pod of the node daemon (app.kubernetes.io/name=heddle,app.kubernetes.io/component=node) runs on node "nobody" in namespace heddle',
      );
    });

    test('packets between nodes: secondary networks, with the calls that Multus makes', async () => {
      const networks = JSON.stringify(Object.keys(SECONDARY).map((name) => ({ name })));
      await cluster.apply(
        'both',
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'both' } },
        ...Object.entries(SECONDARY).map(([name, spec]) => ({
          apiVersion: 'k8s.ovn.org/v1',
          kind: 'UserDefinedNetwork',
          metadata: { namespace: 'both', name },
          spec,
        })),
      );
      const created = ['--for=condition=NetworkCreated', '--timeout=60s'];
      await cluster.kubectl('-n', 'both', 'wait', ...created, 'userdefinednetwork', '--all');
      await cluster.apply(
        'both-pods',
        ...workload('both', { 'k8s.v1.cni.cncf.io/networks': networks }),
      );
      const rolled = ['rollout', 'status', 'daemonset/web', '--timeout=180s'];
      await cluster.kubectl('-n', 'both', ...rolled);
      const pods = await pair('both');
      for (const [index, name] of Object.keys(SECONDARY).entries()) {
        const nad = ['network-attachment-definition', name, '-o', 'jsonpath={.spec.config}'];
        const config = await cluster.kubectl('-n', 'both', 'get', ...nad);
        for (const pod of pods) await cluster.addAsMultus(pod, `net${index + 1}`, config);
        const [from, to] = pods;
        const addresses = to.networks.get(`both/${name}`) ?? [];
        expect(addresses).toHaveLength(2);
        for (const address of addresses)
          expect(await connects('both', from, withPort(address, PORT)), address).toBe('connected');
      }
    });

    describe('a tenant', () => {
      let tenant: HostileTenant;
      const rowsBefore = new Map<string, readonly string[]>();
      afterAll(() => sayHeld('a tenant on a real Kubernetes', tenant?.attacks ?? []));

      const rows = (node: string): ReturnType<typeof northboundRows> =>
        northboundRows('unix:/var/run/ovn/ovnnb_db.sock', isOfTenant, (...words) =>
          outputInside(cluster.record, ['on', node, 'ovsdb-client', ...words]),
        );
      /** On n1: of the default network, the one that a policy closes, and those of primary networks. */
      const victims = async (): Promise<[TenantPod, TenantPod, TenantPod, TenantPod]> =>
        (await Promise.all(
          ['plain', 'closed', 'layer3', 'layer2'].map(
            async (one) =>
              (await podsOf(one)).get('n1') ?? expect.unreachable(`${one} has no pod on n1`),
          ),
        )) as [TenantPod, TenantPod, TenantPod, TenantPod];
      const podOf = async (namespace: string, pod: string): Promise<TenantPod> =>
        (await podsIn(namespace)).find(({ name }) => name === pod) ??
        expect.unreachable(`no pod ${namespace}/${pod}`);

      test('comes with his tokens, his networks and his pods, beside one whom a policy closes', async () => {
        await cluster.letApiReachPods();
        await cluster.apply('closed', namespaceOf('closed', {}), answering('closed', 'web', 'n1'), {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'NetworkPolicy',
          metadata: { namespace: 'closed', name: 'all' },
          spec: { podSelector: {}, policyTypes: ['Ingress'] },
        });
        await cluster.kubectl(
          '-n',
          'closed',
          'wait',
          'pod/web',
          '--for=condition=Ready',
          '--timeout=90s',
        );
        for (const node of nodes) rowsBefore.set(node, (await rows(node)).others);
        tenant = await HostileTenant.settle(cluster);
      });

      test('gets packets of no other network by what kubelets do for him', async () => {
        const [plain, closed, layer3, layer2] = await victims();
        const peer = await podOf(OWN.network, 'peer');
        const isolated = [layer3, layer2].flatMap((pod) => [...pod.addresses, pod.address]);
        const shut = [closed.address, ...isolated];
        const wrong: string[] = [];
        const check = (
          kind: string,
          by: string,
          answers: Readonly<Record<string, string>>,
          ...expected: readonly string[]
        ): void => {
          const names = Object.values(answers);
          wrong.push(
            ...tenant.held(kind, by, [
              ...Object.entries(answers)
                .filter(([, name]) => !expected.includes(name))
                .map(([address, name]) => `${name} answers at ${address}`),
              ...expected
                .filter((name) => !names.includes(name))
                .map((name) => `${name} does not answer`),
            ]),
          );
        };
        // On the default network who is open there answers; on his own his own.
        const fromPlain = await tenant.answers('editor', OWN.plain, 'own', [
          plain.address,
          ...shut,
        ]);
        check('executes', 'default network', fromPlain, plain.name);
        const addresses = [plain.address, ...shut, ...peer.addresses];
        const asked = [OWN.network, 'own', addresses] as const;
        check('executes', 'his network', await tenant.answers('editor', ...asked), 'peer');
        const added = await tenant.addContainer(OWN.network, 'own');
        const fromAdded = await tenant.answers('editor', ...asked, added);
        check('adds a container', 'his network', fromAdded, 'peer');
        check('is attached', 'his network', await tenant.answersToAttached(addresses), 'peer');
        for (const namespace of [OWN.plain, OWN.network]) {
          const by = namespace === OWN.plain ? 'default network' : 'his network';
          check(
            'forwards a port',
            by,
            { forwarded: await tenant.forwarded(namespace, 'own') },
            'own',
          );
        }
        // A port that he opens on the default network is that of his pod alone.
        const opened = (await podOf(OWN.network, 'open')).address;
        const unopened = (await podOf(OWN.network, 'own')).address;
        const way = ['administrator', 'plain', plain.name, [opened, unopened, ...shut]] as const;
        check('opens a port', 'his network', await tenant.answers(...way), 'open');
        for (const { namespace, name } of [closed, layer3])
          wrong.push(...(await tenant.byKubelet('more', namespace, name)));
        for (const [port, path] of [
          [10_250, 'pods'],
          [10_250, `run/layer3/${layer3.name}/web?cmd=id`],
          [9476, 'metrics'],
        ] as const)
          wrong.push(...(await tenant.askNode(port, path)));
        expect(wrong).toEqual([]);
      });

      test('is refused what is not his, and what he may does nothing to others', async () => {
        const [plain, closed, layer3] = await victims();
        const uid = ['get', 'userdefinednetwork', 'net', '-o', 'jsonpath={.metadata.uid}'];
        const requests = tenantRequests(
          { closed, layer3 },
          await cluster.kubectl('-n', 'layer3', ...uid),
        );
        const wrong: string[] = [];
        for (const [kind, by, lines] of requests)
          wrong.push(...(await tenant.ask(kind, by, ...lines)));
        // His services lead nowhere that he may not be himself.
        const ips = ['get', 'services', '-o', 'jsonpath={.items[*].spec.clusterIP}'];
        for (const namespace of [OWN.plain, OWN.network]) {
          const services = (await cluster.kubectl('-n', namespace, ...ips)).split(' ');
          expect(services).toHaveLength(3);
          const answers = await tenant.answers('editor', namespace, 'own', [...services]);
          const problems = Object.entries(answers).map((one) => one.join(': '));
          wrong.push(...tenant.held('endpoints of others', 'more', problems));
        }
        // Nobody else has taken an address of others, and they reach each other.
        const [first, second] = await pair('layer3');
        const peers = await tenant.answers('administrator', 'layer3', first.name, second.addresses);
        expect(Object.values(peers)).toEqual(second.addresses.map(() => second.name));
        const own = await podsIn(OWN.plain);
        for (const { name, networks, address } of own) {
          const others = [...networks.keys()].filter((key) => key !== 'default');
          const taken = [plain, closed, layer3].filter(
            (one) => one.address === address && address !== '',
          );
          const problems = [...others, ...taken.map((one) => `the address of ${one.name}`)];
          wrong.push(
            ...tenant.held(
              'networks of his pods',
              'editor',
              problems.map((one) => `${name}: ${one}`),
            ),
          );
        }
        expect(wrong).toEqual([]);
      });

      test('takes his network away beneath his pods, and gets to nobody who has its place', async () => {
        const own = await podOf(OWN.gone, 'own');
        const wrong = await tenant.takeAway();
        // Another tenant's, with the same range.
        await cluster.apply('later', namespaceOf('later', PRIMARY), primaryNetwork('later'));
        const created = ['wait', '--for=condition=NetworkCreated', '--timeout=60s'];
        await cluster.kubectl('-n', 'later', ...created, 'userdefinednetwork/net');
        const later = nodes.flatMap((node) =>
          [1, 2].map((n) => answering('later', `later-${node}-${n}`, node)),
        );
        await cluster.apply('later-pods', ...later);
        await cluster.kubectl(
          '-n',
          'later',
          'wait',
          'pod',
          '--all',
          '--for=condition=Ready',
          '--timeout=90s',
        );
        const pods = await podsIn('later');
        const addresses = pods.flatMap((pod) => pod.addresses);
        const isOwn = (name: string): boolean => !name.startsWith('later');
        const strange = (
          answers: Readonly<Record<string, string>>,
          is: (name: string) => boolean,
        ): readonly string[] =>
          Object.entries(answers)
            .filter(([, name]) => is(name))
            .map((one) => one.join(': '));
        const his = await tenant.answers('editor', OWN.gone, 'own', addresses);
        wrong.push(
          ...tenant.held(
            'a network that is gone',
            'his network',
            strange(his, (name) => !isOwn(name)),
          ),
        );
        for (const { name } of pods) {
          const found = await tenant.answers('administrator', 'later', name, [
            ...addresses,
            ...own.addresses,
          ]);
          wrong.push(
            ...tenant.held('a network that is gone', 'another network', strange(found, isOwn)),
          );
          expect(Object.values(found).filter((one) => !isOwn(one)).length).toBeGreaterThanOrEqual(
            pods.length,
          );
        }
        // His next one by that name, with the range of a third: his pods are not on that either.
        const [, , layer3] = await victims();
        await tenant.make(udns(OWN.gone), flat(OWN.gone, 'net', '10.60.0.0/16', 'Primary'));
        await cluster.kubectl('-n', OWN.gone, ...created, 'userdefinednetwork/net');
        const again = await tenant.answers('editor', OWN.gone, 'own', layer3.addresses);
        const kind = 'a network by the name of one that is gone';
        wrong.push(
          ...tenant.held(
            kind,
            'his network',
            strange(again, () => true),
          ),
        );
        expect(wrong).toEqual([]);
        await cluster.kubectl('delete', 'namespace', 'later', '--wait=false');
      });

      test.runIf(isRelease)(
        'floods what a node listens on, and another tenant’s pods come up in their usual time',
        async () => {
          let waves = 0;
          /** Milliseconds until three pods of another tenant are ready. */
          const wave = async (): Promise<number> => {
            waves += 1;
            const began = performance.now();
            const names = [1, 2, 3].map((n) => `canary-wave-${waves}-${n}`);
            await cluster.apply('wave', ...names.map((name) => answering('layer3', name, 'n1')));
            await tenant.ready('layer3', ...names);
            const took = performance.now() - began;
            await cluster.kubectl('-n', 'layer3', 'delete', 'pod', ...names);
            return took;
          };
          const sockets = ['/run/heddle/cni.sock', '/run/heddle/n1.sock'];
          const tried = await triedAsNobody(cluster.record, 'n1', 1000, [
            '/run/heddle',
            '/var/run/ovn/',
            '/var/run/openvswitch/',
          ]);
          expect(Object.keys(tried)).toEqual(expect.arrayContaining(sockets));
          const wrong: string[] = [];
          for (const [path, came] of Object.entries(tried))
            wrong.push(
              ...tenant.held(
                'sockets',
                'an unprivileged process',
                came['opened'] === undefined ? [] : [path],
              ),
            );

          const before = await wave();
          const beside: (readonly [by: string, took: number])[] = [];
          const onNode = (...command: readonly string[]): Promise<string> =>
            outputInside(cluster.record, ['on', 'n1', ...command]);
          const inPod = async (...command: readonly string[]): Promise<string> => {
            const { code, stdout, stderr } = await tenant.kubectl(
              'editor',
              '',
              '-n',
              OWN.plain,
              'exec',
              'own',
              '--',
              ...command,
            );
            if (code !== 0) throw new Error(stderr);
            return stdout;
          };
          const node = OUTSIDE.v4.replace('100', '11');
          const floods = [
            ['a pod', inPod, [`${node}:9476`], `curl -skf https://${node}:9476/readyz`],
            [
              'root of the node',
              onNode,
              sockets,
              'echo \'{"jsonrpc":"2.0","id":1,"method":"about"}\' | nc -NU /run/heddle/n1.sock | grep result',
            ],
          ] as const;
          for (const [by, run, targets, honest] of floods) {
            let [took, lost] = [0, 0];
            const sent = await whileFlooding(run, targets, async () => {
              took = await wave();
              lost = await unanswered(cluster.record, 'n1', honest, 20);
            });
            beside.push([by, took]);
            console.log(
              `three pods of another tenant came up beside ${JSON.stringify(sent)} connections`,
            );
            for (const [target, count] of Object.entries(sent))
              expect(count, target).toBeGreaterThan(1000);
            wrong.push(
              ...tenant.held(
                'floods: who asks',
                by,
                lost > 0 ? [`${lost} of 20 were not answered`] : [],
              ),
            );
          }
          // What else the machine does is in one of both.
          const quiet = Math.max(before, await wave());
          for (const [by, took] of beside) {
            const said = `three pods came up in ${Math.round(took)} ms beside ${by}, in ${Math.round(quiet)} ms without`;
            console.log(said);
            const problems = took > MOST_SLOWER * quiet ? [said] : [];
            wrong.push(...tenant.held('floods: pods that start', by, problems));
          }
          expect(wrong).toEqual([]);
        },
      );

      test('is gone with all that was his once his namespaces are, and of others nothing was changed', async () => {
        // Until then he keeps them from their end.
        await cluster.kubectl('delete', 'namespace', ...Object.values(OWN), '--wait=false');
        await cluster.kubectl(
          '-n',
          OWN.network,
          'patch',
          'network-attachment-definition',
          'net',
          '--type=merge',
          '-p',
          '{"metadata":{"finalizers":null}}',
        );
        await cluster.kubectl(
          'wait',
          '--for=delete',
          ...[...Object.values(OWN), 'later'].map((name) => `namespace/${name}`),
          '--timeout=120s',
        );
        await cluster.kubectl('delete', 'clusterrole', 'mallory');
        let left: readonly string[] = [];
        await until(
          'the rows of the tenant to go',
          async () => {
            const found = await Promise.all(nodes.map(rows));
            left = found.flatMap(({ own, others }, index) => [
              ...own,
              ...difference(rowsBefore.get(nodes[index] ?? '') ?? [], others),
            ]);
            return left.length === 0;
          },
          { limit: 60_000, pause: 500, output: () => left.slice(0, 10).join('\n') },
        );
        expect(await tenant.changed()).toEqual([]);
        const restarts = [
          'get',
          'pods',
          '-o',
          'jsonpath={.items[*].status.containerStatuses[*].restartCount}',
        ];
        expect(new Set((await cluster.kubectl('-n', 'heddle', ...restarts)).split(' '))).toEqual(
          new Set(['0']),
        );
        await cluster.kubectl('delete', 'namespace', 'closed', '--timeout=60s');
      });
    });

    test(
      'upstream’s specs of services, names and policies pass',
      { timeout: SPECS_LIMIT },
      async () => {
        await cluster.letApiReachPods();
        await cluster.installDns();
        await cluster.kubectl(
          '-n',
          'kube-system',
          'rollout',
          'status',
          'deployment/dns',
          '--timeout=120s',
        );
        const { report, log } = await cluster.specs('install', {
          focus: `\\[sig-network\\].*(${SPECS.map(escaped).join('|')})`,
          skip: 'Provider:|Disruptive|Serial',
          seconds: SPECS_LIMIT / 1000 - 60,
        });
        const ended = outcomes(report).filter(({ state }) => state !== 'not run');
        const others = ended.filter(({ state }) => state !== 'passed');
        const told = others.map(
          ({ name, state, seconds, message }) =>
            `${name}: ${state} after ${seconds.toFixed(0)} s: ${message}`,
        );
        expect(others, `${told.join('\n')}\nsee ${log}`).toEqual([]);
        expect(ended).toHaveLength(SPECS.length);
      },
    );

    describe(`node by node to ${COMMIT === undefined ? 'new daemons' : `${RELEASE}, and to this version`}`, () => {
      /** Both ends of each way: what runs a program there. */
      const pods = new Map<string, TenantPod>();
      const commands = new Map<string, readonly string[]>();
      let streams: readonly Stream[];
      const rows = new Map<string, readonly string[]>();
      const rowsOf = async (node: string): Promise<readonly string[]> =>
        (
          await northboundRows(
            'unix:/var/run/ovn/ovnnb_db.sock',
            () => false,
            (...words) => outputInside(cluster.record, ['on', node, 'ovsdb-client', ...words]),
          )
        ).others;

      beforeAll(async () => {
        for (const namespace of Object.keys(TENANTS))
          for (const [node, pod] of await podsOf(namespace)) {
            pods.set(`${namespace}/${node}`, pod);
            commands.set(`${namespace}/${node}`, await cluster.commandAt(node, pod.address));
          }
        const between = (from: string, to: string): Stream => ({
          from,
          to,
          address: pods.get(to)?.addresses[0] ?? '',
          isUnpaused: from === 'layer3/n1',
        });
        const nodePort = (number: number): Stream => ({
          from: 'ext',
          to: 'plain/n1',
          address: OUTSIDE.v4.replace('100', String(10 + number)),
          port: NODE_PORT,
          isPinged: false,
          isRenewed: true,
          isUnpaused: number === 2,
        });
        const [clusterIp = ''] = (
          await cluster.kubectl(
            '-n',
            'layer2',
            'get',
            'service',
            'web',
            '-o',
            'jsonpath={.spec.clusterIPs[*]}',
          )
        ).split(' ');
        streams = [
          ...Object.keys(TENANTS).flatMap((namespace) => [
            between(`${namespace}/n1`, `${namespace}/n2`),
            between(`${namespace}/n2`, `${namespace}/n1`),
          ]),
          nodePort(1),
          nodePort(2),
          // To whichever of both.
          {
            from: 'layer2/n2',
            to: 'layer2/n1',
            address: clusterIp,
            isPinged: false,
            isRenewed: true,
          },
          ...['plain/n1', 'layer3/n2'].map((from) => ({ from, to: 'ext', address: OUTSIDE.v4 })),
        ];
        // Namespaces of upstream's specs go in their time, and what nodes have of them after that.
        await until(
          'the namespaces of the specs to go',
          // Each has the second label; those of a spec itself have the first one, too.
          async () => {
            const found = await Promise.all(
              ['e2e-framework', 'e2e-run'].map((label) =>
                cluster.kubectl('get', 'namespaces', '-l', label, '-o', 'name'),
              ),
            );
            return found.every((names) => names === '');
          },
          { limit: 120_000, pause: 1000 },
        );
        await until(
          'rows that stay',
          async () => {
            const now = await Promise.all(nodes.map(rowsOf));
            const isSame = nodes.every(
              (node, index) => difference(rows.get(node) ?? [], now[index] ?? []).length === 0,
            );
            for (const [index, node] of nodes.entries()) rows.set(node, now[index] ?? []);
            return isSame;
          },
          { limit: 60_000, pause: 2000 },
        );
      });

      test.each([...(COMMIT === undefined ? [] : [RELEASE]), 'this version'])(
        'to %s: nothing is lost of what is under way',
        async (version) => {
          const isOther = version === RELEASE;
          const hasVrf = await hasVrfs(cluster.record);
          const seen = await whileStreaming(
            cluster.record,
            streams,
            async () => {
              if (COMMIT === undefined)
                await cluster.kubectl(
                  '-n',
                  'heddle',
                  'rollout',
                  'restart',
                  'daemonset/heddle-node',
                );
              else await cluster.installHeddle(hasVrf, isOther ? release : undefined);
              for (const what of ['deployment/heddle-cluster', 'daemonset/heddle-node'])
                await cluster.kubectl('-n', 'heddle', 'rollout', 'status', what, '--timeout=240s');
            },
            (who) => commands.get(who) ?? ['ip', 'netns', 'exec', who],
          );
          const sum = (of: (one: (typeof seen)[number]) => number): number =>
            seen.reduce((total, one) => total + of(one), 0);
          const lost = {
            echoes: [sum((one) => one.lost), sum((one) => one.echoes)],
            datagrams: [sum((one) => one.lostDatagrams), sum((one) => one.datagrams)],
            'new connections': [sum((one) => one.failedConnections), sum((one) => one.connections)],
            'long connections': [sum((one) => one.broken), seen.length],
          } as const;
          console.log(
            `to ${version}: lost ${Object.entries(lost)
              .map(([what, [some, all]]) => `${some} of ${some + all} ${what}`)
              .join(', ')}; ${sum((one) => one.answers)} answers on long connections`,
          );
          for (const [what, [some, all]] of Object.entries(lost)) {
            expect(all, what).toBeGreaterThan(what === 'long connections' ? 0 : 100);
            expect(some / (some + all), `${what}: ${JSON.stringify(seen)}`).toBeLessThanOrEqual(
              MOST_LOST,
            );
          }
          const image = 'jsonpath={.items[*].spec.containers[*].image}';
          const images = await cluster.kubectl('-n', 'heddle', 'get', 'pods', '-o', image);
          expect(new Set(images.split(' ')).size).toBe(1);
          await cluster.kubectl(
            'wait',
            '--for=jsonpath={.status.ready}=true',
            'zonestatus',
            '--all',
            '--timeout=60s',
          );
        },
      );

      test('every node has the rows of before, and no problem', async () => {
        let changed: readonly string[] = [];
        await until(
          'the rows of before',
          async () => {
            const found = await Promise.all(nodes.map(rowsOf));
            changed = found.flatMap((now, index) =>
              difference(rows.get(nodes[index] ?? '') ?? [], now),
            );
            return changed.length === 0;
          },
          { limit: 60_000, pause: 500, output: () => changed.slice(0, 10).join('\n') },
        );
        const path = 'jsonpath={.items[*].status.problems}';
        expect(await cluster.kubectl('get', 'zonestatus', '-o', path)).toBe('[] []');
      });
    });

    test('the documented removal leaves nothing of it on the cluster and its nodes', async () => {
      const document = readFileSync(join(checkout, 'docs/install.md'), 'utf8');
      const commands = documentedCommands(document, 'Taking it off');
      expect(commands).toHaveLength(5);
      const namespaces = [...Object.keys(TENANTS), 'both'];
      // Pods first: what waits for others to go looks again after a while that grows.
      await Promise.all([
        cluster.kubectl(
          '-n',
          'kube-system',
          'delete',
          'deployment',
          'dns',
          '--cascade=foreground',
          '--ignore-not-found',
        ),
        ...namespaces.map((one) =>
          cluster.kubectl('-n', one, 'delete', 'daemonset', 'web', '--cascade=foreground'),
        ),
      ]);
      await Promise.all(
        namespaces.map((one) =>
          cluster.kubectl('-n', one, 'delete', 'userdefinednetwork', '--all', '--timeout=60s'),
        ),
      );
      await cluster.kubectl('delete', 'namespace', ...namespaces, '--timeout=120s');
      const remove = async (): Promise<void> => {
        for (const words of commands) {
          const { code, stdout, stderr } = await cluster.tryKubectl(...words);
          expect(code, `kubectl ${words.join(' ')}: ${stderr}${stdout}`).toBe(0);
        }
      };
      await Promise.all([remove(), ...nodes.map((node) => cluster.bridgeGone(node))]);
      for (const node of nodes) {
        const found = await cluster.hostOf(node);
        const kept = Object.entries(found).map(([what, lines]) => [
          what,
          lines.filter((line) => !LEFT.test(line)),
        ]);
        expect(Object.fromEntries(kept)).toEqual(before.get(node));
      }
      const said = 'jsonpath={.items[*].metadata.annotations}{.items[*].metadata.labels}';
      expect(await cluster.kubectl('get', 'nodes', '-o', said)).not.toMatch(/ovn|heddle/);
      const kinds = 'crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,namespace';
      expect(await cluster.kubectl('get', kinds, '-o', 'name')).not.toMatch(/ovn|heddle|k8s\.cni/);
    });

    test('its end leaves nothing', async () => {
      await cluster[Symbol.asyncDispose]();
      isDown = true;
      expect(leftOf(NAME)).toEqual([]);
    });
  },
);
