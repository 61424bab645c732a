import { Environment } from '@marcbachmann/cel-js';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BRIDGE_EGRESS_ADDRESSES,
  CARD_EGRESS_ADDRESSES,
} from '../../../src/api/annotations/node-annotations.ts';
import { parseNetworkConfig } from '../../../src/api/nad/nad-config.ts';
import { nodeLeaseName } from '../../../src/api/node-lease.ts';
import { DEFAULT_LEASE_NAME } from '../../../src/cluster/settings.ts';
import { PLUGIN_NAMES } from '../../../src/cni/install/shim.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { nodeAnnotations } from '../../../src/node/announcer/node-facts.ts';
import { manifests, named, type Manifest } from '../../support/cluster/deploy-manifests.ts';

interface Policy extends Manifest {
  readonly spec: {
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly matchConditions?: readonly { readonly expression: string }[];
    readonly validations: readonly {
      readonly expression: string;
      readonly message?: string;
      readonly messageExpression?: string;
    }[];
  };
}

/** All that a node's daemon says of its node. */
function writtenFacts(): Record<string, string> {
  const said = nodeAnnotations(
    {
      externalIds: new Map([
        ['system-id', 'a'],
        ['ovn-encap-type', 'geneve'],
        ['ovn-encap-ip', '172.18.0.3'],
      ]),
      devices: [
        {
          name: 'eth0',
          mac: undefined,
          addresses: [{ address: '172.18.0.3/16', isLasting: true }],
        },
      ],
      defaultRoutes: [],
    },
    {
      node: 'n1',
      settings: DEFAULT_SETTINGS,
      gateway: { mode: 'disabled', nextHops: [], vlan: 0 },
      knownBy: [],
    },
  );
  return said.kind === 'value' ? said.annotations : expect.unreachable(said.message);
}

