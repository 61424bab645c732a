import { describe, expect, test } from 'vitest';
import type { RegisteredNad } from '../../../../src/api/nad/registered-nad.ts';
import type { NetworkAttachmentDefinition } from '../../../../src/api/types.ts';
import {
  assembleNetwork,
  defaultNetwork,
  definitionKind,
  registrationOf,
  type NetworkRegistration,
} from '../../../../src/model/read/networks.ts';
import type { ReadContext } from '../../../../src/model/read/object-kind.ts';
import { blue, dualZone, ipv4Settings } from '../../../support/zone/zones.ts';

const CONFIG = {
  cniVersion: '1.1.0',
  type: 'ovn-k8s-cni-overlay',
  name: 'blue_net',
  netAttachDefName: 'blue/net',
  topology: 'layer3',
  role: 'secondary',
  subnets: '103.103.0.0/16/24',
};
const nad = (
  config: object = CONFIG,
  annotations: Readonly<Record<string, string>> = { 'k8s.ovn.org/network-id': '7' },
  ownerReferences: readonly object[] = [],
): NetworkAttachmentDefinition =>
  ({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { namespace: 'blue', name: 'net', annotations, ownerReferences },
    spec: { config: JSON.stringify(config) },
  }) as unknown as NetworkAttachmentDefinition;
const read = (object: NetworkAttachmentDefinition) =>
  definitionKind.read(object, { settings: ipv4Settings } as ReadContext<never>);

describe('a NAD', () => {
  test('is of a network, of another plugin, or can’t be read', () => {
    expect(read(nad())).toMatchObject({ kind: 'value', value: { key: 'blue/net', networkId: 7 } });
    expect(read(nad({ ...CONFIG, type: 'bridge' }))).toEqual({ kind: 'value', value: 'other' });
    expect(read(nad({ ...CONFIG, topology: 'ring' })).kind).toBe('problem');
  });

  test('waits for the id of its network', () => {
    expect(read(nad(CONFIG, {}))).toEqual({
      kind: 'pending',
      waitsFor: 'network id (annotation k8s.ovn.org/network-id)',
    });
  });

  test('has rows that may be there for the object that it was made from', () => {
    const owner = { controller: true, kind: 'ClusterUserDefinedNetwork', name: 'net' };
    expect(definitionKind.others(nad(CONFIG, {}, [owner]))).toEqual([
      'ClusterUserDefinedNetwork net',
    ]);
    expect(definitionKind.others(nad())).toEqual([]);
  });
});

describe('NADs of a network together', () => {
  const registered = (more: Partial<RegisteredNad> = {}): RegisteredNad =>
    ({
      key: 'blue/net',
      name: 'net',
      creationTimestamp: '2026-01-01',
      tunnelKeys: [1],
      ownerKind: 'UserDefinedNetwork',
      ...more,
    }) as RegisteredNad;
  const registration = (...nads: readonly RegisteredNad[]) =>
    registrationOf({ name: 'blue_net', config: {} as never, id: 7, nads }, 2);

  test('are the network of the first of them, for the object that it was made from', () => {
    expect(registration(registered(), registered({ key: 'a/net' }))).toMatchObject({
      id: 7,
      since: 2,
      tunnelKeys: [1],
      created: '2026-01-01',
      nads: ['a/net', 'blue/net'],
      object: 'UserDefinedNetwork blue/net',
    });
    expect(registration(registered({ ownerKind: undefined }))?.object).toBe(
      'NetworkAttachmentDefinition blue/net',
    );
  });

  test('are none yet without an id, or without a NAD', () => {
    expect(registration()).toBeUndefined();
    expect(
      registrationOf({ name: 'x', config: {} as never, id: undefined, nads: [registered()] }, 0),
    ).toBeUndefined();
  });
});

describe('a network', () => {
  const assembled = (more: object = {}, settings = ipv4Settings) =>
    assembleNetwork(
      {
        config: { ...blue, ...more },
        id: 1,
        tunnelKeys: [],
        nads: [],
        object: 'x',
      } as unknown as NetworkRegistration,
      settings,
      { isOptedIn: false, number: 1 },
    );

  test('has the masquerade addresses of its id, of the families that it has; a secondary one has none', () => {
    expect(assembled().masquerade).toEqual({
      v4: { gatewayRouter: '169.254.0.11', managementPort: '169.254.0.12' },
    });
    expect(Object.keys(assembled({}, dualZone.settings).masquerade)).toEqual(['v4']);
    expect(assembled({ role: 'secondary' }).masquerade).toEqual({});
  });

  test('has none of a subnet that has no room for it', () => {
    expect(
      assembled({}, { ...ipv4Settings, masqueradeSubnets: { v4: '169.254.0.0/29' } }).masquerade,
    ).toEqual({});
  });

  test('has join subnets of the families that it has', () => {
    const joinSubnets = { v4: '100.65.0.0/16', v6: 'fd99::/64' };
    expect(assembled({ joinSubnets }).joinSubnets).toEqual({ v4: '100.65.0.0/16' });
  });
});

test('the default network needs no NAD', () => {
  expect(defaultNetwork(ipv4Settings)).toMatchObject({
    name: 'default',
    id: 0,
    subnets: ipv4Settings.clusterSubnets,
    joinSubnets: { v4: '100.64.0.0/16' },
    object: 'cluster',
  });
});
