import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { definitions, schemaOf } from '../../../src/api/validation/catalog.ts';
import { celProgram } from '../../../src/api/validation/cel.ts';
import { resourceKinds } from '../../../src/api/kinds.ts';
import type { Schema } from '../../../src/api/validation/schema.ts';

const FOLDER = join(import.meta.dirname, '../../../schemas/crds');

const yaml = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.yaml'))
  .sort()
  .map((name): unknown => parse(readFileSync(join(FOLDER, name), 'utf8')));

const named = (plural: string): (typeof definitions)[number] => {
  const found = definitions.find(({ spec }) => spec.names.plural === plural);
  if (found === undefined) throw new Error(`no CRD of ${plural}`);
  return found;
};

test('the generated file holds what schemas/crds say (else: node schemas/generate-crds.ts)', () => {
  expect(definitions).toEqual(yaml);
});

const AGE = 'Age .metadata.creationTimestamp date';
const NETWORK_CONDITIONS = [
  "Created .status.conditions[?(@.type=='NetworkCreated')].status string",
  "Ready .status.conditions[?(@.type=='NetworkReady')].status string",
  'Nodes .status.nodes string',
  'Reason .status.reason string',
];
const NETWORK_COLUMNS = [
  'Topology .spec..topology string',
  'Role .spec..role string',
  'ID .status.networkID integer',
  ...NETWORK_CONDITIONS,
  AGE,
];

/** Fields without a description, as paths. */
const undescribed = (schema: Schema, path = ''): string[] => [
  ...(path === '' || schema.description !== undefined ? [] : [path]),
  ...[schema, schema.items, schema.additionalProperties].flatMap((level) =>
    Object.entries(level?.properties ?? {}).flatMap(([name, child]) =>
      undescribed(child, `${path}.${name}`),
    ),
  ),
];

