import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseManifest } from '../../src/api/validation/manifest.ts';
import { program } from '../../src/lab/paths.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { timed, type Benchmark, type Figure } from './benchmark.ts';

/** Commands that work out a whole cluster from one file of manifests, as somebody exported it. */

const run = promisify(execFile);

const PODS = 10;
const NODES = 5;

const networkText = (id: number): string => `
apiVersion: v1
kind: Namespace
metadata: {name: t${id}, labels: {k8s.ovn.org/primary-user-defined-network: ''}}
---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: net, namespace: t${id}}
spec: {topology: Layer3, layer3: {role: Primary, subnets: [{cidr: 10.20.0.0/16, hostSubnet: 24}]}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: front, namespace: t${id}}
spec:
  podSelector: {matchLabels: {app: a0}}
  ingress: [{from: [{podSelector: {matchLabels: {app: a1}}}], ports: [{port: 80}]}]
---
`;
const podText = (id: number, pod: number): string => `
apiVersion: v1
kind: Pod
metadata: {name: p${pod}, namespace: t${id}, labels: {app: a${pod % 3}}}
spec: {nodeName: n${(id + pod) % NODES}, containers: [{name: c, image: c}]}
---
`;
const CHANGE = `
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: no-ssh}
spec:
  tier: Admin
  priority: 5
  subject: {namespaces: {}}
  ingress:
    - {action: Deny, from: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 22}}}]}
`;

async function commands(
  networks: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const folder = ownFolder('heddle-one-file');
  const ids = Array.from({ length: networks }, (_, id) => id);
  const pods = Array.from({ length: PODS }, (_, pod) => pod);
  const text = ids
    .map((id) => networkText(id) + pods.map((pod) => podText(id, pod)).join(''))
    .join('');
  writeFileSync(join(folder, 'all.yaml'), text);
  const change = join(ownFolder('heddle-one-file'), 'change.yaml');
  writeFileSync(change, CHANGE);
  const [, floor] = await timed(() => parseManifest(text, 'all.yaml'));
  const figure = async (name: string, ...args: readonly string[]): Promise<Figure[]> => {
    progress(name);
    const all = ['--manifests', folder, '--cluster-subnets=10.0.0.0/8/18', '--timeout=900'];
    const [, value] = await timed(() =>
      // Something would change.
      run(process.execPath, [program, ...args, ...all], { maxBuffer: 1e9 }).catch(
        (error: { code: number }) => {
          if (error.code !== 2) throw error as unknown as Error;
        },
      ),
    );
    return [
      { name, value, unit: 'ms', floor },
      { name: `${name}, reading the file once = 1`, value: value / floor, unit: 'ratio' },
    ];
  };
  try {
    return [
      ...(await figure('heddle plan --reach', 'plan', '--reach', change)),
      ...(await figure(
        'heddle graph --html',
        'graph',
        '--invent-nodes',
        '--html',
        join(folder, 'page.html'),
      )),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const benchmarks: readonly Benchmark[] = [100, 500].map((networks) => ({
  name: `one-file-${networks}`,
  title: `commands about ${networks} networks and ${PODS * networks} pods in one file of manifests`,
  run: (progress) => commands(networks, progress),
}));
