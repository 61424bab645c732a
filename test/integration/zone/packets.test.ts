/**
 * Who reaches whom in the folders of examples/, as `heddle explain POD DEST` says it of what ovn-northd makes of the rows. The table of each README.md is the
 * truth, of which another test asks ovn-trace by hand, and others packets.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withoutPrefix } from '../../../src/allocators/addresses.ts';
import { podNetworks } from '../../../src/api/annotations/pod-annotations.ts';
import { pods } from '../../../src/api/kinds.ts';
import { known } from '../../../src/cli/ask.ts';
import { OvnTrace } from '../../../src/node/programs/ovn-trace.ts';
import { askedPacket } from '../../../src/packets/asked-packet.ts';
import { packetReportText, type PacketReport } from '../../../src/packets/packet-report.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { explainedPacket } from '../../../src/zone/packet-explained.ts';
import { ZoneRuntime } from '../../../src/zone/zone-runtime.ts';
import { ovsProgram } from '../../support/host/ovs-programs.ts';
import { Installation } from '../../support/run/heddle.ts';
import { ADDRESS, CHASSIS, examples, NODE, optionsOf } from '../../support/zone/examples.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';

const soon = (): AbortSignal => AbortSignal.timeout(60_000);

/** A zone of an example, whose rows are written and confirmed by northd. */
class ExampleZone implements AsyncDisposable {
  readonly #ovn: OvnZone;
  readonly #installation: Installation;
  readonly #runtime: ZoneRuntime;

  private constructor(ovn: OvnZone, installation: Installation, runtime: ZoneRuntime) {
    this.#ovn = ovn;
    this.#installation = installation;
    this.#runtime = runtime;
  }

  /** `more`: manifests beside those of the folder. */
  static async of(folder: string, more = ''): Promise<ExampleZone> {
    const ovn = await OvnZone.start(CHASSIS, ADDRESS);
    const options = { ...optionsOf(folder), render: 'everywhere', node: 'n1' };
    const installation = new Installation(
      Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    );
    for (const file of globSync(join(folder, '*.yaml')))
      installation.write(basename(file), readFileSync(file, 'utf8'));
    installation.write('node.json', NODE);
    installation.write('more.yaml', more);
    const [nb, sb] = [ovn.northbound.remote, ovn.southbound.remote];
    const applied = await installation.run('apply', '--nb', nb, '--sb', sb, '--no-wait');
    expect(applied.code, applied.stderr).not.toBe(69);
    await ovn.nbctl('--wait=sb', 'sync');
    const { manifests, state } = installation;
    const configuration = resolveConfiguration({
      flags: { ...options, manifests, state, nb, sb },
      environment: {},
    });
    const runtime = await ZoneRuntime.open({
      configuration: { ...configuration, node: 'n1', nb },
      log: createLogger('error'),
      mode: 'as-is',
    });
    await known(runtime, soon());
    runtime.update();
    return new ExampleZone(ovn, installation, runtime);
  }

  /** Address of a pod on a network, by the name of its NAD. */
  async addressOn(pod: string, network: string): Promise<string> {
    const [namespace, name] = pod.split('/');
    const [found] = await this.#runtime.store.objects.list(pods, soon(), {
      namespace: namespace ?? '',
      fields: { 'metadata.name': name ?? '' },
    });
    const interfaces = [...(found === undefined ? [] : (podNetworks(found).value ?? []))];
    const [address] = interfaces.find(([key]) => key.endsWith(`/${network}`))?.[1].addresses ?? [];
    return withoutPrefix(address ?? expect.unreachable(`${pod} is not on ${network}`));
  }

  /** What `heddle explain` answers. */
  explain(pod: string, destination: string, network?: string): Promise<PacketReport> {
    const { configuration, facts, controller, northbound, southbound, host, store } = this.#runtime;
    const { command, args } = ovsProgram('ovn-trace');
    return explainedPacket(
      {
        configuration,
        facts,
        controller,
        northbound,
        southbound,
        host,
        objects: store.objects,
        ovnTrace: new OvnTrace({
          program: [command, ...args],
          remotes: this.#ovn.southbound.remote,
          tls: {},
        }),
      },
      askedPacket({ pod, destination, network }),
      soon(),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runtime[Symbol.asyncDispose]();
    await this.#ovn[Symbol.asyncDispose]();
    this.#installation[Symbol.dispose]();
  }
}

/** `lab/disk on storage` in its parts. */
const named = (text: string): { readonly pod: string; readonly network?: string } => {
  const [pod = '', network] = text.split(' on ');
  return { pod, ...(network === undefined ? {} : { network }) };
};

const isGroup = ({ to }: { readonly to: string }): boolean => to.startsWith('224.');

