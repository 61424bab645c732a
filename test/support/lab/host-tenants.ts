/** Tenants with pods on one node of a lab in the virtual machine: the kernel there has VRFs, so hosts and networks meet as on a real node. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { endpoints, type Endpoint } from '../../../src/lab/connectivity.ts';
import { startDaemon } from '../../../src/lab/daemons.ts';
import { addManifests, readObjects } from '../../../src/lab/objects.ts';
import { serveOutward } from '../../../src/lab/outward.ts';
import { attachPods, SERVER_PORT } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { DNS, systemObjects, systemServices } from './matrix-tenants.ts';
import { ownFolder } from '../run/left-behind.ts';
import { until } from '../run/until.ts';

/** The node of the pods, whose daemon runs. */
export const NODE = 'n1';
/** On a busy machine. */
export const SECONDS = 240;
export const LIMIT = SECONDS * 1000;

export const namespace = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
});

/** A primary network of a namespace. `cidrs`: one of each family. On Layer3 a node has a /24, or /64, of it. `isNamed`: nodes are to answer its names. */
export const network = (
  namespaceName: string,
  name: string,
  topology: 'Layer2' | 'Layer3',
  cidrs: readonly string[],
  isNamed = false,
): object => {
  const hostSubnets = cidrs.map((cidr) => ({ cidr, hostSubnet: cidr.includes(':') ? 64 : 24 }));
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: {
      name,
      namespace: namespaceName,
      labels: isNamed ? { 'k8s.ovn.org/network-names': 'true' } : {},
    },
    spec:
      topology === 'Layer2'
        ? { topology, layer2: { role: 'Primary', subnets: cidrs } }
        : { topology, layer3: { role: 'Primary', subnets: hostSubnets } },
  };
};

/** A pod on the node that asks for one of its namespace's primary networks, or for none, and for a port of the node. */
export const pod = (
  namespaceName: string,
  name: string,
  wanted: string | undefined,
  hostPort?: number,
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: namespaceName,
    annotations: wanted === undefined ? {} : { 'k8s.ovn.org/requested-primary-udn': wanted },
  },
  spec: {
    nodeName: NODE,
    containers: [
      {
        name: 'web',
        image: 'web',
        ports: hostPort === undefined ? [] : hostPortsOf(hostPort),
      },
    ],
  },
});
const hostPortsOf = (hostPort: number): readonly object[] =>
  (['TCP', 'UDP'] as const).map((protocol) => ({
    containerPort: SERVER_PORT,
    hostPort,
    protocol,
  }));

const asManifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

export interface HostTenants {
  /** Ends of `<namespace>/<pod>` on the network that it talks on, and on the default network. */
  readonly ends: ReadonlyMap<string, Endpoint>;
  readonly onDefault: ReadonlyMap<string, Endpoint>;
  /** Adds a manifest to those that the daemon follows. */
  readonly write: (file: string, objects: readonly object[]) => void;
}

/** Starts the node's daemon with these objects and the services of every cluster, plugs its pods in, and has all of them, nodes and the outside host answer. */
export async function startHostTenants(
  lab: LabRecord,
  objects: readonly object[],
  daemonArguments: readonly string[],
): Promise<HostTenants> {
  const folder = ownFolder(`heddle-${lab.name}`);
  const all = [...objects, ...systemObjects(NODE)];
  writeFileSync(join(folder, 'tenants.yaml'), asManifest(all));
  const manifests = addManifests(lab.name, folder);
  const write: HostTenants['write'] = (file, more) => {
    writeFileSync(join(manifests, file), asManifest(more));
  };
  await startDaemon(lab, NODE, daemonArguments);
  const expected = all.filter((object) => 'kind' in object && object.kind === 'Pod').length;
  let pods: Awaited<ReturnType<typeof readObjects>>['pods'] = [];
  const missing = (): string[] =>
    pods
      .filter(({ metadata: { namespace: own = '', annotations = {} } }) => {
        const given = annotations['k8s.ovn.org/pod-networks'] ?? '';
        const asked = (annotations['k8s.v1.cni.cncf.io/networks'] ?? '')
          .split(', ')
          .filter(Boolean);
        return [`"primary"`, ...asked.map((name) => `"${own}/${name}"`)].some(
          (entry) => !given.includes(entry),
        );
      })
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  await until(
    'pods with addresses on their networks',
    async () => {
      ({ pods } = await readObjects(lab.name));
      return pods.length === expected && missing().length === 0;
    },
    {
      limit: LIMIT,
      pause: 500,
      output: () =>
        `${pods.length} of ${expected} pods are known; without: ${missing().join(', ')}`,
    },
  );
  const { nads } = await readObjects(lab.name);
  const { attachments } = await attachPods(lab, pods, nads, { waitSeconds: SECONDS });
  const byPod = (which: 'primary' | 'default'): ReadonlyMap<string, Endpoint> =>
    new Map(endpoints(attachments, which).map((end) => [end.pod, end]));
  const onDefault = byPod('default');
  const dns = onDefault.get(DNS.pod);
  if (dns === undefined) throw new Error(`${DNS.pod} has no address`);
  write('services.yaml', systemServices(dns));
  await serveOutward(lab);
  return { ends: byPod('primary'), onDefault, write };
}
