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
        'CIDR is invalid',
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
      },
    ]);
  });

  test('warns of a field that is ignored', () => {
    const { warnings } = parseManifest(
      `apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: net, namespace: blue, label: { a: b } }
spec: { topology: Layer2, layer2: { role: Primary, subnets: [10.0.0.0/24], mtuu: 1 } }`,
      'net.yaml',
    );
    expect(warnings.map(formatManifestError)).toEqual([
      'net.yaml:3:41: UserDefinedNetwork blue/net: unknown field "metadata.label" is ignored',
      'net.yaml:4:76: UserDefinedNetwork blue/net: unknown field "spec.layer2.mtuu" is ignored',
    ]);
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
