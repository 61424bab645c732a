import { expect, test } from 'vitest';
import type { EgressIP } from '../../../../src/api/types.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import type { LabelSelector } from '../../../../src/api/types.ts';
import { egressIpKind, readEgressIp } from '../../../../src/model/read/egress-ips.ts';

const MARK = 'k8s.ovn.org/egressip-mark';
const egressIp = (
  egressIPs: readonly string[],
  items: readonly (readonly [node: string, egressIP: string])[] = [],
  annotations: Readonly<Record<string, string>> = { [MARK]: '50007' },
): EgressIP => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'out', creationTimestamp: '2026-01-01T00:00:00Z', annotations },
  spec: { egressIPs, namespaceSelector: { matchLabels: { team: 'a' } } },
  status: { items: items.map(([node, egressIP]) => ({ node, egressIP })) },
});

test('addresses in canonical form, with their nodes', () => {
  const items = [
    ['n1', '172.18.0.50'],
    ['n2', 'FD00:0::50'],
  ] as const;
  expect(readEgressIp(egressIp(['172.18.0.50', 'fd00::50'], items), 'n2')).toEqual({
    kind: 'value',
    value: {
      name: 'out',
      created: '2026-01-01T00:00:00Z',
      namespaceSelector: { matchLabels: { team: 'a' } },
      podSelector: {},
      mark: 50_007,
      families: ['v4', 'v6'],
      items: [
        { node: 'n1', address: '172.18.0.50' },
        { node: 'n2', address: 'fd00::50' },
      ],
      isHere: true,
    },
  });
});

test('what its status names and its owner does not ask for is not its', () => {
  const reading = readEgressIp(
    egressIp(
      ['172.18.0.50'],
      [
        ['n1', '172.18.0.1'],
        ['n1', 'nowhere'],
      ],
    ),
    'n1',
  );
  expect(reading).toMatchObject({ value: { items: [], isHere: false, families: ['v4'] } });
});

test('one for classes of destinations selects them by labels, and not all there are', () => {
  const { spec, ...rest } = egressIp(['172.18.0.50']);
  const reading = (trafficSelector: LabelSelector) =>
    readEgressIp({ ...rest, spec: { ...spec, trafficSelector } }, 'n1');
  const some = { matchLabels: { group: 'a' } };
  expect(reading(some)).toMatchObject({ value: { trafficSelector: some } });
  for (const [selector, text] of [
    [{}, 'must have matchLabels or matchExpressions; take it out for all destinations'],
    [{ matchLabels: { 'a b': '' } }, 'key "a b" is no label key'],
  ] as const) {
    const refused = reading(selector);
    expect(refused.kind === 'problem' ? refused.message : undefined).toMatch(
      /^spec\.trafficSelector: Invalid value: .*until then its pods leave as they did/,
    );
    expect(refused.kind === 'problem' ? refused.message : undefined).toContain(text);
  }
});

test('of a text that is no address both families are its', () => {
  expect(readEgressIp(egressIp(['172.18.0.256']), 'n1')).toMatchObject({
    value: { families: ['v4', 'v6'] },
  });
});

test('a mark that is none is left out, and told; a selector that is none is a problem', () => {
  const reading = readEgressIp(egressIp([], [], { [MARK]: '42' }), 'n1');
  expect(reading).toMatchObject({
    kind: 'value',
    warning: expect.stringContaining(MARK) as string,
  });
  expect(reading).not.toHaveProperty('value.mark');
  const spec = {
    egressIPs: [],
    namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] },
  };
  expect(readEgressIp({ ...egressIp([]), spec }, 'n1')).toMatchObject({
    kind: 'problem',
    message: expect.stringContaining('spec.namespaceSelector') as string,
  });
});

test('where EgressIPs are off it says so', () => {
  const features = { ...DEFAULT_SETTINGS.features, egressIp: false };
  const context = {
    nodeName: 'n1',
    settings: { ...DEFAULT_SETTINGS, features },
    isOwn: true,
    round: 0,
    before: undefined,
  };
  expect(egressIpKind.read(egressIp([]), context)).toMatchObject({
    warning: expect.stringContaining('enable-egress-ip') as string,
  });
});
