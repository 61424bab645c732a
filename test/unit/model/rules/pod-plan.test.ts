import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import {
  allocatedBy,
  labelOf,
  permitAttachment,
  planPod,
  readNetworkRequests,
  requestToKeep,
  SELECTED_PRIMARY,
  type PlannedNad,
  type PodContext,
} from '../../../../src/model/rules/pod-plan.ts';
import {
  blue,
  layer2Secondary,
  localnet,
  networkName,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';

const NETWORKS = 'k8s.v1.cni.cncf.io/networks';
const CONFIG = 'ovn-kubernetes';

const nad = (key: string, network: ZoneNetwork): PlannedNad => {
  const [namespace = '', name = ''] = key.split('/');
  return { key, namespace, name, config: network };
};
const first = nad('blue/blue', blue);
const second = nad('blue/more', {
  ...blue,
  name: networkName('blue_more'),
  subnets: [{ cidr: '104.104.0.0/16', hostLength: 24 }],
});
const extra = nad('blue/l2', layer2Secondary);
const shared = nad('default/l2', { ...layer2Secondary, name: networkName('shared') });
const foreign = nad('red/l2', { ...layer2Secondary, name: networkName('red_l2') });
const ALL = [first, second, extra, shared, foreign];

const context = (more: Partial<PodContext> = {}): PodContext => ({
  isLabelled: true,
  primaries: [first],
  nad: (key) => (key === 'blue/bridge' ? 'other' : ALL.find((one) => one.key === key)),
  isOfNamespace: () => false,
  ...more,
});
const pod = (
  annotations: Readonly<Record<string, string>> = {},
  spec: Readonly<Record<string, unknown>> = {},
): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'blue', name: 'a', annotations },
    spec: { nodeName: 'n1', containers: [], ...spec },
  }) as unknown as Pod;
/** `key role` of each attachment, or why there is none. */
const planned = (of: Pod, on: PodContext = context()): readonly string[] | string => {
  const plan = planPod(of, on, CONFIG);
  if (plan.kind === 'attachments')
    return plan.attachments.map(({ nadKey, role }) => `${nadKey} ${role}`);
  return plan.kind === 'invalid' ? `${plan.reportedBy}: ${plan.message}` : plan.kind;
};

describe('a pod without requests', () => {
  test('of a namespace on the default network has that one', () => {
    expect(planned(pod(), context({ isLabelled: false, primaries: [] }))).toEqual([
      'default primary',
    ]);
  });

  test('of a namespace with a primary network has both, the default one locked', () => {
    expect(planned(pod())).toEqual(['default infrastructure-locked', 'blue/blue primary']);
  });

  test('of a namespace that asks for a primary network and has none gets none', () => {
    expect(planned(pod(), context({ primaries: [] }))).toMatch(/^node: /);
  });

  test('of several primary networks waits for the choice, which then counts', () => {
    const on = context({ primaries: [first, second] });
    expect(planned(pod(), on)).toBe('undecided');
    expect(planned(pod({ [SELECTED_PRIMARY]: 'blue/more' }), on)).toEqual([
      'default infrastructure-locked',
      'blue/more primary',
    ]);
  });

  test('on the network of the host has nothing of ours, nor before it has a node', () => {
    expect(planned(pod({}, { hostNetwork: true }))).toBe('none');
    expect(planned(pod({}, { nodeName: undefined }))).toBe('none');
  });

  test('of a namespace that is not there is a matter of the cluster manager; system namespaces may lack an object', () => {
    expect(planned(pod(), context({ isLabelled: undefined }))).toBe(
      'cluster: metadata.namespace: there is no namespace "blue": create it, or correct the name',
    );
    expect(labelOf('kube-system', undefined)).toBe(false);
    expect(labelOf('blue', undefined)).toBeUndefined();
  });
});

describe('a secondary network that a pod asks for', () => {
  test('is its own namespace’s, or the one that is for all; NADs of other plugins are none of ours', () => {
    const own = ['default infrastructure-locked', 'blue/blue primary'];
    expect(planned(pod({ [NETWORKS]: 'l2, bridge' }))).toEqual([...own, 'blue/l2 secondary']);
    expect(planned(pod({ [NETWORKS]: 'default/l2' }))).toEqual([...own, 'default/l2 secondary']);
  });

  test('of another namespace is refused, unless its own has a NAD of the same network', () => {
    expect(planned(pod({ [NETWORKS]: 'red/l2' }))).toContain(
      'NAD red/l2 is that of another namespace',
    );
    expect(
      planned(pod({ [NETWORKS]: 'red/l2' }), context({ isOfNamespace: () => true })),
    ).toContain('red/l2 secondary');
  });

  test('that is not there, or is a primary one, is refused by name', () => {
    expect(planned(pod({ [NETWORKS]: 'no' }))).toContain('"blue/no"');
    expect(planned(pod({ [NETWORKS]: 'blue' }))).toContain(
      'unexpected primary network "blue_blue"',
    );
  });

  test('with the addresses of another one of the pod is refused', () => {
    expect(planned(pod({ [NETWORKS]: 'l2, default/l2' }))).toContain('overlap');
  });
});

describe('what a pod carries', () => {
  const requests = readNetworkRequests(pod({ [NETWORKS]: 'l2' }));
  const permitted = (key: string, of = requests, on = context()): string => {
    const found = permitAttachment(key, of, on);
    if (found === undefined) return 'not known';
    if (found.kind === 'value') return found.value.role;
    return found.kind === 'problem' ? found.message : found.kind;
  };

  test('counts where it asks for it', () => {
    expect(permitted('default')).toBe('infrastructure-locked');
    expect(permitted('blue/l2')).toBe('secondary');
    expect(permitted('default/l2')).toContain('does not ask for network "shared"');
    expect(permitted('blue/no')).toBe('not known');
  });

  test('as a primary network counts for those of its namespace alone', () => {
    const carrying = { ...requests, carried: ['blue/blue'] };
    expect(permitted('blue/blue', carrying)).toBe('primary');
    expect(permitted('blue/blue', { ...carrying, namespace: 'red' })).toContain(
      'no primary network of namespace "red"',
    );
    expect(permitted('blue/blue', carrying, context({ isLabelled: false }))).toBe(
      'annotation k8s.ovn.org/pod-networks: "blue/blue": namespace "blue" is on the cluster default network, as it lacks the label "k8s.ovn.org/primary-user-defined-network"; give the label back if it was taken; otherwise delete the pod, so that its networks are worked out again',
    );
  });
});

test('what a pod asked for when it was created is written down while it has no network', () => {
  const asking = pod({ [SELECTED_PRIMARY]: '' });
  const plan = planPod(asking, context({ primaries: [] }), CONFIG);
  expect(requestToKeep(asking, plan, context({ isLabelled: false }), undefined)).toBeUndefined();
  expect(requestToKeep(asking, plan, context({ primaries: [] }), 'blue/blue')).toBe('blue/blue');
  expect(
    requestToKeep(pod({}, { hostNetwork: true }), plan, context(), 'blue/blue'),
  ).toBeUndefined();
});

test('a node gives addresses of its own subnets; the cluster manager those that all nodes share', () => {
  const by = (network: ZoneNetwork): string =>
    allocatedBy({
      nadKey: 'x',
      role: 'secondary',
      nad: nad('blue/x', network),
      request: { ips: [], defaultRoute: [] },
    });
  expect([blue, layer2Secondary, localnet, { ...localnet, subnets: [] }].map(by)).toEqual([
    'node',
    'cluster',
    'cluster',
    'node',
  ]);
});
