import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { convertObject } from '../../../src/api/conversion/conversion.ts';
import type { ConversionAnswer } from '../../../src/api/conversion/conversion-review.ts';
import { answerConversionReview } from '../../../src/api/conversion/conversion-review.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { PlainObject } from '../../../src/api/plain-object.ts';
import { validateObject } from '../../../src/api/validation/validate.ts';
import { cudn, layer2, layer3, localnet, problemsOf, valid } from './objects.ts';
import { ruleCases } from './rule-cases.ts';

const V1 = 'k8s.ovn.org/v1';
const V1ALPHA1 = 'k8s.ovn.org/v1alpha1';

const flat = (spec: object): PlainObject => ({
  apiVersion: V1ALPHA1,
  kind: 'UserDefinedNetwork',
  metadata: { name: 'db-network', namespace: 'demo' },
  spec,
});
const flatCluster = (template: object): PlainObject => ({
  apiVersion: V1ALPHA1,
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name: 'db-network' },
  spec: { namespaceSelector: { matchLabels: { a: 'b' } }, template },
});

const converted = (object: unknown, apiVersion: string): KubeObject => {
  const result = convertObject(object as PlainObject, apiVersion);
  if (result.kind === 'invalid') throw new Error(JSON.stringify(result.error));
  return result.value as unknown as KubeObject;
};
const specOf = (object: unknown): unknown => converted(object, V1).spec;

describe('the flat shape', () => {
  test('of layer3: host prefixes move into the subnets', () => {
    const spec = {
      topology: 'Layer3',
      role: 'Primary',
      mtu: 1300,
      subnets: ['10.128.0.0/16/24', 'fd00::/48'],
    };
    expect(specOf(flat(spec))).toEqual({
      topology: 'Layer3',
      layer3: {
        role: 'Primary',
        mtu: 1300,
        subnets: [{ cidr: '10.128.0.0/16', hostSubnet: 24 }, { cidr: 'fd00::/48' }],
      },
    });
  });

  test('of the example of OKEP-5193: layer2 with excluded subnets and either spelling of the lifecycle', () => {
    const base = {
      topology: 'Layer2',
      role: 'Primary',
      mtu: 9000,
      subnets: ['10.0.0.0/24'],
      excludeSubnets: ['10.0.0.100/26'],
    };
    const expected = {
      topology: 'Layer2',
      layer2: {
        role: 'Primary',
        mtu: 9000,
        subnets: ['10.0.0.0/24'],
        excludeSubnets: ['10.0.0.100/26'],
        ipam: { lifecycle: 'Persistent' },
      },
    };
    expect(specOf(flat({ ...base, ipamLifecycle: 'Persistent' }))).toEqual(expected);
    expect(specOf(flat({ ...base, ipam: { lifecycle: 'Persistent' } }))).toEqual(expected);
    expect(problemsOf(flat({ ...base, ipamLifecycle: 'Persistent' }))).toEqual([]);
  });

  test.each([
    ['directly', { topology: 'Layer2', role: 'Secondary', subnets: ['10.0.0.0/24'] }],
    ['under spec', { spec: { topology: 'Layer2', role: 'Secondary', subnets: ['10.0.0.0/24'] } }],
  ])('of a cluster network: the template is written %s', (_, template) => {
    expect(specOf(flatCluster(template))).toEqual({
      namespaceSelector: { matchLabels: { a: 'b' } },
      network: { topology: 'Layer2', layer2: { role: 'Secondary', subnets: ['10.0.0.0/24'] } },
    });
  });

  test('of a cluster localnet: the physical network has the name of the network', () => {
    const template = { topology: 'Localnet', role: 'Secondary', subnets: ['192.168.0.0/24'] };
    expect(specOf(flatCluster(template))).toMatchObject({
      network: {
        topology: 'Localnet',
        localnet: { physicalNetworkName: 'cluster_udn_db-network' },
      },
    });
  });

  test('ignores join subnets unless the network is primary', () => {
    const spec = {
      topology: 'Layer2',
      role: 'Secondary',
      subnets: ['10.0.0.0/24'],
      joinSubnets: ['100.66.0.0/16'],
    };
    expect(specOf(flat(spec))).toEqual({
      topology: 'Layer2',
      layer2: { role: 'Secondary', subnets: ['10.0.0.0/24'] },
    });
  });

  test.each([
    [
      flat({ topology: 'Localnet', role: 'Secondary', subnets: ['10.0.0.0/24'] }),
      'spec.topology: Invalid value: "Localnet": topology Localnet gives access to a physical network, which is for ' +
        'administrators to grant: use a ClusterUserDefinedNetwork',
    ],
    [
      flat({ topology: 'Layer3', role: 'Primary', subnets: ['10.0.0.0/16/x'] }),
      `spec.subnets[0]: Invalid value: "10.0.0.0/16/x": must be a CIDR, for Layer3 optionally followed by the prefix length of one node's subnet, for example 10.128.0.0/16/24`,
    ],
    [
      flat({
        topology: 'Layer3',
        role: 'Primary',
        subnets: ['10.0.0.0/16'],
        excludeSubnets: ['10.0.0.0/24'],
      }),
      'spec.excludeSubnets: Forbidden: Layer3 networks have no excluded subnets: remove the field or use topology Layer2',
    ],
    [
      flatCluster({ spec: { topology: 'Layer3', role: 'Primary', subnets: ['10.0.0.0'] } }),
      `spec.template.spec.subnets[0]: Invalid value: "10.0.0.0": must be a CIDR, for Layer3 optionally followed by the prefix length of one node's subnet, for example 10.128.0.0/16/24`,
    ],
    // Rules of v1 are reported where the flat object has the field.
    [
      flat({ topology: 'Layer2', role: 'Primary', subnets: ['x'] }),
      'spec.subnets[0]: Invalid value: "x": CIDR is invalid',
    ],
    [
      flatCluster({ topology: 'Layer3', role: 'Primary', subnets: ['10.0.0.0/16/32'] }),
      'spec.template.subnets[0]: Invalid value: {"cidr":"10.0.0.0/16","hostSubnet":32}: HostSubnet must < 32 for ipv4 CIDR',
    ],
  ])('is refused where v1 has no meaning for it: %#', (object, message) => {
    expect(problemsOf(object)).toEqual([message]);
  });
});

