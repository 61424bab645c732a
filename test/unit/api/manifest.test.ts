import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatManifestError, parseManifest } from '../../../src/api/validation/manifest.ts';

const errorsOf = (text: string): string[] =>
  parseManifest(text, 'net.yaml').errors.map(formatManifestError);

describe('a manifest', () => {
  test('holds any number of documents, and lists in any nesting', () => {
    const { documents, errors } = parseManifest(
      `
apiVersion: v1
kind: Namespace
metadata: { name: blue }
---
# nothing
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: NamespaceList
  items:
  - { apiVersion: v1, kind: Namespace, metadata: { name: green } }
- - { apiVersion: v1, kind: Namespace, metadata: { name: red } }
`,
      'net.yaml',
    );
    expect(errors).toEqual([]);
    expect(
      documents.map(({ object, position }) => `${object.metadata.name}:${position.line}`),
    ).toEqual(['blue:2', 'green:14', 'red:15']);
  });

  test('does not say what became of an object: a status is dropped as an API server drops it', () => {
    const spec = 'spec: { egressIPs: [1.2.3.4], namespaceSelector: {} }';
    const { documents, errors } = parseManifest(
      `
apiVersion: k8s.cni.cncf.io/v1alpha1
kind: IPAMClaim
metadata: { name: vm, namespace: blue }
spec: { network: a_net, interface: net1 }
status: { ips: 5, conditions: [{}] }
---
apiVersion: v1
kind: Pod
metadata: { name: web, namespace: blue }
spec: { nodeName: n1 }
status: { phase: Running }
---
# Without a subresource a status is a field like others.
apiVersion: k8s.ovn.org/v1
kind: EgressIP
metadata: { name: eip }
${spec}
status: { items: [{ node: n1 }] }
`,
      'net.yaml',
    );
    const [claim, pod] = documents.map(({ object }) => object.status);
    expect(claim).toBeUndefined();
    expect(pod).toMatchObject({ phase: 'Running' });
    expect(errors.map(formatManifestError)).toEqual([
      'net.yaml:19:19: EgressIP eip: status.items[0].egressIP: Required value',
      // As an API server adds where there are rules.
      expect.stringContaining(
        'EgressIP eip: Invalid value: null: some validation rules were not checked',
      ),
    ]);
  });

  test('may be JSON, with tabs', () => {
    const text = '{"apiVersion":"v1",\n\t"kind":"Namespace",\n\t"metadata":{"name":"blue"}}';
    const { documents, errors } = parseManifest(text, 'net.json');
    expect(errors).toEqual([]);
    expect(documents.map(({ object }) => object.metadata.name)).toEqual(['blue']);
  });

  test('says where each wrong field is, and still reads the other objects', () => {
    const { documents, errors } = parseManifest(
      `apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: net, namespace: blue }
spec:
  topology: Layer3
  layer3:
    role: Primary
    mtu: 100
    subnets:
    - cidr: 10.0.0.0/16
    - cidr: 10.0.0.0/33
---
apiVersion: v1
kind: Namespace
metadata: { name: blue }
`,
      'net.yaml',
    );
    expect(errors.map(formatManifestError)).toEqual([
      'net.yaml:8:5: UserDefinedNetwork blue/net: spec.layer3.mtu: Invalid value: 100: ' +
        'spec.layer3.mtu in body should be greater than or equal to 576',
      'net.yaml:11:7: UserDefinedNetwork blue/net: spec.layer3.subnets[1].cidr: Invalid value: "10.0.0.0/33": ' +
        'CIDR is invalid; write an address and the length of its prefix, such as 10.100.0.0/16 or fd00:100::/64',
    ]);
    expect(documents.map(({ object }) => object.kind)).toEqual(['Namespace']);
  });

  test('names kinds that we do not know, and skips them', () => {
    const text = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }';
    expect(parseManifest(text, 'web.yaml').unknownKinds).toEqual([
      {
        file: 'web.yaml',
        line: 1,
        column: 1,
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        object: 'Deployment web',
        written: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
      },
    ]);
  });

  test('refuses a field that nobody knows, as kubectl does, and says what may have been meant', () => {
    const { documents, errors, refused } = parseManifest(
      `apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: net, namespace: blue, label: { a: b } }
spec: { topology: Layer2, layer2: { role: Primary, subnets: [10.0.0.0/24], mtuu: 1 } }`,
      'net.yaml',
    );
    expect(errors.map(formatManifestError)).toEqual([
      'net.yaml:3:41: UserDefinedNetwork blue/net: metadata.label: unknown field: did you mean "labels"?',
      'net.yaml:4:76: UserDefinedNetwork blue/net: spec.layer2.mtuu: unknown field: did you mean "mtu"?',
    ]);
    expect(documents).toEqual([]);
    expect(refused.map(({ object }) => object)).toEqual(['UserDefinedNetwork blue/net']);
  });

  const manifest = (apiVersion: string, kind: string, rest: string): string =>
    `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: x, namespace: blue }\n${rest}`;
  const cluster = (apiVersion: string, kind: string, rest: string): string =>
    `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: x }\n${rest}`;
  const policy = (rest: string): string =>
    manifest('networking.k8s.io/v1', 'NetworkPolicy', `spec: ${rest}`);
  const peer = (rest: string): string =>
    policy(`{ podSelector: {}, ingress: [{ from: [${rest}] }] }`);
  const anp = (rest: string): string =>
    cluster('policy.networking.k8s.io/v1alpha1', 'AdminNetworkPolicy', `spec: ${rest}`);
  const allow = (rest: string): string =>
    anp(`{ priority: 1, subject: { namespaces: {} }, ingress: [{ action: Allow, ${rest} }] }`);
  const cudn = (selector: string): string =>
    cluster(
      'k8s.ovn.org/v1',
      'ClusterUserDefinedNetwork',
      `spec: { namespaceSelector: ${selector}, network: { topology: Layer2, layer2: { role: Primary, subnets: [10.0.0.0/24] } } }`,
    );

  test.each([
    [
      'a selector of namespaces',
      cudn('{ matchLabel: { a: b } }'),
      'spec.namespaceSelector.matchLabel',
      'matchLabels',
    ],
    [
      '… its expressions',
      cudn('{ matchExpression: [] }'),
      'spec.namespaceSelector.matchExpression',
      'matchExpressions',
    ],
    [
      'the pods of a policy',
      policy('{ podSelector: { matchLabel: { a: b } } }'),
      'spec.podSelector.matchLabel',
      'matchLabels',
    ],
    [
      'its types',
      policy('{ podSelector: {}, policyType: [Egress] }'),
      'spec.policyType',
      'policyTypes',
    ],
    ['a direction', policy('{ podSelector: {}, ingres: [] }'), 'spec.ingres', 'ingress'],
    [
      'the peers of a rule',
      policy('{ podSelector: {}, egress: [{ too: [] }] }'),
      'spec.egress[0].too',
      undefined,
    ],
    [
      'the ports of a rule',
      policy('{ podSelector: {}, egress: [{ port: [] }] }'),
      'spec.egress[0].port',
      'ports',
    ],
    [
      'a peer',
      peer('{ podSelector: {}, namespaceSelectr: {} }'),
      'spec.ingress[0].from[0].namespaceSelectr',
      'namespaceSelector',
    ],
    [
      'exceptions',
      peer('{ ipBlock: { cidr: 10.0.0.0/8, excepts: [10.1.0.0/16] } }'),
      'spec.ingress[0].from[0].ipBlock.excepts',
      'except',
    ],
    [
      'a port',
      policy('{ podSelector: {}, egress: [{ ports: [{ porrt: 80 }] }] }'),
      'spec.egress[0].ports[0].porrt',
      'port',
    ],
    [
      'the pods of an admin policy',
      allow('from: [{ pods: { namespaceSelector: { matchLabel: {} }, podSelector: {} } }]'),
      'spec.ingress[0].from[0].pods.namespaceSelector.matchLabel',
      'matchLabels',
    ],
    [
      'the ports of an admin policy',
      allow('from: [{ namespaces: {} }], port: []'),
      'spec.ingress[0].port',
      'ports',
    ],
    [
      'the ports of a service',
      manifest('v1', 'Service', 'spec: { clusterIP: 10.96.0.9, port: [{ port: 80 }] }'),
      'spec.port',
      'ports',
    ],
    [
      'the network of a pod',
      manifest('v1', 'Pod', 'spec: { hostNetwrok: true }'),
      'spec.hostNetwrok',
      'hostNetwork',
    ],
    [
      'the endpoints of a slice',
      manifest(
        'discovery.k8s.io/v1',
        'EndpointSlice',
        'addressType: IPv4\nendpoints: [{ adresses: [10.0.0.1] }]',
      ),
      'endpoints[0].adresses',
      'addresses',
    ],
    [
      'the labels of a namespace',
      'apiVersion: v1\nkind: Namespace\nmetadata: { name: x, lables: { a: b } }',
      'metadata.lables',
      'labels',
    ],
  ])('a typing error in %s is an error', (_name, text, field, meant) => {
    const { documents, errors } = parseManifest(text, 'x.yaml');
    expect(documents).toEqual([]);
    const found = errors.find((error) => error.field === field);
    expect(found?.message).toMatch(/^unknown field: /);
    if (meant !== undefined) expect(found?.message).toContain(`did you mean "${meant}"?`);
  });

  test.each([
    [
      'a pod of the real world',
      manifest(
        'v1',
        'Pod',
        `spec:
  hostname: a
  hostIPC: false
  nodeSelector: { a: b }
  initContainers: [{ name: i, image: i }]
  volumes: [{ name: v, emptyDir: {} }]
  someFieldOfANewRelease: 1
  containers:
    - name: c
      image: c
      ports: [{ hostPort: 80, containerPort: 80, hostIP: 10.0.0.1 }]
      resources: { limits: { cpu: 1 } }
status: { podIP: 10.0.0.1 }`,
      ),
    ],
    [
      'a service',
      manifest(
        'v1',
        'Service',
        `spec:
  type: LoadBalancer
  clusterIP: None
  externalName: a.example
  loadBalancerIP: 10.0.0.1
  loadBalancerSourceRanges: [10.0.0.0/8]
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  trafficDistribution: PreferClose
  selector: { a: b }
  ports: [{ port: 80, targetPort: 80, appProtocol: http }]`,
      ),
    ],
    [
      'an EndpointSlice',
      manifest(
        'discovery.k8s.io/v1',
        'EndpointSlice',
        `addressType: IPv4
endpoints: [{ addresses: [10.0.0.1], hostname: a, zone: z, hints: {}, targetRef: { kind: Pod } }]
ports: [{ port: 80, appProtocol: http }]`,
      ),
    ],
  ])('%s has fields that we do not read, and is accepted', (_name, text) => {
    const { documents, errors } = parseManifest(text, 'x.yaml');
    expect(errors.map(formatManifestError)).toEqual([]);
    expect(documents).toHaveLength(1);
  });

  test.each([
    [
      'hello',
      'net.yaml:1:1: is a string, not an object: write a map with apiVersion, kind and metadata',
    ],
    [
      '[1]',
      'net.yaml:1:2: is a number, not an object: write a map with apiVersion, kind and metadata',
    ],
    ['a: 1\na: 2', 'net.yaml:2:1: not valid YAML: key "a" is written twice in one map'],
    ['a:\n\tb: 1', 'net.yaml:2:1: not valid YAML: Tabs are not allowed as indentation'],
    ['? [a]\n: b', 'net.yaml:1:3: not valid YAML: With stringKeys, all keys must be strings'],
    ['__proto__: { a: 1 }', 'net.yaml:1:1: has a key "__proto__", which no Kubernetes object has'],
    ['a: &x\n  b: *x', 'net.yaml:1:1: is nested deeper than 100 levels'],
    [
      'a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c]',
      'net.yaml:1:1: not usable as an object: Excessive alias count indicates a resource exhaustion attack',
    ],
    [
      'kind: UserDefinedNetwork\nmetadata: { name: db-network, namespace: demo }',
      'net.yaml:1:1: UserDefinedNetwork demo/db-network: apiVersion: Required value: ' +
        'for networks write k8s.ovn.org/v1, or k8s.ovn.org/v1alpha1 for the flat shape',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: { name: web, labels: { a: 1 } }',
      'net.yaml:3:34: Pod web: metadata.labels.a: Invalid value: 1: must be a string (put the value in quotes)',
    ],
  ])('refuses %j', (text, message) => {
    expect(errorsOf(text)).toEqual([message]);
  });

  test.each(['', '# nothing', '---\n---\n', '{}\n---\n[]'])('reads %j without a crash', (text) => {
    expect(parseManifest(text, 'net.yaml').documents).toEqual([]);
  });

  test('is refused, not followed, when it is nested without end', () => {
    for (const text of ['['.repeat(100_000), '{a: '.repeat(20_000), '- '.repeat(5000)]) {
      const { documents, errors } = parseManifest(text, 'net.yaml');
      expect(documents).toEqual([]);
      expect(errors.length).toBeGreaterThan(0);
    }
  });

  test('of any text never throws', () => {
    const words = fc.constantFrom(
      'apiVersion: v1',
      'kind: Pod',
      'metadata:',
      '  name: a',
      '- ',
      '&a',
      '*a',
      '{',
      '}',
      '\n',
      '---\n',
      '"',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(words).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (source) => {
        const { documents, errors } = parseManifest(source, 'net.yaml');
        expect(documents.length + errors.length).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 300 },
    );
  });
});

test('a field with a long name is told in a line that can be read', () => {
  const manifest = JSON.stringify({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { name: 'net', namespace: 'blue' },
    spec: { topology: 'Layer3', ['subnets'.repeat(1000)]: [] },
  });
  const [line = ''] = parseManifest(manifest, 'a.yaml').errors.map(formatManifestError);
  expect(line).toContain('a.yaml:1:');
  expect(line).toContain('UserDefinedNetwork blue/net: spec.subnetssubnets');
  expect(line.length).toBeLessThan(2048);
});