describe('a CRD', () => {
  test('says of every field what it is', () => {
    const fields = definitions.flatMap(({ spec }) =>
      spec.versions.flatMap(({ schema }) => undescribed(schema.openAPIV3Schema)),
    );
    const standard = ['.apiVersion', '.kind', '.metadata'];
    expect(fields.filter((field) => !standard.includes(field))).toEqual([]);
  });

  // reference/api.md §1.1.
  test.each([
    ['userdefinednetworks', 'Namespaced', ['udn'], ['v1', 'v1alpha1'], true, NETWORK_COLUMNS],
    ['clusteruserdefinednetworks', 'Cluster', ['cudn'], ['v1', 'v1alpha1'], true, NETWORK_COLUMNS],
    [
      'clusternetworkconnects',
      'Cluster',
      ['cnc'],
      ['v1'],
      true,
      [
        'ID .status.tunnelKey integer',
        'Networks .status.networks integer',
        "Accepted .status.conditions[?(@.type=='Accepted')].status string",
        'Status .status.status string',
        'Nodes .status.nodes string',
        'Reason .status.reason string',
        AGE,
      ],
    ],
    [
      'networkconnects',
      'Namespaced',
      ['nc'],
      ['v1alpha1'],
      true,
      [
        'Network .spec.network string',
        'Peer Namespace .spec.peer.namespace string',
        'Peer Network .spec.peer.network string',
        "Accepted .status.conditions[?(@.type=='Accepted')].status string",
        "Connected .status.conditions[?(@.type=='Connected')].status string",
        'Nodes .status.nodes string',
        'Reason .status.reason string',
        AGE,
      ],
    ],
    [
      'egressips',
      'Cluster',
      ['eip'],
      ['v1'],
      false,
      [
        'EgressIPs .spec.egressIPs[*] string',
        'Assigned Node .status.items[*].node string',
        'Assigned EgressIPs .status.items[*].egressIP string',
      ],
    ],
    [
      'adminpolicybasedexternalroutes',
      'Cluster',
      ['apbexternalroute'],
      ['v1'],
      true,
      ['Last Update .status.lastTransitionTime date', 'Status .status.status string'],
    ],
    [
      'egressfirewalls',
      'Namespaced',
      undefined,
      ['v1'],
      true,
      ['EgressFirewall Status .status.status string'],
    ],
    ['egressqoses', 'Namespaced', undefined, ['v1'], true, ['Status .status.status string']],
    ['networkqoses', 'Namespaced', undefined, ['v1alpha1'], true, ['Status .status.status string']],
    [
      'egressservices',
      'Namespaced',
      undefined,
      ['v1'],
      true,
      ['Assigned Host .status.host string'],
    ],
    [
      'ovnsecondarynetworks',
      'Namespaced',
      ['osn'],
      ['v1alpha1'],
      true,
      [
        'Subnet .spec.subnet string',
        'External .spec.hasExternalConnectivity boolean',
        ...NETWORK_CONDITIONS,
        AGE,
      ],
    ],
    [
      'zonestatuses',
      'Cluster',
      ['zs'],
      ['v1alpha1'],
      true,
      [
        'Networks .status.programmed string',
        'Problems .status.problemCount integer',
        'Ready .status.ready boolean',
        'Version .status.version string',
        'OVN .status.ovnVersion string',
        'Last Seen .status.observedAt date',
        'Unreached .status.unreached string',
        'Message .status.message string',
        AGE,
      ],
    ],
    ['network-attachment-definitions', 'Namespaced', ['net-attach-def'], ['v1'], false, []],
    ['ipamclaims', 'Namespaced', undefined, ['v1alpha1'], true, []],
  ])('%s is as documented', (plural, scope, shortNames, versions, hasStatus, columns) => {
    const { spec } = named(plural);
    expect(spec.scope).toBe(scope);
    expect(spec.names.shortNames).toEqual(shortNames);
    expect(spec.versions.map(({ name }) => name)).toEqual(versions);
    expect(spec.versions.map(({ storage }) => storage)).toEqual(versions.map((_, i) => i === 0));
    expect(spec.versions[0]?.subresources?.status !== undefined).toBe(hasStatus);
    const printed = spec.versions[0]?.additionalPrinterColumns ?? [];
    expect(printed.map(({ name, jsonPath, type }) => `${name} ${jsonPath} ${type}`)).toEqual(
      columns,
    );
  });

  test('of a namespaced and of a cluster-wide network describe layer3 and layer2 alike', () => {
    const own = schemaOf('k8s.ovn.org/v1', 'UserDefinedNetwork')?.properties?.['spec'];
    const cluster = schemaOf('k8s.ovn.org/v1', 'ClusterUserDefinedNetwork')?.properties?.['spec']
      ?.properties?.['network'];
    expect(cluster?.properties?.['layer3']).toEqual(own?.properties?.['layer3']);
    expect(cluster?.properties?.['layer2']).toEqual(own?.properties?.['layer2']);
  });

  test('has rules that parse', () => {
    const rules = (schema: Schema): string[] => [
      ...(schema['x-kubernetes-validations'] ?? []).map(({ rule }) => rule),
      ...Object.values(schema.properties ?? {}).flatMap(rules),
      ...[schema.items, schema.additionalProperties].flatMap((child) =>
        child === undefined ? [] : rules(child),
      ),
    ];
    const all = definitions.flatMap(({ spec }) =>
      spec.versions.flatMap(({ schema }) => rules(schema.openAPIV3Schema)),
    );
    expect(all.length).toBeGreaterThan(100);
    for (const rule of all) expect(() => celProgram(rule)).not.toThrow();
  });

  test('has no default: what a user did not write stays unwritten', () => {
    expect(JSON.stringify(definitions)).not.toContain('"default":');
  });

  test('exists for every kind of our groups', () => {
    const missing = resourceKinds
      .filter(({ apiVersion }) => /^k8s\.(ovn\.org|cni\.cncf\.io)\//.test(apiVersion))
      .filter(({ apiVersion, kind }) => schemaOf(apiVersion, kind) === undefined)
      .map(({ kind }) => kind);
    // Defined by the plumbing working group, with Kubernetes' own validation.
    expect(missing).toEqual(['MultiNetworkPolicy']);
  });
});