describe('an object that is read in the other version', () => {
  test.each([
    ['layer3', layer3({ role: 'Primary', subnets: [{ cidr: '10.0.0.0/16', hostSubnet: 24 }] })],
    [
      'layer2 with what the flat shape does not know',
      layer2({
        role: 'Primary',
        subnets: ['10.0.0.0/16'],
        reservedSubnets: ['10.0.1.0/24'],
        infrastructureSubnets: ['10.0.0.0/30'],
      }),
    ],
    [
      'localnet with VLAN',
      localnet({ subnets: ['10.0.0.0/16'], vlan: { mode: 'Access', access: { id: 5 } } }),
    ],
    [
      'uplink and transport',
      cudn({
        uplinks: ['eth1'],
        network: {
          topology: 'Layer3',
          layer3: { role: 'Primary', subnets: [{ cidr: '10.0.0.0/16' }] },
          transport: 'NoOverlay',
          noOverlay: { outboundSNAT: 'Enabled', routing: 'Managed' },
        },
      }),
    ],
  ])('is the same when it is written back: v1 %s', (_, object) => {
    const stored = valid(object);
    expect(converted(converted(stored, V1ALPHA1), V1)).toEqual(stored);
  });

  test.each([
    [
      flat({
        topology: 'Layer2',
        role: 'Primary',
        subnets: ['10.0.0.0/24'],
        ipamLifecycle: 'Persistent',
      }),
    ],
    [
      flat({
        topology: 'Layer2',
        role: 'Secondary',
        subnets: ['10.0.0.0/24'],
        joinSubnets: ['100.66.0.0/16'],
      }),
    ],
    [flatCluster({ spec: { topology: 'Layer3', role: 'Primary', subnets: ['10.0.0.0/16/24'] } })],
    [flatCluster({ topology: 'Localnet', role: 'Secondary', subnets: ['10.0.0.0/24'] })],
  ])('is the same when it is read back: v1alpha1 %#', (object) => {
    expect(converted(converted(object, V1), V1ALPHA1)).toEqual(object);
  });

  test('keeps its other annotations, and follows a change that is made in v1', () => {
    const object = {
      ...flatCluster({
        spec: { topology: 'Layer3', role: 'Primary', subnets: ['10.0.0.0/16/24'] },
      }),
      metadata: { name: 'db-network', annotations: { note: 'a' } },
    };
    const stored = converted(object, V1) as KubeObject & {
      spec: { network: { layer3: { subnets: object[] } } };
    };
    expect(Object.keys(stored.metadata.annotations ?? {})).toEqual([
      'note',
      'k8s.ovn.org/v1alpha1-spec',
    ]);
    const grown = structuredClone(stored);
    grown.spec.network.layer3.subnets.push({ cidr: '10.1.0.0/16', hostSubnet: 24 });
    const read = converted(grown, V1ALPHA1);
    expect(read.spec).toMatchObject({
      template: { subnets: ['10.0.0.0/16/24', '10.1.0.0/16/24'] },
    });
    expect(read.metadata.annotations).toEqual({ note: 'a' });
  });

  test('ignores an annotation that somebody made up', () => {
    for (const annotation of ['{', '[]', '{"topology":"Layer2"}']) {
      const object = {
        ...flat({ topology: 'Layer3', role: 'Primary', subnets: ['10.0.0.0/16'] }),
        metadata: {
          name: 'a',
          namespace: 'demo',
          annotations: { 'k8s.ovn.org/v1-spec': annotation },
        },
      };
      expect(converted(object, V1).spec).toEqual({
        topology: 'Layer3',
        layer3: { role: 'Primary', subnets: [{ cidr: '10.0.0.0/16' }] },
      });
    }
  });

  test('is valid there when it was valid here', () => {
    const objects = ruleCases
      .map(({ valid: object }) => object as PlainObject)
      .filter(({ kind }) => String(kind).endsWith('UserDefinedNetwork'));
    expect(objects.length).toBeGreaterThan(50);
    for (const object of objects) {
      const stored = valid(object);
      const back = converted(converted(stored, V1ALPHA1), V1);
      expect({ ...back, metadata: undefined }).toEqual({ ...stored, metadata: undefined });
    }
  });
});

