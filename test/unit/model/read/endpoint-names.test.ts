import { expect, test } from 'vitest';
import { readSliceNames } from '../../../../src/model/read/endpoint-names.ts';
import { slice } from '../../../support/zone/services.ts';

const ON = { networkNames: true };
const labelOf = (endpoint: Readonly<Record<string, unknown>>): readonly string[] | undefined =>
  readSliceNames(slice('blue/web', [endpoint], { network: 'blue_net' }), ON)?.endpoints.map(
    ({ label }) => label,
  );

test('endpoints are called by the names of their pods, else by their addresses', () => {
  expect(labelOf({ addresses: ['10.0.0.3'], hostname: 'Web-0' })).toEqual(['web-0']);
  expect(labelOf({ addresses: ['10.0.0.3'] })).toEqual(['10-0-0-3']);
  expect(labelOf({ addresses: ['10.0.0.3'], hostname: 'a.b' })).toEqual(['10-0-0-3']);
  expect(labelOf({ addresses: ['fd00::1:2'] })).toEqual(['fd00--1-2']);
  expect(labelOf({ addresses: ['fd00::'] })).toEqual(['fd00--0']);
});

test('those that are not ready are called nothing', () => {
  expect(labelOf({ addresses: ['10.0.0.3'], conditions: { ready: false } })).toEqual([]);
});

test("of the default network's slices only counts whether pods are behind the service", () => {
  const made = slice('blue/web', ['10.244.0.3']);
  expect(readSliceNames(made, ON)).toMatchObject({
    network: 'default',
    endpoints: [],
    isOfPods: false,
  });
  const labels = {
    ...made.metadata.labels,
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  };
  expect(readSliceNames({ ...made, metadata: { ...made.metadata, labels } }, ON)?.isOfPods).toBe(
    true,
  );
});

test('where nodes answer no names nothing is kept', () => {
  const made = slice('blue/web', ['10.0.0.3'], { network: 'blue_net' });
  expect(readSliceNames(made, { networkNames: false })).toBeUndefined();
  expect(readSliceNames({ ...made, addressType: 'FQDN' }, ON)).toBeUndefined();
});
