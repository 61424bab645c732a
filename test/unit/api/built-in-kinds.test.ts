import { describe, expect, test } from 'vitest';
import { problemsOf, valid } from './objects.ts';

const object = (kind: string, rest: object): object => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'a' },
  ...rest,
});

describe('a Pod', () => {
  test('keeps what we do not read', () => {
    const pod = object('Pod', {
      spec: { nodeName: 'worker', containers: [{ name: 'web', image: 'web' }] },
      status: { phase: 'Running', podIPs: [{ ip: '10.0.0.5' }], qosClass: 'BestEffort' },
    });
    expect(valid(pod)).toMatchObject({
      metadata: { name: 'a', namespace: 'default' },
      spec: { nodeName: 'worker', containers: [{ name: 'web', image: 'web' }] },
      status: { phase: 'Running', podIPs: [{ ip: '10.0.0.5' }], qosClass: 'BestEffort' },
    });
  });

  test('that is not scheduled has no node', () => {
    expect(valid(object('Pod', { spec: { nodeName: '' } })).spec).toEqual({});
    expect(valid(object('Pod', {})).spec).toEqual({});
  });

  test.each([
    [{ spec: 5 }, 'spec: Invalid value: 5: must be a map'],
    [
      { spec: { nodeName: 5 } },
      'spec.nodeName: Invalid value: 5: must be a string (put the value in quotes)',
    ],
    [
      { spec: { hostNetwork: 'yes' } },
      'spec.hostNetwork: Invalid value: "yes": must be a boolean: true or false, without quotes',
    ],
    [{ spec: {}, status: { podIPs: [{}] } }, 'status.podIPs[0].ip: Required value'],
    [
      { spec: {}, status: { podIPs: ['x'] } },
      'status.podIPs[0]: Invalid value: "x": must be a map',
    ],
  ])('is refused with %j', (rest, message) => {
    expect(problemsOf(object('Pod', rest))).toEqual([message]);
  });
});

describe('a Service', () => {
  test.each([
    [{ clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10', 'FD00::A'] }, ['10.96.0.10', 'fd00::a']],
    [{ clusterIP: '10.96.0.10' }, ['10.96.0.10']],
    [{ clusterIP: 'None', clusterIPs: ['None'] }, []],
    [{}, []],
  ])('with %j has addresses %j', (spec, clusterIPs) => {
    expect(valid(object('Service', { spec })).spec).toMatchObject({ clusterIPs });
  });

  test('has addresses that are addresses', () => {
    expect(problemsOf(object('Service', { spec: { clusterIPs: ['1.2.3'] } }))).toEqual([
      'spec.clusterIPs[0]: Invalid value: "1.2.3": must be an IP address',
    ]);
  });

  test('has ports with protocols, and addresses from outside in one spelling', () => {
    const service = object('Service', {
      spec: {
        ports: [{ port: 80, nodePort: 0, targetPort: 'web' }],
        externalIPs: ['FD00::B'],
      },
      status: { loadBalancer: { ingress: [{ ip: 'FD00::C' }, { hostname: 'a.example' }] } },
    });
    expect(valid(service)).toMatchObject({
      spec: {
        ports: [{ port: 80, protocol: 'TCP', targetPort: 'web' }],
        externalIPs: ['fd00::b'],
      },
      status: { loadBalancer: { ingress: [{ ip: 'fd00::c' }, { hostname: 'a.example' }] } },
    });
  });

  test.each([
    [{ ports: [{ port: 0 }] }, 'spec.ports[0].port: Invalid value: 0: must be a port'],
    [{ ports: [{ port: '80' }] }, 'spec.ports[0].port: Invalid value: "80": must be a port'],
    [{ ports: [80] }, 'spec.ports[0]: Invalid value: 80: must be a map'],
    [
      { ports: [{ port: 80, nodePort: 70000 }] },
      'spec.ports[0].nodePort: Invalid value: 70000: must be a port',
    ],
    [
      { ports: [{ port: 80, protocol: 'ICMP' }] },
      'spec.ports[0].protocol: Invalid value: "ICMP": must be a protocol: TCP, UDP or SCTP',
    ],
    [
      {
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 80 },
        ],
      },
      'spec.ports[1].port: Duplicate value: 80',
    ],
    [
      {
        ports: [
          { name: 'a', port: 80 },
          { name: 'a', port: 81 },
        ],
      },
      'spec.ports[1].name: Duplicate value: "a"',
    ],
    [
      { ports: [{ name: 'a', port: 80 }, { port: 81 }, { port: 82 }] },
      'spec.ports[2].name: Required value: of several ports each has a name',
    ],
    [
      { ports: [{ port: 80, targetPort: 99_999 }] },
      'spec.ports[0].targetPort: Invalid value: 99999: must be a port',
    ],
    [
      { type: 'nodeport' },
      'spec.type: Unsupported value: "nodeport": supported values: "ClusterIP", "NodePort"',
    ],
    [{ externalTrafficPolicy: 'local' }, 'spec.externalTrafficPolicy: Unsupported value: "local"'],
    [{ internalTrafficPolicy: 'Node' }, 'spec.internalTrafficPolicy: Unsupported value: "Node"'],
    [{ sessionAffinity: 'clientIP' }, 'spec.sessionAffinity: Unsupported value: "clientIP"'],
    [{ externalIPs: ['x'] }, 'spec.externalIPs[0]: Invalid value: "x": must be an IP address'],
    [
      { externalTrafficPolicy: 5 },
      'spec.externalTrafficPolicy: Invalid value: 5: must be a string',
    ],
    [
      { sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } } },
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be a number of seconds',
    ],
  ])('is refused with %j', (spec, message) => {
    const [problem, ...others] = problemsOf(object('Service', { spec }));
    expect(problem).toContain(message);
    expect(others).toEqual([]);
  });

  test('is refused with an address of its load balancer that is none', () => {
    const status = { loadBalancer: { ingress: [{ ip: '1.2.3' }] } };
    expect(problemsOf(object('Service', { spec: {}, status }))).toEqual([
      'status.loadBalancer.ingress[0].ip: Invalid value: "1.2.3": must be an IP address',
    ]);
  });
});

