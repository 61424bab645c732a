import { expect, test } from 'vitest';
import { zoneFeatures } from '../../../src/topology/features.ts';

test('each feature has a name of its own, folder and subject', () => {
  const names = zoneFeatures.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z0-9]+\/[a-z0-9-]+$/);
});

test('infrastructure comes before networks, and networks before pods and services: of two that want one name the earlier one has it', () => {
  const place = (name: string): number => zoneFeatures.findIndex((one) => one.name === name);
  expect(place('database/protection')).toBeLessThan(place('layer3/network'));
  expect(place('layer3/network')).toBeLessThan(place('pods/port'));
  expect(place('layer2/network')).toBeLessThan(place('layer2/remote-port'));
  expect(place('pods/port')).toBeLessThan(place('services/load-balancers'));
});