describe.each(examples)('$name', ({ folder, ways }) => {
  test('its table is what is said', { timeout: 240_000 }, async () => {
    await using zone = await ExampleZone.of(folder);
    for (const way of ways.filter((one) => !isGroup(one))) {
      const [from, to] = [named(way.from), named(way.to)];
      const destination =
        to.network === undefined ? to.pod : await zone.addressOn(to.pod, to.network);
      // Who is asked on another network is asked by the one that the pod is on anyway.
      const by = from.network ?? (to.network === undefined ? undefined : 'default');
      const report = await zone.explain(from.pod, `${destination}:${way.port}`, by);
      const text = `${report.packet}: ${report.verdict}\n${packetReportText(report)}`;
      if (way.expected.startsWith('reached')) expect(report.verdict, text).toBe('reaches');
      else expect(report.verdict, text).not.toBe('reaches');
      const [, server] = way.expected.split(': ');
      if (server !== undefined)
        expect(report.legs[0]?.end).toMatchObject({
          kind: 'pod',
          object: `Pod ${named(server).pod}`,
        });
    }
  });
});

/** A service, and the slice of its endpoints: pods of its namespace, or an address. */
const service = (key: string, ip: string, endpoints: readonly string[], spec = ''): string => {
  const [namespace, name] = key.split('/');
  const target = (endpoint: string): string =>
    endpoint.includes('.')
      ? ''
      : `, targetRef: { kind: Pod, namespace: ${namespace}, name: ${endpoint} }`;
  const addressOf = (endpoint: string, index: number): string =>
    endpoint.includes('.') ? endpoint : `10.128.0.${200 + index}`;
  return `apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  clusterIP: ${ip}
  clusterIPs: [${ip}]
  ports: [{ name: web, port: 80, targetPort: 8080, protocol: TCP${spec === 'NodePort' ? ', nodePort: 30099' : ''} }]
  ${spec === 'NodePort' ? 'type: NodePort' : spec}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: ${name}-1
  namespace: ${namespace}
  labels:
    kubernetes.io/service-name: ${name}
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
addressType: IPv4
ports: [{ name: web, port: 8080, protocol: TCP }]
endpoints:
${endpoints
  .map(
    (one, index) =>
      `  - { addresses: [${addressOf(one, index)}], nodeName: n1, conditions: { ready: true }${target(one)} }`,
  )
  .join('\n')}
---
`;
};

/** Beside the policy of the example: a firewall, services that nobody, two pods, and a pod serve that may send to nobody, and one of the default network. */
const MORE = `apiVersion: k8s.ovn.org/v1
kind: EgressFirewall
metadata: { name: default, namespace: shop }
spec: { egress: [{ type: Deny, to: { cidrSelector: 198.51.100.0/24 } }] }
---
apiVersion: v1
kind: Service
metadata: { name: nobody, namespace: shop }
spec: { clusterIP: 172.16.1.99, clusterIPs: [172.16.1.99], ports: [{ port: 80, protocol: TCP }] }
---
apiVersion: v1
kind: Pod
metadata: { name: quiet, namespace: shop, labels: { app: quiet } }
spec: { nodeName: n1, containers: [{ name: quiet, image: quiet }] }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: quiet, namespace: shop }
spec: { podSelector: { matchLabels: { app: quiet } }, policyTypes: [Egress] }
---
apiVersion: v1
kind: Namespace
metadata: { name: plain }
---
apiVersion: v1
kind: Pod
metadata: { name: client, namespace: plain }
spec: { nodeName: n1, containers: [{ name: client, image: client }] }
---
${service('shop/both', '172.16.1.98', ['web', 'job'])}
${service('shop/sticky', '172.16.1.97', ['web', 'job'], 'sessionAffinity: ClientIP')}
${service('shop/self', '172.16.1.96', ['quiet'])}
${service('plain/web', '172.16.1.95', ['10.128.0.250'], 'NodePort')}
`;

