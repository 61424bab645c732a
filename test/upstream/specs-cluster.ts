/** A cluster for upstream's specs: Heddle by docs/install.md, names, and networks for who asks for them by his name. */
import { join } from 'node:path';
import { OPEN_DEFAULT_PORTS } from '../../src/api/annotations/pod-annotations.ts';
import { runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { checkout, nodeNames, stateFolder } from '../../src/lab/paths.ts';
import { hasVrfs } from '../../src/lab/status.ts';
import { kit, RealKubernetes } from '../support/lab/real-kubernetes.ts';
import type { Network } from './report.ts';

const NODES = 3;
const PRIMARY_LABEL = 'k8s.ovn.org/primary-user-defined-network';
const NETWORK_LABEL = 'e2e-network';
const ON_PRIMARY = {
  namespaceSelector: { matchExpressions: [{ key: NETWORK_LABEL, operator: 'Exists' }] },
};

/** Who makes namespaces that are on a primary network. */
const USERS: Readonly<Record<Exclude<Network, 'default'>, string>> = {
  layer3: 'e2e-layer3',
  layer2: 'e2e-layer2',
};

const SUBNETS = {
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

/**
 * The specs are not changed: namespaces that these users make get their labels from an admission policy, and networks select those.
 */
const primaryNetworks = (): readonly object[] => {
  const users = JSON.stringify(Object.values(USERS)).replaceAll('"', "'");
  const labels = `{"${PRIMARY_LABEL}": "", "${NETWORK_LABEL}": request.userInfo.username}`;
  return [
    ...mutating('e2e-primary-network', 'namespaces', {
      matchConditions: [{ name: 'network', expression: `request.userInfo.username in ${users}` }],
      mutation: {
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: `Object{metadata: Object.metadata{labels: ${labels}}}`,
        },
      },
    }),
    ...Object.entries(USERS).map(([network, user]) => ({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: { name: user },
      spec: {
        namespaceSelector: { matchLabels: { [NETWORK_LABEL]: user } },
        network: SUBNETS[network as keyof typeof SUBNETS],
      },
    })),
  ];
};

const UNDECLARED = [80, 443, 1080];

/**
 * Specs read what their pods found by the API server, which goes to status.podIP: ports that containers declare are open there, and those that it asks
 * where they declare none, as whoever wants that has to say (k8s.ovn.org/open-default-ports).
 */
function openPorts(): readonly object[] {
  const isOther = `!(p.containerPort in [${UNDECLARED.join()}] && p.protocol == "TCP")`;
  const always = UNDECLARED.map((port) => `- {protocol: tcp, port: ${port}}`).join('\\n');
  const line = `"\\n- {protocol: " + p.protocol.lowerAscii() + ", port: " + string(p.containerPort) + "}"`;
  const declared = `object.spec.containers.filter(c, has(c.ports)).map(c, c.ports.filter(p, ${isOther}).map(p, ${line}).join("")).join("")`;
  return mutating('e2e-primary-network-ports', 'pods', {
    matchConstraints: ON_PRIMARY,
    matchConditions: [
      {
        name: 'on-its-network',
        expression: '!(has(object.spec.hostNetwork) && object.spec.hostNetwork)',
      },
    ],
    mutation: {
      patchType: 'ApplyConfiguration',
      applyConfiguration: {
        expression: `Object{metadata: Object.metadata{annotations: {"${OPEN_DEFAULT_PORTS}": "${always}" + ${declared}}}}`,
      },
    },
  });
}

interface Mutation {
  readonly matchConstraints?: object;
  readonly matchConditions: readonly object[];
  readonly mutation: object;
}

/** A policy that changes what is created, and that it is in force. */
const mutating = (
  name: string,
  resource: string,
  { matchConstraints = {}, matchConditions, mutation }: Mutation,
): readonly object[] => [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: {
        ...matchConstraints,
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] },
        ],
      },
      matchConditions,
      mutations: [mutation],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name },
  },
];

/**
 * Where the kernel has no VRFs, pods of primary networks reach no service of the default network, that of names among them: theirs is on the host outside.
 */
