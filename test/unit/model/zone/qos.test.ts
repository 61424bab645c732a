import { describe, expect, test } from 'vitest';
import type { Qos, QosNetworks } from '../../../../src/model/read/qos.ts';
import { SOURCES, type QosTables } from '../../../../src/model/zone/qos.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  exampleZone,
  factsOf,
  networkName,
  type Zone,
} from '../../../support/zone/zones.ts';

const pods = { id: 'blue_LS{}', namespace: 'blue', podSelector: {}, isLegacy: false };
const rule = { pods, dscp: 1, to: [], ports: [] };
const egressQos: Qos = {
  kind: 'EgressQoS',
  namespace: 'blue',
  name: 'default',
  created: '',
  priority: 0,
  rules: [rule, rule],
};
const networkQos = (networks?: readonly QosNetworks[]): Qos => ({
  ...egressQos,
  kind: 'NetworkQoS',
  ...(networks === undefined ? {} : { networks }),
});
const second = {
  ...blue,
  name: networkName('cluster_udn_second'),
  id: 9,
  role: 'secondary' as const,
  namespaces: [],
  masquerade: {},
  nads: ['blue/second'],
  object: 'ClusterUserDefinedNetwork second',
};
const onSecond = {
  ...bluePod,
  network: second.name,
  role: 'secondary' as const,
  nadKey: 'blue/second',
  macAddress: '0a:58:67:67:00:09',
};
const zone: Zone = {
  ...exampleZone,
  networks: [...exampleZone.networks, second],
  attachments: [bluePod, bluePodDefault, onSecond],
};
const placed = (qos: Qos, of = zone): ReturnType<QosTables['qosPlacements']['peek']> =>
  factsOf({ ...of, qoses: [qos] }).qosPlacements.peek(qos.kind, qos.namespace, qos.name);
const nads = (network: string, namespaceSelector = {}): QosNetworks => ({
  kind: 'nads',
  namespaceSelector,
  selector: { matchLabels: { network } },
});

describe('on which networks they are in force', () => {
  test('on those that the pods of the namespace leave by, where there is one of them', () => {
    expect(placed(egressQos)?.networks).toEqual([blue.name]);
    expect(placed(networkQos())?.networks).toEqual([blue.name]);
    expect(placed(egressQos, exampleZone)?.networks).toEqual([]);
  });

  test('on those whose NADs are selected', () => {
    expect(placed(networkQos([nads(second.name)]))?.networks).toEqual([second.name]);
    expect(placed(networkQos([nads(second.name), nads(blue.name)]))?.networks).toEqual([
      blue.name,
      second.name,
    ]);
    expect(placed(networkQos([nads(second.name, { matchLabels: { a: 'b' } })]))?.networks).toEqual(
      [],
    );
  });

  test('on those of selected ClusterUserDefinedNetworks, which have their labels on their NADs', () => {
    expect(placed(networkQos([{ kind: 'cluster', selector: {} }]))?.networks).toEqual([
      second.name,
    ]);
    const other = { matchLabels: { network: blue.name } };
    expect(placed(networkQos([{ kind: 'cluster', selector: other }]))?.networks).toEqual([]);
  });

  test('with the labels that NADs have now', () => {
    const facts = factsOf({ ...zone, qoses: [networkQos([nads('other')])] });
    const networks = (): unknown =>
      facts.qosPlacements.peek('NetworkQoS', 'blue', 'default')?.networks;
    expect(networks()).toEqual([]);
    const nad = facts.definitions.peek('blue/second') ?? expect.unreachable();
    facts.definitions.put('blue/second', { ...nad, labels: { network: 'other' } });
    facts.refresh(0);
    expect(networks()).toEqual([second.name]);
  });
});

test('a set for each rule of an EgressQoS, one of all senders of a NetworkQoS, and those of destinations', () => {
  expect(placed(egressQos)?.sets).toEqual(['0', '1']);
  expect(placed(networkQos())?.sets).toEqual([SOURCES]);
  const toPods = { ...rule, to: [{ kind: 'pods' as const, selection: pods }] };
  expect(placed({ ...networkQos(), rules: [rule, toPods] })?.sets).toEqual([SOURCES, '1']);
  expect(placed({ ...networkQos(), rules: [] })?.sets).toEqual([]);
});