describe('admission policies', () => {
  const cel = new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true });

  // The API server asks its authorizer: here an administrator may everything, and others may nothing.
  const same = (authorizer: unknown): unknown => authorizer;
  cel.registerFunction('map.group(string): map', same);
  cel.registerFunction('map.resource(string): map', same);
  cel.registerFunction('map.check(string): map', same);
  cel.registerFunction('map.allowed(): bool', (authorizer: unknown) =>
    authorizer instanceof Map
      ? authorizer.get('isAdmin') === true
      : (authorizer as { isAdmin: boolean }).isAdmin,
  );

  /** Messages of the validations that refuse a request; `[]` = admitted. */
  function verdict(name: string, request: Record<string, unknown>): string[] {
    const {
      variables = [],
      validations,
      matchConditions = [],
    } = named<Policy>('ValidatingAdmissionPolicy', name).spec;
    const { userInfo } = (request['request'] ?? {}) as { userInfo?: { username: string } };
    const authorizer = { isAdmin: userInfo?.username === 'admin' };
    const context: Record<string, unknown> = {
      oldObject: null,
      ...request,
      authorizer,
      variables: {},
    };
    const evaluate = (expression: string): unknown => cel.parse(expression)(context);
    if (!matchConditions.every(({ expression }) => evaluate(expression) === true)) return [];
    for (const variable of variables) {
      const known = context['variables'] as Record<string, unknown>;
      context['variables'] = { ...known, [variable.name]: evaluate(variable.expression) };
    }
    return validations
      .filter(({ expression }) => evaluate(expression) !== true)
      .map(({ message, messageExpression = '' }) => message ?? String(evaluate(messageExpression)));
  }

  test('every policy denies through a binding, and an unanswered one refuses', () => {
    const policies = manifests.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    expect(policies.length).toBeGreaterThan(0);
    for (const { metadata, spec } of policies as (Policy & { spec: { failurePolicy: string } })[]) {
      expect(spec.failurePolicy).toBe('Fail');
      expect(named('ValidatingAdmissionPolicyBinding', `${metadata.name}-binding`)).toMatchObject({
        spec: { policyName: metadata.name, validationActions: ['Deny'] },
      });
    }
  });

  const KEY = 'k8s.ovn.org/primary-user-defined-network';
  const namespace = (labels?: Record<string, string>): object => ({
    metadata: { name: 'a', ...(labels === undefined ? {} : { labels }) },
  });
  test.each<[string, object, object, boolean]>([
    ['added', namespace({}), namespace({ [KEY]: '' }), false],
    ['added to no labels at all', namespace(), namespace({ [KEY]: '' }), false],
    ['removed', namespace({ [KEY]: '' }), namespace({}), false],
    ['changed in value', namespace({ [KEY]: '' }), namespace({ [KEY]: 'x' }), true],
    ['absent', namespace({ a: 'b' }), namespace({ a: 'c' }), true],
    ['absent without labels', namespace(), namespace(), true],
  ])('the namespace label %s', (_what, oldObject, object, admitted) => {
    expect(verdict('user-defined-networks-namespace-label', { oldObject, object })).toEqual(
      admitted
        ? []
        : [
            "The 'k8s.ovn.org/primary-user-defined-network' label cannot be added/removed after the namespace was created",
          ],
    );
  });

  const TUNNEL = 'k8s.ovn.org/connect-router-tunnel-key';
  const SUBNET = 'k8s.ovn.org/network-connect-subnet';
  const TENANTS = 'k8s.ovn.org/tenant-networks';
  const MANAGER = 'system:serviceaccount:heddle:heddle-cluster';
  const annotated = (annotations: Record<string, string>): object => ({
    metadata: { annotations },
  });
  test.each<[string, string, object | null, object, number]>([
    ['a user creates one without', 'anna', null, { metadata: {} }, 0],
    ['a user creates one with a key', 'anna', null, annotated({ [TUNNEL]: '1' }), 1],
    ['a user creates one with subnets', 'anna', null, annotated({ [SUBNET]: '{}' }), 1],
    [
      'a user edits something else',
      'anna',
      annotated({ [TUNNEL]: '1' }),
      annotated({ [TUNNEL]: '1', a: 'b' }),
      0,
    ],
    [
      'a user removes both',
      'anna',
      annotated({ [TUNNEL]: '1', [SUBNET]: '{}' }),
      { metadata: {} },
      2,
    ],
    [
      'the manager sets both',
      MANAGER,
      { metadata: {} },
      annotated({ [TUNNEL]: '1', [SUBNET]: '{}' }),
      0,
    ],
    [
      'a user marks one as of tenants',
      'anna',
      { metadata: {} },
      annotated({ [TENANTS]: 'a/n b/n' }),
      1,
    ],
    [
      'a user says that it is of others',
      'anna',
      annotated({ [TENANTS]: 'a/n b/n' }),
      annotated({ [TENANTS]: 'a/n c/n' }),
      1,
    ],
    ['the manager marks one', MANAGER, null, annotated({ [TENANTS]: 'a/n b/n' }), 0],
    [
      'the manager changes the subnets',
      MANAGER,
      annotated({ [SUBNET]: '{}' }),
      annotated({ [SUBNET]: '{"a":1}' }),
      0,
    ],
    [
      'the manager changes the key',
      MANAGER,
      annotated({ [TUNNEL]: '1' }),
      annotated({ [TUNNEL]: '2' }),
      1,
    ],
  ])('annotations of a connection: %s', (_what, username, oldObject, object, refusals) => {
    const request = { userInfo: { username } };
    expect(verdict('cnc-annotation-validation', { request, oldObject, object })).toHaveLength(
      refusals,
    );
  });

  test('a pod can not ask for other addresses once it exists', () => {
    const pod = (value?: string): object =>
      value === undefined
        ? { metadata: {} }
        : annotated({ 'v1.multus-cni.io/default-network': value });
    const refused = (oldObject: object, object: object): boolean =>
      verdict('default-network-annotation', { oldObject, object }).length > 0;
    expect(refused(pod(), pod())).toBe(false);
    expect(refused(pod('[]'), pod('[]'))).toBe(false);
    expect(refused(pod(), pod('[]'))).toBe(true);
    expect(refused(pod('[]'), pod())).toBe(true);
  });

  const MARK = 'k8s.ovn.org/egressip-mark';
  const CREATED_WITH_MARK =
    'EgressIP resources cannot be created with the "k8s.ovn.org/egressip-mark" annotation. This annotation is managed by the system.';
  const MARK_CHANGED = 'The "k8s.ovn.org/egressip-mark" annotation is immutable once set.';
  const MARK_ADDED =
    'The "k8s.ovn.org/egressip-mark" annotation can only be added by the cluster-manager service account.';
  test.each<[string, string, object | null, object, string[]]>([
    ['created without', 'anna', null, { metadata: {} }, []],
    ['created with one', 'anna', null, annotated({ [MARK]: '50000' }), [CREATED_WITH_MARK]],
    [
      'created with one by the manager',
      MANAGER,
      null,
      annotated({ [MARK]: '50000' }),
      [CREATED_WITH_MARK],
    ],
    ['added by the manager', MANAGER, { metadata: {} }, annotated({ [MARK]: '50000' }), []],
    ['added by a user', 'anna', { metadata: {} }, annotated({ [MARK]: '50000' }), [MARK_ADDED]],
    [
      'changed by the manager',
      MANAGER,
      annotated({ [MARK]: '50000' }),
      annotated({ [MARK]: '50001' }),
      [MARK_CHANGED],
    ],
    ['removed by a user', 'anna', annotated({ [MARK]: '50000' }), { metadata: {} }, [MARK_CHANGED]],
    [
      'left alone by a user',
      'anna',
      annotated({ [MARK]: '50000' }),
      annotated({ [MARK]: '50000', a: 'b' }),
      [],
    ],
  ])('the mark of an egress IP: %s', (_what, username, oldObject, object, refusals) => {
    const request = { userInfo: { username } };
    expect(verdict('egressip-mark-annotation-validation', { request, oldObject, object })).toEqual(
      refusals,
    );
  });

  describe.each(['selected-primary-udn', 'requested-primary-udn-at-creation'])(
    'the primary network of a pod, as the manager keeps it in %s',
    (key) => {
      const on = (network: string): object => annotated({ [`k8s.ovn.org/${key}`]: network });
      test.each<[string, string, object | null, object, boolean]>([
        ['a user creates a pod without', 'anna', null, { metadata: {} }, true],
        ['a user creates a pod with it', 'anna', null, on('blue/a'), false],
        ['the manager chooses', MANAGER, annotated({}), on('blue/a'), true],
        ['the manager chooses anew', MANAGER, on('blue/a'), on('blue/b'), true],
        [
          'a node chooses',
          'system:serviceaccount:heddle:heddle-node',
          annotated({}),
          on('b/a'),
          false,
        ],
        ['a user changes it', 'anna', on('blue/a'), on('blue/b'), false],
        ['a user removes it', 'anna', on('blue/a'), { metadata: {} }, false],
        ['a user changes something else', 'anna', on('blue/a'), on('blue/a'), true],
      ])('%s', (_what, username, oldObject, object, admitted) => {
        const request = { userInfo: { username } };
        expect(
          verdict('selected-primary-udn-annotation', { request, oldObject, object }),
        ).toHaveLength(admitted ? 0 : 1);
      });
    },
  );

  test.each([
    ['default-network-annotation', 'v1.multus-cni.io/default-network'],
    ['requested-primary-udn-annotation', 'k8s.ovn.org/requested-primary-udn'],
  ])('%s: a binding asks for nothing in the name of its pod', (policy, key) => {
    const asked = (annotations: Record<string, string>): number =>
      verdict(policy, { oldObject: null, object: annotated(annotations) }).length;
    expect(asked({ [key]: '1' })).toBe(1);
    expect(asked({ a: 'b' })).toBe(0);
    expect(verdict(policy, { oldObject: null, object: { metadata: {} } })).toEqual([]);
  });

  const NODE = 'system:serviceaccount:heddle:heddle-node';
  const KUBELET = 'system:node:n1';
  const ADMIN = 'admin';

  /** Who may write an annotation that Heddle goes by: set it on a new object, add, change and remove it. */
  const writers = (policy: string, key: string, resource: string): string[] =>
    [MANAGER, NODE, KUBELET, ADMIN, 'anna'].filter((username) => {
      const request = { userInfo: { username }, resource: { resource } };
      const [one, other] = [annotated({ [key]: '1', a: 'b' }), annotated({ [key]: '2' })];
      const refusals = [
        [null, one],
        [{ metadata: {} }, one],
        [one, other],
        [one, { metadata: {} }],
      ].map(([oldObject, object]) => verdict(policy, { request, oldObject, object }).length);
      const untouched = annotated({ [key]: '1', a: 'c' });
      expect(verdict(policy, { request, oldObject: one, object: untouched })).toEqual([]);
      expect(verdict(policy, { request, oldObject: null, object: { metadata: {} } })).toEqual([]);
      // Nobody may some of it.
      expect(new Set(refusals.map((count) => count > 0)).size).toBe(1);
      return refusals[0] === 0;
    });

  test.each([
    ['heddle-pod-networks', 'pods', 'pod-networks', [MANAGER, NODE]],
    ['heddle-node-allocations', 'nodes', 'node-subnets', [MANAGER]],
    ['heddle-node-allocations', 'nodes', 'node-id', [MANAGER]],
    ['heddle-node-allocations', 'nodes', 'node-transit-switch-port-ifaddr', [MANAGER]],
    ['heddle-node-allocations', 'nodes', 'masquerade-numbers', [MANAGER]],
    ['heddle-node-allocations', 'nodes', 'network-ids', [MANAGER]],
    ['heddle-node-facts', 'nodes', 'node-chassis-id', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'node-encap-ips', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'node-primary-ifaddr', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'host-cidrs', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'l3-gateway-config', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'gateway-mtu-support', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'node-masquerade-subnet', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'bridge-egress-ips', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'secondary-host-egress-ips', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'layer2-topology-version', [NODE, ADMIN]],
    ['heddle-node-facts', 'nodes', 'node-mgmt-port-mac-addresses', [NODE, ADMIN]],
    ['heddle-network-definitions', 'network-attachment-definitions', 'network-id', [MANAGER]],
    ['heddle-network-definitions', 'network-attachment-definitions', 'network-name', [MANAGER]],
    ['heddle-network-definitions', 'network-attachment-definitions', 'tunnel-keys', [MANAGER]],
    [
      'heddle-network-definitions',
      'network-attachment-definitions',
      'network-on-demand',
      [MANAGER],
    ],
  ])('%s: of %s, %s', (policy, resource, key, expected) => {
    expect(writers(policy, `k8s.ovn.org/${key}`, resource)).toEqual(expected);
  });

  test('every way by which annotations get onto a pod or a node, and labels onto a namespace, is watched', () => {
    const resources = (name: string): string[] =>
      named<Policy & { spec: { matchConstraints: { resourceRules: { resources: string[] }[] } } }>(
        'ValidatingAdmissionPolicy',
        name,
      ).spec.matchConstraints.resourceRules.flatMap((rule) => rule.resources);
    for (const name of [
      'heddle-pod-networks',
      'selected-primary-udn-annotation',
      'requested-primary-udn-annotation',
      'default-network-annotation',
    ])
      expect(resources(name), name).toEqual(['pods', 'pods/status', 'pods/binding', 'bindings']);
    expect(resources('user-defined-networks-namespace-label')).toEqual([
      'namespaces',
      'namespaces/status',
      'namespaces/finalize',
    ]);
    for (const name of ['heddle-node-allocations', 'heddle-node-facts'])
      expect(resources(name)).toEqual(['nodes', 'nodes/status']);
  });

  const definition = (config: string, more: object = {}): object => ({
    metadata: { annotations: {}, ...more },
    spec: { config },
  });
  const OURS = '{"type":"ovn-k8s-cni-overlay","name":"victim"}';
  const OWNED = { ownerReferences: [{ kind: 'ClusterUserDefinedNetwork', name: 'x' }] };
  test.each<[string, string, object | null, object, boolean]>([
    ['a user’s, of another plugin', 'anna', null, definition('{"type":"macvlan"}'), true],
    ['a user’s, without configuration', 'anna', null, { metadata: {} }, true],
    ['a user’s', 'anna', null, definition(OURS), false],
    ['… in a list', 'anna', null, definition(`{"plugins":[${OURS}]}`), false],
    ['… of the old type', 'anna', null, definition('{"type":"ovn-kubernetes"}'), false],
    ['… with an escape in its type', 'anna', null, definition(OURS.replace('-', '\\u002d')), false],
    ['that becomes ours', 'anna', definition('{"type":"macvlan"}'), definition(OURS), false],
    ['of ours that becomes another plugin’s', 'anna', definition(OURS), definition('{}'), false],
    ['that gets an owner', 'anna', definition(OURS), definition(OURS, OWNED), false],
    ['that gets a label', 'anna', definition(OURS), definition(OURS, { labels: { a: 'b' } }), true],
    ['an administrator’s', ADMIN, null, definition(OURS), true],
    ['the cluster manager’s', MANAGER, null, definition(OURS, OWNED), true],
  ])('a definition of a network: %s', (_what, username, oldObject, object, admitted) => {
    const request = { userInfo: { username } };
    expect(verdict('heddle-network-definitions', { request, oldObject, object })).toHaveLength(
      admitted ? 0 : 1,
    );
  });

  test.each(PLUGIN_NAMES)('a definition that has the runtime call us by the name %s', (type) => {
    const request = { userInfo: { username: 'anna' } };
    for (const config of [
      { type },
      { plugins: [{ type: 'tuning' }, { type }] },
      { delegates: [{ type }] },
    ])
      expect(
        verdict('heddle-network-definitions', {
          request,
          oldObject: null,
          object: definition(JSON.stringify(config)),
        }),
      ).toHaveLength(1);
  });

  test('what the reader of definitions takes for ours the policy does, however it is written', () => {
    /** A JSON string, some of its characters as escapes. */
    const spelt = (text: string): fc.Arbitrary<string> =>
      fc
        .array(fc.integer({ min: 0, max: 9 }), { minLength: text.length, maxLength: text.length })
        .map((dice) => {
          const escaped = Array.from(text, (character, index) =>
            dice[index] === 0
              ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
              : character,
          );
          return `"${escaped.join('')}"`;
        });
    const oneOf = (...texts: readonly string[]): fc.Arbitrary<string> =>
      fc.oneof(...texts.map(spelt));
    const space = fc.constantFrom('', ' ', '\n\t', '\r\n');
    const pair = fc
      .tuple(
        oneOf('type', 'Type', 'name', 'topology', 'subnet', 'netAttachDefName'),
        oneOf(
          'ovn-k8s-cni-overlay',
          'ovn-kubernetes',
          'OVN-Kubernetes',
          'macvlan',
          'layer2',
          'a/b',
        ),
        space,
        space,
      )
      .map(([key, value, before, after]) => `${before}${key}${after}:${before}${value}${after}`);
    const plugin = fc.array(pair, { maxLength: 7 }).map((pairs) => `{${pairs.join(',')}}`);
    const config = fc.oneof(
      plugin,
      fc
        .tuple(oneOf('plugins', 'Plugins'), fc.array(plugin, { maxLength: 3 }))
        .map(([key, list]) => `{"name":"victim",${key}:[${list.join(',')}]}`),
    );
    let ours = 0;
    fc.assert(
      fc.property(config, (text) => {
        const { kind } = parseNetworkConfig(text, 'a/b', DEFAULT_SETTINGS);
        // What names no plugin at all is invalid, and nobody's.
        const names = JSON.stringify(JSON.parse(text)).match(
          /ovn-k8s-cni-overlay|"ovn-kubernetes"/,
        );
        if (kind === 'foreign' || (kind === 'invalid' && names === null)) return;
        ours += 1;
        const request = { userInfo: { username: 'anna' } };
        const object = definition(text);
        expect(
          verdict('heddle-network-definitions', { request, oldObject: null, object }),
        ).toHaveLength(1);
      }),
      { numRuns: 2000 },
    );
    expect(ours).toBeGreaterThan(50);
  });

  describe('a node daemon', () => {
    const daemon = {
      username: 'system:serviceaccount:heddle:heddle-node',
      extra: { 'authentication.kubernetes.io/node-name': ['n1'] },
    };
    const write = (
      resource: string,
      object: object,
      oldObject: object | null,
      userInfo: object = daemon,
    ): string[] =>
      verdict('heddle-node-writes-its-own', {
        request: { userInfo, resource: { resource } },
        object,
        oldObject,
      });
    const node = (name: string, annotations: Record<string, string> = {}, status = {}): object => ({
      metadata: { name, annotations },
      status,
    });
    const pod = (nodeName: string, annotations = {}): object => ({
      metadata: { name: 'p', annotations },
      spec: { nodeName },
      status: { phase: 'Running' },
    });

    const gateway = { 'k8s.ovn.org/l3-gateway-config': '{}' };
    const facts = writtenFacts();
    const networks = { 'k8s.ovn.org/pod-networks': '{}' };

    test('writes annotations of its node, its pods, and the status of its zone', () => {
      expect(write('nodes', node('n1', gateway), node('n1'))).toEqual([]);
      expect(write('nodes', node('n1', facts), node('n1'))).toEqual([]);
      for (const key of [BRIDGE_EGRESS_ADDRESSES, CARD_EGRESS_ADDRESSES]) {
        const written = { ...facts, [key]: '["172.18.0.200"]' };
        expect(write('nodes', node('n1', written), node('n1', facts))).toEqual([]);
        expect(write('nodes', node('n1', facts), node('n1', written))).toEqual([]);
      }
      expect(write('pods', pod('n1', networks), pod('n1'))).toEqual([]);
      expect(write('zonestatuses', { metadata: { name: 'n1' }, status: { x: 1 } }, null)).toEqual(
        [],
      );
      const lease = { metadata: { name: nodeLeaseName('n1') } };
      expect(write('leases', lease, null)).toEqual([]);
      expect(write('leases', lease, lease)).toEqual([]);
    });

    test('writes nothing about another node, its pods or its zone', () => {
      const message = 'the Heddle daemon of node "n1" may only write about that node and its pods';
      expect(write('nodes', node('n2', gateway), node('n2'))).toEqual([message]);
      expect(write('pods', pod('n2', networks), pod('n2'))).toEqual([message]);
      expect(write('zonestatuses', { metadata: { name: 'n2' } }, null)).toEqual([message]);
      for (const name of [nodeLeaseName('n2'), DEFAULT_LEASE_NAME, 'n1'])
        expect(write('leases', { metadata: { name } }, null)).toEqual([message]);
      const unbound = { username: daemon.username, extra: {} };
      const anonymous = 'the Heddle daemon of node "" may only write about that node and its pods';
      expect(write('nodes', node('n1'), node('n1'), unbound)).toEqual([anonymous]);
      const plain = { username: daemon.username };
      expect(write('nodes', node('n1'), node('n1'), plain)).toEqual([anonymous]);
    });

    test('changes neither what the kubelet reports nor what the cluster manager gave', () => {
      expect(write('nodes', node('n1', {}, { phase: 'x' }), node('n1'))).toEqual([
        'the Heddle daemon writes annotations of nodes and pods, not their status',
      ]);
      for (const key of [
        'node-subnets',
        'node-id',
        'node-transit-switch-port-ifaddr',
        'masquerade-numbers',
      ]) {
        const given = { [`k8s.ovn.org/${key}`]: '7' };
        for (const [before, after] of [
          [{}, given],
          [given, {}],
        ])
          expect(write('nodes', node('n1', after), node('n1', before))).toEqual([
            expect.stringContaining('writes these annotations alone: k8s.ovn.org/node-chassis-id'),
          ]);
      }
    });

    test('writes no annotation that others go by, no label, no finalizer and no owner', () => {
      const other = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'false' };
      expect(write('nodes', node('n1', other), node('n1'))).toHaveLength(1);
      expect(write('pods', pod('n1', gateway), pod('n1'))).toHaveLength(1);
      for (const more of [
        { labels: { 'node-role.kubernetes.io/control-plane': '' } },
        { finalizers: ['mine'] },
        { ownerReferences: [{ kind: 'Node', name: 'n1' }] },
      ]) {
        const changed = { metadata: { name: 'n1', annotations: {}, ...more }, status: {} };
        expect(write('nodes', changed, node('n1'))).toEqual([
          'the Heddle daemon writes annotations of nodes and pods, not their labels, finalizers and owners',
        ]);
      }
    });

    test('does not become another machine', () => {
      const chassis = (id: string): object => node('n1', { 'k8s.ovn.org/node-chassis-id': id });
      const message = 'node-chassis-id of a node does not change once it is set';
      expect(write('nodes', chassis('a'), node('n1'))).toEqual([]);
      expect(write('nodes', chassis('a'), chassis('a'))).toEqual([]);
      expect(write('nodes', chassis('b'), chassis('a'))).toEqual([message]);
      expect(write('nodes', node('n1'), chassis('a'))).toEqual([message]);
    });

    test('is the only one that this is asked of', () => {
      expect(write('nodes', node('n2', {}, { a: 1 }), node('n2'), { username: 'anna' })).toEqual(
        [],
      );
    });
  });
});