test('only networks are converted, and only between known versions', () => {
  const pod = convertObject({ apiVersion: 'v1', kind: 'Pod', metadata: {} }, V1);
  expect(pod.kind).toBe('invalid');
  const unknown = convertObject({ ...flat({}), apiVersion: 'k8s.ovn.org/v2' }, V1);
  expect(unknown.kind === 'value' ? [] : unknown.error.map(({ detail }) => detail)).toEqual([
    "can't be converted to k8s.ovn.org/v1: use k8s.ovn.org/v1 or k8s.ovn.org/v1alpha1",
  ]);
});

test('conversion and validation of anything never throw', () => {
  const keys = fc.constantFrom(
    'spec',
    'metadata',
    'topology',
    'layer3',
    'subnets',
    'cidr',
    'network',
    'template',
    'role',
    'name',
    '__proto__',
  );
  const anything = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom<unknown>(
        'Layer3',
        'Layer2',
        'Localnet',
        'Primary',
        '10.0.0.0/16/24',
        5,
        null,
        true,
        Number.POSITIVE_INFINITY,
      ),
      fc.string(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 5 }),
    ),
  })).value;
  const kinds = fc.constantFrom(
    'UserDefinedNetwork',
    'ClusterUserDefinedNetwork',
    'Pod',
    'Service',
    'Node',
  );
  fc.assert(
    fc.property(
      kinds,
      fc.constantFrom(V1, V1ALPHA1, 'v1'),
      anything,
      anything,
      (kind, apiVersion, metadata, spec) => {
        const object = { apiVersion, kind, metadata, spec, status: spec };
        expect(['valid', 'invalid', 'unknown-kind']).toContain(
          validateObject(object, { ...object, spec: metadata }).kind,
        );
        expect(['value', 'invalid']).toContain(
          convertObject(object, apiVersion === V1 ? V1ALPHA1 : V1).kind,
        );
      },
    ),
    { numRuns: 1000 },
  );
});

test('validation of nesting without end does not run out of stack', () => {
  let deep: unknown = 1;
  for (let i = 0; i < 50_000; i++) deep = i % 2 === 0 ? [deep] : { cidr: deep };
  for (const object of [
    { apiVersion: V1, kind: 'UserDefinedNetwork', metadata: { name: 'a' }, spec: deep },
    layer3({ role: 'Primary', subnets: [{ cidr: deep }] }),
    layer3({ role: deep, subnets: deep }),
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: deep, labels: deep, annotations: { a: deep } },
      spec: { nodeName: deep },
    },
    flat({ topology: 'Layer3', role: 'Primary', subnets: [deep] }),
  ]) {
    expect(validateObject(object).kind).toBe('invalid');
  }
});

describe('a conversion review', () => {
  const review = (objects: object[]): ConversionAnswer['response'] => {
    const answer = answerConversionReview({
      request: { uid: 'u1', desiredAPIVersion: V1, objects },
    });
    if (answer === undefined) throw new Error('no answer');
    return answer.response;
  };
  const good = flat({ topology: 'Layer2', role: 'Primary', subnets: ['10.0.0.0/24'] });

  test('is answered with every object in the wanted version', () => {
    const { uid, convertedObjects, result } = review([good, valid(good)]);
    expect([uid, result]).toEqual(['u1', { status: 'Success' }]);
    expect(convertedObjects).toEqual([converted(good, V1), valid(good)]);
  });

  test('is refused when an object would not be valid as it is stored', () => {
    const { result } = review([
      good,
      flat({ topology: 'Layer2', role: 'Primary', subnets: ['x'] }),
    ]);
    expect(result).toEqual({
      status: 'Failure',
      message:
        'UserDefinedNetwork demo/db-network: spec.subnets[0]: Invalid value: "x": CIDR is invalid',
    });
  });

  test.each([[undefined], [null], [5], [{}], [{ request: { objects: 5 } }]])(
    'that is none gets no answer: %j',
    (body) => {
      expect(answerConversionReview(body)).toBeUndefined();
    },
  );
});

test('a stored object that is broken does not break the check of its update', () => {
  const object = layer3({ role: 'Primary', mtu: 1400, subnets: [{ cidr: '10.0.0.0/16' }] });
  for (const spec of [
    { topology: 'Layer3', layer3: { role: 5, mtu: 1.5, subnets: 'x', joinSubnets: {} } },
    { topology: 'Layer3', layer3: { mtu: Number.NaN, subnets: [null, { cidr: 5 }] } },
    'x',
    null,
  ]) {
    expect(['valid', 'invalid']).toContain(validateObject(object, { ...object, spec }).kind);
  }
});
