import { expect, test } from 'vitest';
import { statusText, type LabStatus } from '../../../src/lab/status.ts';

const status: LabStatus = {
  name: 'default',
  kind: 'host',
  folder: '/run/heddle-lab/default',
  nodes: [
    {
      name: 'n1',
      address: '172.18.0.11',
      services: { nb: 1 },
      daemons: { 'heddle-node': 2, containerd: 3 },
    },
  ],
  versions: {},
  pods: ['blue_web-1'],
};

test('daemons that run are named, and those that ended in their stead', () => {
  expect(statusText(status)).toContain('all services run, heddle-node, containerd');
  const [node] = status.nodes;
  const dead = { ...status, nodes: [{ ...node, daemons: { 'heddle-node': null } }] } as LabStatus;
  expect(statusText(dead)).toContain('NOT RUNNING: heddle-node');
});

test('a lab with Kubernetes says how it is reached, and what is wrong with that', () => {
  const kubeconfig = '/run/heddle-lab/default/kubernetes/kubeconfig';
  const of = (daemons: Readonly<Record<string, number | null>>): string =>
    statusText({ ...status, kubernetes: { kubeconfig, daemons } });
  expect(of({ 'api-on-this-machine': 4 })).toContain(
    `Kubernetes API: export KUBECONFIG=${kubeconfig}`,
  );
  expect(of({ 'api-on-this-machine': null })).toContain('NOT RUNNING: api-on-this-machine');
});