async function outsideNames(cluster: RealKubernetes): Promise<void> {
  const { record } = cluster;
  const kubeconfig = join(stateFolder(record.name), 'kube/kubeconfig');
  const node = join(checkout, 'node_modules/.bin/node');
  await new Promise<void>((resolve, reject) => {
    const script = [node, join(kit, 'e2e/dns.mjs'), kubeconfig, OUTSIDE.v4];
    void runInside(record, ['ip', 'netns', 'exec', 'ext', ...script], {
      onStdout: () => resolve(),
    }).then(({ stderr }) => reject(new Error(`names outside: ${stderr}`)), reject);
  });
  const search = `namespaceObject.metadata.name + ".svc.cluster.local", "svc.cluster.local", "cluster.local"`;
  const own =
    'has(object.spec.dnsConfig) && has(object.spec.dnsConfig.searches) ? object.spec.dnsConfig.searches : []';
  const config = `Object.spec.dnsConfig{nameservers: ["${OUTSIDE.v4}"], searches: [${search}] + (${own}), options: [Object.spec.dnsConfig.options{name: "ndots", value: "5"}]}`;
  await cluster.apply(
    'outside-names',
    ...mutating('e2e-primary-network-dns', 'pods', {
      matchConstraints: ON_PRIMARY,
      matchConditions: [
        {
          name: 'cluster-first',
          expression: `object.spec.dnsPolicy == 'ClusterFirst' && !(has(object.spec.hostNetwork) && object.spec.hostNetwork) && !(has(object.spec.dnsConfig) && has(object.spec.dnsConfig.nameservers))`,
        },
      ],
      mutation: {
        patchType: 'JSONPatch',
        jsonPatch: {
          expression: `[JSONPatch{op: "add", path: "/spec/dnsPolicy", value: "None"}, JSONPatch{op: "add", path: "/spec/dnsConfig", value: ${config}}]`,
        },
      },
    }),
  );
}

/** Its own end is the caller's. `progress` is called with each step. */
export async function specsCluster(
  name: string,
  progress: (line: string) => void,
): Promise<RealKubernetes> {
  progress('packages, programs and images; a lab with Kubernetes on three nodes');
  const cluster = await RealKubernetes.start(name, NODES);
  try {
    progress('Heddle, as docs/install.md says');
    const isWithVrfs = await hasVrfs(cluster.record);
    await cluster.installHeddle(isWithVrfs);
    // Of a lease that a machine at its limit renews late, a manager would end, and wait longer each time before it starts again.
    const timing = ['LEASE_DURATION=137', 'RENEW_DEADLINE=107', 'RETRY_PERIOD=26'];
    const variables = timing.map((one) => `HEDDLE_HA_ELECTION_${one}`);
    await cluster.kubectl('-n', 'heddle', 'set', 'env', 'deployment/heddle-cluster', ...variables);
    for (const what of ['daemonset/heddle-node', 'deployment/heddle-cluster'])
      await cluster.kubectl('-n', 'heddle', 'rollout', 'status', what, '--timeout=600s');
    await cluster.kubectl('wait', '--for=condition=Ready', 'node', '--all', '--timeout=300s');
    progress('zones, names, and networks');
    // Specs of topology want as many as nodes.
    for (const node of nodeNames(NODES))
      await cluster.kubectl('label', 'node', node, `topology.kubernetes.io/zone=zone-${node}`);
    await cluster.letApiReachPods();
    await cluster.installDns();
    await cluster.apply('primary-networks', ...primaryNetworks(), ...openPorts());
    if (!isWithVrfs) await outsideNames(cluster);
    const dns = ['-n', 'kube-system', 'rollout', 'status', 'deployment/dns'];
    await cluster.kubectl(...dns, '--timeout=300s');
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

/** The kubeconfig with which specs make namespaces on a network. */
export const kubeconfigOf = (cluster: RealKubernetes, network: Network): Promise<string> =>
  network === 'default' ? Promise.resolve('kubeconfig') : cluster.actingAs(USERS[network]);