describe('an EndpointSlice', () => {
  const slice = (rest: object): object => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'a', namespace: 'blue' },
    addressType: 'IPv6',
    ...rest,
  });

  test('has addresses in one spelling, and keeps what we do not read', () => {
    const endpoint = { addresses: ['FD00::A'], zone: 'z', conditions: { ready: true } };
    const ports = [{ name: 'http', port: 80, appProtocol: 'http' }, { port: null }];
    expect(valid(slice({ endpoints: [endpoint], ports }))).toMatchObject({
      endpoints: [{ addresses: ['fd00::a'], zone: 'z', conditions: { ready: true } }],
      ports: [
        { name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' },
        { protocol: 'TCP' },
      ],
    });
    expect(valid(slice({ endpoints: null, ports: null }))).toMatchObject({
      endpoints: null,
      ports: null,
    });
    const names = { addressType: 'FQDN', endpoints: [{ addresses: ['a.example'] }] };
    expect(valid(slice(names))).toMatchObject(names);
  });

  test.each([
    [{ endpoints: [{ addresses: ['x'] }] }, 'endpoints[0].addresses[0]: Invalid value: "x"'],
    [
      { endpoints: [{ addresses: ['10.0.0.1'] }] },
      'endpoints[0].addresses: Invalid value: ["10.0.0.1"]: must be a list of addresses of the slice',
    ],
    [{ endpoints: ['x'] }, 'endpoints[0]: Invalid value: "x": must be a map'],
    [
      { endpoints: [{ conditions: { ready: 'yes' } }] },
      'endpoints[0].conditions.ready: Invalid value: "yes": must be a boolean',
    ],
    [{ endpoints: [{ nodeName: 5 }] }, 'endpoints[0].nodeName: Invalid value: 5: must be a string'],
    [
      { endpoints: [{ targetRef: [] }] },
      'endpoints[0].targetRef: Invalid value: []: must be a map',
    ],
    [{ addressType: 'ipv6' }, 'addressType: Unsupported value: "ipv6": supported values: "IPv4"'],
    [{ ports: [{ port: 65536 }] }, 'ports[0].port: Invalid value: 65536: must be a port'],
  ])('is refused with %j', (rest, message) => {
    const [problem, ...others] = problemsOf(slice(rest));
    expect(problem).toContain(message);
    expect(others).toEqual([]);
  });
});

test('a Node has addresses of known types', () => {
  const node = (address: object): object => object('Node', { status: { addresses: [address] } });
  expect(problemsOf(node({ type: 'InternalIP', address: '172.18.0.3' }))).toEqual([]);
  expect(problemsOf(node({ type: 'InternalIP' }))).toEqual([
    'status.addresses[0].address: Required value',
  ]);
});

describe('metadata', () => {
  test('has a namespace for namespaced kinds only', () => {
    const meta = { metadata: { name: 'a', namespace: 'blue' } };
    expect(valid(object('Pod', meta)).metadata.namespace).toBe('blue');
    expect(valid(object('Node', meta)).metadata).toEqual({ name: 'a' });
  });

  test.each([
    [undefined, 'metadata.name: Required value: name or generateName is required'],
    [5, 'metadata: Invalid value: 5: must be a map'],
    [{ name: 5 }, 'metadata.name: Invalid value: 5: must be a string (put the value in quotes)'],
    [
      { name: 'a', annotations: { a: true } },
      'metadata.annotations.a: Invalid value: true: must be a string (put the value in quotes)',
    ],
    [{ name: 'a', labels: [] }, 'metadata.labels: Invalid value: []: must be a map of strings'],
    [
      { name: 'a', finalizers: 'x' },
      'metadata.finalizers: Invalid value: "x": must be a list of strings',
    ],
    [
      { name: 'a', uid: 5 },
      'metadata.uid: Invalid value: 5: must be a string (put the value in quotes)',
    ],
  ])('is refused as %j', (metadata, message) => {
    expect(problemsOf(object('Pod', { metadata }))).toEqual([message]);
  });

  test('of a namespace is a DNS label', () => {
    expect(problemsOf(object('Namespace', { metadata: { name: 'a.b' } }))[0]).toContain(
      'a lowercase RFC 1123 label must consist of',
    );
  });

  test('names owners in full', () => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'a' };
    expect(
      problemsOf(object('Pod', { metadata: { name: 'a', ownerReferences: [owner] } })),
    ).toEqual(['metadata.ownerReferences[0].uid: Invalid value: null: must not be empty']);
  });
});