describe(
  'what stops a packet is named, with what would let it through',
  { timeout: 240_000 },
  () => {
    let zone: ExampleZone;
    beforeAll(async () => {
      const example = examples.find(({ name }) => name === 'network-policy');
      zone = await ExampleZone.of(example?.folder ?? '', MORE);
    }, 120_000);
    afterAll(() => zone[Symbol.asyncDispose]());

    test('the policies that close the pod that is asked', async () => {
      expect(await zone.explain('shop/job', 'db:5432')).toMatchObject({
        packet: 'Pod shop/job → shop/db:5432',
        verdict: 'does not reach',
        why: 'It is dropped by NetworkPolicy shop/database.',
        stoppedBy: [{ kind: 'drops', stage: 'ls_out_acl_eval', origin: { table: 'Logical_Flow' } }],
        remedies: [
          'ingress of tcp 5432 from namespace shop, allowed in NetworkPolicy shop/database',
        ],
      });
    });

    test('the rule of a policy that lets it through is on the way', async () => {
      const { legs } = await zone.explain('shop/web', 'db:5432');
      const [there] = legs;
      expect(there?.hops.at(-1)?.decisions).toEqual([
        expect.objectContaining({ kind: 'allows', stage: 'ls_out_acl_eval' }),
      ]);
    });

    test('a firewall', async () => {
      const report = await zone.explain('shop/web', '198.51.100.7:443');
      expect(report).toMatchObject({
        verdict: 'does not reach',
        why: 'It is dropped by EgressFirewall shop/default.',
        remedies: [
          'a rule that allows 198.51.100.7 before the one that denies it, in EgressFirewall shop/default',
        ],
      });
    });

    test('outside of it a packet leaves the node, with the address that it has there', async () => {
      const report = await zone.explain('shop/web', '203.0.113.7');
      expect(report).toMatchObject({
        verdict: "can't be decided here",
        why: 'It leaves by port br-ex_shop_net_n1; what is beyond this node nobody here knows.',
      });
      const translations = report.legs[0]?.hops.flatMap(({ decisions }) =>
        decisions.filter(({ kind }) => kind === 'translates'),
      );
      expect(translations).toHaveLength(1);
    });

    test('a service without endpoints refuses', async () => {
      expect(await zone.explain('shop/web', 'svc/nobody')).toMatchObject({
        packet: 'Pod shop/web → Service shop/nobody',
        verdict: 'does not reach',
        why: 'It is refused by Service shop/nobody.',
        remedies: ['an endpoint that is ready, of Service shop/nobody'],
      });
    });

    test('a service by the name of its port: every endpoint is met', async () => {
      const report = await zone.explain('shop/db', 'svc/both:web');
      expect(report, packetReportText(report)).toMatchObject({
        verdict: 'reaches',
        why: 'It arrives, whichever of 2 endpoints it gets, and the answer comes back.',
      });
      const { endpoints = [], endpointNodes = {} } = report.destination;
      expect(endpoints).toHaveLength(2);
      expect(Object.keys(endpointNodes)).toEqual(endpoints);
      expect(new Set(Object.values(endpointNodes))).toEqual(new Set([report.node]));
    });

    test('a service with affinity: every endpoint is met', async () => {
      const report = await zone.explain('shop/db', 'svc/sticky:web');
      expect(report.verdict, packetReportText(report)).toBe('reaches');
      expect(report.destination.endpoints).toHaveLength(2);
    });

    test('a pod reaches itself by a service, also one that may send to nobody', async () => {
      const report = await zone.explain('shop/quiet', 'svc/self');
      expect(report.verdict, packetReportText(report)).toBe('reaches');
      const [there] = report.legs;
      expect(there?.hops.at(-1)?.decisions).toMatchObject([
        { kind: 'balances', stage: 'ls_in_lb' },
        { kind: 'translates', text: 'from 169.254.0.5' },
        { kind: 'allows', stage: 'ls_out_acl_eval' },
      ]);
      const toOthers = await zone.explain('shop/quiet', 'svc/both');
      expect(toOthers.verdict).toBe('does not reach');
      expect(toOthers.why).toContain('NetworkPolicy shop/quiet');
    });

    test('a node port of the default network is balanced, whose address each node fills in', async () => {
      const { destination, legs } = await zone.explain('plain/client', `${ADDRESS}:30099`);
      expect(destination.endpoints).toEqual(['10.128.0.250:8080']);
      expect(legs[0]?.hops[0]?.decisions[0]).toMatchObject({
        kind: 'balances',
        stage: 'ls_in_lb',
        match: '^NODEIP_IPv4_0:30099',
        origin: { table: 'Load_Balancer' },
      });
    });

    test('an echo to a pod that is closed, and one to a pod that is not', async () => {
      expect(await zone.explain('shop/job', 'db')).toMatchObject({ verdict: 'does not reach' });
      expect(await zone.explain('shop/job', 'web')).toMatchObject({ verdict: 'reaches' });
    });

    test('an address on the network that nobody has', async () => {
      expect(await zone.explain('shop/job', '10.30.0.250:80')).toMatchObject({
        verdict: "can't be decided here",
      });
    });

    test.each([
      ['shop/jop', 'db', 'POD: there is no pod shop/jop; did you mean "shop/job"?'],
      ['shop/job', 'svc/shop/none', 'DEST: there is no service shop/none'],
      [
        'shop/job',
        'svc/both:http',
        'DEST: service shop/both has ports 80/tcp (web): write which one',
      ],
      ['shop/job', 'node/n9', 'DEST: there is no node n9'],
    ])('%s to %s: %s', async (pod, destination, message) => {
      await expect(zone.explain(pod, destination)).rejects.toThrow(message);
    });

    test('a network that the pod is not on is told, with those that it is on', async () => {
      await expect(zone.explain('shop/job', 'db', 'blue')).rejects.toThrow(
        '--network: pod shop/job is not on "blue"; it is on default, shop_net',
      );
    });
  },
);
