import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { daemonProcess } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { testLab, type TestLab } from '../support/lab/lab.ts';
import { manifestsText } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import type { Benchmark, Figure } from './benchmark.ts';

/** What networks, pods and services of a node take in each of its programs, on a lab of one node with real OVN. */

const NODE = 'n1';
/** Memory in megabytes, by the program's pid file. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'ovn-northd': '/run/ovn/ovn-northd.pid',
  'ovn-controller': '/run/ovn/ovn-controller.pid',
  'ovs-vswitchd': '/run/openvswitch/ovs-vswitchd.pid',
  'Northbound server': '/run/ovn/ovnnb_db.pid',
  'Southbound server': '/run/ovn/ovnsb_db.pid',
};

interface Size {
  readonly memory: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
}

const network = (kind: 'Layer3' | 'Layer2', id: number): readonly object[] => {
  const namespace = `${kind.toLowerCase()}-${id}`;
  const spec =
    kind === 'Layer3'
      ? {
          topology: kind,
          layer3: { role: 'Primary', subnets: [{ cidr: '10.60.0.0/16', hostSubnet: 24 }] },
        }
      : { topology: kind, layer2: { role: 'Primary', subnets: ['10.61.0.0/16'] } };
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
    },
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'UserDefinedNetwork',
      metadata: { namespace, name: 'net' },
      spec,
    },
    pod(namespace, 0),
  ];
};

const pod = (namespace: string, id: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name: `p${id}`, labels: { app: 'web' } },
  spec: { nodeName: NODE, containers: [{ name: 'main', image: 'main' }] },
});

const service = (namespace: string, id: number): readonly object[] => {
  const ip = `172.16.${1 + Math.floor(id / 200)}.${10 + (id % 200)}`;
  const ports = [{ name: 'web', port: 80, protocol: 'TCP' }];
  const metadata = { namespace, name: `s${id}` };
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { clusterIP: ip, clusterIPs: [ip], ports, selector: { app: 'web' } },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        ...metadata,
        labels: {
          'kubernetes.io/service-name': metadata.name,
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
      },
      addressType: 'IPv4',
      ports,
      endpoints: [
        {
          addresses: ['10.128.0.250'],
          nodeName: NODE,
          conditions: { ready: true },
          targetRef: { kind: 'Pod', namespace, name: 'p0' },
        },
      ],
    },
  ];
};

const policy = (namespace: string, id: number): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name: `n${id}` },
  spec: { podSelector: {}, ingress: [{ ports: [{ port: 8000 + id }] }] },
});

class SizedNode {
  readonly #lab: TestLab;
  readonly #tenants: Tenants;
  #last = 0;

  constructor(lab: TestLab, tenants: Tenants) {
    this.#lab = lab;
    this.#tenants = tenants;
  }

  /** Writes objects beside those that there are, and says how large the node is when they are in force. */
  async with(objects: readonly object[]): Promise<Size> {
    this.#last += 1;
    writeFileSync(join(this.#tenants.manifests, `${this.#last}.yaml`), manifestsText(objects));
    await this.#tenants.settle();
    const memory: Record<string, number> = {};
    for (const [name, file] of Object.entries(PROGRAMS))
      memory[name] = await this.#memory((await this.#on('cat', file)).trim());
    const daemon = await daemonProcess(this.#lab.record, NODE);
    memory['heddle node'] = await this.#memory(String(daemon));
    const flows = await this.#on('ovs-ofctl', 'dump-aggregate', 'br-int');
    const rows = await this.#on(
      'sh',
      '-c',
      'ovn-sbctl --bare --columns=_uuid list Logical_Flow | grep -c .',
    );
    const datapaths = await this.#on(
      'sh',
      '-c',
      'ovn-sbctl --bare --columns=_uuid list Datapath_Binding | grep -c .',
    );
    return {
      memory,
      counts: {
        'flows of br-int': Number(/flow_count=(\d+)/.exec(flows)?.[1]),
        'logical flows': Number(rows),
        datapaths: Number(datapaths),
      },
    };
  }

  async #memory(pid: string): Promise<number> {
    const status = await this.#on('cat', `/proc/${pid}/status`);
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  }

  #on(...argv: readonly string[]): Promise<string> {
    return outputInside(this.#lab.record, ['on', NODE, ...argv]);
  }
}

/** What one more takes, of so many. */
function each(what: string, before: Size, after: Size, count: number): readonly Figure[] {
  return [
    ...Object.entries(after.counts).map(([name, value]): Figure => ({
      name: `${what}: ${name}`,
      value: (value - (before.counts[name] ?? 0)) / count,
      unit: 'rows',
    })),
    ...Object.entries(after.memory).map(([name, value]): Figure => ({
      name: `${what}: memory of ${name}`,
      value: ((value - (before.memory[name] ?? 0)) * 1024) / count,
      unit: 'kB',
    })),
  ];
}

const NETWORKS = 40;
const MORE = 100;
const ids = (count: number, from = 0): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'node-size',
    title: `flows and memory of a network (of ${NETWORKS} more), a pod, a service and a policy (of ${MORE} more), on a node with real OVN`,
    onlyAs: 'node-size', // needs root
    async run(progress) {
      const folder = ownFolder('heddle-node-size');
      // Programs grow in steps: the first networks are not counted.
      writeFileSync(
        join(folder, 'first.yaml'),
        manifestsText(ids(10).flatMap((id) => network(id % 2 === 0 ? 'Layer3' : 'Layer2', id))),
      );
      await using lab = await testLab('bench-node-size', { nodes: 1 });
      const tenants = new Tenants(lab.record, { folder, seconds: 300 });
      await tenants.start();
      const node = new SizedNode(lab, tenants);
      const base = await node.with([]);
      progress('Layer3 networks');
      const layer3 = await node.with(ids(NETWORKS, 100).flatMap((id) => network('Layer3', id)));
      progress('Layer2 networks');
      const layer2 = await node.with(ids(NETWORKS, 200).flatMap((id) => network('Layer2', id)));
      progress('pods');
      const pods = await node.with(ids(MORE, 1).map((id) => pod('layer3-0', id)));
      progress('services');
      const services = await node.with(ids(MORE, 1).flatMap((id) => service('layer3-0', id)));
      progress('policies');
      const policies = await node.with(ids(MORE, 1).map((id) => policy('layer3-100', id)));
      return [
        ...Object.entries(base.memory).map(([name, value]): Figure => ({
          name: `ten networks: memory of ${name}`,
          value,
          unit: 'MB',
        })),
        ...each('a Layer3 network with a pod', base, layer3, NETWORKS),
        ...each('a Layer2 network with a pod', layer3, layer2, NETWORKS),
        ...each('a pod', layer2, pods, MORE),
        ...each('a service', pods, services, MORE),
        ...each('a policy of one pod', services, policies, MORE),
      ];
    },
  },
];
