/** Nodes that an administrator denies to pods, at every address by which pods get to their hosts. */
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import { NOBODY, type HostileLab, type Way } from './hostile-lab.ts';
import { nodeAddresses } from './matrix-tenants.ts';

const POLICY = {
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind: 'AdminNetworkPolicy',
  metadata: { name: 'nodes' },
  spec: {
    priority: 1,
    subject: { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'plain' } } },
    egress: [{ name: 'nodes', action: 'Deny', to: [{ nodes: {} }] }],
  },
};

/** By which OVN knows the host of its own node. */
const HOST = ['169.254.0.2', 'fd69::2'];

/** Has a pod ask both nodes by all ways, before and while an administrator denies that. */
export async function askDeniedNodes(lab: HostileLab): Promise<void> {
  // The host's port on the default network on n2.
  const portOfFar = lab
    .onDefault('plain/far')
    .addresses.map((address) => address.replace(/[\da-f]+$/, '2'));
  const ways = (expected: (node: string) => string): readonly Way[] =>
    [
      ['n1', [...nodeAddresses('n1'), ...HOST]],
      ['n2', [...nodeAddresses('n2'), ...portOfFar]],
    ].flatMap(([node, addresses]) =>
      (addresses as readonly string[]).map((to) => ({
        from: lab.on('plain/attacker').namespace,
        to,
        port: SERVER_PORT,
        expected: expected(node as string),
      })),
    );
  await lab.untilAnswered(ways((node) => node));
  lab.write('admin', [POLICY]);
  // Rows of one transaction: what is denied at its own address is denied at all.
  await lab.untilAnswered(ways(() => NOBODY).slice(0, 1));
  await lab.proveAnswers(
    'nodes that are denied',
    ways(() => NOBODY),
  );
  lab.write('admin', []);
}
